package offer

import (
	"time"

	"adnet/auction"
	"adnet/schemas/event"
)

// record hands the outcome to the log, best effort: it explains auctions, no money depends on it.
// Of the request it keeps the placement and the numbers of terms and tools, never the terms and
// tools themselves.
func (s *Seller) record(a *Auction) {
	outcome, place := &a.Outcome, &a.Place
	if s.deps.Outcomes != nil {
		s.deps.Outcomes.Observe(outcome.Reason, a.Took, a.Asked)
	}
	w := &a.written
	w.id = a.ID
	w.placement = event.Placement{
		Format: place.Format, IntegrationMethod: place.Method, Surface: place.Surface,
		Region: place.Region, Language: place.Language, HostApp: place.Host,
	}
	w.record = event.Auction{
		AuctionId: w.id[:], AtUs: a.Asked.UnixMicro(), DeveloperId: place.Developer[:], Reason: string(outcome.Reason),
		PriceMicros: int64(outcome.Price), EcpmMicros: int64(outcome.EffectiveCPM), SnapshotVersion: uint64(s.deps.Catalog.Version()),
		TookUs: a.Took.Microseconds(), Sandbox: a.Sandbox, Placement: &w.placement,
		Tokens: uint32(len(a.Request.Words) + len(a.Request.Tokens)), Tools: uint32(len(a.Request.ActiveTools)), FloorMicros: int64(a.Request.FloorCPM),
		Candidates: w.traced(&a.Trace), MoreCandidates: !a.Trace.Complete(),
		SessionS: uint32(place.SessionAge / time.Second), Consent: uint32(place.Consent),
	}
	if outcome.Winner != nil {
		w.record.CampaignId, w.record.CreativeFormat = outcome.Winner.ID[:], string(a.creative.Format)
	}
	var err error
	if w.wire, err = w.record.AppendTo(append(w.wire[:0], a.ID[:]...)); err != nil {
		s.metrics.dropped.Inc()
		return
	}
	// Key and value in one allocation: they are the producer's, the auction's memory is not.
	both := append([]byte(nil), w.wire...)
	key, value := both[:len(a.ID):len(a.ID)], both[len(a.ID):]
	s.deps.Producer.Produce(event.TopicAuctions, key, value, s.taken)
}

// traced is the trace on the wire, valid until the next record.
func (w *written) traced(trace *auction.Trace) []*event.Candidate {
	traced := trace.Candidates()
	for i := range traced {
		c := &w.candidates[i]
		w.refs[i] = c
		c.CampaignId, c.EcpmMicros, c.Reason = traced[i].Campaign.ID[:], int64(traced[i].EffectiveCPM), string(traced[i].Reason)
	}
	return w.refs[:len(traced)]
}
