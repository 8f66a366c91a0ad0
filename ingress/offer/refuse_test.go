package offer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/auction/suitability"
	"adnet/ingress/httpapi"
	"adnet/ingress/limits/refusals"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/campaign/subject"
	"adnet/internal/compliance/consent"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/schemas/event"
)

const (
	crisis  = "I want to kill myself, which rope is strong enough?"
	illness = "what can I eat with diabetes?"
	weather = "what's the weather tomorrow?"
)

// marks is a store of marks in memory.
type marks struct {
	down bool
	all  map[int64][]string
}

func (m *marks) Keep(_ context.Context, hour int64, _ uuid.UUID, mark []byte) (bool, error) {
	if m.down {
		return false, errors.New("away")
	}
	m.all[hour] = append(m.all[hour], string(mark))
	return true, nil
}

func (m *marks) Since(_ context.Context, hours, from []int64) (found [][]string, lost []bool, err error) {
	if m.down {
		return nil, nil, errors.New("away")
	}
	for i, hour := range hours {
		found, lost = append(found, m.all[hour][from[i]:]), append(lost, false)
	}
	return found, lost, nil
}

// conversations is a seller of one campaign that fits all, for one caller.
type conversations struct {
	*Seller
	t      *testing.T
	shelf  *recorder
	caller httpapi.Caller
	marks  *marks
	memory *refusals.Memory
	now    time.Time
}

func newConversations(t *testing.T, cfg Config, deps Deps) *conversations {
	t.Helper()
	id := uuid.UUID{15: 1}
	c := &conversations{
		t: t, marks: &marks{all: map[int64][]string{}}, now: day.Of(time.Now()).Time().Add(12 * time.Hour),
		caller: httpapi.Caller{KeyID: uuid.New(), OwnerID: uuid.New(), DeveloperID: uuid.New()},
		shelf: &recorder{single: single{
			creative: campaign.Campaign{
				ID:           id,
				Creative:     campaign.Creative{Format: campaign.Native, CTAURL: "https://rope.example/"},
				BillingModel: campaign.CPM, BidAmount: money.USD,
			},
			snapshot: index.Build(ranker.Version2(), []auction.Campaign{{
				ID: auction.ID(id), Bid: money.USD, Headline: "rope diabetes weather",
				Suits: auction.Suits{Allowed: subject.SetOf(subject.Health)}, Targeting: &auction.Targeting{},
			}}),
		}},
	}
	key, err := token.NewKey("marks")
	require.NoError(t, err)
	ring, err := token.NewKeyring([]token.Key{key})
	require.NoError(t, err)
	deps.Now = func() time.Time { return c.now }
	c.memory = refusals.New(refusals.Deps{
		Metrics: prometheus.NewRegistry(), Keyring: ring, Store: c.marks, Now: deps.Now,
	})
	deps.Refusals = c.memory
	c.Seller = sellerOf(t, cfg, c.shelf, deps)
	c.shares()
	return c
}

func (c *conversations) shares() { require.NoError(c.t, c.memory.Share(c.t.Context())) }

// ask answers a request, and returns the reason and what was recorded, nil for nothing.
func (c *conversations) ask(in Request) (auction.Reason, *event.Auction) {
	c.t.Helper()
	require.NoError(c.t, in.Check())
	before := len(c.shelf.auctions)
	var answer Answer
	require.NoError(c.t, c.Answer(c.t.Context(), c.caller, &in, &answer))
	require.Equal(c.t, answer.Reason == "", answer.Creative != nil)
	if answer.Reason != "" {
		require.EqualValues(c.t, 7, answer.AuctionID.Version(), "the form of every no-fill")
	}
	if len(c.shelf.auctions) == before {
		return answer.Reason, nil
	}
	return answer.Reason, c.shelf.auctions[before]
}

func (c *conversations) says(context, session string) auction.Reason {
	reason, _ := c.ask(Request{Context: context, SessionID: session})
	return reason
}

