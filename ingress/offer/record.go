package offer

import (
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/schemas/event"
)

// record hands the outcome to the log, best effort: it explains auctions, no money depends on it.
// Of the request it keeps the placement and the numbers of terms and tools, never the context or
// the tools. Of an auction with a winner it gives the learner what [written.learn] says; of a
// refused one it takes out what [written.refuse] says.
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
		PriceMicros: int64(outcome.Price), EcpmMicros: int64(outcome.EffectiveCPM),
		SnapshotVersion: uint64(s.deps.Catalog.Version()),
		TookUs:          a.Took.Microseconds(), Sandbox: a.Sandbox, Placement: &w.placement,
		Tokens: uint32(len(a.Request.Words) + len(a.Request.Tokens)), Tools: uint32(len(a.Request.ActiveTools)),
		FloorMicros: int64(a.Request.FloorCPM),
		Candidates:  w.traced(&a.Trace), MoreCandidates: !a.Trace.Complete(),
		SessionS: uint32(place.SessionAge / time.Second), Consent: uint32(place.Consent),
		ModelVersion: a.snapshot.Model(), Explores: outcome.Explores,
		AgeAdult: a.Judged.Age == AgeAdult,
	}
	if outcome.Reason == auction.Unsuitable || outcome.Reason == auction.SensitiveSubject {
		w.refuse(a)
	}
	if outcome.Winner != nil {
		w.record.CampaignId, w.record.CreativeFormat = outcome.Winner.ID[:], string(a.creative.Format)
		w.learn(a)
	}
	if a.House != nil { // never as the winner: nothing is learnt or forecast from it
		w.record.HouseCampaignId = a.House.ID[:]
	}
	one := s.sent.Get().(*sent)
	var err error
	if one.text, err = w.record.AppendTo(append(one.text[:0], a.ID[:]...)); err != nil {
		one.taken(err)
		return
	}
	key, value := one.text[:len(a.ID):len(a.ID)], one.text[len(a.ID):]
	s.deps.Producer.Produce(event.TopicAuctions, key, value, one.taken)
}

// refuse takes out of the record what could tell who the reader is, or what was said, and puts in
// why no ad was shown.
func (w *written) refuse(a *Auction) {
	w.placement.Region = ""
	w.record.Tokens, w.record.Tools, w.record.SessionS = 0, 0, 0
	id, by := a.refusal()
	w.record.Suitability, w.record.SuitabilityBy = id.String(), by.String()
}

// sent is an outcome on the wire after its key. Its memory is the producer's until it was taken or
// dropped.
type sent struct {
	text  []byte
	taken func(error) // the result of producing it; called once
}

// learn adds what can be learnt from: which terms of the network the request had, by number and
// without order, and how likely a click was. Nothing of a test, nor of a publisher who said no.
func (w *written) learn(a *Auction) {
	if a.Sandbox || a.Place.Unlearned {
		return
	}
	w.record.Terms = a.scratch.Recorded(w.terms[:0])
	w.record.PClick, w.record.Weights = uint32(a.Outcome.Prediction.PClick), uint64(a.snapshot.Weights())
	switch a.trial {
	case nil:
	case a.snapshot:
		w.record.TrialPClick = w.record.PClick
	default:
		w.record.TrialPClick = uint32(auction.Foretell(&a.Request, a.trial, a.Outcome.Winner.ID, &a.shadow))
	}
	w.record.SessionMark = a.Place.mark
}

// sessionMark is 16 bits of a hash of a publisher's session in a month, and 1; 0 without a session.
// It tells how many sessions had a term, and not which.
func sessionMark(publisher uuid.UUID, session string, at time.Time) uint32 {
	if session == "" {
		return 0
	}
	year, month, _ := at.UTC().Date()
	h := uint64(14695981039346656037) ^ uint64(year*12+int(month))
	for _, c := range publisher {
		h = (h ^ uint64(c)) * 1099511628211
	}
	for i := range len(session) {
		h = (h ^ uint64(session[i])) * 1099511628211
	}
	return uint32(uint16(h^h>>16^h>>32^h>>48)) + 1
}

// traced is the trace on the wire, valid until the next record.
func (w *written) traced(trace *auction.Trace) []*event.Candidate {
	traced := trace.Candidates()
	for i := range traced {
		c := &w.candidates[i]
		w.refs[i] = c
		c.CampaignId, c.EcpmMicros, c.Reason = traced[i].Campaign.ID[:], int64(traced[i].EffectiveCPM),
			string(traced[i].Reason)
	}
	return w.refs[:len(traced)]
}
