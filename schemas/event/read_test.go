package event

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// What is read equals what Unmarshal returns, for any values of all the fields that the schema has,
// and without Unmarshal, so that a new field of the schema cannot be forgotten.
func TestReadEventIsTheUnmarshalled(t *testing.T) {
	var r Reader // one for all, so that nothing of an event stays for the next
	rapid.Check(t, func(t *rapid.T) {
		want := new(Event)
		fill(t, want.ProtoReflect())
		value, err := proto.Marshal(want)
		require.NoError(t, err)
		require.True(t, r.readEvent(value))
		got, err := r.Read(value)
		require.NoError(t, err)
		require.True(t, proto.Equal(want, got), "%v\n%v", want, got)
	})
}

// Whatever bytes are read, Reader and Unmarshal agree on the event or on its refusal.
func FuzzReader(f *testing.F) {
	whole, err := proto.Marshal(sample())
	require.NoError(f, err)
	twice := append(append([]byte{}, whole...), 0x6a, 2, 0x1a, 0) // a second placement is merged
	unknown := append(append([]byte{}, whole...), 0xa0, 0x3f, 1)
	for _, value := range [][]byte{
		nil, whole, twice, unknown, whole[:len(whole)-1], {0x7a, 1, 0xff}, {0x6a, 3, 0x0a, 1, 0xff}, {0x08, 1}, {0},
		{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}, {0x0b, 0x0c}, {0x58, 2}, {0x82, 1, 2, 0x10, 1, 0x82, 1, 0},
	} {
		f.Add(value)
	}
	var r Reader
	f.Fuzz(func(t *testing.T, value []byte) {
		want := new(Event)
		refused := proto.Unmarshal(value, want)
		got, err := r.Read(value)
		require.Equal(t, refused == nil, err == nil)
		if err == nil {
			require.True(t, proto.Equal(want, got), "%v\n%v", want, got)
		}
	})
}

func sample() *Event {
	id := make([]byte, 16)
	return &Event{
		EventId: id, Type: Type_CONVERSION, Proof: Proof_SIGNED, ReceivedAtUs: 1_780_000_000_000_000, AuctionId: id,
		CampaignId: id, AdvertiserId: id, DeveloperId: id, PriceMicros: 5000, BillingModel: BillingModel_CPM,
		Placement: &Placement{
			Format: "image", IntegrationMethod: "rest", Surface: "chat", Region: "US", Language: "en",
			HostApp: "discord",
		},
		Conversion: &Conversion{Type: "purchase", ValueMicros: 9_000_000, Currency: "EUR", Verified: true},
		Token:      make([]byte, 150), SessionHash: id, NetworkMark: 7,
	}
}

func BenchmarkReader(b *testing.B) {
	value, err := proto.Marshal(sample())
	require.NoError(b, err)
	b.Run("Read", func(b *testing.B) {
		var r Reader
		for b.Loop() {
			_, _ = r.Read(value)
		}
	})
	b.Run("Unmarshal", func(b *testing.B) {
		var x Event
		for b.Loop() {
			_ = proto.Unmarshal(value, &x)
		}
	})
}
