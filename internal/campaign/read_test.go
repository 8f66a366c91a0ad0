package campaign

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/money"
)

// whole is a campaign without an empty field.
func whole() Campaign {
	roas := money.Micros(1_500_000)
	at := time.Date(2026, 11, 21, 12, 30, 1, 123456000, time.UTC)
	starts := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	return Campaign{
		ID: uuid.New(), AdvertiserID: uuid.New(), Name: "Ä \"quoted\" name\n", Status: Active,
		Creative: Creative{
			Format: Native, Headline: "Postgres, hosted", Subtext: "Backups \u2028 included",
			MediaURL: "https://cdn.example/a.png", PosterURL: "https://cdn.example/p.png",
			LogoURL: "https://cdn.example/l.png", CTALabel: "Try it",
			CTAURL: "https://example.com/?a=1&b=2",
		},
		SkippableAfterSec: 5, BillingModel: CPC, BillingEvent: OnView, BidAmount: 12_020_000, DailyBudget: 88_000_001,
		TotalBudget: 7_473_500_000,
		TargetCPA:   1, TargetROAS: &roas, Goal: GoalManual, Pursuit: Pursuit{GoalActive, 1_250_000, 12_340_001, 17},
		CreditFunded: true, Pacing: PacingASAP, FrequencyCap: 3, MinRelevance: 250_000,
		Targeting: Targeting{
			Mode: Broad, IntentTokens: []string{"local", "ünïcode"}, Keywords: []string{"k"},
			ActiveTools: []string{"a", "b"}, HostApps: []string{"chatgpt"},
			Surfaces: []string{"s"}, IntegrationMethods: []string{"mcp"}, Regions: []string{"DE"},
			Languages: []string{"de"},
		},
		Deals: []string{"Deal-1"}, Categories: []string{"IAB19", "IAB7-39"},
		ExcludeContexts: []string{"disasters"}, SensitiveContexts: []string{"health", "alcohol"},
		Trades:  []string{"alcohol"},
		ClickID: ClickIDOff, ConversionType: "sale", StartAt: &starts, EndAt: &at,
		PolicyViolations: []Violation{
			{Rule: "claims", Field: "headline", Message: "no \"best\""}, {Rule: "r", Field: "f", Message: "m"},
		},
		Reviewed: true, PagesOnly: true, Reach: Pages, Delivery: Unfunded, DeliveryBound: Behind.Displayed(),
		Queued: QueuedBound, Balance: -5,
		Approved: &Creative{
			Format: Image, Headline: "Before", Subtext: "As \"approved\"", CTALabel: "Buy", CTAURL: "https://a.example/",
			MediaURL: "https://a.example/m", PosterURL: "https://a.example/p", LogoURL: "https://a.example/l",
		},
		Review:        &Review{Decision: "approved", Notes: "fine", ReviewerID: uuid.New(), At: at},
		ConfigVersion: 123_456_789, SettingsVersion: 7, CreatedAt: at, UpdatedAt: at.Add(time.Hour), SpentToday: 5, SpentTotal: 6_000_000,
		Advertiser: account.Sponsor{Name: "Ex\"ample", Verified: true},
		Standing: Standing{
			Family: uuid.New(), Vote: 350_000, ClickRate: 1_250_000, ConvertRate: 90_000, Ceiling: 2_500_001,
			Bound: Behind,
		},
	}
}

func written(t testing.TB, c Campaign) string {
	text, err := c.Record()
	require.NoError(t, err)
	return string(text)
}

// A field that Read does not know makes every load slow: whole must contain it, and then this test
// fails.
func TestReadKnowsEveryField(t *testing.T) {
	full := whole()
	for i, v := 0, reflect.ValueOf(full); i < v.NumField(); i++ {
		require.False(t, v.Field(i).IsZero(), v.Type().Field(i).Name)
	}
	unreviewed := full
	unreviewed.Review, unreviewed.TargetROAS, unreviewed.StartAt = nil, nil, nil
	unreviewed.Advertiser, unreviewed.Approved, unreviewed.Reach = account.Sponsor{}, nil, ""
	unreviewed.Delivery, unreviewed.DeliveryBound, unreviewed.Queued = "", nil, ""
	silent := full
	silent.Review = &Review{Decision: "rejected", At: full.CreatedAt}
	family := full
	family.Standing = Standing{Family: uuid.New()}
	unknown := full
	unknown.Standing = Standing{}
	for _, c := range []Campaign{full, unreviewed, silent, family, unknown, {}} {
		var got Campaign
		require.True(t, got.readOwn(written(t, c)))
		sealed := strings.TrimSuffix(written(t, c), "}") + `,"seal":"k1.AAAA"}`
		require.True(t, new(Campaign).readOwn(sealed), "as it is in Redis")
		var want Campaign
		require.NoError(t, want.readAny(written(t, c)))
		require.Equal(t, want, got)
		require.Equal(t, c.Standing, got.Standing)
	}
}

func TestOwnersDoNotReadTheStanding(t *testing.T) {
	c := whole()
	text, err := json.Marshal(&c)
	require.NoError(t, err)
	require.NotContains(t, string(text), c.Standing.Family.String())
	require.Contains(t, written(t, c), c.Standing.Family.String())
}

func TestReadTakesOtherBuilds(t *testing.T) {
	text := written(t, whole())
	for name, other := range map[string]string{
		"a field more": strings.Replace(text, `"pacing":`, `"new_field":[{"a":1}],"pacing":`, 1),
		"a field less": strings.Replace(text, `"credit_funded":true,`, ``, 1),
		"white space":  strings.Replace(text, `,"pacing":`, ` , "pacing" : `, 1),
		"other order": strings.Replace(
			text, `"pacing":"asap","frequency_cap":3`, `"frequency_cap":3,"pacing":"asap"`, 1,
		),
	} {
		require.NotEqual(t, text, other, name)
		require.False(t, new(Campaign).readOwn(other), name)
		var want Campaign
		require.NoError(t, want.readAny(other))
		require.Equal(t, Behind, want.Standing.Bound, name)
		var got Campaign
		require.NoError(t, Read(other, &got), name)
		require.Equal(t, want, got, name)
	}
	for _, broken := range []string{"", "{}x", text[:len(text)-1], text + "}", "[" + text + "]"} {
		require.Error(t, Read(broken, new(Campaign)))
	}
}

// The general reader accepts every text that the fast reader accepts, with the same result.
func FuzzRead(f *testing.F) {
	text := written(f, whole())
	f.Add(text)
	f.Add(written(f, Campaign{}))
	for _, swap := range [][2]string{
		{"12.02", "1e2"}, {"12.02", "-0"}, {"12.02", "012"}, {"12.02", "null"}, {`"DE"`, "null"}, {"true", "nulL"},
		{"12:30:01", "2:30:01"}, {"01.123456Z", "01,123456Z"}, {"01.123456Z", "01.123456+01:00"}, {`\u2028`, `\ud800`},
	} {
		f.Add(strings.Replace(text, swap[0], swap[1], 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got Campaign
		if !got.readOwn(text) {
			return
		}
		var want Campaign
		require.NoError(t, want.readAny(text))
		require.Equal(t, want, got)
	})
}

func BenchmarkRead(b *testing.B) {
	text := written(b, whole())
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c Campaign
			require.NoError(b, Read(text, &c))
		}
	})
	b.Run("general", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c Campaign
			require.NoError(b, c.readAny(text))
		}
	})
}
