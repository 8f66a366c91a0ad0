package catalog

import (
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/campaign/subject"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

func drawID(t *rapid.T, label string) uuid.UUID {
	return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
}

// drawList is nil or has values, as an empty list comes back.
func drawList(t *rapid.T, label string) []string {
	list := rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, label)
	if len(list) == 0 {
		return nil
	}
	return list
}

// drawKept is a campaign with just what a node keeps.
func drawKept(t *rapid.T) campaign.Campaign {
	text := func(label string) string { return rapid.String().Draw(t, label) }
	c := campaign.Campaign{
		ID: drawID(t, "id"), AdvertiserID: drawID(t, "advertiser"), ConfigVersion: rapid.Int64().Draw(t, "version"),
		Status: campaign.Status(text("status")), Creative: campaign.Creative{
			Format: campaign.Format(text("format")), Headline: text("headline"),
			Subtext: text("subtext"), MediaURL: text("media"), PosterURL: text("poster"),
			LogoURL: text("logo"), CTALabel: text("label"), CTAURL: text("cta"),
		},
		BillingModel: campaign.BillingModel(text("billing")),
		Pacing:       campaign.Pacing(text("pacing")),

		SkippableAfterSec: rapid.Int().Draw(t, "skip"), BidAmount: money.Micros(rapid.Int64().Draw(t, "bid")),
		CreditFunded: rapid.Bool().Draw(t, "funded"), FrequencyCap: rapid.Int().Draw(t, "cap"),
		Deals: drawList(t, "deals"), Categories: drawList(t, "categories"),
		ExcludeContexts: drawList(t, "excluded"), SensitiveContexts: drawList(t, "allowed"),
		Trades: drawList(t, "trades"),
		ClickID: rapid.SampledFrom([]campaign.ClickID{
			campaign.ClickIDOn, campaign.ClickIDOff,
		}).Draw(t, "click id"),
		BillingEvent: rapid.SampledFrom([]campaign.BillingEvent{
			campaign.OnImpression, campaign.OnView,
		}).Draw(t, "billing event"),
		PagesOnly: rapid.Bool().Draw(t, "pages only"),
	}
	for _, date := range []**time.Time{&c.StartAt, &c.EndAt} {
		if seconds := rapid.Int64Range(0, 1<<32-1).Draw(t, "date"); seconds > 0 {
			at := time.Unix(seconds, 0).UTC()
			*date = &at
		}
	}
	if rapid.Bool().Draw(t, "another version") {
		c.Approved = &campaign.Creative{
			Format: campaign.Format(text("format before")), Headline: text("headline before"),
			Subtext: text("subtext before"), CTALabel: text("label before"), CTAURL: text("cta before"),
			MediaURL: text("media before"), PosterURL: text("poster before"), LogoURL: text("logo before"),
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "violations") {
		c.PolicyViolations = append(
			c.PolicyViolations,
			campaign.Violation{
				Rule: text("rule"), Field: text("field"), Message: text("message"),
				Holds: rapid.Bool().Draw(t, "holds"),
			},
		)
	}
	return c
}

func TestWhatIsPackedComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := []campaign.Campaign{drawKept(t), drawKept(t)}
		slab, ends := packAll(list)
		require.Equal(t, &list[0], slab[:ends[0]].campaign(list[0].ID))
		require.Equal(t, &list[1], slab[ends[0]:ends[1]].campaign(list[1].ID))
		require.Equal(t, list[1].ConfigVersion, slab[ends[0]:].version())
		require.Equal(t, list[1].FrequencyCap, slab[ends[0]:].frequencyCap())
	})
}

