package offer

import (
	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/token"
)

// Preview is an ad of c as it would be sold, that nothing can come of. Its tokens are signed by a
// key that is made here and kept nowhere: no event, click or receipt of it is believed, so that
// none is counted or billed. Its links are below base, where nothing records.
func Preview(c *campaign.Campaign, base, disclosure string) (ad Ad, err error) {
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
	ad.Creative, ad.Sandbox, ad.DisclosureLabel = c, true, disclosure
	said := winner.claims()
	ad.Sign(ring, &said)
	ad.SetLinks(safeURL(base), winner.place)
	return ad, nil
}
