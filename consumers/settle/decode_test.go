package settle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"adnet/consumers/settle/settletest"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/schemas/event"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func id(n byte) []byte {
	b := make([]byte, 16)
	b[0], b[6], b[8] = n, 0x40, 0x80
	return b
}

func auction(at time.Time) []byte {
	ms := at.UnixMilli()
	return []byte{
		byte(ms >> 40), byte(ms >> 32), byte(ms >> 24), byte(ms >> 16), byte(ms >> 8), byte(ms), 0x70, 0, 0x80, 0, 0, 0,
		0, 0, 0, 1,
	}
}

func valid() *event.Event {
	return &event.Event{
		EventId: id(1), Type: event.Type_CONVERSION, Proof: event.Proof_SIGNED, ReceivedAtUs: noon.UnixMicro(),
		AuctionId: auction(noon), CampaignId: id(3), AdvertiserId: id(4), DeveloperId: id(5), PriceMicros: 77,
		BillingModel: event.BillingModel_CPA, InvalidTraffic: "data_center", SessionHash: make([]byte, 16),
		Placement:  &event.Placement{Format: "image", HostApp: "app"},
		Conversion: &event.Conversion{Type: "sale", Verified: true},
	}
}

var ring = settletest.NewRing()

func testDecoder() *decoder { return &decoder{keys: ring, unsigned: true} }

func encode(t testing.TB, e *event.Event) *event.Record {
	t.Helper()
	if e.Token == nil {
		settletest.Sign(ring, e)
	}
	value, err := proto.Marshal(e)
	require.NoError(t, err)
	return &event.Record{Value: value, Time: noon}
}

func TestDecodeKeepsWhatMoneyNeeds(t *testing.T) {
	d := testDecoder()
	record := encode(t, valid())
	got := d.record(record)
	require.Equal(t, ledger.Record{Raw: record.Value, Written: noon, Event: ledger.Event{
		Type: ledger.Conversion, Proof: ledger.Signed, ReceivedAt: noon, AuctionID: uuid.UUID(auction(noon)),
		CampaignID:   uuid.UUID(id(3)),
		AdvertiserID: uuid.UUID(id(4)), DeveloperID: uuid.UUID(id(5)), Price: 77, BillingModel: campaign.CPA,
		InvalidTraffic: "data_center", Goal: &ledger.Goal{Type: "sale"},
	}}, got)

	// A record of a build that took a conversion from anybody.
	claimed := valid()
	claimed.Conversion.Verified = false
	require.Equal(t, ledger.Unverified, d.record(encode(t, claimed)).Event.Proof)

	// The message is used again for the next record: nothing of the last may shine through.
	got = d.record(encode(
		t,
		&event.Event{
			EventId: id(9), Type: event.Type_SKIP, Proof: event.Proof_UNSIGNED, ReceivedAtUs: noon.UnixMicro(),
		},
	))
	require.Empty(t, got.Problem)
	require.Equal(t, ledger.Event{Type: ledger.Skip, Proof: ledger.Unsigned, ReceivedAt: noon}, got.Event)
}

func TestDecodeTurnsNonsenseIntoPoison(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*event.Event)
		want string
	}{
		"no type":                {func(e *event.Event) { e.Type = 0 }, problemEnum},
		"type of the future":     {func(e *event.Event) { e.Type = 99 }, problemEnum},
		"no proof":               {func(e *event.Event) { e.Proof = 0 }, problemEnum},
		"proof of the future":    {func(e *event.Event) { e.Proof = 99 }, problemEnum},
		"billing model unknown":  {func(e *event.Event) { e.BillingModel = 99 }, problemEnum},
		"priced without a model": {func(e *event.Event) { e.BillingModel = 0 }, problemEnum},
		"no event id":            {func(e *event.Event) { e.EventId = nil }, problemID},
		"short event id":         {func(e *event.Event) { e.EventId = e.EventId[:15] }, problemID},
		"long campaign id":       {func(e *event.Event) { e.CampaignId = append(e.CampaignId, 1) }, problemID},
		"short advertiser id":    {func(e *event.Event) { e.AdvertiserId = []byte{1} }, problemID},
		"short developer id":     {func(e *event.Event) { e.DeveloperId = []byte{1} }, problemID},
		"signed without auction": {func(e *event.Event) { e.AuctionId = nil }, problemID},
		"billable without auction": {
			func(e *event.Event) { e.AuctionId, e.Proof = nil, event.Proof_UNSIGNED_BILLABLE }, problemID,
		},
		"negative price":            {func(e *event.Event) { e.PriceMicros = -1 }, problemPrice},
		"price that would overflow": {func(e *event.Event) { e.PriceMicros = int64(money.Max) + 1 }, problemPrice},
		"no time":                   {func(e *event.Event) { e.ReceivedAtUs = 0 }, problemTime},
		"received after it was sent": {
			func(e *event.Event) { e.ReceivedAtUs += (25 * time.Hour).Microseconds() }, problemTime,
		},
		"time out of range": {func(e *event.Event) { e.ReceivedAtUs = 1<<63 - 1 }, problemTime},
		"auction of the far future": {
			func(e *event.Event) { e.AuctionId = auction(noon.AddDate(9, 0, 0)) }, problemTime,
		},
		"auction before time":      {func(e *event.Event) { e.AuctionId = auction(time.UnixMilli(5)) }, problemTime},
		"rule that breaks a label": {func(e *event.Event) { e.InvalidTraffic = "a\x00b" }, problemTraffic},
		"rule as long as a novel": {
			func(e *event.Event) { e.InvalidTraffic = strings.Repeat("a", 65) }, problemTraffic,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := valid()
			c.edit(e)
			record := encode(t, e)
			d := testDecoder()
			got := d.record(record)
			require.Equal(t, c.want, got.Problem)
			require.Equal(t, record.Value, got.Raw)
			require.NotSame(
				t, &record.Value[0], &got.Raw[0], "a copy: the log's bytes are valid until the next poll only",
			)
		})
	}
	d := testDecoder()
	require.Equal(t, problemProto, d.record(&event.Record{Value: []byte{0xff}, Time: noon}).Problem)
	require.Equal(t, problemEnum, d.record(&event.Record{Time: noon}).Problem, "an empty record is no event")
}

