package serve

import (
	"time"

	"adnet/auction"
	"adnet/ingress/budget"
	"adnet/ingress/limits"
	"adnet/schemas/event"

	"github.com/google/uuid"
)

// Outcomes is told how each auction of this node ended.
type Outcomes interface {
	// Observe counts one auction: reason is empty when it was filled, took is the time of the decision.
	Observe(reason auction.Reason, took time.Duration, now time.Time)
}

// workspace is the memory of one auction; the trace is read before the workspace goes back to the pool.
type workspace struct {
	scratch    auction.Scratch
	trace      auction.Trace
	gate       limits.Gate
	chain      auction.Chain // of gates
	held       budget.Reservation
	candidates [auction.MaxTrace]event.Candidate
	refs       [auction.MaxTrace]*event.Candidate
	request    auction.Request
	placed     placement
	tokens     []string
	id         uuid.UUID
	record     event.Auction
	placement  event.Placement
	wire       []byte // of the record
}

// forget lets go of what the request said.
func (w *workspace) forget() {
	w.request, w.placed = auction.Request{}, placement{}
	clear(w.tokens)
}

func newWorkspace() any {
	w := new(workspace)
	w.scratch.Trace = &w.trace
	for i := range w.refs {
		w.refs[i] = &w.candidates[i]
	}
	return w
}

// decided is an auction after its end.
type decided struct {
	attempt
	outcome *auction.Outcome
}

// log hands the outcome to the log, best effort: it explains auctions, no money depends on it. Of the request it
// keeps where the ad was asked for and how many tokens and tools there were, never what they were.
func (s *Server) log(d decided, work *workspace) {
	took := s.deps.Now().Sub(d.now)
	if s.deps.Outcomes != nil {
		s.deps.Outcomes.Observe(d.outcome.Reason, took, d.now)
	}
	record, placed := &work.record, d.placed
	work.id = d.id
	work.placement = event.Placement{
		Format: placed.format, IntegrationMethod: placed.method, Surface: placed.surface,
		Region: placed.region, Language: placed.language, HostApp: placed.host,
	}
	*record = event.Auction{
		AuctionId: work.id[:], AtUs: d.now.UnixMicro(), DeveloperId: placed.developer[:], Reason: string(d.outcome.Reason),
		PriceMicros: int64(d.outcome.Price), EcpmMicros: int64(d.outcome.EffectiveCPM), SnapshotVersion: uint64(s.deps.Catalog.Version()),
		TookUs: took.Microseconds(), Placement: &work.placement,
		Tokens: uint32(len(d.request.Tokens)), Tools: uint32(len(d.request.ActiveTools)), FloorMicros: int64(d.request.FloorCPM),
		Candidates: work.traced(), MoreCandidates: !work.trace.Complete(),
		SessionS: uint32(placed.sessionAge / time.Second),
	}
	if d.outcome.Winner != nil {
		record.CampaignId = d.outcome.Winner.ID[:]
	}
	var err error
	if work.wire, err = record.AppendTo(append(work.wire[:0], d.id[:]...)); err != nil {
		s.metrics.dropped.Inc()
		return
	}
	// Key and value in one allocation: they are the producer's, the workspace is not.
	both := append([]byte(nil), work.wire...)
	key, value := both[:len(d.id):len(d.id)], both[len(d.id):]
	s.deps.Producer.Produce(event.TopicAuctions, key, value, s.taken)
}

// traced is the trace on the wire, valid as long as the workspace.
func (w *workspace) traced() []*event.Candidate {
	traced := w.trace.Candidates()
	for i := range traced {
		c := w.refs[i]
		c.CampaignId, c.EcpmMicros, c.Reason = traced[i].Campaign.ID[:], int64(traced[i].EffectiveCPM), string(traced[i].Reason)
	}
	return w.refs[:len(traced)]
}