func TestEqualTargetingsAreShared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := campaign.Campaign{Deals: drawList(t, "deals"),
			ClickID: rapid.SampledFrom([]campaign.ClickID{campaign.ClickIDOn, campaign.ClickIDOff}).Draw(t, "click id"),
			Targeting: campaign.Targeting{
				IntentTokens: drawList(t, "tokens"), Keywords: drawList(t, "keywords"),
				ActiveTools: drawList(t, "tools"), HostApps: drawList(t, "hosts"),
				Surfaces: drawList(t, "surfaces"), IntegrationMethods: drawList(t, "methods"),
				Regions: drawList(t, "regions"), Languages: drawList(t, "languages"),
			}}
		equal := newTargetings()
		created := equal.of(&k)
		require.Equal(t, &auction.Targeting{
			Exact: true, IntentTokens: k.IntentTokens, Keywords: k.Keywords, ActiveTools: k.ActiveTools,
			HostApps: k.HostApps, Surfaces: k.Surfaces,
			IntegrationMethods: k.IntegrationMethods, Regions: k.Regions, Languages: k.Languages, Deals: k.Deals,
		}, created)
		same := k.Clone()
		require.Same(t, created, equal.of(&same))
		same.Regions, same.Languages = append(same.Regions, "a"), nil
		other := k.Clone()
		other.Regions, other.Languages = k.Regions, append(k.Languages, "a")
		require.NotSame(t, equal.of(&same), equal.of(&other))
	})
}

func TestTableKeepsTheNewestCampaign(t *testing.T) {
	s := newCampaignTable()
	first, later := make1(1, 5, campaign.Active), make1(1, 6, campaign.Paused)
	newer := s.put([]campaign.Campaign{first, later, first, make1(2, 1, campaign.Active)})
	require.Len(t, newer, 3)
	require.Empty(t, s.put([]campaign.Campaign{later}))
	stored, ok := s.creative(id(1))
	require.True(t, ok)
	require.Equal(t, campaign.Paused, stored.Status)
	_, ok = s.room(id(1))
	require.False(t, ok, "a room is known when it was told")
	room := reserve.Room{
		CampaignID: id(3), Version: 7, Day: 3, Daily: 4, Today: 3, Total: 2, Balance: reserve.Unlimited,
	}
	s.putRooms([]reserve.Room{room, {CampaignID: id(3), Version: 6}})
	s.fit()
	reported, ok := s.room(id(3))
	require.True(t, ok)
	require.Equal(t, room, reported)
	_, ok = s.creative(id(3))
	require.False(t, ok, "only its room is known")
}

// A name is kept once for all campaigns of its advertiser, as the newest of them had it, and apart
// from the text that they were read from.
func TestNamesOfAdvertisersAreShared(t *testing.T) {
	s := newCampaignTable()
	of := func(n, version int64, name string) campaign.Campaign {
		k := make1(byte(n), version, campaign.Active)
		k.AdvertiserID, k.Advertiser = id(9), account.Sponsor{Name: name, Verified: name != ""}
		return k
	}
	called := func(n byte) string {
		stored, ok := s.creative(id(n))
		require.True(t, ok)
		require.Equal(t, stored.Advertiser.Name != "", stored.Advertiser.Verified)
		return stored.Advertiser.Name
	}
	s.put([]campaign.Campaign{of(1, 5, ""), make1(3, 1, campaign.Active)})
	require.Nil(t, s.names, "who has no name costs nothing")
	text := strings.Repeat("x", 1000) + "Example Ltd"
	s.put([]campaign.Campaign{of(1, 6, text[1000:])})
	require.Equal(t, "Example Ltd", called(1))
	require.NotSame(t, unsafe.StringData(text[1000:]), unsafe.StringData(called(1)))
	s.put([]campaign.Campaign{of(2, 7, "Another Ltd")})
	require.Same(t, unsafe.StringData(called(1)), unsafe.StringData(called(2)))
	s.put([]campaign.Campaign{of(4, 3, "Example Ltd")})
	require.Equal(
		t, []string{"Another Ltd", "Another Ltd", "Another Ltd", ""},
		[]string{called(1), called(2), called(4), called(3)}, "a late message changes nothing",
	)
	s.put([]campaign.Campaign{of(1, 8, "")})
	require.Equal(t, []string{"", ""}, []string{called(1), called(2)})
	s.put([]campaign.Campaign{of(5, 2, "Example Ltd")})
	require.Equal(t, "", called(1), "what was taken back stays so")
	require.Len(t, s.names, 1)
}

