package ledger

import (
	"adnet/internal/day"
	"adnet/internal/money"

	"github.com/google/uuid"
)

// Room is how much a campaign may still spend, as the ledger knew it when it was read. It is an
// absolute value, never a difference: writing an older one over a newer one is refused by Version.
type Room struct {
	CampaignID uuid.UUID
	// AdvertiserID owns Balance, which all of an advertiser's prepaid campaigns share.
	AdvertiserID uuid.UUID
	Version      int64   // raised whenever the campaign's spend or budget, or its advertiser's balance, changes
	Day          day.Day // the UTC day of Today; on a later day the whole daily budget is free again
	Daily        money.Micros
	Today        money.Micros // left of Daily on Day
	Total        money.Micros // left of the total budget
	Balance      money.Micros // left of the prepaid balance; [Unlimited] when not prepaid
	// Released is what settlement has used up of the reservations of recent minutes, as of the same instant: all that
	// changed since the reader's cursor, and perhaps more. In no order.
	Released []Released
}

// Left is the most that the campaign may be charged on day.
func (r Room) Left(date day.Day) money.Micros {
	today := r.Today
	if date > r.Day {
		today = r.Daily
	}
	return max(0, min(today, r.Total, r.Balance))
}
