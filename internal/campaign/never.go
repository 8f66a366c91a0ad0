package campaign

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"adnet/internal/account"
	"adnet/internal/campaign/subject"
)

// Judge returns the subject of [subject.Never] that a rule finds in a text, or [subject.None].
// Package auction/suitability provides it, so that this package does not depend on the rules.
type Judge func(text string) subject.ID

// ruleNever is the rule against targeting words that no conversation with ads may contain.
const ruleNever = "never_words"

// neverWord is a targeting word and its subject.
type neverWord struct {
	part
	subject.ID
}

// neverWords returns the targeting words of c, each checked alone, that no conversation with ads
// may contain. Helplines, pest control and security tools have legitimate uses for them, which a
// reviewer can recognise.
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

// mostNamed is the maximum number of words listed in a finding.
const mostNamed = 20

// ofNever returns the findings about the targeting words of c, at most one per list.
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
					Message: "words about a person in need or about harm need a review before the campaign runs: " +
						strings.Join(named, ", "),
				},
			)
		}
	}
	return found
}

// findings returns the policy's findings in c after a change by caller.
func (s *Service) findings(c *Campaign, caller account.User) []Violation {
	return s.ofNever(c, Policy(beside(c, caller)))
}

// judged returns a digest of exactly what a reviewer of c decides on: its creative and, if there
// are any, its restricted trades, declared or found, and the targeting words with findings. The
// owner may change other words freely.
func (s *Service) judged(c *Campaign) string {
	creative := c.Creative.digest()
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
	slices.Sort(more)
	return digestOf(append(slices.Compact(more), creative)...)
}

// digestOf returns a hash of texts that is unambiguous for any content.
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

// approved reports whether a reviewer approved the current version of c.
func (s *Service) approved(c *Campaign) bool {
	return c.Review != nil && c.Review.Decision == decisionApproved && c.Review.Creative == s.judged(c)
}

// stated holds the lists of a campaign that a review can cover.
type stated struct{ tokens, keywords, trades []string }

func statedOf(c *Campaign) stated { return stated{c.IntentTokens, c.Keywords, c.Trades} }

func (a stated) equal(b stated) bool {
	return slices.Equal(a.tokens, b.tokens) && slices.Equal(a.keywords, b.keywords) && slices.Equal(a.trades, b.trades)
}