func TestDecodeAcceptsWhatMayBeUnknown(t *testing.T) {
	for name, edit := range map[string]func(*event.Event){
		"forged without ids": func(e *event.Event) {
			e.Proof, e.AuctionId, e.CampaignId, e.BillingModel = event.Proof_BAD_SIGNATURE, nil, nil, 0
		},
		"sandbox without model": func(e *event.Event) { e.Sandbox, e.BillingModel = true, 0 },
		"unsigned billable": func(e *event.Event) {
			e.Proof, e.BillingModel, e.AuctionId = event.Proof_UNSIGNED_BILLABLE, 0, id(7)
		},
		"spooled for a month": func(e *event.Event) {
			e.ReceivedAtUs = noon.AddDate(0, -1, 0).UnixMicro()
			e.AuctionId = auction(noon.AddDate(0, -1, 0))
		},
		"no publisher":             func(e *event.Event) { e.DeveloperId = nil },
		"field of a later version": func(e *event.Event) { e.ProtoReflect().SetUnknown([]byte{0xf8, 0x7f, 0x01}) },
	} {
		t.Run(name, func(t *testing.T) {
			e := valid()
			edit(e)
			d := testDecoder()
			require.Empty(t, d.record(encode(t, e)).Problem)
		})
	}
}

// A signed event is what its token says, whoever wrote the record.
func TestSignedEventsAreHeldToTheirTokens(t *testing.T) {
	other := func(edit func(*event.Event)) func(*event.Event) {
		return func(e *event.Event) { // the token is made for what the event said before
			settletest.Sign(ring, e)
			edit(e)
		}
	}
	signedBy := func(ring *token.Keyring) func(*event.Event) {
		return func(e *event.Event) { settletest.Sign(ring, e) }
	}
	bid := func(e *event.Event) {
		a, err := ring.VerifyRaw(token.ForEvent(event.Type_CONVERSION), signed(e), noon)
		require.NoError(t, err)
		e.Token = ring.AppendRaw(nil, ring.Sign(token.PurposeBid, a))
	}
	clickID := func(e *event.Event) { // which visitors of the landing page see
		a, err := ring.VerifyRaw(token.ForEvent(event.Type_CONVERSION), signed(e), noon)
		require.NoError(t, err)
		e.Token = ring.AppendRaw(nil, ring.Sign(token.PurposeConversion, a))
	}
	for name, c := range map[string]struct {
		edit func(*event.Event)
		want string
	}{
		"none":               {func(e *event.Event) { e.Token = []byte{} }, problemNoToken},
		"of another service": {signedBy(settletest.NewRing()), problemToken}, // with a key of the same name
		"of an unknown key":  {signedBy(keyring(t, "other")), problemKey},
		"not a token":        {func(e *event.Event) { e.Token = []byte("token") }, problemToken},
		"cut": {
			other(func(e *event.Event) { e.Token = e.Token[:len(e.Token)-1] }), problemToken,
		},
		"a byte changed": {other(func(e *event.Event) { e.Token[40] ^= 1 }), problemToken},
		"of a bid":       {bid, problemToken},
		"price above":    {other(func(e *event.Event) { e.PriceMicros++ }), problemPaidMore},
		"price below":    {other(func(e *event.Event) { e.PriceMicros-- }), problemDifference},
		"another auction": {
			other(func(e *event.Event) { e.AuctionId = auction(noon.Add(-time.Second)) }), problemDifference,
		},
		"another campaign":   {other(func(e *event.Event) { e.CampaignId = id(9) }), problemDifference},
		"another advertiser": {other(func(e *event.Event) { e.AdvertiserId = id(9) }), problemDifference},
		"another publisher":  {other(func(e *event.Event) { e.DeveloperId = id(9) }), problemDifference},
		"another model": {
			other(func(e *event.Event) { e.BillingModel = event.BillingModel_CPM }), problemDifference,
		},
		"no longer a test": {
			func(e *event.Event) { e.Sandbox = true; settletest.Sign(ring, e); e.Sandbox = false }, problemDifference,
		},
		"a test":     {other(func(e *event.Event) { e.Sandbox = true }), problemDifference},
		"a house ad": {other(func(e *event.Event) { e.House = true }), problemDifference},
		"no longer a house ad": {
			func(e *event.Event) { e.House = true; settletest.Sign(ring, e); e.House = false }, problemDifference,
		},
		"paid by Credits": {other(func(e *event.Event) { e.CreditFunded = true }), problemDifference},
		"its own":         {other(func(*event.Event) {}), ""},
		"of a conversion, for a click": {
			other(func(e *event.Event) { e.Type, e.Conversion = event.Type_CLICK, nil }), problemToken,
		},
		"of a click id": {clickID, problemToken},
	} {
		t.Run(name, func(t *testing.T) {
			e := valid()
			c.edit(e)
			got := testDecoder().record(encode(t, e))
			require.Equal(t, c.want, got.Problem)
			require.NotNil(t, got.Raw)
		})
	}
	house := valid()
	house.House = true
	require.True(t, testDecoder().record(encode(t, house)).Event.House, "settlement hears of a house ad")
	page := valid()
	claims, err := ring.VerifyRaw(token.ForEvent(event.Type_CONVERSION), signed(page), noon)
	require.NoError(t, err)
	require.False(t, testDecoder().record(encode(t, page)).Event.Browser)
	claims.Browser = true
	page.Token = ring.AppendRaw(nil, ring.Sign(token.PurposeConverted, claims))
	require.True(
		t, testDecoder().record(encode(t, page)).Event.Browser, "that it is of a browser key only the token says",
	)
}

