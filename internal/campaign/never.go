package campaign

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"adnet/internal/account"
	"adnet/internal/subject"
)

// Judge returns the subject of [subject.Never] that a rule finds in a text, [subject.None] for
// none. The rules are the decision's (auction/suitability), which this package knows no more than
// any other.
type Judge func(text string) subject.ID

// ruleNever is the rule of targeting words that a conversation with them has no ad beside.
const ruleNever = "never_words"

// neverWord is a targeting word with its subject.
type neverWord struct {
	part
	subject.ID
}

// neverWords are the targeting words of c, each read alone, that are never by a rule. Helplines,
// pest control and security tools have reasons for them, which a person sees.
func (s *Service) neverWords(c *Campaign) (found []neverWord) {
	if s.deps.Judge == nil {
		return nil
	}
	for _, word := range c.statedWords() {
		if id := s.deps.Judge(word.value); id.Tier() == subject.Never {
			found = append(found, neverWord{word, id})
		}
	}
	return found
}

// mostNamed is how many words a finding names.
const mostNamed = 20

// ofNever are the findings about the targeting words of c, one for each list.
func (s *Service) ofNever(c *Campaign, found []Violation) []Violation {
	words := s.neverWords(c)
	for _, field := range [...]string{"target_intent_tokens", "target_keywords"} {
		var named []string
		for _, word := range words {
			if word.field == field {
				named = append(named, fmt.Sprintf("%q (%s)", word.value, word.ID))
			}
		}
		if more := len(named) - mostNamed; more > 0 {
			named = append(named[:mostNamed], fmt.Sprintf("%d more", more))
		}
		if len(named) > 0 {
			found = append(
				found,
				Violation{
					Rule: ruleNever, Field: field,
					Message: "a reviewer looks at words of a person in need or of harm before the campaign runs: " +
						strings.Join(named, ", "),
				},
			)
		}
	}
	return found
}

// findings are what the policy finds in c, which caller changes.
func (s *Service) findings(c *Campaign, caller account.User) []Violation {
	return s.ofNever(c, Policy(beside(c, caller)))
}

// judged names exactly what a reviewer of c judges: its creative and, where it has any, its
// restricted trades, declared or found, and the targeting words that were found. Other words are
// the owner's to change.
func (s *Service) judged(c *Campaign) string {
	creative := creativeOf(c).digest()
	var more []string
	for _, trade := range c.Trades {
		more = append(more, "trade:"+trade)
	}
	for _, claim := range c.undeclared() {
		more = append(more, "undeclared:"+claim.trade.Of().Name)
		if strings.HasPrefix(claim.in.field, "target_") {
			more = append(more, "word:"+claim.in.value)
		}
	}
	for _, word := range s.neverWords(c) {
		more = append(more, "never:"+word.value)
	}
	if len(more) == 0 {
		return creative // as reviews of earlier builds have it
	}
	slices.Sort(more)
	return digestOf(append(slices.Compact(more), creative)...)
}

// digestOf is a hash of texts, whatever they hold.
func digestOf(texts ...string) string {
	sum := sha256.New()
	for _, text := range texts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		sum.Write(length[:])
		sum.Write([]byte(text))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// approved reports whether a person approved c as it is now.
func (s *Service) approved(c *Campaign) bool {
	return c.Review != nil && c.Review.Decision == decisionApproved && c.Review.Creative == s.judged(c)
}

// stated are the lists of a campaign that a review can be about.
type stated struct{ tokens, keywords, trades []string }

func statedOf(c *Campaign) stated { return stated{c.IntentTokens, c.Keywords, c.Trades} }

func (a stated) equal(b stated) bool {
	return slices.Equal(a.tokens, b.tokens) && slices.Equal(a.keywords, b.keywords) && slices.Equal(a.trades, b.trades)
}
