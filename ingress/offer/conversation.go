package offer

import (
	"slices"
	"strings"

	"adnet/auction/suitability"
	"adnet/internal/campaign/subject"
)

// Conversation holds the texts of a request that are judged. A protocol reads its texts into it for
// [Seller.Judge]. Reuse saves allocations.
type Conversation struct {
	texts []turn  // in order of arrival
	last  opinion // the operator's classifier's last opinion
}

// turn is a text and its speaker.
type turn struct {
	text string
	by   suitability.Speaker
}

// opinion is the operator's classifier's result for a text.
type opinion struct {
	text  string
	found subject.Set
	other bool // a category outside our list of subjects
	known bool
}

// Reset starts a new conversation.
func (c *Conversation) Reset() {
	clear(c.texts)
	c.texts = c.texts[:0]
}

// Forget releases every text. It keeps the last opinion of the classifier until Reset, since most
// impressions of a bid request share one text.
func (c *Conversation) Forget() {
	c.Reset()
	c.last = opinion{}
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

// joined returns all texts as one.
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
