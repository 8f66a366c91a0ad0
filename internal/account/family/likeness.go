package family

import (
	"encoding/binary"
	"hash/fnv"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"adnet/internal/compliance/adtext"
)

// Ad is what is compared of a campaign.
type Ad struct {
	Account uuid.UUID
	Landing string  // see [Landing]
	Words   []int64 // hashes of the different words of its texts, ascending; see [Words]
}

const (
	maxWords = 64 // longer texts are compared by these
	// fewestWords is the number of words below which texts are alike by chance.
	fewestWords = 4
	// A text is a near copy if it shares 7 of 10 words of both texts together.
	likeShared, likeOf = 7, 10
)

// Words returns the hashes of the different words of texts, ascending. Case, accents, look-alike
// letters, punctuation and numbers do not count. In scripts without spaces, two letters are a word.
// It is nil for texts that are too short to compare.
func Words(texts ...string) []int64 {
	text := strings.ToLower(adtext.Plain(strings.Join(texts, " ")))
	var words []int64
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		for part := range parts(word) {
			h := fnv.New64a()
			h.Write([]byte(part))
			words = append(words, int64(h.Sum64()))
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) < fewestWords {
		return nil
	}
	return words[:min(len(words), maxWords)]
}

// parts yields word, or its pairs of letters in a script without spaces.
func parts(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		runes := []rune(word)
		if len(runes) < 3 || !strings.ContainsFunc(word, unspaced) {
			yield(word)
			return
		}
		for i := range runes[1:] {
			if !yield(string(runes[i : i+2])) {
				return
			}
		}
	}
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar)
}

// Alike reports whether two results of [Words] are of near copies.
func Alike(a, b []int64) bool {
	if len(a) < fewestWords || len(b) < fewestWords {
		return false
	}
	shared := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			shared, i, j = shared+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return shared*likeOf >= likeShared*(len(a)+len(b)-shared)
}

// The number of bands, and of minimum hashes in each.
const (
	bands    = 6
	bandSize = 2
)

// Bands returns the keys by which near copies are found: two of them share at least one key in 98 of
// 100 cases (min-hashing). It is nil without words.
func Bands(words []int64) []int64 {
	if len(words) == 0 {
		return nil
	}
	keys := make([]int64, bands)
	for band := range keys {
		var joined [8 * bandSize]byte
		for row := range bandSize {
			seed, least := uint64(band*bandSize+row+1)*0x9e3779b97f4a7c15, ^uint64(0)
			for _, word := range words {
				least = min(least, mix(uint64(word)^seed))
			}
			binary.LittleEndian.PutUint64(joined[8*row:], least)
		}
		h := fnv.New64a()
		h.Write(joined[:])
		keys[band] = int64(h.Sum64()) ^ int64(band)
	}
	return keys
}

// mix spreads the bits of x (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return bits.RotateLeft64(x^x>>31, 17)
}

// fewHolders is the number of texts that each band compares with: the oldest ones.
const fewHolders = 4

// likeAds yields accounts with an older account that has the same landing domain or a near copy of a
// text.
func (g *grouping) likeAds(ads []Ad) iter.Seq2[int32, int32] {
	type holder struct {
		ad      *Ad
		account int32
	}
	sorted := make([]holder, 0, len(ads))
	for i := range ads {
		if account, known := g.at[ads[i].Account]; known {
			sorted = append(sorted, holder{&ads[i], account})
		}
	}
	slices.SortStableFunc(sorted, func(a, b holder) int { return int(a.account) - int(b.account) })
	return func(yield func(newer, older int32) bool) {
		landings := make(map[string]int32)
		texts := make(map[int64][]holder)
		for _, h := range sorted {
			if first, known := landings[h.ad.Landing]; known {
				if !yield(h.account, first) {
					return
				}
			} else if h.ad.Landing != "" {
				landings[h.ad.Landing] = h.account
			}
			for _, band := range Bands(h.ad.Words) {
				for _, like := range texts[band] {
					if like.account != h.account && Alike(h.ad.Words, like.ad.Words) && !yield(h.account, like.account) {
						return
					}
				}
				if len(texts[band]) < fewHolders {
					texts[band] = append(texts[band], h)
				}
			}
		}
	}
}
