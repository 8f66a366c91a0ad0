package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
)

// Webhooks is the stores of endpoints and of messages to them, beside those of the changes.
type Webhooks struct {
	Stores
	Endpoints webhook.Store
	Outbox    outbox.Store
}

// RunWebhooks runs the cases of endpoints and of the outbox.
func RunWebhooks(t *testing.T, newStore func(t *testing.T) Webhooks) {
	for name, run := range map[string]func(*testing.T, Webhooks){
		"EndpointsAreKept": endpointsAreKept, "EndpointsAreTheirOwners": endpointsAreOwn,
		"EndpointsAreFew": endpointsAreFew, "ChangesWriteMessages": changesWriteMessages,
		"OnlyWhoWantsGetsMessages": onlyWhoWants, "SubjectsKeepTheirOrder": subjectsKeepOrder,
		"OneSenderAtATime": oneSender, "MessagesAreFew": messagesAreFew, "MessagesEnd": messagesEnd,
	} {
		t.Run(name, func(t *testing.T) { run(t, newStore(t)) })
	}
}

// addEndpoint creates an endpoint of an account.
func addEndpoint(t *testing.T, s Webhooks, account uuid.UUID, events ...webhook.Event) webhook.Endpoint {
	t.Helper()
	e := webhook.Endpoint{
		ID: newID(t), AccountID: account, URL: "https://hooks.example/secret-path", Description: "Ops", Events: events,
		Enabled: true, CreatedAt: now, UpdatedAt: now, Secret: webhook.NewSecret(),
	}
	require.NoError(t, s.Endpoints.CreateEndpoint(t.Context(), e))
	return e
}

// deliveries lists the messages of an endpoint, newest first.
func deliveries(t *testing.T, s Webhooks, e webhook.Endpoint) []outbox.Message {
	t.Helper()
	list, err := s.Endpoints.Deliveries(t.Context(), e.AccountID, e.ID, webhook.Page{Limit: 5000})
	require.NoError(t, err)
	return list
}

// kinds returns the events of messages, oldest first.
func kinds(list []outbox.Message) (all []string) {
	for i := len(list) - 1; i >= 0; i-- {
		all = append(all, list[i].Kind)
	}
	return all
}

func endpointsAreKept(t *testing.T, s Webhooks) {
	u := AddUser(t, s.Stores)
	first := addEndpoint(t, s, u.ID)
	second := addEndpoint(t, s, u.ID, webhook.CampaignEnded, webhook.DepositCredited)
	list, err := s.Endpoints.Endpoints(t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, []webhook.Endpoint{first, second}, list)
	later := now.Add(time.Hour)
	next := webhook.NewSecret()
	got, err := s.Endpoints.UpdateEndpoint(t.Context(), u.ID, first.ID, func(e *webhook.Endpoint) error {
		e.URL, e.Description, e.UpdatedAt, e.Events = "https://b.example/", "", later, []webhook.Event{webhook.CampaignEnded}
		e.Rotate(next, later)
		return nil
	})
	require.NoError(t, err)
	found, err := s.Endpoints.Targets(t.Context(), []uuid.UUID{first.ID, newID(t)})
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]webhook.Endpoint{first.ID: got}, found)
	require.Equal(t, []webhook.Secret{next, first.Secret}, got.Secrets(later.Add(webhook.Overlap-time.Second)))
	require.Equal(t, []webhook.Secret{next}, got.Secrets(later.Add(webhook.Overlap)))
	_, err = s.Endpoints.UpdateEndpoint(t.Context(), u.ID, first.ID, func(e *webhook.Endpoint) error {
		e.URL = "https://c.example/"
		return errs.New(errs.InvalidRequest, "no")
	})
	requireCode(t, err, errs.InvalidRequest)
	require.NoError(t, s.Endpoints.DeleteEndpoint(t.Context(), u.ID, second.ID))
	list, err = s.Endpoints.Endpoints(t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, []webhook.Endpoint{got}, list)
	log, err := s.Audit.AuditLog(t.Context(), auditlog.Query{OwnerID: u.ID, Limit: 100})
	require.NoError(t, err)
	text, err := json.Marshal(log)
	require.NoError(t, err)
	require.Contains(t, string(text), "hooks.example")
	for _, secret := range []string{"secret-path", "whsec_", string(first.Secret), string(next)} {
		require.NotContains(t, string(text), secret)
	}
}

