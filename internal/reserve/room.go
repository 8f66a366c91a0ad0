package reserve

import (
	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
)

// RoomOptions says how rooms are computed.
type RoomOptions struct {
	Prepaid bool // the deposited balance limits cash campaigns (ADNET_PREPAID=required)
}

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
	Price        money.Micros // of one charge by the campaign's bid
	// Released is what settlement has used up of the reservations of recent minutes, as of the same
	// instant: all that changed since the reader's cursor, and perhaps more. In no order.
	Released []Released
}

// Left is the most that the campaign may be charged on a day.
func (r Room) Left(on day.Day) money.Micros {
	today := r.Today
	if on > r.Day {
		today = r.Daily
	}
	return max(0, min(today, r.Total, r.Balance))
}

// Released is how much of a campaign's reservations of one minute's auctions settlement has used
// up, whatever the verdict was. It is an absolute sum and only grows.
type Released struct {
	CampaignID uuid.UUID
	Minute     day.Minute
	Amount     money.Micros // > 0
}
