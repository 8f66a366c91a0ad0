package traffic

import (
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
)

// Defects of an unverified event: reasons, a closed list.
const (
	ReasonUnsigned   = "unsigned"      // no token
	ReasonForged     = "bad_signature" // a token signed elsewhere, or changed
	ReasonKeyExpired = "key_expired"   // a token whose key is past its grace
	ReasonClickID    = "bad_click_id"  // a conversion whose click id has one of these defects
)

// Unproven counts unverified events, which anyone can send. The events are not stored, only their
// number per campaign, reason and minute.
type Unproven struct {
	CampaignID uuid.UUID // as sent; nil for an unknown campaign or beyond the limit of names
	Reason     string
	Minute     day.Minute // of receipt
	Events     int64      // > 0
	Sample     *Sample    // newest sampled event of a node (see [SampleEvery]); may be nil
}

// SampleEvery is the number of unverified events per sample.
const SampleEvery = 1000

// UnprovenDays is the number of days for which counts are stored.
const UnprovenDays = 30

// Sample is one unverified event as its sender describes it, without address or session.
type Sample struct {
	At        time.Time `json:"at"`
	Type      string    `json:"type"`
	Developer uuid.UUID `json:"developer_id"`
	Format    string    `json:"format,omitempty"`
	Method    string    `json:"integration_method,omitempty"`
	Posted    bool      `json:"posted,omitempty"` // a JSON report, not a pixel
}