// An endpoint of another account does not exist for the caller, whatever the call.
func endpointsAreOwn(t *testing.T, s Webhooks) {
	victim, thief := AddUser(t, s.Stores), AddUser(t, s.Stores)
	e := addEndpoint(t, s, victim.ID)
	c := AddCampaign(t, s.Stores, victim.ID, campaign.Active)
	sent := deliveries(t, s, e)
	require.Len(t, sent, 1)
	list, err := s.Endpoints.Endpoints(t.Context(), thief.ID)
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = s.Endpoints.UpdateEndpoint(t.Context(), thief.ID, e.ID, func(e *webhook.Endpoint) error {
		e.URL = "https://thief.example/"
		return nil
	})
	requireCode(t, err, errs.NotFound)
	requireCode(t, s.Endpoints.DeleteEndpoint(t.Context(), thief.ID, e.ID), errs.NotFound)
	_, err = s.Endpoints.Deliveries(t.Context(), thief.ID, e.ID, webhook.Page{Limit: 10})
	requireCode(t, err, errs.NotFound)
	requireCode(t, s.Endpoints.Replay(t.Context(), thief.ID, e.ID, sent[0].ID, now), errs.NotFound)
	own := addEndpoint(t, s, thief.ID)
	requireCode(t, s.Endpoints.Replay(t.Context(), thief.ID, own.ID, sent[0].ID, now), errs.NotFound)
	archive(t, s, c.ID)
	require.Empty(t, deliveries(t, s, own), "nothing about the campaign of another account")
	kept, err := s.Endpoints.Endpoints(t.Context(), victim.ID)
	require.NoError(t, err)
	require.Equal(t, []webhook.Endpoint{e}, kept)
}

func archive(t *testing.T, s Webhooks, id uuid.UUID) {
	t.Helper()
	_, err := s.Campaigns.UpdateCampaign(t.Context(), id, func(c *campaign.Campaign) error {
		c.Status = campaign.Archived
		return nil
	})
	require.NoError(t, err)
}

func endpointsAreFew(t *testing.T, s Webhooks) {
	u := AddUser(t, s.Stores)
	for range webhook.MaxEndpoints - 1 {
		addEndpoint(t, s, u.ID)
	}
	var all sync.WaitGroup
	failures := make(chan error, 4)
	for range 4 {
		e := webhook.Endpoint{
			ID: newID(t), AccountID: u.ID, URL: "https://a.example/", Enabled: true, CreatedAt: now, UpdatedAt: now,
			Secret: webhook.NewSecret(),
		}
		all.Go(func() { failures <- s.Endpoints.CreateEndpoint(t.Context(), e) })
	}
	all.Wait()
	close(failures)
	refused := 0
	for err := range failures {
		if err != nil {
			requireCode(t, err, errs.Conflict)
			refused++
		}
	}
	require.Equal(t, 3, refused)
	requireCode(t, s.Endpoints.CreateEndpoint(t.Context(), webhook.Endpoint{ID: newID(t), AccountID: newID(t)}),
		errs.NotFound)
}

