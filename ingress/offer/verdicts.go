package offer

import (
	"hash/maphash"
	"sync/atomic"

	"adnet/auction/suitability"
	"adnet/internal/campaign/subject"
)

// verdicts is a cache of verdicts on texts, since each request of a conversation repeats its
// earlier turns. An entry holds the verdict and a hash of the text under a key of this process, but
// neither the text nor its sender. The number of entries is fixed; a new entry replaces the oldest
// of its set. A set holds several, since two texts that displaced each other would be judged at
// every request (benchmark row ad_request_100k). A nil cache is always empty.
type verdicts struct {
	seed maphash.Seed
	sets [1 << setBits]verdictSet
}

const (
	setBits         = 11
	textsOfSet      = 4 // one cache line
	rememberedTexts = textsOfSet << setBits
)

// verdictSet holds the verdicts on texts of similar hashes, the newest first.
type verdictSet [textsOfSet]verdictSlot

// verdictSlot holds a verdict and its XOR with the hash, so that halves of two entries match no
// text.
type verdictSlot struct{ mixed, verdict atomic.Uint64 }

func newVerdicts() *verdicts { return &verdicts{seed: maphash.MakeSeed()} }

// of returns the verdict on a text, from the cache if possible.
func (v *verdicts) of(text string, by suitability.Speaker) suitability.Verdict {
	if v == nil {
		return suitability.Judge(text, by)
	}
	hash := maphash.String(v.seed, text) ^ uint64(by)<<(64-setBits-1)
	set := &v.sets[hash>>(64-setBits)]
	for i := range set {
		if packed := set[i].verdict.Load(); packed != 0 && set[i].mixed.Load()^packed == hash {
			return unpacked(packed)
		}
	}
	verdict := suitability.Judge(text, by)
	set.add(hash, packedVerdict(verdict))
	return verdict
}

// add moves the entries of a set back by one and enters another. Two calls at a time may lose or
// double entries.
func (s *verdictSet) add(hash, packed uint64) {
	for i := len(s) - 1; i > 0; i-- {
		s[i].put(s[i-1].mixed.Load(), s[i-1].verdict.Load())
	}
	s[0].put(hash^packed, packed)
}

func (s *verdictSlot) put(mixed, verdict uint64) {
	s.mixed.Store(mixed)
	s.verdict.Store(verdict)
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