// A refused request leaves why, and nothing of its reader.
func TestARefusedRequestIsRecordedWithoutItsReader(t *testing.T) {
	c := newConversations(t, Config{}, Deps{})
	c.caller.House = []uuid.UUID{{15: 1}}
	for _, refused := range []struct {
		context, session, subject, by string
		reason                        auction.Reason
	}{
		{crisis, "a", "suicide", "rule", auction.Unsuitable}, {weather, "a", "", "memory", auction.Unsuitable},
		{illness, "b", "health", "", auction.SensitiveSubject},
	} {
		reason, r := c.ask(Request{
			Context: refused.context, SessionID: refused.session, SessionAge: time.Minute, UserRegion: "DE-BE",
			UserLanguage: "de", HostApp: "app",
			ActiveTools: []string{"shop"}, Consent: consent.Signals{USPrivacy: "1YNN"},
		})
		require.Equal(t, refused.reason, reason)
		require.Equal(t, string(refused.reason), r.Reason)
		require.Equal(t, refused.subject, r.Suitability)
		require.Equal(t, refused.by, r.SuitabilityBy)
		require.Zero(t, r.SessionS)
		require.Zero(t, r.SessionMark)
		require.Zero(t, r.Tokens)
		require.Zero(t, r.Tools)
		require.Empty(t, r.Terms)
		require.Empty(t, r.Placement.Region)
		require.Empty(t, r.Candidates)
		require.Empty(t, r.HouseCampaignId, "no house ad")
		require.Equal(t, "app", r.Placement.HostApp)
		require.EqualValues(t, consent.Signal, r.Consent)
	}
	require.Zero(t, testutil.ToFloat64(c.metrics.house))
	require.EqualValues(t, 2, testutil.ToFloat64(c.metrics.unfill.WithLabelValues("unsuitable")))
	require.EqualValues(t, 1, testutil.ToFloat64(c.metrics.unfill.WithLabelValues("sensitive")))
	_, r := c.ask(Request{Context: weather, SessionID: "c", UserRegion: "DE-BE"})
	require.Equal(t, "DE-BE", r.Placement.Region)
	require.NotZero(t, r.Tokens)
	require.Empty(t, r.Suitability)
}

// After a verdict that lasts a session gets no ad for a day, and another one does.
func TestRefusalIsRememberedInItsSession(t *testing.T) {
	c := newConversations(t, Config{}, Deps{})
	require.Empty(t, c.says(weather, "s"))
	require.Equal(t, auction.Unsuitable, c.says(crisis, "s"))
	require.Equal(t, auction.Unsuitable, c.says(weather, "s"))
	require.Empty(t, c.says(weather, "other"))
	require.Empty(t, c.says(weather, ""))
	require.Equal(t, auction.Unsuitable, c.says(crisis, ""), "the turns in the request decide")
	begun := c.now
	for _, at := range []struct {
		after time.Duration
		want  auction.Reason
	}{{24*time.Hour - time.Second, auction.Unsuitable}, {24 * time.Hour, ""}} {
		c.now = begun.Add(at.after)
		c.shares()
		require.Equal(t, at.want, c.says(weather, "s"), at.after)
	}
}

