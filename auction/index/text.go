package index

import (
	"hash/fnv"
	"strings"

	"adnet/auction/lexicon"
)

// Text returns the text of c.
func (c *Campaign) Text() lexicon.Text { return c.text() }

// Content returns a hash of the ad text of c. Copies have the same hash, regardless of the owner.
func (c *Campaign) Content() uint64 {
	h := fnv.New64a()
	for _, text := range []string{c.Headline, c.Subtext} {
		for word := range strings.FieldsSeq(text) {
			_, _ = h.Write([]byte(strings.ToLower(word)))
			_, _ = h.Write([]byte{0})
		}
	}
	return h.Sum64()
}
