package payment

import (
	"context"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/money"
)

// Balances reads an advertiser's cash: positive when deposited, negative when owed.
type Balances interface {
	AdvertiserBalance(ctx context.Context, id uuid.UUID) (money.Micros, error)
}

// Funding reports whether campaigns have money to spend.
type Funding struct {
	Balances Balances
	Required bool // ADNET_PREPAID=required: cash campaigns spend deposited balance only
}

// Unfunded reports whether the campaign cannot deliver for lack of a deposit.
func (f Funding) Unfunded(ctx context.Context, c campaign.Campaign) (bool, error) {
	if !f.Required || c.CreditFunded {
		return false, nil
	}
	cash, err := f.Balances.AdvertiserBalance(ctx, c.AdvertiserID)
	return err == nil && cash <= 0, err
}
