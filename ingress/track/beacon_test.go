package track

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/internal/day"
	"adnet/internal/token"
	"adnet/internal/token/tokentest"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

func requirePixel(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "image/gif", w.Header().Get("Content-Type"))
	require.Len(t, w.Body.Bytes(), 43)
	require.Equal(t, "GIF89a", w.Body.String()[:6])
}

func TestEventsWithATokenCarryItsFacts(t *testing.T) {
	for _, k := range event.Kinds() {
		name, kind := k.Name, k.Type
		if kind == event.Type_CONVERSION {
			continue
		}
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			a := auction(start)
			a.CreditFunded = true
			signed := f.Ring.Sign(token.PurposeReport, a)
			requirePixel(t, f.pixel("event", name, "campaign_id", uuid.NewString(), "auction_id", signed,
				"session", "s1", "dev", uuid.NewString(), "format", "lies", "integration_method", "lies"))
			want := &event.Event{
				Type: kind, Proof: event.Proof_SIGNED, ReceivedAtUs: start.UnixMicro(), AuctionId: a.AuctionID[:],
				CampaignId:   campaignID[:],
				AdvertiserId: advertiserID[:], DeveloperId: developerID[:], PriceMicros: 3000,
				BillingModel: event.BillingModel_CPM, CreditFunded: true,
				SessionHash: hashOf(f.Ring.Session(developerID, day.OfUUID(a.AuctionID), "s1")),
				Placement: &event.Placement{
					Format: "image", IntegrationMethod: "rest", Surface: "chat", Region: "DE", Language: "de",
					HostApp: "Editor",
				},
				Token: f.Ring.AppendRaw(nil, signed),
			}
			got := f.last()
			require.Len(t, got.EventId, 16)
			want.EventId, want.NetworkMark = got.EventId, got.NetworkMark
			require.Equal(t, kind == event.Type_CLICK, got.NetworkMark != 0)
			require.Equal(t, want.String(), got.String())
			require.Equal(
				t, string(a.AuctionID[:]), f.Log.Keys[0], "the key is the auction: its events keep their order",
			)

			w := f.Do(
				http.MethodPost, "/api/track",
				`{"event_type":"`+name+`","campaign_id":"`+uuid.NewString()+`","auction_id":"`+signed+
					`","session":"s1","format":"lies"}`,
			)
			require.Equal(t, http.StatusOK, w.Code)
			require.NotEqual(t, got.EventId, f.last().EventId)
			want.EventId, want.Reported = f.last().EventId, kind == event.Type_CLICK
			require.Equal(t, want.String(), f.last().String())
		})
	}
}

func hashOf(p token.Pseudonym) []byte { return p[:] }

func TestPixelParameters(t *testing.T) {
	f := newFixture(t)
	for name, c := range map[string]struct {
		pairs []string
		field string
	}{
		"no event":               {[]string{"campaign_id", campaignID.String()}, "event"},
		"unknown event":          {[]string{"event", "view", "campaign_id", campaignID.String()}, "event"},
		"no campaign":            {[]string{"event", "impression"}, "campaign_id"},
		"campaign that is no id": {[]string{"event", "impression", "campaign_id", "x"}, "campaign_id"},
		"campaign in other forms": {
			[]string{"event", "impression", "campaign_id", "{" + campaignID.String() + "}"}, "campaign_id",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ingresstest.RequireError(t, f.pixel(c.pairs...), http.StatusBadRequest, "invalid_request", c.field)
		})
	}
	require.Empty(t, f.Log.Requests())
	requirePixel(t, f.pixel("event", "impression", "auction_id", f.token()))
	require.Equal(t, event.Proof_SIGNED, f.last().Proof, "a token makes the campaign unnecessary")
}

func TestHeadersAndHostileParameters(t *testing.T) {
	f := newFixture(t)
	evil := "x\r\nSet-Cookie: a=b\r\n\r\n<script>"
	w := f.pixel(
		"event", "impression", "campaign_id", campaignID.String(), "session", evil, "dev", evil, "format", evil,
		"auction_id", evil, evil, evil,
	)
	requirePixel(t, w)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
	require.Equal(t, "cross-origin", w.Header().Get("Cross-Origin-Resource-Policy"), "isolated pages load it too")
	require.Len(t, w.Header(), 6, "and type and a request id, the length is the connection's: %v", w.Header())
	w = f.Do(http.MethodGet, f.link()+"?session=%0d%0aLocation:%20https://evil.example", "", "X-Request-Id", "a b")
	require.Equal(t, landing, f.withoutClickID(w.Header().Get("Location")))
	require.NotContains(t, w.Header().Get("X-Request-Id"), " ")
	w = f.pixel(
		"event", "impression", "auction_id", f.token(), "session",
		"ä"+strings.Repeat("\xff", 5)+strings.Repeat("€", 200),
	)
	requirePixel(t, w)
	of := day.OfUUID(uuid.UUID(f.last().AuctionId))
	require.Equal(
		t, hashOf(f.Ring.Session(developerID, of, "ä"+strings.Repeat("€", 42))), f.last().SessionHash,
		"valid UTF-8 of at most 128 bytes",
	)
}

