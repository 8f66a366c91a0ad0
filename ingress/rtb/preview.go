package rtb

import (
	"github.com/google/uuid"

	"adnet/auction/markup"
	"adnet/ingress/offer"
)

// Preview returns the markup that bids have for an ad, from the same code: of an image a banner for
// each size in CSS pixels, of a video that players can play a VAST document of the given length in
// seconds. Other ads fill neither (see markupSlot.choose). Our links begin with base.
func Preview(ad *offer.Ad, base string, sizes [][2]int, seconds int64) (banners []string, vast string) {
	s := bidSession{sessionRequest: sessionRequest{base: base}, sessionMemory: sessionMemory{ad: *ad}}
	s.auction.ID = uuid.New() // only appears in documents
	slot := &s.current.gate.slot
	slot.has = [kinds]bool{asBanner: true, asVideo: true}
	slot.video = markup.VideoRequest{Seconds: seconds, Skippable: true}
	kind, fits := slot.choose(ad.Creative, anyKind)
	s.current.gate.kind = kind
	switch {
	case !fits:
	case kind == asVideo:
		s.show(&s.current)
		vast = string(s.markup)
	default:
		for _, size := range sizes {
			slot.w, slot.h = size[0], size[1]
			s.show(&s.current)
			banners = append(banners, string(s.markup))
		}
	}
	return banners, vast
}
