package offer

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/suitability"
	"adnet/ingress/limits/refusals"
	"adnet/internal/subject"
)

// Classifier is the operator's own, which judges what rules and table let pass; see
// internal/classifier.
type Classifier interface {
	// Classify returns the subjects of a text; other is set where it found something that is no
	// subject of ours. Errors: it is away.
	Classify(ctx context.Context, text string) (found subject.Set, other bool, err error)
}

// The values of Config.SuitabilityAway.
const (
	AwayRules  = "rules"
	AwayRefuse = "refuse"
)

// consult asks the operator's classifier about what was not refused. It adds to j and removes
// nothing. It is told no more than the texts, and where it is away the setting decides.
func (s *Seller) consult(ctx context.Context, read *Conversation, until time.Time, j *Judged) {
	if s.deps.Classifier == nil || j.refused() || len(read.texts) == 0 {
		return
	}
	said, err := s.opinion(ctx, read, until)
	if err != nil {
		if s.cfg.SuitabilityAway == AwayRefuse {
			j.By = suitability.ByClassifier // of this request: it says nothing of the person
		}
		return
	}
	// It is not known which of the texts it means, and what an assistant said does not last.
	lasts := !read.assistant()
	for id := range said.found.Members() {
		if id.Tier() == subject.Never {
			j.Refuse(id, suitability.ByClassifier, lasts)
		}
	}
	if said.other && !j.refused() {
		j.By, j.Lasts = suitability.ByClassifier, lasts
	}
	j.found = said.found & subject.OfTier(subject.Sensitive) &^ j.Sensitive
	j.Sensitive |= j.found
}

// opinion is the classifier's, of the texts as one.
func (s *Seller) opinion(ctx context.Context, read *Conversation, until time.Time) (opinion, error) {
	text := read.joined()
	if read.asked.known && read.asked.text == text {
		return read.asked, nil
	}
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, until.Sub(s.deps.Now()))
		defer cancel()
	}
	found, other, err := s.deps.Classifier.Classify(ctx, text)
	if err != nil {
		return opinion{}, err
	}
	read.asked = opinion{text: text, found: found, other: other, known: true}
	return read.asked, nil
}

// recall looks up whether an earlier turn of a's conversation was refused, and has a refusal that
// lasts remembered: for the API key that asks, where the reader's consent, the publisher and the
// request allow that sessions are remembered. Where the marks cannot be read, nothing is known of a
// session.
func (s *Seller) recall(ctx context.Context, a *Auction) {
	p, j := &a.Place, &a.Judged
	if s.deps.Refusals == nil || p.Session == "" || p.Key == uuid.Nil || p.Consent.Refused() || j.forgetful ||
		bool(a.Publishing.Forgets) {
		return
	}
	session := refusals.Session{Publisher: p.Developer, Key: p.Key, ID: p.Session}
	switch {
	case j.refused():
		if j.Lasts {
			s.deps.Refusals.Refuse(ctx, &session, a.Asked)
		}
	case s.deps.Refusals.Refused(&session, a.Asked):
		j.By = suitability.ByMemory // and of which subject it was is kept nowhere
	case !s.deps.Refusals.Live(a.Asked):
		j.unread = true
	}
}

// refusal is what a refused auction is recorded with: the subject and what decided. Both are empty
// for other auctions, also for those beside a sensitive subject that publisher and campaign allow.
func (a *Auction) refusal() (id subject.ID, by suitability.By) {
	j := &a.Judged
	switch a.Outcome.Reason {
	case auction.Unsuitable:
		return j.Never, j.By
	case auction.SensitiveSubject:
		refused := j.Sensitive &^ a.Publishing.Sensitive()
		if refused == 0 { // no campaign allows it
			refused = j.Sensitive
		}
		return refused.First(), j.sensitiveBy(refused.First())
	}
	return subject.None, suitability.ByNothing
}

// sensitiveBy is what found a sensitive subject; nothing where it is the texts themselves.
func (j *Judged) sensitiveBy(id subject.ID) suitability.By {
	switch {
	case j.found.Has(id):
		return suitability.ByClassifier
	case j.flagged.Has(id):
		return suitability.ByFlag
	}
	return suitability.ByNothing
}
