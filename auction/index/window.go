package index

import (
	"math/bits"
	"sync"

	"adnet/auction/lexicon"
)

// window is the working memory for consecutive blocks: the sums of their groups, and the groups
// that may be candidates. Between uses it is all zero.
type window struct {
	sums [widest * blockSize]uint32
	open [widest]bits128
}

// windows are the unused ones. A search holds one while it adds up blocks, not while a request
// waits for the stores, so they are few and stay in the processor's caches.
var windows = sync.Pool{New: func() any { return new(window) }}

// A walk begins with a window of narrowest blocks, since the first ones often contain the winner,
// and doubles it up to widest. Each window costs an access to every term.
const (
	narrowest = 16
	widest    = 128
)

// bits128 has a bit per group of a block.
type bits128 [blockSize / 64]uint64

// add sums up the amounts that a term adds to the groups of the blocks from begin to end, and moves
// the cursor behind them. Groups with a sum of at least enough become open.
func (x *window) add(c *cursor, enough, begin, end uint32) {
	first, behind := begin<<blockBits, end<<blockBits
	c.was = c.at
	groups, by := c.from.group[c.at:c.end], c.from.by[c.at:c.end]
	for i, group := range groups {
		if group >= behind {
			c.at += uint32(i)
			return
		}
		at := (group - first) % uint32(len(x.sums))
		sum := min(x.sums[at]+c.weight*uint32(by[i]), fullSum)
		if x.sums[at] = sum; sum >= enough {
			x.open[at/blockSize].set(at % blockSize)
		}
	}
	c.at = c.end
}

func (b *bits128) count() int { return bits.OnesCount64(b[0]) + bits.OnesCount64(b[1]) }

func (b *bits128) set(at uint32) { b[at/64] |= 1 << (at % 64) }

func (b *bits128) has(at uint32) bool { return b[at/64]&(1<<(at%64)) != 0 }

// free opens the groups of a block that match without a shared word.
func (x *window) free(place uint32, groups *bits128) {
	for i := range groups {
		x.open[place][i] |= groups[i]
	}
}

// fullSum is the maximum sum of weight × impact.
var fullSum = lexicon.Sum(lexicon.MostMatch)

// forget clears the sums of the blocks from begin to end, entry by entry if there are few.
func (x *window) forget(terms []cursor, begin, end uint32) {
	entries := uint32(0)
	for i := range terms {
		entries += terms[i].at - terms[i].was
	}
	if entries > (end-begin)*blockSize/16 {
		clear(x.sums[:(end-begin)*blockSize])
		return
	}
	for i := range terms {
		c := &terms[i]
		for _, group := range c.from.group[c.was:c.at] {
			x.sums[(group-begin<<blockBits)%uint32(len(x.sums))] = 0
		}
	}
}

// most returns the highest sum of the open groups that is at least least and, if below is not 0,
// less than below.
func most(open *bits128, sums *[blockSize]uint32, least, below uint32) (sum uint32, found bool) {
	for half, set := range open {
		for ; set != 0; set &= set - 1 {
			if value := sums[half*64+bits.TrailingZeros64(set)]; value >= max(sum, least) && value <= below-1 {
				sum, found = value, true
			}
		}
	}
	return sum, found
}

// complete adds the terms that do not lead to the open groups of a block, and closes a group as
// soon as it cannot reach the floor.
func (w *walk) complete(block, floor uint32, open *bits128, sums *[blockSize]uint32) {
	behind := w.cursors[w.leading:]
	if len(behind) == 0 {
		return
	}
	for half, set := range open {
		for ; set != 0; set &= set - 1 {
			place := uint32(half*64 + bits.TrailingZeros64(set))
			if sums[place] = w.sum(sums[place], block<<blockBits+place, floor); sums[place] < floor {
				open[half] &^= 1 << (place % 64)
			}
		}
	}
}

// sum returns the sum of a group including the terms that do not lead, or stops at one too low for
// the floor.
func (w *walk) sum(sum, group, floor uint32) uint32 {
	left := w.behind
	for i := range w.cursors[w.leading:] {
		if uint64(sum)+left < uint64(floor) {
			return sum
		}
		c := &w.cursors[w.leading+i]
		left -= c.most
		if at, ok := c.from.find(c.begin, c.end, group); ok {
			sum = min(sum+c.weight*uint32(c.from.by[at]), fullSum)
		}
	}
	return sum
}
