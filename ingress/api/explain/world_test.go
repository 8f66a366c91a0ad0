package explain

import (
	"encoding/binary"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/internal/token"
)

var start = ingresstest.Start

// view is the catalog of a node.
type view struct {
	campaigns map[uuid.UUID]*campaign.Campaign
	rooms     map[uuid.UUID]reserve.Room
	stale     bool
	learnt    *ranker.Learnt
}

func (v *view) Snapshot() *auction.Snapshot {
	return index.Build(ranker.Version2().With(v.learnt), nil)
}

func (v *view) Creative(id uuid.UUID) (*campaign.Campaign, bool) {
	c, ok := v.campaigns[id]
	return c, ok
}

func (v *view) Room(id uuid.UUID) (reserve.Room, bool) {
	r, ok := v.rooms[id]
	return r, ok
}

func (v *view) Fresh(time.Time) bool { return !v.stale }

// world is a publisher, two advertisers, a stranger and an administrator, over the stores of
// in-memory mode.
type world struct {
	*ingresstest.World
	view  *view
	names map[string]string
	users map[string]account.User
	api   *API
}

// at is a UUIDv7 of the given time, the same in every run.
func at(t time.Time, n byte) (id uuid.UUID) {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(t.UnixMilli()))
	copy(id[:], ms[2:])
	id[6], id[8], id[15] = 0x70, 0x80, n
	return id
}

func fixed(n byte) uuid.UUID { return uuid.UUID{0: 0xaa, 6: 0x40, 8: 0x80, 15: n} }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		World: ingresstest.New(t, ingresstest.Options{}), names: map[string]string{}, users: map[string]account.User{},
		view: &view{campaigns: map[uuid.UUID]*campaign.Campaign{}, rooms: map[uuid.UUID]reserve.Room{}},
	}
	for i, name := range []string{"publisher", "advertiser", "rival", "stranger", "admin"} {
		u := account.User{ID: fixed(byte(0x10 + i)), DeveloperID: fixed(byte(0x20 + i)), Email: name + "@example.com"}
		if name == "admin" {
			u.Role = account.RoleAdmin
		}
		p := w.Login(t, u)
		w.users[name], w.names[name] = p.User, p.Token
	}
	plain, material, err := account.GenerateKey(account.KindPublisher)
	require.NoError(t, err)
	publisher := w.users["publisher"]
	require.NoError(t, w.Store.Accounts.CreateKey(t.Context(), account.Key{
		ID: uuid.New(), OwnerID: publisher.ID, DeveloperID: publisher.DeveloperID, Kind: account.KindPublisher,
		Hash: material.Hash,
	}))
	w.names["key"] = plain
	w.api = New(Deps{
		Keyring: w.Ring, History: w.Reports, Catalog: w.view, Store: w.Store.Campaigns, Now: w.Clock,
		Campaigns: campaign.NewService(campaign.Deps{Store: w.Store.Campaigns, Now: w.Clock}),
	})
	w.api.Mount(w.HTTP)
	return w
}

// campaign stores an active campaign that this node serves by.
func (w *world) campaign(
	t *testing.T, id uuid.UUID, owner string, edit ...func(*campaign.Campaign),
) *campaign.Campaign {
	t.Helper()
	k := campaign.Campaign{
		ID: id, AdvertiserID: w.users[owner].ID, Creative: campaign.Creative{
			Format: campaign.Image, Headline: "h", CTAURL: "https://shop.example/",
		},
		BillingModel: campaign.CPM, BidAmount: 5 * money.USD, DailyBudget: 50 * money.USD,
		TotalBudget: 1000 * money.USD, CreatedAt: start.Add(-2 * time.Hour),
	}
	status := campaign.Active
	for _, e := range edit {
		e(&k)
	}
	if k.Status != "" {
		status = k.Status
	}
	stored, err := w.Store.Campaigns.CreateCampaign(
		t.Context(), campaign.NewCampaign{Campaign: k, Admit: func(bool) campaign.Status { return status }},
	)
	require.NoError(t, err)
	w.view.campaigns[id] = &stored
	w.view.rooms[id] = reserve.Room{
		CampaignID: id, Daily: stored.DailyBudget, Today: stored.DailyBudget, Total: stored.TotalBudget,
		Balance: math.MaxInt64,
	}
	return &stored
}

