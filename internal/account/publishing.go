package account

import (
	"context"
	"math/bits"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"adnet/internal/campaign/subject"
	"adnet/internal/errs"
	"adnet/internal/money/share"
)

// Publishing holds a publisher's requirements for ads, on all of its keys and seats.
type Publishing struct {
	// MinRelevance is the minimum probability that an ad fits its request, from 0 to 1 in steps of
	// a millionth; nil sets no minimum. Package ingress/offer combines it with the other minimums.
	MinRelevance *share.Share `json:"min_relevance"`
	// HouseAds shows the account's own campaigns, free of charge, where nothing else was sold.
	HouseAds bool `json:"house_ads"`
	// SensitiveContexts are the sensitive subjects beside which the publisher allows ads.
	SensitiveContexts []string `json:"sensitive_contexts,omitempty"`
	// Forgets turns the memory of rejected conversations off: only the turns in a request decide.
	Forgets Forgets `json:"remember"`
}

// Forgets is the inverse of a setting that is on by default, so that its zero value is the default
// for settings stored before it existed.
type Forgets bool

// MarshalJSON implements json.Marshaler.
func (f Forgets) MarshalJSON() ([]byte, error) { return strconv.AppendBool(nil, !bool(f)), nil }

// UnmarshalJSON implements json.Unmarshaler. null sets the default.
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

// MaxHouse is the maximum number of house ads of an account: a request checks each.
const MaxHouse = 20

// PublishingStore stores the ad requirements of publishers. Errors: errs.NotFound for an unknown
// account.
type PublishingStore interface {
	// Publishing returns the zero value for an account without requirements.
	Publishing(ctx context.Context, user uuid.UUID) (Publishing, error)
	// PutPublishing replaces the requirements of user.
	PutPublishing(ctx context.Context, user uuid.UUID, p Publishing) error
}

// Sensitive returns SensitiveContexts as a set.
func (p *Publishing) Sensitive() subject.Set {
	set, _ := subject.ParseSet(p.SensitiveContexts)
	return set
}

// Check reports whether p is valid. Errors: errs.InvalidRequest with the field.
func (p *Publishing) Check() error {
	set := subject.Set(0)
	for i, name := range p.SensitiveContexts {
		id, ok := subject.Parse(name)
		if !ok {
			return errs.New(
				errs.InvalidRequest, "sensitive_contexts[%d] must be one of %s", i,
				strings.Join(subject.Names(subject.Sensitive), ", "),
			).At("sensitive_contexts", i)
		}
		set |= subject.SetOf(id)
	}
	if never := (set &^ subject.OfTier(subject.Sensitive)).First(); never != subject.None {
		return errs.New(
			errs.InvalidRequest, "no ad is shown beside %s, and no publisher can allow it", never,
		).With("field", "sensitive_contexts")
	}
	if len(p.SensitiveContexts) > bits.OnesCount64(uint64(subject.OfTier(subject.Sensitive))) {
		return errs.New(
			errs.InvalidRequest, "sensitive_contexts may list each of %s once",
			strings.Join(subject.Names(subject.Sensitive), ", "),
		).With("field", "sensitive_contexts")
	}
	if m := p.MinRelevance; m != nil && !m.Valid() {
		return errs.New(
			errs.InvalidRequest, "min_relevance must be from 0 (off) to 1, or null for the network's default",
		).With("field", "min_relevance")
	}
	return nil
}
