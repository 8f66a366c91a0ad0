package offer

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/suitability"
	"adnet/internal/campaign/subject"
)

// A verdict survives packing.
func TestPackedVerdictsUnpack(t *testing.T) {
	for never := subject.None; int(never) <= len(subject.All); never++ {
		for by := suitability.ByNothing; by <= suitability.ByMemory; by++ {
			for _, lasts := range []bool{false, true} {
				v := suitability.Verdict{
					Never: never, By: by, Lasts: lasts, Sensitive: subject.OfTier(subject.Sensitive),
				}
				require.NotZero(t, packedVerdict(v))
				require.Equal(t, v, unpacked(packedVerdict(v)))
			}
		}
	}
}

// The cache returns the reader's verdict for each speaker, also while other texts replace entries.
func TestCachedVerdictsEqualComputedOnes(t *testing.T) {
	known := newVerdicts()
	texts := []string{
		"I want to kill myself", "a chess opening", "how do I live with diabetes", "I am 9 years old", "adios", "x",
	}
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for round := range 20_000 {
				text, by := texts[(round+worker)%len(texts)], suitability.Speaker(round/7%2)
				if round%3 == 0 {
					known.of(fmt.Sprint("how do I cook rice ", worker, round), by)
				}
				var r suitability.Reader
				r.Read(text, by)
				if got := known.of(text, by); got != r.Verdict() {
					t.Errorf("%q by %d: %+v in place of %+v", text, by, got, r.Verdict())
					return
				}
			}
		})
	}
	wait.Wait()
}

// Texts of one set are all remembered, and another replaces the oldest of them.
func TestVerdictsOfOneSetStayTogether(t *testing.T) {
	var set verdictSet
	verdict := packedVerdict(suitability.Verdict{By: suitability.ByMemory})
	hashes := func() (of []uint64) {
		for i := range set {
			of = append(of, set[i].mixed.Load()^set[i].verdict.Load())
		}
		return of
	}
	for hash := uint64(1); hash <= textsOfSet; hash++ {
		set.add(hash, verdict)
	}
	require.Equal(t, []uint64{4, 3, 2, 1}, hashes())
	set.add(5, verdict)
	require.Equal(t, []uint64{5, 4, 3, 2}, hashes())
}

// BenchmarkConversation judges 32 turns, of which one is new.
func BenchmarkConversation(b *testing.B) {
	known := newVerdicts()
	var c Conversation
	for turn := 0; b.Loop(); turn++ {
		c.Reset()
		for back := range 32 {
			text := fmt.Sprint("Plan a week of vegetarian dinners for four, with a shopping list, day ", turn-back)
			c.Read(text, suitability.User)
		}
		c.verdict(known)
	}
}