// reported fills the world with one auction that the advertiser won against the rival and its own
// other campaign.
func reported(t *testing.T) (http.Handler, map[string]string) {
	w := newWorld(t)
	winner, second, rival := at(start.Add(-time.Hour), 1), at(start.Add(-time.Hour), 2), at(start.Add(-time.Hour), 3)
	w.campaign(t, winner, "advertiser")
	w.campaign(t, second, "advertiser")
	w.campaign(t, rival, "rival")
	when := start.Add(-10 * time.Minute)
	publisher := w.users["publisher"]
	a := report.Auction{
		AuctionID: at(when, 9), At: when, DeveloperID: publisher.DeveloperID, CampaignID: winner, Price: 5000,
		ECPM:   4_250_000,
		Format: "card", CreativeFormat: "image", IntegrationMethod: "rest", Surface: "chat", Region: "PT",
		Language: "en", HostApp: "assistant", Took: 40 * time.Microsecond,
		Tokens: 4, Tools: 1, Floor: money.USD, MoreCandidates: true, ModelVersion: "benna-2.0badcafe-7", Explores: true,
		Candidates: []report.Candidate{
			{CampaignID: rival, ECPM: 6 * money.USD, Reason: string(auction.Budget)},
			{CampaignID: winner, ECPM: 4_250_000},
			{CampaignID: second, ECPM: 3 * money.USD, Reason: string(auction.Outbid)},
			{CampaignID: rival, ECPM: 2 * money.USD, Reason: string(auction.Outbid)},
		},
	}
	nobody := report.Auction{
		AuctionID: at(when, 10), At: when, DeveloperID: publisher.DeveloperID, Reason: string(auction.BelowFloor),
		Floor:      9 * money.USD,
		Candidates: []report.Candidate{{CampaignID: winner, ECPM: 4_250_000, Reason: string(auction.BelowFloor)}},
	}
	own, house := at(start.Add(-time.Hour), 4), nobody
	w.campaign(t, own, "publisher")
	house.At = when.Add(-3 * time.Hour) // no diagnosis looks back so far
	house.AuctionID, house.HouseID = at(house.At, 13), own
	require.NoError(t, w.Reports.InsertAuctions(t.Context(), "a", []report.Auction{a, nobody, house}))
	event := func(n byte, after time.Duration, kind ledger.EventType, v ledger.Verdict) report.Row {
		return report.Row{
			EventID: at(when.Add(after), n), ReceivedAt: when.Add(after), Type: kind, Verdict: v,
			AuctionID: a.AuctionID, CampaignID: winner,
			AdvertiserID: w.users["advertiser"].ID, DeveloperID: publisher.DeveloperID, Price: 5000,
			BillingModel: "cpm",
		}
	}
	view := event(1, time.Second, ledger.Impression, ledger.OK)
	view.Charge, view.Minted = 5000, 1
	buy := event(3, time.Minute, ledger.Conversion, ledger.OK)
	buy.ConversionType, buy.ConversionValue, buy.Currency, buy.ExternalID = "purchase", 49*money.USD, "EUR", "order-1"
	require.NoError(
		t,
		w.Reports.Insert(
			t.Context(), "e", []report.Row{buy, view, event(2, 2*time.Second, ledger.Impression, ledger.Duplicate)},
		),
	)
	displayed := event(4, time.Second-3*time.Hour, ledger.Impression, ledger.VerdictHouse)
	displayed.AuctionID, displayed.CampaignID, displayed.AdvertiserID = house.AuctionID, own, publisher.ID
	require.NoError(t, w.Reports.Insert(t.Context(), "h", []report.Row{displayed}))
	sign := func(id uuid.UUID, purpose token.Purpose) string {
		return w.Ring.Sign(purpose, token.Auction{
			AuctionID: id, CampaignID: winner, AdvertiserID: w.users["advertiser"].ID,
			DeveloperID: publisher.DeveloperID, Price: 5000, BillingModel: "cpm",
			Format: "image", IntegrationMethod: "rest", Surface: "chat",
		})
	}
	w.names["token"], w.names["bid"] = sign(a.AuctionID, token.PurposeReport), sign(a.AuctionID, token.PurposeBid)
	w.names["unrecorded"], w.names["forged"] = sign(
		at(when, 11), token.PurposeReport,
	), sign(a.AuctionID, token.PurposeReport)+"A"
	w.names["auction"], w.names["nobody"], w.names["unknown"] = a.AuctionID.String(), nobody.AuctionID.String(),
		at(when, 12).String()
	w.names["winner"], w.names["second"], w.names["rivals"] = winner.String(), second.String(), rival.String()
	w.names["house"], w.names["own"] = house.AuctionID.String(), own.String()
	w.names["developer"] = publisher.DeveloperID.String()
	return w.HTTP, w.names
}
