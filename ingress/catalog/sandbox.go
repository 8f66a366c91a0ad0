package catalog

import (
	"github.com/google/uuid"

	"adnet/internal/campaign"
)

// Sandbox returns the rotation pool for requests with sandbox keys. The ids are fixed, so that
// links of a sandbox ad work on every node. Its campaigns are never in an auction, billed or minted
// for.
func Sandbox() []campaign.Campaign {
	pool := []campaign.Campaign{
		{
			Creative: campaign.Creative{
				Headline: "Your ad would be here",
				Subtext:  "This is a test ad: the integration works.", CTALabel: "Read the docs",
			},
		},
		{
			Creative: campaign.Creative{
				Headline: "Sandbox: hello from adnet",
				Subtext:  "Beacons and clicks of this ad are recorded as sandbox.",
				CTALabel: "See how",
			},
		},
		{
			Creative: campaign.Creative{
				Headline: "A test creative, at no cost",
				Subtext:  "No advertiser pays and no Credit is minted.", CTALabel: "Learn more",
			},
		},
		{Creative: campaign.Creative{
			Headline: "It works",
			Subtext:  "Swap the sandbox key for a live one to earn Credits.",
			CTALabel: "Get a key",
		}},
	}
	for i := range pool {
		c := &pool[i]
		c.ID = uuid.UUID{0x5a, 0x4d, 0xb0, 0xc5, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, byte(i + 1)}
		c.Name, c.Format, c.BillingModel = c.Headline, campaign.Image, campaign.CPM
		c.CTAURL = "https://example.com/adnet-sandbox"
		c.MediaURL = "https://example.com/adnet-sandbox.png"
		c.SkippableAfterSec = campaign.DefaultSkipSec
	}
	return pool
}
