package offer

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/suitability"
	"adnet/ingress/limits/refusals"
	"adnet/internal/campaign/subject"
)

// Classifier is the operator's own classifier. It judges texts that the rules and the table accept;
// see internal/classifier.
type Classifier interface {
	// Classify returns the subjects of a text. other is set if it found a category outside our
	// subjects. Errors: the classifier is unavailable.
	Classify(ctx context.Context, text string) (found subject.Set, other bool, err error)
}

// The values of Config.SuitabilityAway.
const (
	AwayRules  = "rules"
	AwayRefuse = "refuse"
)

// consult calls the operator's classifier for a request that was not refused. It adds to j and
// removes nothing. It sends only the texts. If the classifier is unavailable, the setting decides.
func (s *Seller) consult(ctx context.Context, read *Conversation, until time.Time, j *Judged) {
	if s.deps.Classifier == nil || j.refused() || len(read.texts) == 0 {
		return
	}
	result, err := s.opinion(ctx, read, until)
	if err != nil {
		if s.cfg.SuitabilityAway == AwayRefuse {
			j.By = suitability.ByClassifier // for this request only, not for the person
		}
		return
	}
	// The classifier does not point out which text it means, and a text of the assistant must not
	// refuse later turns.
	lasts := !read.assistant()
	for id := range result.found.Members() {
		if id.Tier() == subject.Never {
			j.Refuse(id, suitability.ByClassifier, lasts)
		}
	}
	if result.other && !j.refused() {
		j.By, j.Lasts = suitability.ByClassifier, lasts
	}
	j.found = result.found & subject.OfTier(subject.Sensitive) &^ j.Sensitive
	j.Sensitive |= j.found
}

// opinion returns the classifier's opinion of all texts as one.
func (s *Seller) opinion(ctx context.Context, read *Conversation, until time.Time) (opinion, error) {
	text := read.joined()
	if read.last.known && read.last.text == text {
		return read.last, nil
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
	read.last = opinion{text: text, found: found, other: other, known: true}
	return read.last, nil
}

// recall looks up whether an earlier turn of a's conversation was refused, and stores a refusal
// that lasts for the requesting API key. It does so only where the reader's consent, the publisher
// and the request allow it. If the marks cannot be read, the session counts as unknown.
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
			s.deps.Refusals.Refuse(ctx, &session, a.Received)
		}
	case s.deps.Refusals.Refused(&session, a.Received):
		j.By = suitability.ByMemory // the subject of the refusal is not stored
	case !s.deps.Refusals.Live(a.Received):
		j.unread = true
	}
}

// refusal returns the subject and the source of a refusal, for the record of an auction. Both are
// empty for other auctions, and for auctions beside a sensitive subject that publisher and campaign
// allow.
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

// sensitiveBy returns the source that found a sensitive subject; [suitability.ByNothing] means the
// texts.
func (j *Judged) sensitiveBy(id subject.ID) suitability.By {
	switch {
	case j.found.Has(id):
		return suitability.ByClassifier
	case j.flagged.Has(id):
		return suitability.ByFlag
	}
	return suitability.ByNothing
}
