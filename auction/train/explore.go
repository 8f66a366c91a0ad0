package train

import "adnet/auction/index"

// The impressions or clicks after which a campaign is no longer new.
const (
	enoughShown  = 3000
	enoughClicks = 30
)

// seen counts the impressions and clicks of ads.
type seen struct{ impressions, clicks int }

func (s seen) enough() bool { return s.impressions >= enoughShown || s.clicks >= enoughClicks }

func (s seen) plus(other seen) seen {
	return seen{s.impressions + other.impressions, s.clicks + other.clicks}
}

// experience returns what is no longer new. Ads are counted by content, so that a copy shares the
// counts of its source. Families of advertisers are counted over all their new campaigns, so that many
// explore no more than one.
func experience(log []Sample, n Network) (explored map[uint64]bool, advertisers map[[16]byte]bool) {
	of, owner, families := map[index.ID]seen{}, map[index.ID]index.ID{}, n.families()
	for i := range log {
		s := &log[i]
		single := seen{impressions: 1}
		if s.Clicked {
			single.clicks = 1
		}
		of[s.Campaign], owner[s.Campaign] = of[s.Campaign].plus(single), families.of(s.Advertiser)
	}
	contents := map[uint64]seen{}
	for c := range n.Index.All() {
		contents[c.Content()] = contents[c.Content()].plus(of[c.ID])
	}
	explored, advertisers = map[uint64]bool{}, map[[16]byte]bool{}
	for content, s := range contents {
		if s.enough() {
			explored[content] = true
		}
	}
	// Removed campaigns count for their family: a replacement starts with their counts.
	young := map[index.ID]seen{}
	for campaign, s := range of {
		if c := n.Index.Get(campaign); c == nil || !explored[c.Content()] {
			young[owner[campaign]] = young[owner[campaign]].plus(s)
		}
	}
	for id, s := range young {
		if s.enough() {
			advertisers[id] = true
		}
	}
	return explored, advertisers
}
