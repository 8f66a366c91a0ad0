package offer

import (
	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/token"
)

// Preview returns an ad of c as it would be sold, without any effect. Its tokens are signed with a
// key that is created here and stored nowhere, so no event, click or receipt of it is valid,
// counted or billed. Its links are below base, where nothing is recorded.
func Preview(c *campaign.Campaign, base string, in Labels) (ad Ad, err error) {
	key, err := token.NewKey("preview")
	if err != nil {
		return Ad{}, err
	}
	ring, err := token.NewKeyring([]token.Key{key})
	if err != nil {
		return Ad{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Ad{}, err
	}
	winner := soldAd{id: id, place: new(Place), creative: c, billing: string(c.Billing()), sandbox: true}
	ad.Creative, ad.Sandbox = c, true
	ad.label(in)
	claims := winner.claims()
	ad.Sign(ring, &claims)
	ad.SetLinks(safeURL(base), winner.place)
	return ad, nil
}
