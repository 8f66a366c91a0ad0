package serve

import (
	"time"

	"adnet/auction"
	"adnet/schemas/event"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
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
	candidates [auction.MaxTrace]event.Candidate
	refs       [auction.MaxTrace]*event.Candidate
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
	id      uuid.UUID
	outcome *auction.Outcome
	request *auction.Request
	placed  placement
	now     time.Time // of its beginning
}

// log hands the outcome to the log, best effort: it explains auctions, no money depends on it. Of the request it
// keeps where the ad was asked for and how many tokens and tools there were, never what they were.
func (s *Server) log(d decided, work *workspace) {
	took := s.deps.Now().Sub(d.now)
	if s.deps.Outcomes != nil {
		s.deps.Outcomes.Observe(d.outcome.Reason, took, d.now)
	}
	record := &event.Auction{
		AuctionId: d.id[:], AtUs: d.now.UnixMicro(), DeveloperId: d.placed.developer[:], Reason: string(d.outcome.Reason),
		PriceMicros: int64(d.outcome.Price), EcpmMicros: int64(d.outcome.EffectiveCPM), SnapshotVersion: uint64(s.deps.Catalog.Version()),
		TookUs: took.Microseconds(),
		Placement: &event.Placement{
			Format: d.placed.format, IntegrationMethod: d.placed.method, Surface: d.placed.surface,
			Region: d.placed.region, Language: d.placed.language, HostApp: d.placed.host,
		},
		Tokens: uint32(len(d.request.Tokens)), Tools: uint32(len(d.request.ActiveTools)), FloorMicros: int64(d.request.FloorCPM),
		Candidates: work.record(), MoreCandidates: !work.trace.Complete(),
	}
	if d.outcome.Winner != nil {
		record.CampaignId = d.outcome.Winner.ID[:]
	}
	value, err := proto.Marshal(record)
	if err != nil {
		s.metrics.dropped.Inc()
		return
	}
	s.deps.Producer.Produce(event.TopicAuctions, record.AuctionId, value, func(err error) {
		if err != nil {
			s.metrics.dropped.Inc()
		}
	})
}

// record is the trace on the wire, valid as long as the workspace.
func (w *workspace) record() []*event.Candidate {
	traced := w.trace.Candidates()
	for i := range traced {
		c := w.refs[i]
		c.CampaignId, c.EcpmMicros, c.Reason = traced[i].Campaign.ID[:], int64(traced[i].EffectiveCPM), string(traced[i].Reason)
	}
	return w.refs[:len(traced)]
}
