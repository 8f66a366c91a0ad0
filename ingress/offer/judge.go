package offer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"adnet/auction"
	"adnet/auction/suitability"
	"adnet/internal/campaign/subject"
)

// Age is the reader's age group as far as the publisher has stated it.
type Age uint8

// The ages.
const (
	AgeUnknown Age = iota // unlocks nothing
	AgeChild              // under 13
	AgeTeen               // 13 to 17
	AgeAdult
)

// Stated holds what a publisher or an exchange states of the conversation. It adds to the verdict
// on the texts and removes nothing from it.
type Stated struct {
	// Flags are the flagged subjects.
	Flags subject.Set
	// Unknown is a flag that names no subject, empty for none. Such a flag refuses the ad.
	Unknown string
	Age     Age
	// Forgetful disables the memory of refused conversations.
	Forgetful bool
	// Until is the time at which the caller stops waiting for the answer; zero for none.
	Until time.Time
}

// Judged is the verdict on a conversation. Only [Seller.Judge] returns a valid one, and
// [Seller.Sell] sells nothing without it, so no protocol can skip it.
type Judged struct {
	suitability.Verdict
	Age       Age
	flagged   subject.Set // stated sensitive subjects
	found     subject.Set // sensitive subjects that the operator's classifier found
	forgetful bool
	unread    bool   // marks of refused conversations cannot be read
	unknown   string // a flag that names no subject; see [Stated.Unknown]
	valid     bool   // set by [Seller.Judge]
}

var errUnjudged = errors.New("offer: the conversation was not judged")

// Judge judges a request: its texts and its publisher's statements. If neither refuses the ad, the
// operator's classifier is consulted.
func (s *Seller) Judge(ctx context.Context, read *Conversation, stated Stated) Judged {
	j := Judged{
		Verdict: read.verdict(s.verdicts), Age: stated.Age,
		forgetful: stated.Forgetful, unknown: stated.Unknown, valid: true,
	}
	j.state(stated, s.cfg.Teens == TeensLimited)
	s.consult(ctx, read, stated.Until, &j)
	return j
}

// state adds the publisher's statements to j. A flag that names no subject stands for something
// that the publisher's service refuses, so it counts as the gravest possibility: a person in need.
func (j *Judged) state(stated Stated, teens bool) {
	for id := range stated.Flags.Members() {
		if id.Tier() == subject.Never {
			j.Refuse(id, suitability.ByFlag, true)
		}
	}
	if stated.Unknown != "" {
		j.Refuse(subject.Distress, suitability.ByFlag, true)
	}
	if stated.Age == AgeChild || stated.Age == AgeTeen && !teens {
		j.Refuse(subject.Child, suitability.ByFlag, true)
	}
	j.flagged = stated.Flags & subject.OfTier(subject.Sensitive) &^ j.Sensitive
	j.Sensitive |= j.flagged
}

// refused reports whether no ad is shown, whatever publisher and campaigns allow. A refusal may
// lack a subject, as for a marked session.
func (j *Judged) refused() bool { return j.Never != subject.None || j.By != suitability.ByNothing }

// With returns the verdict on two parts of one request: the union of both.
func (j Judged) With(other Judged) Judged {
	j.Add(other.Verdict)
	if other.refused() && !j.refused() { // without a subject
		j.By, j.Lasts = other.By, other.Lasts
	}
	j.flagged, j.found = j.flagged|other.flagged, j.found|other.found
	j.Age = j.Age.and(other.Age)
	j.forgetful = j.forgetful || other.forgetful
	j.unknown = cmp.Or(j.unknown, other.unknown)
	j.valid = j.valid && other.valid
	return j
}

// limit removes session and learning from the placement of a teenager's ad.
func (j *Judged) limit(p *Place) {
	if j.Age == AgeTeen {
		p.Session, p.SessionAge, p.Unlearned = "", 0, true
	}
}

// unsuited returns the reason why no ad may be shown beside the conversation of a, empty if one
// may.
func (a *Auction) unsuited() auction.Reason {
	switch {
	case a.Judged.refused():
		return auction.Unsuitable
	case a.Judged.Age == AgeTeen && a.Judged.Sensitive != 0, a.Judged.Sensitive&^a.Publishing.Sensitive() != 0:
		return auction.SensitiveSubject
	}
	return ""
}
