package account

import (
	"context"
	"math/bits"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"adnet/internal/errs"
	"adnet/internal/share"
	"adnet/internal/subject"
)

// Publishing is what a publisher asks of the ads on all of its keys and seats.
type Publishing struct {
	// MinRelevance is the least probability that an ad answers its request, from 0 to 1 to the
	// millionth; nil states none. How it counts beside the floors of others is decided in
	// ingress/offer.
	MinRelevance *share.Share `json:"min_relevance"`
	// HouseAds has campaigns of the account itself shown where nothing else was sold, for nothing.
	HouseAds bool `json:"house_ads"`
	// SensitiveContexts are the sensitive subjects beside which the publisher shows ads.
	SensitiveContexts []string `json:"sensitive_contexts,omitempty"`
	// Forgets has no refused conversation remembered: the turns that a request carries decide.
	Forgets Forgets `json:"remember"`
}

// Forgets is the opposite of a setting that is on by default: settings that were kept before it was
// there are true.
type Forgets bool

// MarshalJSON implements json.Marshaler.
func (f Forgets) MarshalJSON() ([]byte, error) { return strconv.AppendBool(nil, !bool(f)), nil }

// UnmarshalJSON implements json.Unmarshaler; null is the default.
func (f *Forgets) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "true", "null":
		*f = false
	case "false":
		*f = true
	default:
		return errs.New(errs.InvalidRequest, "remember must be true or false").With("field", "remember")
	}
	return nil
}

// MaxHouse is how many campaigns of an account may be house ads: a request looks at each.
const MaxHouse = 20

// PublishingStore keeps what publishers ask of ads. Errors: errs.NotFound for an unknown account.
type PublishingStore interface {
	// Publishing is the zero value for an account that asks nothing.
	Publishing(ctx context.Context, user uuid.UUID) (Publishing, error)
	// PutPublishing replaces what user asks.
	PutPublishing(ctx context.Context, user uuid.UUID, p Publishing) error
}

// Sensitive is SensitiveContexts as a set.
func (p *Publishing) Sensitive() subject.Set {
	set, _ := subject.ParseSet(p.SensitiveContexts)
	return set
}

// Check says whether p can be kept. Errors: errs.InvalidRequest with the field.
func (p *Publishing) Check() error {
	set, bad := subject.ParseSet(p.SensitiveContexts)
	if never := (set &^ subject.OfTier(subject.Sensitive)).First(); never != subject.None {
		return errs.New(
			errs.InvalidRequest, "no ad is shown beside %s, and no publisher can allow it", never,
		).With("field", "sensitive_contexts")
	}
	if bad != "" || len(p.SensitiveContexts) > bits.OnesCount64(uint64(subject.OfTier(subject.Sensitive))) {
		return errs.New(
			errs.InvalidRequest, "sensitive_contexts may have each of %s once",
			strings.Join(subject.Names(subject.Sensitive), ", "),
		).With("field", "sensitive_contexts")
	}
	if m := p.MinRelevance; m != nil && !m.Valid() {
		return errs.New(
			errs.InvalidRequest, "min_relevance must be from 0 (off) to 1, or null for that of the network",
		).With("field", "min_relevance")
	}
	return nil
}