func changesWriteMessages(t *testing.T, s Webhooks) {
	u := AddUser(t, s.Stores)
	e := addEndpoint(t, s, u.ID)
	AddCampaign(t, s.Stores, u.ID, campaign.Active)
	c := AddCampaign(t, s.Stores, u.ID, campaign.InReview)
	edit := func(by func(c *campaign.Campaign)) {
		t.Helper()
		_, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(c *campaign.Campaign) error { by(c); return nil })
		require.NoError(t, err)
	}
	decide := func(decision string, status campaign.Status) {
		t.Helper()
		edit(func(c *campaign.Campaign) {
			c.Status, c.Review = status, &campaign.Review{
				Decision: decision, Notes: "words of " + decision, ReviewerID: u.ID, At: now.Add(time.Duration(c.ConfigVersion)),
			}
		})
	}
	decide("approved", campaign.Active)
	edit(func(c *campaign.Campaign) { c.Status = campaign.Paused })
	edit(func(c *campaign.Campaign) { c.Status, c.BidAmount = campaign.Active, c.BidAmount+1 })
	decide("rejected", campaign.Rejected)
	edit(func(c *campaign.Campaign) { c.Status = campaign.Archived })
	require.NoError(t, Pay(t.Context(), s.Payments, u.ID, 12*money.USD+500_000))
	list := deliveries(t, s, e)
	require.Equal(t, []string{
		"campaign.approved", "campaign.approved", "campaign.rejected", "campaign.ended", "deposit.credited",
	}, kinds(list))
	rejected := list[2]
	require.Equal(t, u.ID, rejected.Owner)
	var body struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      map[string]any
	}
	require.NoError(t, json.Unmarshal(rejected.Payload, &body, json.MatchCaseInsensitiveNames(true)))
	require.Equal(t, "campaign.rejected", body.Type)
	require.NotZero(t, body.Timestamp)
	require.Equal(t, map[string]any{
		"campaign_id": c.ID.String(), "advertiser_id": u.ID.String(), "notes": "words of rejected",
	}, body.Data)
	require.Contains(t, string(list[0].Payload), `"amount":12.5`)
	// A change that fails has no message.
	_, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(c *campaign.Campaign) error {
		c.Status = campaign.Rejected
		return errs.New(errs.InvalidState, "no")
	})
	requireCode(t, err, errs.InvalidState)
	require.Len(t, deliveries(t, s, e), 5)
}

func onlyWhoWants(t *testing.T, s Webhooks) {
	u := AddUser(t, s.Stores)
	seat, _ := addSeat(t, s.Stores, u)
	ended, all, off := addEndpoint(t, s, u.ID, webhook.CampaignEnded), addEndpoint(t, s, u.ID), addEndpoint(t, s, u.ID)
	_, err := s.Endpoints.UpdateEndpoint(t.Context(), u.ID, off.ID, func(e *webhook.Endpoint) error {
		e.Enabled = false
		return nil
	})
	require.NoError(t, err)
	archive(t, s, AddCampaign(t, s.Stores, seat.ID, campaign.Active).ID)
	require.Equal(t, []string{"campaign.approved", "campaign.ended"}, kinds(deliveries(t, s, all)), "of its seats too")
	require.Equal(t, []string{"campaign.ended"}, kinds(deliveries(t, s, ended)))
	require.Empty(t, deliveries(t, s, off))
	c := ledger.Quarantine{ID: newID(t), DeveloperID: seat.DeveloperID}
	require.NoError(t, s.Audit.RecordAudit(t.Context(), auditlog.OfCase(c)))
	require.NoError(t, s.Audit.RecordAudit(t.Context(), auditlog.OfVerdict(
		c, ledger.QuarantineVerdict{Case: c.ID, Decision: ledger.QuarantineRelease},
	)))
	require.Equal(t, "quarantine.ended", deliveries(t, s, all)[0].Kind)
	require.Len(t, deliveries(t, s, all), 3)
}

// claim claims messages at a time.
func claim(t *testing.T, s Webhooks, at time.Time, most int, except ...uuid.UUID) []outbox.Message {
	t.Helper()
	list, err := s.Outbox.ClaimMessages(t.Context(), outbox.Claim{
		Topic: outbox.Webhooks, Now: at, Lease: time.Minute, Most: most, PerTarget: 2, Except: except,
	})
	require.NoError(t, err)
	return list
}

func end(t *testing.T, s Webhooks, e outbox.Ended) {
	t.Helper()
	require.NoError(t, s.Outbox.EndAttempt(t.Context(), e))
}

