package offer

import (
	"hash/maphash"
	"sync/atomic"

	"adnet/auction/suitability"
	"adnet/internal/subject"
)

// verdicts is a cache of verdicts on texts, since each request of a conversation repeats its
// earlier turns. An entry holds the verdict and a hash of the text under a key of this process, but
// neither the text nor its sender. The number of entries is fixed; a new entry replaces an old one.
// A nil cache is always empty.
type verdicts struct {
	seed  maphash.Seed
	slots [rememberedTexts]verdictSlot
}

const (
	rememberedTexts = 1 << textBits
	textBits        = 13
)

// verdictSlot holds a verdict and its XOR with the hash, so that halves of two entries match no
// text.
type verdictSlot struct{ mixed, verdict atomic.Uint64 }

func newVerdicts() *verdicts { return &verdicts{seed: maphash.MakeSeed()} }

// of returns the verdict on a text, from the cache if possible.
func (v *verdicts) of(text string, by suitability.Speaker) suitability.Verdict {
	if v == nil {
		return suitability.Judge(text, by)
	}
	hash := maphash.String(v.seed, text) ^ uint64(by)<<(64-textBits-1)
	slot := &v.slots[hash>>(64-textBits)]
	if packed := slot.verdict.Load(); packed != 0 && slot.mixed.Load()^packed == hash {
		return unpacked(packed)
	}
	verdict := suitability.Judge(text, by)
	packed := packedVerdict(verdict)
	slot.mixed.Store(hash ^ packed)
	slot.verdict.Store(packed)
	return verdict
}

// Layout of a packed verdict. The lowest bit is set, so that no packed verdict is 0.
const (
	packedMark  = 1
	packedLasts = 1 << 1
	packedBy    = 2  // shift
	packedNever = 6  // shift
	packedRest  = 14 // shift of the sensitive subjects; a test fails when they do not fit
)

func packedVerdict(v suitability.Verdict) uint64 {
	packed := packedMark | uint64(v.By)<<packedBy | uint64(v.Never)<<packedNever | uint64(v.Sensitive)<<packedRest
	if v.Lasts {
		packed |= packedLasts
	}
	return packed
}

func unpacked(packed uint64) suitability.Verdict {
	return suitability.Verdict{
		Never: subject.ID(packed >> packedNever & 0xff), By: suitability.By(packed >> packedBy & 0xf),
		Lasts: packed&packedLasts != 0, Sensitive: subject.Set(packed >> packedRest),
	}
}