func TestForgedTokensAreCountedAndNeverFollowed(t *testing.T) {
	f := newFixture(t)
	good := strings.TrimPrefix(f.link(), "/s/")
	bid := f.Ring.Sign(token.PurposeBid, auction(start))
	forged := map[string]string{"bid purpose": bid, "garbage": "abc", "longer": good + "A", "padded": good + "="}
	for i := range len(good) {
		other := byte('A')
		if good[i] == other {
			other = 'B'
		}
		forged["byte "+string(rune('0'+i))] = good[:i] + string(other) + good[i+1:]
	}
	for name, text := range forged {
		before := f.counted(traffic.ReasonForged)
		requirePixel(t, f.pixel("event", "impression", "campaign_id", campaignID.String(), "auction_id", text))
		require.Equal(t, before+1, f.counted(traffic.ReasonForged), name)
		for _, path := range []string{"/s/", "/r/"} {
			w := f.Do(http.MethodGet, path+text+"?event=click&dest="+landing, "")
			ingresstest.RequireError(t, w, http.StatusNotFound, "not_found", "")
			require.Empty(t, w.Header().Get("Location"))
		}
		require.Empty(t, f.Log.Requests(), "what is forged is no event")
	}
	require.Equal(t, http.StatusFound, f.Do(http.MethodGet, "/s/"+good, "").Code)
}

func TestLateEventsAreRecordedAsExpired(t *testing.T) {
	for name, life := range map[string]time.Duration{
		"impression": time.Hour, "viewable": time.Hour, "click": 24 * time.Hour, "close": 24 * time.Hour,
		"skip": 24 * time.Hour, "video_complete": 24 * time.Hour,
	} {
		f := newFixture(t)
		signed := f.token()
		f.Now = start.Add(life)
		requirePixel(t, f.pixel("event", name, "auction_id", signed))
		require.Equal(t, event.Proof_SIGNED, f.last().Proof, name)
		f.Now = f.Now.Add(time.Millisecond)
		requirePixel(t, f.pixel("event", name, "auction_id", signed))
		require.Equal(t, event.Proof_EXPIRED, f.last().Proof, name)
		require.EqualValues(t, 3000, f.last().PriceMicros, "the facts stay the token's")
	}
}

func TestKeysPastTheirGrace(t *testing.T) {
	secret := base64.StdEncoding.EncodeToString(make([]byte, 32))
	fresh := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", 32)))
	old, err := token.ParseKeys("old:" + secret)
	require.NoError(t, err)
	both, err := token.ParseKeys("new:" + fresh + ",old:" + secret + "@" + start.Add(time.Minute).Format(time.RFC3339))
	require.NoError(t, err)
	signer, err := token.NewKeyring(old)
	require.NoError(t, err)
	f := newFixture(t)
	f.tracker.deps.Keyring, err = token.NewKeyring(both)
	require.NoError(t, err)
	signed := signer.Sign(token.PurposeReport, auction(start))
	requirePixel(t, f.pixel("event", "impression", "campaign_id", campaignID.String(), "auction_id", signed))
	require.Equal(t, event.Proof_SIGNED, f.last().Proof)
	f.Now = start.Add(2 * time.Minute)
	requirePixel(t, f.pixel("event", "impression", "campaign_id", campaignID.String(), "auction_id", signed))
	require.Len(t, f.Log.Requests(), 1, "a key past its grace proves nothing")
	require.EqualValues(t, 1, f.counted(traffic.ReasonKeyExpired))
	require.Equal(
		t, http.StatusNotFound, f.Do(http.MethodGet, "/s/"+signer.Sign(token.PurposeClick, auction(start)), "").Code,
	)
}

func TestUnsignedBeacons(t *testing.T) {
	for mode, proof := range map[string]event.Proof{UnsignedBill: event.Proof_UNSIGNED_BILLABLE} {
		t.Run(mode, func(t *testing.T) {
			f := newFixture(t, func(c *Config) { c.Unsigned = mode })
			fire := func(campaign, dev, session string) *event.Event {
				requirePixel(t, f.pixel("event", "impression", "campaign_id", campaign, "dev", dev, "session", session))
				return f.last()
			}
			e := fire(campaignID.String(), developerID.String(), "s")
			require.Equal(t, proof, e.Proof)
			require.Equal(t, campaignID[:], e.CampaignId)
			require.Equal(t, developerID[:], e.DeveloperId)
			require.Equal(t, advertiserID[:], e.AdvertiserId)
			require.Equal(t, "video", e.Placement.Format)
			require.Zero(t, e.PriceMicros, "the price is the campaign's, which settlement knows")
			require.EqualValues(t, 8, uuid.UUID(e.AuctionId).Version(), "never looks like an auction")
			require.Equal(t, e.AuctionId, fire(campaignID.String(), developerID.String(), "s").AuctionId, "a repeat")
			for _, other := range []*event.Event{
				fire(uuid.NewString(), developerID.String(), "s"), fire(campaignID.String(), "", "s"),
				fire(campaignID.String(), developerID.String(), "s2"),
			} {
				require.NotEqual(t, e.AuctionId, other.AuctionId)
			}
		})
	}
}

func TestSandboxEventsAreMarked(t *testing.T) {
	f := newFixture(t)
	a := auction(start)
	a.Sandbox, a.AdvertiserID = true, uuid.Nil
	requirePixel(t, f.pixel("event", "impression", "auction_id", f.Ring.Sign(token.PurposeReport, a)))
	require.True(t, f.last().Sandbox)
}

func TestSettings(t *testing.T) {
	_, err := New(Config{Unsigned: "maybe", Life: tokentest.Life()}, Deps{})
	require.ErrorContains(t, err, "ADNET_UNSIGNED_BEACONS")
	_, err = New(Config{Unsigned: UnsignedBill}, Deps{})
	require.Error(t, err)
}