func subjectsKeepOrder(t *testing.T, s Webhooks) {
	u := AddUser(t, s.Stores)
	e := addEndpoint(t, s, u.ID)
	first := AddCampaign(t, s.Stores, u.ID, campaign.Active)
	archive(t, s, first.ID)
	at := time.Now().Add(time.Minute)
	list := claim(t, s, at, 10)
	require.Equal(t, []string{"campaign.approved"}, kinds(list), "the end waits for the approval")
	require.Equal(t, 1, list[0].Attempts)
	end(t, s, outbox.After(list[0], at, 500, "the endpoint answered 500"))
	require.Empty(t, claim(t, s, at, 10), "it waits for its next attempt, and the end still for it")
	AddCampaign(t, s.Stores, u.ID, campaign.Active)
	other := claim(t, s, at, 10)
	require.Len(t, other, 1, "another subject does not wait")
	end(t, s, outbox.Ended{Message: other[0], At: at, State: outbox.Delivered, Status: 204})
	at = at.Add(time.Hour)
	list = claim(t, s, at, 10)
	require.Equal(t, []string{"campaign.approved"}, kinds(list))
	require.Equal(t, 2, list[0].Attempts)
	end(t, s, outbox.Ended{Message: list[0], At: at, State: outbox.Delivered, Status: 200})
	list = claim(t, s, at, 10)
	require.Equal(t, []string{"campaign.ended"}, kinds(list))
	kept := deliveries(t, s, e)
	require.Equal(t, outbox.Delivered, kept[2].State)
	require.Equal(t, 200, kept[2].Status)
	require.Empty(t, kept[2].Problem)
	require.WithinDuration(t, at, kept[2].EndedAt, time.Millisecond)
	require.WithinDuration(t, at, kept[2].TriedAt, time.Millisecond)
}

func oneSender(t *testing.T, s Webhooks) {
	u := AddUser(t, s.Stores)
	e, busy := addEndpoint(t, s, u.ID), addEndpoint(t, s, u.ID)
	for range 3 {
		AddCampaign(t, s.Stores, u.ID, campaign.Active)
	}
	at := time.Now().Add(time.Minute)
	require.Len(t, claim(t, s, at, 1, busy.ID), 1)
	list := claim(t, s, at, 10, busy.ID)
	require.Len(t, list, 2, "at most two of a target at once, none of a busy one")
	require.Empty(t, claim(t, s, at, 10, busy.ID), "all are leased")
	var all sync.WaitGroup
	found := make(chan int, 8)
	for range cap(found) {
		all.Go(func() {
			got, err := s.Outbox.ClaimMessages(t.Context(), outbox.Claim{
				Topic: outbox.Webhooks, Now: at, Lease: time.Minute, Most: 10, PerTarget: 10, Except: []uuid.UUID{e.ID},
			})
			if err != nil {
				got = nil
			}
			found <- len(got)
		})
	}
	all.Wait()
	close(found)
	sum := 0
	for n := range found {
		sum += n
	}
	require.LessOrEqual(t, sum, 3, "eight senders at once never share a message")
	stale := list[0]
	later := at.Add(time.Minute)
	again := claim(t, s, later, 10, busy.ID)
	require.NotEmpty(t, again, "a sender that died lets go after its lease")
	end(t, s, outbox.Ended{Message: stale, At: later, State: outbox.Delivered, Status: 200})
	for _, m := range deliveries(t, s, e) {
		if m.ID == again[0].ID {
			require.Equal(t, outbox.Waiting, m.State, "the late result of an earlier lease changes nothing")
		}
	}
}

