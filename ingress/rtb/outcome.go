package rtb

import (
	"adnet/schemas/event"
)

// log hands the outcome to the log, best effort: it explains auctions, no money depends on it. Of the request it
// keeps where the ad was asked for and how many tokens and tools there were, never what they were.
func (t *turn) log(s *sale) {
	if t.deps.Outcomes != nil {
		t.deps.Outcomes.Observe(s.outcome.Reason, s.took, s.started)
	}
	t.placed = event.Placement{
		IntegrationMethod: method, Surface: s.place.surface, Region: s.place.region, Language: s.place.language, HostApp: s.place.host,
	}
	record := &t.entry
	*record = event.Auction{
		AuctionId: s.id[:], AtUs: s.started.UnixMicro(), DeveloperId: t.caller.DeveloperID[:], Reason: string(s.outcome.Reason),
		PriceMicros: int64(s.outcome.Price), EcpmMicros: int64(s.outcome.EffectiveCPM), SnapshotVersion: uint64(t.deps.Catalog.Version()),
		TookUs: s.took.Microseconds(), Sandbox: t.sandbox, Placement: &t.placed,
		Tokens: uint32(len(s.request.Tokens)), Tools: uint32(len(s.request.ActiveTools)), FloorMicros: int64(s.request.FloorCPM),
		Candidates: t.candidates(), MoreCandidates: !t.trace.Complete(),
	}
	if winner := s.outcome.Winner; winner != nil {
		record.CampaignId = winner.ID[:]
		t.placed.Format = winner.Format.String()
	}
	var err error
	if t.wire, err = record.AppendTo(append(t.wire[:0], s.id[:]...)); err != nil {
		t.metrics.dropped.Inc()
		return
	}
	// Key and value in one allocation: they are the producer's, the turn is not.
	both := append([]byte(nil), t.wire...)
	t.produce(event.TopicAuctions, both[:len(s.id):len(s.id)], both[len(s.id):])
}

// candidates are those of the trace on the wire, valid until the next auction.
func (t *turn) candidates() []*event.Candidate {
	seen := t.trace.Candidates()
	for i := range seen {
		c := t.refs[i]
		c.CampaignId, c.EcpmMicros, c.Reason = seen[i].Campaign.ID[:], int64(seen[i].EffectiveCPM), string(seen[i].Reason)
	}
	return t.refs[:len(seen)]
}
