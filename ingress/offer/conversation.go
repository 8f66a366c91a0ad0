package offer

import (
	"strings"

	"adnet/auction/suitability"
	"adnet/internal/subject"
)

// Conversation is what of a request is judged: a wire reads its texts into it, for [Seller.Judge].
// Reused, it spares allocations.
type Conversation struct {
	suitability.Reader
	texts     []string // as they came, for the operator's classifier
	assistant bool     // one of them is an assistant's
	asked     opinion  // of the classifier, on the last conversation that it was asked about
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
	c.Reader.Reset()
	clear(c.texts)
	c.texts, c.assistant = c.texts[:0], false
}

// Forget lets go of every text. Between Reset and Reset the last answer of the classifier is kept:
// the impressions of a bid request mostly have one text.
func (c *Conversation) Forget() {
	c.Reset()
	c.asked = opinion{}
}

// Read judges one text.
func (c *Conversation) Read(text string, by suitability.Speaker) {
	if text == "" {
		return
	}
	c.Reader.Read(text, by)
	c.texts = append(c.texts, text)
	c.assistant = c.assistant || by == suitability.Assistant
}

// joined is all that was read.
func (c *Conversation) joined() string { return strings.Join(c.texts, "\n") }
