package offer

import (
	"hash/maphash"
	"sync/atomic"

	"adnet/auction/suitability"
	"adnet/internal/subject"
)

// verdicts remembers what texts were judged to be. Each request of a conversation carries its
// earlier turns again, which would be judged again each time. A text stands here as a hash under a
// key of this process, with its verdict: neither the text nor who sent it. There are so many places,
// and a text takes that of another. A nil one remembers nothing.
type verdicts struct {
	seed  maphash.Seed
	slots [rememberedTexts]verdictSlot
}

const (
	rememberedTexts = 1 << textBits
	textBits        = 13
)

// verdictSlot has a hash, mixed with a verdict, and the verdict: one that was read while another was
// written fits no text.
type verdictSlot struct{ mixed, verdict atomic.Uint64 }

// of returns the verdict on a text, which it has judged unless it is remembered.
func (v *verdicts) of(text string, by suitability.Speaker) suitability.Verdict {
	if v == nil {
		return judge(text, by)
	}
	hash := maphash.String(v.seed, text) ^ uint64(by)<<(64-textBits-1)
	slot := &v.slots[hash>>(64-textBits)]
	if packed := slot.verdict.Load(); packed != 0 && slot.mixed.Load()^packed == hash {
		return unpacked(packed)
	}
	verdict := judge(text, by)
	packed := packedVerdict(verdict)
	slot.mixed.Store(hash ^ packed)
	slot.verdict.Store(packed)
	return verdict
}

func judge(text string, by suitability.Speaker) suitability.Verdict {
	var r suitability.Reader
	r.Read(text, by)
	return r.Verdict()
}

// A packed verdict is never 0, has its parts in bits, and the sensitive subjects above them.
const (
	packedMark  = 1
	packedLasts = 1 << 1
	packedBy    = 2
	packedNever = 6
	packedRest  = 14 // more than 48 subjects do not fit, which a test watches
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