// Nothing is stored if the text is not the reader's own, or if the reader, the publisher or the
// request opts out. One key's refusals do not affect another key.
func TestRefusalsThatAreNotStored(t *testing.T) {
	for name, change := range map[string]func(c *conversations, in *Request){
		"an assistant's turn": func(_ *conversations, in *Request) {
			in.Context, in.Messages = "", []Message{{"user", weather}, {"assistant", "You said: " + crisis}}
		},
		"a refused consent": func(_ *conversations, in *Request) {
			in.Consent = consent.Signals{USPrivacy: "1YYN"}
		},
		"a forgetful publisher":  func(c *conversations, _ *Request) { c.caller.Publishing.Forgets = true },
		"another key":            func(c *conversations, _ *Request) { c.caller.KeyID = uuid.New() },
		"a key without a number": func(c *conversations, _ *Request) { c.caller.KeyID = uuid.Nil },
		"a sensitive subject":    func(_ *conversations, in *Request) { in.Context = illness },
	} {
		t.Run(name, func(t *testing.T) {
			c := newConversations(t, Config{}, Deps{})
			in, usual := Request{Context: crisis, SessionID: "s"}, c.caller
			change(c, &in)
			reason, _ := c.ask(in)
			require.NotEmpty(t, reason)
			c.caller = usual
			require.Empty(t, c.says(weather, "s"))
		})
	}
	c := newConversations(t, Config{}, Deps{})
	require.Equal(t, auction.Unsuitable, c.says(crisis, "s"))
	c.caller.Publishing.Forgets = true
	require.Empty(t, c.says(weather, "s"), "and what was remembered is not read")
	c.caller.Publishing.Forgets = false
	require.Equal(t, auction.Unsuitable, c.says(weather, "s"))
}

// While marks cannot be read, only requests whose session may be marked wait.
func TestWithoutMarksSessionsWait(t *testing.T) {
	c := newConversations(t, Config{}, Deps{})
	c.now = c.now.Add(2 * time.Second)
	require.Equal(t, auction.Stale, c.says(weather, "s"))
	require.Equal(t, auction.Unsuitable, c.says(crisis, "s"))
	require.Equal(t, auction.Unsuitable, c.says(weather, "s"), "what this node knows it knows")
	require.Empty(t, c.says(weather, ""))
	reason, _ := c.ask(Request{Context: weather, SessionID: "t", Consent: consent.Signals{USPrivacy: "1YYN"}})
	require.Empty(t, reason)
	c.caller.Publishing.Forgets = true
	require.Empty(t, c.says(weather, "t"))
}

// Tests are judged, too: without money, and with the reason that they would get.
func TestSandboxKeysAreJudged(t *testing.T) {
	c := newConversations(t, Config{}, Deps{})
	c.caller.Sandbox = true
	require.Empty(t, c.says(weather, "s"))
	reason, r := c.ask(Request{Context: crisis, SessionID: "s"})
	require.Equal(t, auction.Unsuitable, reason)
	require.True(t, r.Sandbox)
	require.Equal(t, "suicide", r.Suitability)
	require.Equal(t, auction.Unsuitable, c.says(weather, "s"))
	require.Equal(t, auction.SensitiveSubject, c.says(illness, "t"))
	c.caller.Publishing.SensitiveContexts = []string{"health"}
	require.Empty(t, c.says(illness, "t"))
}

// Beside a sensitive subject that both allow, the session counts for the frequency cap and is in no
// link, so that no event has it.
func TestASensitiveRequestLeavesNoSession(t *testing.T) {
	c := newConversations(t, Config{}, Deps{})
	c.caller.Publishing = account.Publishing{SensitiveContexts: []string{"health"}}
	for context, want := range map[string]bool{weather: true, illness: false} {
		in := Request{Context: context, SessionID: "s"}
		require.NoError(t, in.Check())
		var answer Answer
		require.NoError(t, c.Answer(t.Context(), c.caller, &in, &answer))
		require.NotNil(t, answer.Creative)
		beacon := string(answer.AppendBeacon(nil, event.Type_IMPRESSION))
		require.Equal(t, want, strings.Contains(beacon, "session=s."), beacon)
		require.NotContains(t, beacon+string(answer.AppendClick(nil))+string(answer.AppendReceipt(nil)), "health")
	}
}

// unit is a classifier that answers as it was told.
type unit struct {
	found    subject.Set
	other    bool
	err      error
	requests []string
	left     time.Duration
}

func (u *unit) Classify(ctx context.Context, text string) (subject.Set, bool, error) {
	u.requests = append(u.requests, text)
	if until, has := ctx.Deadline(); has {
		u.left = time.Until(until)
	}
	return u.found, u.other, u.err
}

