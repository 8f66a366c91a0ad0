package mails

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/outbound/notice"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
	"adnet/internal/store/memory"
)

// office is the mail server: it takes a letter, or fails.
type office struct {
	got   []account.Letter
	again bool
	err   error
}

func (o *office) Deliver(_ context.Context, l account.Letter) (again bool, err error) {
	if o.err == nil {
		o.got = append(o.got, l)
	}
	return o.again, o.err
}

// world is a sender over the stores of in-memory mode, with one account.
type world struct {
	*office
	sender *Sender
	stores *memory.Stores
	now    time.Time
	owner  account.User
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{office: &office{}, now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)}
	w.stores = memory.New(func() time.Time { return w.now })
	w.owner = w.account(t, "a@example.com", true)
	w.sender = w.newSender(w.office)
	return w
}

func (w *world) newSender(post Post) *Sender {
	return New(Deps{
		Outbox: w.stores.Outbox, Notices: w.stores.Notices, Accounts: w.stores.Accounts, Campaigns: w.stores.Campaigns,
		Post: post, BaseURL: func() string { return "https://ads.example" }, Marks: marks, Prepaid: true,
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Now: func() time.Time { return w.now },
	})
}

func marks(kind, text string) [][16]byte {
	sum := sha256.Sum256([]byte(kind + text))
	return [][16]byte{[16]byte(sum[:16])}
}

func (w *world) account(t *testing.T, email string, confirmed bool) account.User {
	t.Helper()
	u := account.User{ID: uuid.New(), DeveloperID: uuid.New(), Email: email, Role: account.RoleAdvertiser}
	require.NoError(t, w.stores.Accounts.CreateUser(t.Context(), u))
	if confirmed {
		require.NoError(t, w.stores.Notices.Confirm(t.Context(), u.ID, u.Email, "en"))
	}
	return u
}

func (w *world) campaign(t *testing.T, owner account.User, name string) campaign.Campaign {
	t.Helper()
	c := campaign.Campaign{ID: uuid.New(), AdvertiserID: owner.ID, Name: name, CreatedAt: w.now, UpdatedAt: w.now}
	c, err := w.stores.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{
		Campaign: c, Admit: func(bool) campaign.Status { return campaign.Active },
	})
	require.NoError(t, err)
	return c
}

// turn lets time pass and sends.
func (w *world) turn(t *testing.T, later time.Duration) {
	t.Helper()
	w.now = w.now.Add(later)
	require.NoError(t, w.sender.Turn(t.Context()))
}

// states counts the mails by state.
func (w *world) states(t *testing.T) outbox.Counts {
	t.Helper()
	counts, err := w.stores.Outbox.CountMessages(t.Context(), outbox.Mails)
	require.NoError(t, err)
	return counts
}

func TestAMailListsWhatHappened(t *testing.T) {
	w := newWorld(t)
	w.campaign(t, w.owner, "Spring")
	w.campaign(t, w.owner, "Summer")
	w.turn(t, notice.Gather-time.Second)
	require.Empty(t, w.got)
	w.turn(t, time.Second)
	require.Len(t, w.got, 1)
	l := w.got[0]
	require.Equal(t, "a@example.com", l.To)
	require.Contains(t, l.Text, "“Spring” was approved")
	require.Contains(t, l.Text, "“Summer” was approved")
	id, kind, err := notice.Marks(marks).Verify(l.Unsubscribe[len("https://ads.example/unsubscribe/"):])
	require.NoError(t, err)
	require.Equal(t, w.owner.ID, id)
	require.Equal(t, "campaign.approved", kind)
	w.campaign(t, w.owner, "Autumn")
	w.turn(t, 11*time.Hour)
	require.Len(t, w.got, 1, "one a day")
	w.turn(t, 2*time.Hour)
	require.Len(t, w.got, 2)
	require.NotContains(t, w.got[1].Text, "Spring")
	require.Equal(t, outbox.Counts{outbox.Delivered: 2}, w.states(t))
}

// A process that dies within an attempt may have sent the mail: nobody sends it again.
func TestAnAttemptWithoutResultIsNotRepeated(t *testing.T) {
	w := newWorld(t)
	w.campaign(t, w.owner, "Spring")
	w.now = w.now.Add(notice.Gather)
	ended, stop := context.WithCancel(t.Context())
	dying := w.newSender(deliverFunc(func(l account.Letter) (bool, error) {
		w.got = append(w.got, l)
		stop()
		return false, ended.Err()
	}))
	require.ErrorIs(t, dying.Turn(ended), context.Canceled)
	require.Len(t, w.got, 1)
	w.turn(t, lease-time.Second)
	w.turn(t, time.Second)
	w.turn(t, time.Hour)
	require.Len(t, w.got, 1)
	require.Equal(t, outbox.Counts{outbox.Failed: 1}, w.states(t))
}

