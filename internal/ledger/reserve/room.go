package reserve

import (
	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
)

// RoomOptions holds the settings for computing rooms.
type RoomOptions struct {
	Prepaid bool // the deposited balance limits cash campaigns (ADNET_PREPAID=required)
}

// Room is the remaining budget of a campaign, as the ledger had it at the time of reading. It is an
// absolute value, never a difference: Version prevents an older one from replacing a newer one.
type Room struct {
	CampaignID uuid.UUID
	// AdvertiserID owns Balance, which all of an advertiser's prepaid campaigns share.
	AdvertiserID uuid.UUID
	Version      int64   // raised by every change of spend, budget or the balance
	Day          day.Day // the UTC day of Today; on a later day the whole daily budget is free
	Daily        money.Micros
	Today        money.Micros // left of Daily on Day
	Total        money.Micros // left of the total budget
	Balance      money.Micros // left of the prepaid balance; [Unlimited] when not prepaid
	Price        money.Micros // of one charge at the campaign's bid
	// Open is the most that may be reserved at a time for a campaign that pays per act, before the
	// first charged act of its family; 0 for no limit.
	Open money.Micros
	// Released holds the amounts of recent minutes' reservations that settlement has used up, as of
	// the same instant: all changes since the reader's cursor, and perhaps more. In no order.
	Released []Released
}

// Left returns the most that the campaign may be charged on a day.
func (r Room) Left(on day.Day) money.Micros {
	today := r.Today
	if on > r.Day {
		today = r.Daily
	}
	return max(0, min(today, r.Total, r.Balance))
}

// Released is the amount of a campaign's reservations of one minute's auctions that settlement has
// used up, regardless of verdict. It is an absolute sum and only grows.
type Released struct {
	CampaignID uuid.UUID
	Minute     day.Minute
	Amount     money.Micros // > 0
}
