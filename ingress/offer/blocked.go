package offer

import (
	"adnet/auction"
)

// maxRefused is the number of candidates per auction that are checked for words and categories
// blocked by the publisher. After that many refusals the others are refused unread: a publisher
// that blocks "the" must not make this node read every campaign.
const maxRefused = 1000

// blocked is the gate of the publisher's blocks. The request already blocks advertisers and
// domains. Words and categories are in the creative, which is read only if the publisher blocks
// some.
type blocked struct {
	of          *Auction
	refused     int
	texts       [3]string
	domains     []string
	advertisers []auction.ID
}

// begin adds the publisher's blocks to those of the request.
func (b *blocked) begin(a *Auction) {
	b.of, b.refused = a, 0
	if a.Blocks == nil {
		return
	}
	r := &a.Request
	b.domains = append(append(b.domains[:0], r.BlockedDomains...), a.Blocks.Domains...)
	b.advertisers = append(b.advertisers[:0], r.BlockedAdvertisers...)
	for _, id := range a.Blocks.Advertisers {
		b.advertisers = append(b.advertisers, auction.ID(id))
	}
	r.BlockedDomains, r.BlockedAdvertisers = b.domains, b.advertisers
}

func (b *blocked) forget() {
	b.of, b.texts = nil, [3]string{}
	clear(b.domains)
}

// Check implements [auction.Gate].
func (b *blocked) Check(c *auction.Campaign, _ auction.Valuation) auction.Reason {
	if len(b.of.Blocks.Words)+len(b.of.Blocks.Categories) == 0 {
		return ""
	}
	if b.refused < maxRefused {
		creative, known := b.of.Creative(c)
		if !known {
			return "" // removed since the snapshot: the seller reports it
		}
		b.texts = [3]string{creative.Headline, creative.Subtext, creative.CTALabel}
		if !b.of.Blocks.Refuse(b.texts[:], creative.AllCategories()) {
			return ""
		}
	}
	b.refused++
	return auction.Blocked
}

// Undo implements [auction.Gate]; Check counts nothing.
func (*blocked) Undo(*auction.Campaign) {}
