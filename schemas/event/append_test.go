package event

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// The appended record is the marshalled one, for any values of all the fields that the schema has.
func TestAppendedAuctionIsTheMarshalled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := new(Auction)
		fill(t, x.ProtoReflect())
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(x)
		require.NoError(t, err)
		got, err := x.AppendTo([]byte("key"))
		require.NoError(t, err)
		require.Equal(t, "key"+string(want), string(got))
	})
	for _, broken := range []*Auction{
		{Reason: "\xff"}, {Placement: &Placement{HostApp: "\xff"}}, {Candidates: []*Candidate{{}, {Reason: "\xff"}}},
	} {
		_, err := proto.Marshal(broken)
		require.Error(t, err)
		_, err = broken.AppendTo(nil)
		require.Error(t, err)
	}
}

// fill gives every field of m a value, zero among them.
func fill(t *rapid.T, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsList():
			list := m.Mutable(f).List()
			for range rapid.IntRange(0, 12).Draw(t, string(f.Name())) {
				if f.Kind() != protoreflect.MessageKind {
					list.Append(value(t, f))
					continue
				}
				fill(t, list.AppendMutable().Message())
			}
		case f.Kind() == protoreflect.MessageKind:
			if rapid.Bool().Draw(t, string(f.Name())) {
				fill(t, m.Mutable(f).Message())
			}
		default:
			m.Set(f, value(t, f))
		}
	}
}

func value(t *rapid.T, f protoreflect.FieldDescriptor) protoreflect.Value {
	name := string(f.Name())
	switch f.Kind() {
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rapid.Int32().Draw(t, name)))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, name))
	case protoreflect.StringKind:
		long := rapid.Map(rapid.IntRange(120, 300), func(n int) string { return strings.Repeat("x", n) })
		return protoreflect.ValueOfString(rapid.OneOf(rapid.String(), long).Draw(t, name))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, name))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, name))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(rapid.Uint64().Draw(t, name))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, name))
	}
	t.Fatalf("the test has no values of the kind %s (field %s)", f.Kind(), name)
	return protoreflect.Value{}
}

func BenchmarkAppendTo(b *testing.B) {
	id := make([]byte, 16)
	x := &Auction{
		AuctionId: id, AtUs: 1_790_000_000_000_000, DeveloperId: id, CampaignId: id, PriceMicros: 5000,
		EcpmMicros: 5_000_000, SnapshotVersion: 70_000,
		TookUs: 9, Tokens: 20,
		Placement: &Placement{
			Format: "embed", IntegrationMethod: "mcp", Surface: "chat", Language: "en", HostApp: "discord",
		},
		Candidates: []*Candidate{
			{CampaignId: id, EcpmMicros: 5_000_000}, {CampaignId: id, EcpmMicros: 4_000_000, Reason: "outbid"},
			{CampaignId: id, EcpmMicros: 3_000_000, Reason: "outbid"},
		},
	}
	room := make([]byte, 0, 1<<10)
	for name, run := range map[string]func() ([]byte, error){
		"append": func() ([]byte, error) { return x.AppendTo(room) },
		"proto": func() ([]byte, error) {
			_ = proto.Size(x) // to give key and value one allocation
			return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(room, x)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