// What a campaign costs is what benchmark rows memory_100k and memory_1m are made of.
func TestPackedCampaignIsSmall(t *testing.T) {
	k := make1(1, 1<<40, campaign.Active)
	k.Headline, k.Subtext, k.MediaURL = strings.Repeat("h", 60), strings.Repeat("s", 120),
		"https://shop.example/media.png"
	stored := len(k.Headline) + len(k.Subtext) + len(k.MediaURL) + len(k.CTAURL)
	require.Less(t, len(pack(nil, &k)), stored+80)
}

// A campaign that was asked for is not decoded again, and never shown as it was before.
func TestRecentCampaignIsCurrent(t *testing.T) {
	table := newCampaignTable()
	k := campaign.Campaign{ID: uuid.New(), ConfigVersion: 1, Creative: campaign.Creative{Headline: "before"}}
	other := campaign.Campaign{ID: k.ID, ConfigVersion: 1, Creative: campaign.Creative{Headline: "another"}}
	other.ID[0] ^= 1 // takes the same place
	table.put([]campaign.Campaign{k, other})
	first, _ := table.creative(k.ID)
	again, _ := table.creative(k.ID)
	require.Same(t, first, again)
	second, _ := table.creative(other.ID)
	require.Equal(t, "another", second.Headline)
	k.ConfigVersion, k.Headline = 2, "after"
	table.put([]campaign.Campaign{k})
	changed, _ := table.creative(k.ID)
	require.Equal(t, "after", changed.Headline)
	require.Equal(t, "before", first.Headline)
	k.ID[15]++ // a newer campaign of the same advertiser has its new name
	k.ConfigVersion, k.Advertiser.Name = 3, "Acme"
	table.put([]campaign.Campaign{k})
	named, _ := table.creative(changed.ID)
	require.Equal(t, "Acme", named.Advertiser.Name)
}

// The standing of a campaign reaches auctions, and no stored value becomes another on the way.
func TestStandingReachesAuctions(t *testing.T) {
	k := campaign.Campaign{Standing: campaign.Standing{
		Family: uuid.New(), Vote: 350_000, ClickRate: 1_500_000, ConvertRate: 20_000, Ceiling: 2 * money.USD,
		Bound: campaign.Behind,
	}}
	table := newCampaignTable()
	table.put([]campaign.Campaign{k})
	for _, entry := range []auction.Campaign{Entry(&k), table.entry(&k, newTargetings())} {
		require.Equal(t, auction.ID(k.Standing.Family), entry.Family)
		require.EqualValues(t, 350_000, entry.Vote)
		require.EqualValues(t, 1_500_000, entry.ClickRate)
		require.EqualValues(t, 20_000, entry.ConvertRate)
		require.Equal(t, 2*money.USD, entry.Ceiling)
		require.Equal(t, index.BoundBehind, entry.Bound)
	}
	k.Standing = campaign.Standing{
		ClickRate: 1 << 40, Vote: 1 << 40, ConvertRate: -1, Ceiling: -1, Bound: campaign.Unproven,
	}
	wrong := Entry(&k)
	require.EqualValues(t, math.MaxUint32, wrong.ClickRate)
	require.EqualValues(t, 1_000_000, wrong.Vote)
	require.Zero(t, wrong.ConvertRate)
	require.Zero(t, wrong.Ceiling)
	require.Equal(t, index.BoundUnproven, wrong.Bound)
}

// An id of a newer build restricts, since this one cannot tell what it stands for.
func TestSuitsOfUnknownIDs(t *testing.T) {
	known := suitsOf(&campaign.Campaign{
		SensitiveContexts: []string{"health"}, ExcludeContexts: []string{"debt"}, Trades: []string{"credit"},
	})
	require.Equal(t, []string{"health"}, known.Allowed.Names())
	require.Equal(t, []string{"debt"}, known.Excluded.Names())
	require.Equal(t, []string{"credit"}, known.Trades.Names())
	require.Zero(t, suitsOf(&campaign.Campaign{}))
	newer := suitsOf(&campaign.Campaign{
		SensitiveContexts: []string{"new"}, ExcludeContexts: []string{"debt", "new"}, Trades: []string{"credit", "new"},
	})
	require.Zero(t, newer.Allowed)
	require.True(t, newer.Excluded.Has(subject.Health))
	require.True(t, newer.Trades.Has(subject.TradePolitics))
}
