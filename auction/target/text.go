package target

import (
	"hash/fnv"
	"strings"

	"adnet/auction/lexicon"
)

// Text is what c says of itself.
func (c *Campaign) Text() lexicon.Text { return c.text() }

// Content is a hash of what the ad of c says: copies have the same, whoever owns them.
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
