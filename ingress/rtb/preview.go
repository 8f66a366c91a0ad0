package rtb

import (
	"github.com/google/uuid"

	"adnet/auction/markup"
	"adnet/ingress/offer"
	"adnet/internal/campaign"
)

// Preview returns the markup that bids have for an ad, from the same code: a banner for each size
// in CSS pixels, or for a video a VAST document of the given length in seconds if players can play
// it. Our links begin with base.
func Preview(ad *offer.Ad, base string, sizes [][2]int, seconds int64) (banners []string, vast string) {
	s := bidSession{sessionRequest: sessionRequest{base: base}, sessionMemory: sessionMemory{ad: *ad}}
	s.auction.ID = uuid.New() // only appears in documents
	s.current.gate.slot.video = markup.VideoRequest{Seconds: seconds, Skippable: true}
	if show := creative(ad.Creative); ad.Creative.Format == campaign.Video {
		if s.current.gate.slot.video.FitsVideo(&show) {
			s.current.gate.kind = asVideo
			s.show(&s.current)
			vast = string(s.markup)
		}
		return nil, vast
	}
	s.current.gate.kind = asBanner
	for _, size := range sizes {
		s.current.gate.slot.w, s.current.gate.slot.h = size[0], size[1]
		s.show(&s.current)
		banners = append(banners, string(s.markup))
	}
	return banners, ""
}
