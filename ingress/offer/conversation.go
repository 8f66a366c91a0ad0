package offer

import (
	"slices"
	"strings"

	"adnet/auction/suitability"
	"adnet/internal/subject"
)

// Conversation is what of a request is judged: a wire reads its texts into it, for [Seller.Judge].
// Reused, it spares allocations.
type Conversation struct {
	texts []turn  // as they came
	asked opinion // of the operator's classifier, on the last conversation that it was asked about
}

// turn is a text and its speaker.
type turn struct {
	text string
	by   suitability.Speaker
}

// opinion is what the operator's classifier found in a text.
type opinion struct {
	text  string
	found subject.Set
	other bool // a category that no list knows
	known bool
}

// Reset begins another conversation.
func (c *Conversation) Reset() {
	clear(c.texts)
	c.texts = c.texts[:0]
}

// Forget lets go of every text. Between Reset and Reset the last answer of the classifier is kept:
// the impressions of a bid request mostly have one text.
func (c *Conversation) Forget() {
	c.Reset()
	c.asked = opinion{}
}

// Read adds one text.
func (c *Conversation) Read(text string, by suitability.Speaker) {
	if text != "" {
		c.texts = append(c.texts, turn{text, by})
	}
}

// verdict returns the verdict on all texts.
func (c *Conversation) verdict(known *verdicts) (all suitability.Verdict) {
	for i := range c.texts {
		all.Add(known.of(c.texts[i].text, c.texts[i].by))
	}
	return all
}

// assistant reports whether one of the texts is an assistant's.
func (c *Conversation) assistant() bool {
	return slices.ContainsFunc(c.texts, func(t turn) bool { return t.by == suitability.Assistant })
}

// joined is all that was read.
func (c *Conversation) joined() string {
	var all strings.Builder
	for i := range c.texts {
		if i > 0 {
			all.WriteByte('\n')
		}
		all.WriteString(c.texts[i].text)
	}
	return all.String()
}
