package notice

import (
	"bytes"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"adnet/internal/money"
	"adnet/internal/outbound/webhook"
)

// Line is a collected fact of a mail: the part of a webhook's data that its text may use. Names of
// campaigns are read when the mail is sent.
type Line struct {
	CampaignID uuid.UUID    `json:"campaign_id,omitzero"`
	Notes      string       `json:"notes,omitempty"`
	Decision   string       `json:"decision,omitempty"`
	Date       string       `json:"date,omitempty"`
	Since      string       `json:"since,omitempty"`
	Balance    money.Micros `json:"balance_usd,omitempty"`
	Days       int64        `json:"days,omitempty"`
	Credits    int64        `json:"credits,omitempty"`
	Spent      money.Micros `json:"spent_usd,omitempty"`
	Shown      int64        `json:"impressions,omitempty"`
	Clicks     int64        `json:"clicks,omitempty"`
	Count      int          `json:"count,omitempty"`
}

// Append returns the payload of a mail with a further fact: one line of JSON each.
func Append(f *webhook.Fact) ([]byte, error) {
	text, err := json.Marshal(f.Data, json.Deterministic(true))
	return append(text, '\n'), err
}

// Lines reads the payload of a mail. A line that cannot be read is left out.
func Lines(payload []byte) (lines []Line) {
	for text := range bytes.SplitSeq(payload, []byte{'\n'}) {
		var l Line
		if len(text) > 0 && json.Unmarshal(text, &l) == nil {
			lines = append(lines, l)
		}
	}
	return lines
}

// Stale is the age of a mail that is no longer sent.
const Stale = 3 * 24 * time.Hour