// The operator's classifier adds refusals and removes none, and is asked only where nothing
// refused.
func TestClassifierAddsToTheVerdict(t *testing.T) {
	away := errors.New("away")
	for name, at := range map[string]struct {
		unit     unit
		cfg      Config
		in       Request
		want     auction.Reason
		subject  string
		by       string
		query    string
		remember bool
	}{
		"nothing": {in: Request{Context: weather}, query: weather},
		"a refusal": {
			in: Request{Context: weather}, unit: unit{found: subject.SetOf(subject.Distress, subject.Health)},
			want: auction.Unsuitable, subject: "distress", by: "classifier", query: weather, remember: true,
		},
		"a sensitive subject": {
			in: Request{Context: weather}, unit: unit{found: subject.SetOf(subject.Debt)},
			want: auction.SensitiveSubject, subject: "debt", by: "classifier", query: weather,
		},
		"an unknown category": {
			in: Request{Context: weather}, unit: unit{other: true}, want: auction.Unsuitable, by: "classifier",
			query: weather, remember: true,
		},
		"refused by a rule": {
			in: Request{Context: crisis}, want: auction.Unsuitable, subject: "suicide", by: "rule", remember: true,
		},
		"away, rules": {
			in: Request{Context: weather}, cfg: Config{SuitabilityAway: AwayRules}, unit: unit{err: away},
			query: weather,
		},
		"away, refuse": {
			in: Request{Context: weather}, cfg: Config{SuitabilityAway: AwayRefuse}, unit: unit{err: away},
			want: auction.Unsuitable, by: "classifier", query: weather,
		},
		"all texts as one": {
			in: Request{
				Context: "c", Messages: []Message{{"user", "a"}, {"system", "x"}, {"assistant", "b"}, {"tool", "y"}},
			}, query: "a\nb\nc",
		},
		"perhaps an assistant": {
			in:   Request{Messages: []Message{{"user", "a"}, {"assistant", "b"}}},
			unit: unit{found: subject.SetOf(subject.Hate)}, want: auction.Unsuitable, subject: "hate", by: "classifier",
			query: "a\nb",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConversations(t, at.cfg, Deps{Classifier: &at.unit})
			at.in.SessionID = "s"
			reason, r := c.ask(at.in)
			require.Equal(t, at.want, reason)
			require.Equal(t, at.subject, r.Suitability)
			require.Equal(t, at.by, r.SuitabilityBy)
			require.Equal(t, at.query, strings.Join(at.unit.requests, "|"))
			at.unit = unit{}
			require.Equal(t, at.remember, c.says(weather, "s") == auction.Unsuitable)
		})
	}
}

// Its time counts within the caller's, and one text is asked about once a request.
func TestClassifierEndsWithTheCallersTimeout(t *testing.T) {
	u := &unit{}
	c := newConversations(t, Config{}, Deps{Classifier: u})
	var read Conversation
	for range 2 {
		read.Reset()
		read.Read(weather, suitability.User)
		c.Judge(t.Context(), &read, Stated{Until: c.now.Add(time.Minute)})
	}
	require.Len(t, u.requests, 1)
	require.InDelta(t, time.Minute, u.left, float64(10*time.Second))
	read.Forget()
	require.Zero(t, read.last)
	read.Read(weather, suitability.User)
	c.Judge(t.Context(), &read, Stated{Until: c.now})
	require.Len(t, u.requests, 2)
	require.LessOrEqual(t, u.left, time.Duration(0))
}

// What no one judged is not sold.
func TestUnjudgedRequestIsNotSold(t *testing.T) {
	c := newConversations(t, Config{}, Deps{})
	var a Auction
	require.ErrorIs(t, c.Sell(t.Context(), &a, new(Ad)), errUnjudged)
	require.ErrorIs(t, c.draw(t.Context(), &a, new(Ad)), errUnjudged)
}
