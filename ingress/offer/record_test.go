package offer

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/campaign/subject"
	"adnet/internal/money"
	"adnet/schemas/event"
)

// recorder keeps the auctions that are produced.
type recorder struct {
	single
	auctions []*event.Auction
}

func (r *recorder) Produce(_ string, _, value []byte, done func(error)) {
	a := new(event.Auction)
	done(proto.Unmarshal(value, a))
	r.auctions = append(r.auctions, a)
}

// Of a request with an ad the terms that campaigns say are recorded by number, without order; of
// one with a sensitive subject, and of a key that says no, nothing.
func TestWhatIsRecordedForLearning(t *testing.T) {
	id := uuid.UUID{15: 1}
	letters := strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike " +
		"november oscar papa quebec " +
		"romeo sierra tango uniform victor willow yonder yankee zulu amber bronze copper diamond emerald feldspar " +
		"garnet")
	k := campaign.Campaign{
		ID: id, Creative: campaign.Creative{Format: campaign.Native}, BillingModel: campaign.CPM, BidAmount: money.USD,
	}
	shelf := &recorder{single: single{creative: k, snapshot: index.Build(ranker.Version2(), []auction.Campaign{{
		ID: auction.ID(id), Bid: money.USD, Headline: "zebra apple diabetes",
		Suits:     auction.Suits{Allowed: subject.SetOf(subject.Health)},
		Targeting: &auction.Targeting{IntentTokens: letters},
	}})}}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	seller := sellerOf(t, Config{}, shelf, Deps{Now: func() time.Time { return now }})
	caller := httpapi.Caller{
		DeveloperID: uuid.New(), Publishing: account.Publishing{SensitiveContexts: []string{"health"}},
	}
	ask := func(context, session string) *event.Auction {
		in := Request{Context: context, SessionID: session, SessionAge: time.Minute}
		require.NoError(t, in.Check())
		var answer Answer
		require.NoError(t, seller.Answer(t.Context(), caller, &in, &answer))
		require.NotNil(t, answer.Creative)
		return shelf.auctions[len(shelf.auctions)-1]
	}
	first := ask("zebra or apple in Heidelberg?", "s1")
	want := []uint32{lexicon.TermID("zebra"), lexicon.TermID("appl")}
	slices.Sort(want)
	require.Equal(t, want, first.Terms, "not what no campaign says")
	require.NotZero(t, first.PClick)
	require.EqualValues(t, 60, first.SessionS)
	sensitive := ask("zebra or apple against my diabetes in Heidelberg?", "s1")
	require.Empty(t, sensitive.Terms)
	require.Zero(t, sensitive.PClick)
	require.Zero(t, sensitive.SessionMark)
	require.Zero(t, sensitive.SessionS)
	require.Empty(t, sensitive.Suitability, "the subject of a sold ad is named nowhere")
	require.Empty(t, sensitive.SuitabilityBy)
	require.Equal(t, first.Terms, ask("apple, then zebra", "s1").Terms, "no order")
	require.Equal(t, first.SessionMark, ask("zebra", "s1").SessionMark)
	require.NotEqual(t, first.SessionMark, ask("zebra", "s2").SessionMark)
	require.Zero(t, ask("zebra", "").SessionMark)
	require.Len(t, ask(strings.Join(letters, " "), "").Terms, auction.MaxRecorded)
	now = now.AddDate(0, 1, 0)
	require.NotEqual(t, first.SessionMark, ask("zebra", "s1").SessionMark, "another month")

	caller.Unlearned = true
	none := ask("zebra or apple", "s1")
	require.Regexp(t, `^benna-2\.[0-9a-f]{8}$`, none.ModelVersion, "but what decided")
	require.Empty(t, none.Terms)
	require.Zero(t, none.SessionMark)
	require.Zero(t, none.PClick)
}

// slow keeps what is produced, and reports it later.
type slow struct {
	single
	values [][]byte
	ends   []func(error)
}

