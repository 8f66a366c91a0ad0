package offer

import (
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/schemas/event"
)

// record sends the outcome to the log, best effort: it explains auctions, and no money depends on
// it. Of the request it stores the placement and the number of terms and tools, never the context
// or the tools. For an auction with a winner it adds the data of [written.learn]; for a refused one
// it applies [written.refuse].
func (s *Seller) record(a *Auction) {
	outcome, place := &a.Outcome, &a.Place
	if s.deps.Outcomes != nil {
		s.deps.Outcomes.Observe(outcome.Reason, a.Took, a.Received)
	}
	w := &a.written
	w.id = a.ID
	w.placement = event.Placement{
		Format: place.Format, IntegrationMethod: place.Method, Surface: place.described.surface,
		Region: place.described.region, Language: place.described.language, HostApp: place.described.host,
	}
	w.record = event.Auction{
		AuctionId: w.id[:], AtUs: a.Received.UnixMicro(), DeveloperId: place.Developer[:], Reason: string(outcome.Reason),
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
	if a.House != nil { // not as the winner: learning and forecasts ignore it
		w.record.HouseCampaignId = a.House.ID[:]
	}
	out := s.sent.Get().(*sent)
	var err error
	if out.text, err = w.record.AppendTo(append(out.text[:0], a.ID[:]...)); err != nil {
		out.taken(err)
		return
	}
	out.text = s.deps.Keyring.Outcomes().Close(out.text, len(a.ID)) // the archive takes no others
	key, value := out.text[:len(a.ID):len(a.ID)], out.text[len(a.ID):]
	s.deps.Producer.Produce(event.TopicAuctions, key, value, out.taken)
}

// refuse removes from the record what could reveal the reader or the conversation, and adds the
// reason for the refusal.
func (w *written) refuse(a *Auction) {
	w.placement.Region = ""
	w.record.Tokens, w.record.Tools, w.record.SessionS = 0, 0, 0
	id, by := a.refusal()
	w.record.Suitability, w.record.SuitabilityBy = id.String(), by.String()
}

// sent is an encoded outcome after its key. The producer owns its memory until the record is
// accepted or dropped.
type sent struct {
	text  []byte
	taken func(error) // receives the result; called once
}

// learn adds the data for learning: the network's terms in the request, by number and without
// order, and the predicted click probability. It adds nothing for a test or for a publisher that
// opted out.
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
		w.record.TrialPClick = uint32(auction.PredictClick(&a.Request, a.trial, a.Outcome.Winner.ID, &a.shadow))
	}
	w.record.SessionMark = a.Place.mark
}

// sessionMark returns 16 bits of a hash of a publisher's session in a month, plus 1; 0 without a
// session. It allows counting the sessions that had a term without identifying them.
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

// traced returns the trace in the form of the record, valid until the next record.
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
