// Package settletest signs events of tests and benchmarks, as ingress signs ads: settlement accepts
// no others.
package settletest

import (
	"strings"

	"github.com/google/uuid"

	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// NewRing returns a keyring of one random key.
func NewRing() *token.Keyring {
	key, err := token.NewKey("test")
	if err != nil {
		panic(err) // the id is a constant
	}
	ring, err := token.NewKeyring([]token.Key{key})
	if err != nil {
		panic(err)
	}
	return ring
}

// Sign gives a signed event a matching token. Events of another proof stay as they are.
func Sign(ring *token.Keyring, e *event.Event) {
	if e.Proof != event.Proof_SIGNED {
		return
	}
	p, purpose := e.GetPlacement(), token.PurposeReport
	if e.GetConversion().GetVerified() && e.Type == event.Type_CONVERSION {
		purpose = token.PurposeConverted
	}
	text := ring.Sign(purpose, token.Auction{
		AuctionID: id(e.AuctionId), CampaignID: id(e.CampaignId), AdvertiserID: id(e.AdvertiserId),
		DeveloperID: id(e.DeveloperId),
		Price:       money.Micros(e.PriceMicros), BillingModel: modelOf(e.BillingModel), Sandbox: e.Sandbox,
		House: e.House, CreditFunded: e.CreditFunded,
		Format: p.GetFormat(), IntegrationMethod: p.GetIntegrationMethod(), Surface: p.GetSurface(),
		Region:   p.GetRegion(),
		Language: p.GetLanguage(), HostApp: p.GetHostApp(),
	})
	e.Token = ring.AppendRaw(nil, text)
}

func id(b []byte) (id uuid.UUID) {
	copy(id[:], b)
	return id
}

func modelOf(m event.BillingModel) string {
	if m == event.BillingModel_BILLING_UNSPECIFIED {
		return ""
	}
	return strings.ToLower(m.String())
}
