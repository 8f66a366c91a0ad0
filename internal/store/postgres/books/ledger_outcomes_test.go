package books

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/ledger"
	"adnet/internal/money"
)

func drawOutcomes(t *rapid.T) []ledger.Outcome {
	verdict := rapid.SampledFrom([]ledger.Verdict{
		ledger.OK, ledger.Duplicate, ledger.Poison, ledger.InvalidTraffic + "bot", ledger.InvalidTraffic, "",
	})
	outcome := rapid.Custom(func(t *rapid.T) ledger.Outcome {
		return ledger.Outcome{
			Verdict: verdict.Draw(t, "verdict"),
			Charge:  money.Micros(rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64()).Draw(t, "charge")),
			Minted:  money.Credits(rapid.OneOf(rapid.Int64Range(0, 1), rapid.Int64()).Draw(t, "minted")),
		}
	})
	return rapid.SliceOfN(outcome, 0, 60).Draw(t, "outcomes")
}

func TestOutcomesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawOutcomes(t)
		got, err := DecodeOutcomes(nil, EncodeOutcomes(nil, want))
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i], got[i])
		}
	})
}

func TestOutcomesAppend(t *testing.T) {
	a, b := []ledger.Outcome{{Verdict: ledger.OK, Charge: 7, Minted: 1}}, []ledger.Outcome{{Verdict: ledger.Duplicate}}
	got, err := DecodeOutcomes(nil, EncodeOutcomes(nil, a))
	require.NoError(t, err)
	got, err = DecodeOutcomes(got, EncodeOutcomes(nil, b))
	require.NoError(t, err)
	require.Equal(t, append(a, b...), got)
}

func TestOutcomesRefuseCutAndTrailing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := EncodeOutcomes(nil, drawOutcomes(t))
		_, err := DecodeOutcomes(nil, data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")])
		require.ErrorIs(t, err, errOutcomes)
		_, err = DecodeOutcomes(nil, append(data, 0))
		require.ErrorIs(t, err, errOutcomes)
	})
}

func FuzzDecodeOutcomes(f *testing.F) {
	f.Add([]byte{})
	f.Add(EncodeOutcomes(
		nil, []ledger.Outcome{{Verdict: ledger.OK, Charge: 1300, Minted: 1}, {Verdict: ledger.Duplicate}},
	))
	f.Add([]byte{outcomesVersion, 0xff, 0xff, 0xff, 0xff, 0x0f, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		decoded, err := DecodeOutcomes(nil, data)
		if err != nil {
			require.Empty(t, decoded)
			return
		}
		again, err := DecodeOutcomes(nil, EncodeOutcomes(nil, decoded))
		require.NoError(t, err)
		require.Equal(t, len(decoded), len(again))
		for i := range decoded {
			require.Equal(t, decoded[i], again[i])
		}
	})
}