// An endpoint that never answers keeps a bounded number of rows, and stops no change.
func messagesAreFew(t *testing.T, s Webhooks) {
	u, other := AddUser(t, s.Stores), AddUser(t, s.Stores)
	e, apart := addEndpoint(t, s, u.ID), addEndpoint(t, s, other.ID)
	AddCampaign(t, s.Stores, other.ID, campaign.Active)
	write := func(n int) {
		for i := range n {
			require.NoError(t, s.Audit.RecordAudit(t.Context(), auditlog.Entry{
				TargetKind: auditlog.TargetCampaign, TargetID: fmt.Sprint(i), OwnerID: u.ID,
				Changes: map[string]auditlog.Change{"status": {Before: "active", After: "archived"}},
			}))
		}
	}
	write(outbox.MaxWaiting + 5)
	counts, err := s.Outbox.CountMessages(t.Context(), outbox.Webhooks)
	require.NoError(t, err)
	require.Equal(t, outbox.Counts{outbox.Waiting: outbox.MaxWaiting + 1, outbox.Dropped: 5}, counts)
	list := deliveries(t, s, e)
	require.Len(t, list, outbox.MaxWaiting+5)
	require.Equal(t, outbox.Dropped, list[len(list)-1].State, "the oldest")
	require.Equal(t, outbox.Crowded, list[len(list)-1].Problem)
	require.NotZero(t, list[len(list)-1].EndedAt)
	require.Equal(t, outbox.Waiting, list[0].State)
	_, err = s.Endpoints.UpdateEndpoint(t.Context(), u.ID, e.ID, func(e *webhook.Endpoint) error {
		e.Enabled = false
		return nil
	})
	require.NoError(t, err)
	_, err = s.Endpoints.UpdateEndpoint(t.Context(), u.ID, e.ID, func(e *webhook.Endpoint) error {
		e.Enabled = true
		return nil
	})
	require.NoError(t, err)
	write(1)
	require.Len(t, deliveries(t, s, e), outbox.MaxEnded+1, "the log is bounded too")
	require.Len(t, deliveries(t, s, apart), 1)
}

func messagesEnd(t *testing.T, s Webhooks) {
	u := AddUser(t, s.Stores)
	e := addEndpoint(t, s, u.ID)
	AddCampaign(t, s.Stores, u.ID, campaign.Active)
	at := time.Now().Add(time.Minute).UTC().Truncate(time.Microsecond)
	m := claim(t, s, at, 1)[0]
	requireCode(t, s.Endpoints.Replay(t.Context(), u.ID, e.ID, m.ID, at), errs.InvalidState)
	end(t, s, outbox.Ended{Message: m, At: at, State: outbox.Failed, Status: 500, Problem: "the endpoint answered 500"})
	require.Empty(t, claim(t, s, at.Add(time.Hour), 1))
	failed, err := s.Endpoints.Deliveries(t.Context(), u.ID, e.ID, webhook.Page{State: outbox.Failed, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "the endpoint answered 500", failed[0].Problem)
	waiting, err := s.Endpoints.Deliveries(t.Context(), u.ID, e.ID, webhook.Page{State: outbox.Waiting, Limit: 1})
	require.NoError(t, err)
	require.Empty(t, waiting)
	requireCode(t, s.Endpoints.Replay(t.Context(), u.ID, e.ID, newID(t), at), errs.NotFound)
	require.NoError(t, s.Endpoints.Replay(t.Context(), u.ID, e.ID, m.ID, at.Add(time.Hour)))
	again := claim(t, s, at.Add(time.Hour), 1)[0]
	require.Equal(t, m.ID, again.ID, "the receiver recognizes it")
	require.Equal(t, 1, again.Attempts)
	require.Equal(t, at.Add(time.Hour), again.BegunAt)
	set := func(enabled bool) {
		t.Helper()
		_, err := s.Endpoints.UpdateEndpoint(t.Context(), u.ID, e.ID, func(e *webhook.Endpoint) error {
			e.Enabled = enabled
			return nil
		})
		require.NoError(t, err)
	}
	set(false)
	require.Equal(t, outbox.Dropped, deliveries(t, s, e)[0].State)
	requireCode(t, s.Endpoints.Replay(t.Context(), u.ID, e.ID, m.ID, at), errs.InvalidState)
	set(true)
	require.NoError(t, s.Endpoints.Replay(t.Context(), u.ID, e.ID, m.ID, at))
	last := claim(t, s, at, 1)[0]
	end(t, s, outbox.Ended{Message: last, At: at, State: outbox.Delivered, Status: 200})
	n, err := s.Outbox.PruneMessages(t.Context(), at, 10)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = s.Outbox.PruneMessages(t.Context(), at.Add(time.Second), 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Empty(t, deliveries(t, s, e))
	AddCampaign(t, s.Stores, u.ID, campaign.Active)
	require.NoError(t, s.Endpoints.DeleteEndpoint(t.Context(), u.ID, e.ID))
	require.Empty(t, claim(t, s, at.Add(time.Hour), 10), "its messages are gone with it")
}