func signed(e *event.Event) []byte {
	settletest.Sign(ring, e)
	return e.Token
}

// keyring makes a keyring of one key.
func keyring(t *testing.T, id string) *token.Keyring {
	t.Helper()
	key, err := token.NewKey(id)
	require.NoError(t, err)
	created, err := token.NewKeyring([]token.Key{key})
	require.NoError(t, err)
	return created
}

// An event counts by the key that was valid when it happened, however late it is settled.
func TestKeyOfATokenMayEndBeforeSettlement(t *testing.T) {
	old, err := token.NewKey("old")
	require.NoError(t, err)
	next, err := token.NewKey("next")
	require.NoError(t, err)
	before, err := token.NewKeyring([]token.Key{old})
	require.NoError(t, err)
	for ends, want := range map[time.Time]string{noon: "", noon.Add(-time.Second): problemKeyEnded} {
		e := valid()
		settletest.Sign(before, e)
		old.NotAfter = ends
		after, err := token.NewKeyring([]token.Key{next, old})
		require.NoError(t, err)
		got := (&decoder{keys: after}).record(encode(t, e))
		require.Equal(t, want, got.Problem)
	}
}

func TestSignedEventNeedsItsToken(t *testing.T) {
	e := valid()
	e.Token = []byte{}
	d := decoder{keys: ring}
	require.Equal(t, problemNoToken, d.record(encode(t, e)).Problem)
	e = valid()
	settletest.Sign(settletest.NewRing(), e)
	require.Equal(t, problemToken, d.record(encode(t, e)).Problem, "a token of other keys")
}

// Whether beacons without a token are billed is not said by the log.
func TestUnsignedIsBilledOnlyWhereSettlementIsToldSo(t *testing.T) {
	e := valid()
	e.Proof = event.Proof_UNSIGNED_BILLABLE
	for known, want := range map[bool]ledger.Proof{true: ledger.UnsignedBillable, false: ledger.Unsigned} {
		d := decoder{keys: ring, unsigned: known}
		got := d.record(encode(t, e))
		require.Empty(t, got.Problem)
		require.Equal(t, want, got.Event.Proof)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, valid()).Value, noon.UnixMicro())
	f.Add([]byte{}, int64(0))
	f.Add([]byte{0x0a, 0x10}, noon.UnixMicro())
	f.Fuzz(func(t *testing.T, value []byte, written int64) {
		d := testDecoder()
		r := d.record(&event.Record{Value: value, Time: time.UnixMicro(written)})
		if r.Problem != "" {
			require.Equal(t, string(value), string(r.Raw))
			return
		}
		require.NotEmpty(t, r.Event.Type)
		require.NotEmpty(t, r.Event.Proof)
		require.GreaterOrEqual(t, r.Event.Price, money.Micros(0))
		require.GreaterOrEqual(t, day.OfUUID(r.Event.AuctionID), day.Day(0))
	})
}

func BenchmarkDecode(b *testing.B) {
	d := testDecoder()
	e := valid()
	e.Type, e.BillingModel, e.InvalidTraffic, e.Conversion = event.Type_IMPRESSION, event.BillingModel_CPM, "", nil
	r := encode(b, e)
	b.ReportAllocs()
	for b.Loop() {
		d.record(r)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
