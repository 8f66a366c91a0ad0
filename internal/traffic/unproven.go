package traffic

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
)

// What an event can lack: reasons, a closed list.
const (
	ReasonUnsigned   = "unsigned"      // no token
	ReasonForged     = "bad_signature" // a token that was not made here, or changed
	ReasonKeyExpired = "key_expired"   // a token whose key is past its grace
)

// Unproven counts the events that prove nothing: anybody can send them. They are not kept; how many
// there were is, per campaign, reason and minute.
type Unproven struct {
	CampaignID uuid.UUID // as the sender says; nil for campaigns that do not exist, and for what was too much to name
	Reason     string
	Minute     day.Minute // of receipt
	Events     int64      // > 0
	Sample     *Sample    // the newest one of every [SampleEvery] events of a node; nil when none was among them
}

// SampleEvery is of how many unproven events one is looked at.
const SampleEvery = 1000

// UnprovenDays is how long counts are kept.
const UnprovenDays = 30

// Sample is one unproven event as its sender describes it, without address or session.
type Sample struct {
	At        time.Time `json:"at"`
	Type      string    `json:"type"`
	Developer uuid.UUID `json:"developer_id"`
	Format    string    `json:"format,omitempty"`
	Method    string    `json:"integration_method,omitempty"`
	Posted    bool      `json:"posted,omitempty"` // a JSON report, not a pixel
}

// ConversionType is kind as it may be grouped by. The advertiser may call its conversions what it
// likes (at most 64 bytes); what others report is a word of a list, or "other".
func ConversionType(kind string) string {
	if kind == "" {
		return ""
	}
	if known := listed(strings.ToLower(kind), conversionTypes[:]); known != "" {
		return known
	}
	return "other"
}

var conversionTypes = [...]string{
	"purchase", "sale", "order", "signup", "sign_up", "registration", "lead", "install", "app_install", "subscription",
	"subscribe",
	"trial", "start_trial", "download", "add_to_cart", "checkout", "contact", "booking", "donation", "page_view",
	"view_content", "other",
}
