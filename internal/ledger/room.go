package ledger

import (
	"adnet/internal/money"

	"github.com/google/uuid"
)

// Room is how much a campaign may still spend, as the ledger knew it when it was read. It is an
// absolute value, never a difference: writing an older one over a newer one is refused by Version.
type Room struct {
	CampaignID uuid.UUID
	Version    int64 // raised whenever the campaign's spend or budget, or its advertiser's balance, changes
	Day        Day   // the UTC day of Today; on a later day the whole daily budget is free again
	Daily      money.Micros
	Today      money.Micros // left of Daily on Day
	Total      money.Micros // left of the total budget
	Balance    money.Micros // left of the prepaid balance; the largest amount when not prepaid
}

// Left is the most that the campaign may be charged on day.
func (r Room) Left(day Day) money.Micros {
	today := r.Today
	if day > r.Day {
		today = r.Daily
	}
	return max(0, min(today, r.Total, r.Balance))
}