type deliverFunc func(l account.Letter) (bool, error)

func (f deliverFunc) Deliver(_ context.Context, l account.Letter) (bool, error) { return f(l) }

func TestARefusedMailIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.campaign(t, w.owner, "Spring")
	w.again, w.err = true, errors.New("450 later")
	w.turn(t, notice.Gather)
	w.turn(t, time.Minute)
	require.Equal(t, outbox.Counts{outbox.Waiting: 1}, w.states(t))
	w.again, w.err = false, nil
	w.turn(t, time.Hour)
	require.Len(t, w.got, 1)

	w.campaign(t, w.account(t, "b@example.com", true), "Two")
	w.err = errors.New("550 never")
	w.turn(t, time.Hour)
	require.Equal(t, outbox.Counts{outbox.Delivered: 1, outbox.Failed: 1}, w.states(t))
}

// Suspended and erased accounts, changed addresses and unwanted kinds get no mail, whenever that
// happened.
func TestOnlyThoseWhoMayGetMails(t *testing.T) {
	w := newWorld(t)
	w.campaign(t, w.account(t, "unconfirmed@example.com", false), "x")
	suspended, moved, unwilling := w.account(t, "s@example.com", true), w.account(t, "m@example.com", true),
		w.account(t, "u@example.com", true)
	for _, u := range []account.User{suspended, moved, unwilling} {
		w.campaign(t, u, "x")
	}
	edit := func(id uuid.UUID, edit func(*account.User)) {
		_, err := w.stores.Accounts.UpdateUser(t.Context(), id, func(u *account.User) error { edit(u); return nil })
		require.NoError(t, err)
	}
	edit(suspended.ID, func(u *account.User) { u.Disabled = true })
	edit(moved.ID, func(u *account.User) { u.Email = "other@example.com" })
	_, err := w.stores.Notices.UpdateSettings(t.Context(), unwilling.ID, func(s *notice.Settings) error {
		s.Off = notice.Kinds
		return nil
	})
	require.NoError(t, err)
	w.turn(t, time.Hour)
	require.Empty(t, w.got)
	require.Equal(t, outbox.Counts{outbox.Dropped: 3}, w.states(t))
}

// A mail names no campaign of another account, even if its row does.
func TestAMailNamesNoOthersCampaign(t *testing.T) {
	w := newWorld(t)
	secret := w.campaign(t, w.account(t, "b@example.com", false), "Secret plans")
	_, err := w.stores.Notices.Report(t.Context(), notice.Found{Once: "x", Fact: webhook.Fact{
		Event: webhook.CampaignEnded, OwnerID: w.owner.ID, About: "x", Data: map[string]any{"campaign_id": secret.ID},
	}})
	require.NoError(t, err)
	w.turn(t, time.Hour)
	require.Empty(t, w.got)
	require.Equal(t, outbox.Counts{outbox.Dropped: 1}, w.states(t))
}

func TestWithoutAServerMailsEnd(t *testing.T) {
	w := newWorld(t)
	w.sender = w.newSender(nil)
	w.campaign(t, w.owner, "Spring")
	w.turn(t, notice.Gather)
	require.Equal(t, outbox.Counts{outbox.Dropped: 1}, w.states(t))
}

func TestFoundFactsAreSentOnce(t *testing.T) {
	w := newWorld(t)
	w.owner.Role = account.RoleAdmin
	_, err := w.stores.Accounts.UpdateUser(t.Context(), w.owner.ID, func(u *account.User) error {
		u.Role = account.RoleAdmin
		return nil
	})
	require.NoError(t, err)
	c := campaign.Campaign{ID: uuid.New(), AdvertiserID: w.owner.ID, UpdatedAt: w.now}
	_, err = w.stores.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{
		Campaign: c, Admit: func(bool) campaign.Status { return campaign.InReview },
	})
	require.NoError(t, err)
	w.now = w.now.Add(25 * time.Hour)
	for range 3 {
		require.NoError(t, w.sender.Find(t.Context()))
		require.NoError(t, w.newSender(w.office).Find(t.Context()), "several processes look")
	}
	w.turn(t, time.Hour)
	require.Len(t, w.got, 1)
	require.Equal(t, "Campaigns wait for review", w.got[0].Subject)
	require.Contains(t, w.got[0].Text, "1 campaigns have waited")
}
