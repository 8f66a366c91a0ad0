package offer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"adnet/auction"
	"adnet/auction/suitability"
	"adnet/internal/subject"
)

// Age is what a publisher knows of its reader's age.
type Age uint8

// The ages.
const (
	AgeUnknown Age = iota // unlocks nothing
	AgeChild              // under 13
	AgeTeen               // 13 to 17
	AgeAdult
)

// Stated is what a publisher or an exchange says of the conversation. It adds to what is read in
// its texts and clears nothing.
type Stated struct {
	// Flags are the subjects that were flagged.
	Flags subject.Set
	// Unknown is a flag that names no subject, empty for none; such a flag refuses.
	Unknown string
	Age     Age
	// Forgetful has nothing of the conversation remembered.
	Forgetful bool
	// Until is when the caller stops waiting for the answer; zero for no such time.
	Until time.Time
}

// Judged is the verdict that an auction is sold under. Only [Seller.Judge] makes one, and
// [Seller.Sell] sells nothing without it, so that no wire can leave it out.
type Judged struct {
	suitability.Verdict
	Age       Age
	flagged   subject.Set // sensitive subjects that were stated
	found     subject.Set // sensitive subjects that the operator's classifier found
	forgetful bool
	unread    bool   // marks of refused conversations cannot be read
	unknown   string // a flag that names no subject; see [Stated.Unknown]
	made      bool
}

var errUnjudged = errors.New("offer: the conversation was not judged")

// Judge judges a request: the texts that were read, and what its publisher states. Where neither
// refuses, the operator's classifier is asked.
func (s *Seller) Judge(ctx context.Context, read *Conversation, stated Stated) Judged {
	j := Judged{
		Verdict: read.verdict(s.verdicts), Age: stated.Age,
		forgetful: stated.Forgetful, unknown: stated.Unknown, made: true,
	}
	j.state(stated, s.cfg.Teens == TeensLimited)
	s.consult(ctx, read, stated.Until, &j)
	return j
}

// state adds what is stated to j. A flag that names no subject tells of something that its service
// refuses, so it counts as the gravest of what it may be: a person in need.
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

// refused reports whether no ad is shown, whatever publisher and campaigns allow. A refusal need
// not have a subject: a marked session has none.
func (j *Judged) refused() bool { return j.Never != subject.None || j.By != suitability.ByNothing }

// With is the verdict on two parts of one request: what either finds.
func (j Judged) With(other Judged) Judged {
	j.Add(other.Verdict)
	if other.refused() && !j.refused() { // without a subject
		j.By, j.Lasts = other.By, other.Lasts
	}
	j.flagged, j.found = j.flagged|other.flagged, j.found|other.found
	j.Age = j.Age.and(other.Age)
	j.forgetful = j.forgetful || other.forgetful
	j.unknown = cmp.Or(j.unknown, other.unknown)
	j.made = j.made && other.made
	return j
}

// limit takes from the place of a teen what a teen's ad may not have: a session, and learning.
func (j *Judged) limit(p *Place) {
	if j.Age == AgeTeen {
		p.Session, p.SessionAge, p.Unlearned = "", 0, true
	}
}

// unsuited is why a may not take place beside its conversation, empty where it may.
func (a *Auction) unsuited() auction.Reason {
	switch {
	case a.Judged.refused():
		return auction.Unsuitable
	case a.Judged.Age == AgeTeen && a.Judged.Sensitive != 0, a.Judged.Sensitive&^a.Publishing.Sensitive() != 0:
		return auction.SensitiveSubject
	}
	return ""
}
