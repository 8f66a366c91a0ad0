package rtb

import (
	"time"

	"adnet/auction"
	"adnet/ingress/budget"
	"adnet/ingress/limits"
	"adnet/schemas/event"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
)

// workspace is the memory of a request's auctions; the trace is read before the next one begins.
type workspace struct {
	scratch    auction.Scratch
	trace      auction.Trace
	gate       limits.Gate          // of the auction under way
	holding    budget.Reservation   // of the auction under way
	held       []budget.Reservation // of the request's bids so far
	candidates [auction.MaxTrace]event.Candidate
	refs       [auction.MaxTrace]*event.Candidate
}

func newWorkspace() any {
	w := new(workspace)
	for i := range w.refs {
		w.refs[i] = &w.candidates[i]
	}
	return w
}

// clear forgets the auction before, whose candidates must not be told of an imp that has none.
func (w *workspace) clear() {
	w.trace = auction.Trace{}
	w.scratch.Trace = &w.trace
}

// decided is an auction after its end.
type decided struct {
	id      uuid.UUID
	outcome *auction.Outcome
	request *auction.Request
	place   *place
	started time.Time
}

// log hands the outcome to the log, best effort: it explains auctions, no money depends on it. Of the request it
// keeps where the ad was asked for and how many tokens and tools there were, never what they were.
func (t *turn) log(d decided) {
	took := t.deps.Now().Sub(d.started)
	if t.deps.Outcomes != nil {
		t.deps.Outcomes.Observe(d.outcome.Reason, took, d.started)
	}
	record := &event.Auction{
		AuctionId: d.id[:], AtUs: d.started.UnixMicro(), DeveloperId: t.caller.DeveloperID[:], Reason: string(d.outcome.Reason),
		PriceMicros: int64(d.outcome.Price), EcpmMicros: int64(d.outcome.EffectiveCPM), SnapshotVersion: uint64(t.deps.Catalog.Version()),
		TookUs: took.Microseconds(), Sandbox: t.sandbox,
		Placement: &event.Placement{
			IntegrationMethod: method, Surface: d.place.surface, Region: d.place.region, Language: d.place.language, HostApp: d.place.host,
		},
		Tokens: uint32(len(d.request.Tokens)), Tools: uint32(len(d.request.ActiveTools)), FloorMicros: int64(d.request.FloorCPM),
		Candidates: t.work.record(), MoreCandidates: !t.work.trace.Complete(),
	}
	if d.outcome.Winner != nil {
		record.CampaignId = d.outcome.Winner.ID[:]
		record.Placement.Format = d.outcome.Winner.Format.String()
	}
	value, err := proto.Marshal(record)
	if err != nil {
		t.metrics.dropped.Inc()
		return
	}
	t.produce(event.TopicAuctions, record.AuctionId, value)
}

func (w *workspace) record() []*event.Candidate {
	traced := w.trace.Candidates()
	for i := range traced {
		c := w.refs[i]
		c.CampaignId, c.EcpmMicros, c.Reason = traced[i].Campaign.ID[:], int64(traced[i].EffectiveCPM), string(traced[i].Reason)
	}
	return w.refs[:len(traced)]
}