func (s *slow) Produce(_ string, key, value []byte, done func(error)) {
	s.values, s.ends = append(s.values, slices.Concat(key, value), key, value), append(s.ends, done)
}

// The producer owns the memory of a record until it reports the result. Then the memory is reused.
func TestProducerOwnsRecords(t *testing.T) {
	id := uuid.UUID{15: 1}
	shelf := &slow{single: single{
		creative: campaign.Campaign{
			ID: id, Creative: campaign.Creative{Format: campaign.Native}, BillingModel: campaign.CPM,
			BidAmount: money.USD,
		},
		snapshot: index.Build(
			ranker.Version2(),
			[]auction.Campaign{{ID: auction.ID(id), Bid: money.USD, Targeting: &auction.Targeting{}}},
		),
	}}
	seller := sellerOf(t, Config{}, shelf, Deps{})
	ask := func() {
		in := Request{Context: "chess"}
		require.NoError(t, in.Check())
		require.NoError(t, seller.Answer(t.Context(), httpapi.Caller{DeveloperID: uuid.New()}, &in, new(Answer)))
	}
	for range 3 { // in flight at once
		ask()
	}
	for i := 0; i < len(shelf.values); i += 3 {
		require.Equal(t, shelf.values[i], slices.Concat(shelf.values[i+1], shelf.values[i+2]))
		require.Len(t, shelf.values[i+1], 16)
	}
	for i, end := range shelf.ends {
		end([]error{nil, io.ErrClosedPipe}[i%2])
	}
	require.EqualValues(t, 1, testutil.ToFloat64(seller.metrics.dropped), "the one that failed")
}

// trials has weights on trial.
type trials struct {
	snapshot *auction.Snapshot
	decides  bool
}

func (x *trials) Trial(uuid.UUID) (*auction.Snapshot, bool) { return x.snapshot, x.decides }

// Every outcome has the version of the tables that decided, and what the weights on trial foretold.
func TestTheVersionThatDecidedIsRecorded(t *testing.T) {
	campaigns := []auction.Campaign{{ID: auction.ID{15: 1}, Bid: money.USD, Headline: "zebra apple"}}
	learnt := &ranker.Learnt{Version: 7}
	for i := range learnt.Clicks {
		learnt.Clicks[i] = 777
	}
	trial := &trials{}
	shelf := &recorder{single: single{
		creative: campaign.Campaign{
			ID:           uuid.UUID{15: 1},
			Creative:     campaign.Creative{Format: campaign.Native},
			BillingModel: campaign.CPM, BidAmount: money.USD,
		},
		snapshot: index.Build(ranker.Version2(), campaigns),
	}}
	seller := sellerOf(t, Config{}, shelf, Deps{Trials: trial})
	ask := func(context string) *event.Auction {
		in := Request{Context: context}
		require.NoError(t, in.Check())
		require.NoError(t, seller.Answer(t.Context(), httpapi.Caller{DeveloperID: uuid.New()}, &in, &Answer{}))
		return shelf.auctions[len(shelf.auctions)-1]
	}
	first := ask("zebra")
	require.Equal(t, shelf.snapshot.Model(), first.ModelVersion)
	require.Zero(t, first.TrialPClick)
	require.Equal(t, shelf.snapshot.Model(), ask("nothing of it").ModelVersion, "also without an ad")

	trial.snapshot = index.Build(ranker.Version2().With(learnt), campaigns)
	shadow := ask("zebra")
	require.Equal(t, first.ModelVersion, shadow.ModelVersion)
	require.Equal(t, first.PClick, shadow.PClick, "it decides nothing")
	require.EqualValues(t, 777, shadow.TrialPClick)
	require.Zero(t, shadow.Weights)

	trial.decides = true
	decided := ask("zebra")
	require.Equal(t, first.ModelVersion+"-7", decided.ModelVersion)
	require.EqualValues(t, 7, decided.Weights)
	require.EqualValues(t, 777, decided.PClick)
	require.EqualValues(t, 777, decided.TrialPClick)
}
