package rtb

import (
	"adnet/schemas/event"

	"google.golang.org/protobuf/proto"
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
	// Key and value in one allocation: they are the producer's, the record is not.
	key := append(make([]byte, 0, len(s.id)+proto.Size(record)), s.id[:]...)
	value, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(key, record)
	if err != nil {
		t.metrics.dropped.Inc()
		return
	}
	t.produce(event.TopicAuctions, key[:len(key):len(key)], value[len(key):])
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
