package campaign

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// creative holds the fields of a campaign that the public sees and the policy judges. The name is
// private to the advertiser.
type creative struct{ headline, subtext, ctaLabel, ctaURL, mediaURL, posterURL, logoURL string }

func creativeOf(c *Campaign) creative {
	return creative{c.Headline, c.Subtext, c.CTALabel, c.CTAURL, c.MediaURL, c.PosterURL, c.LogoURL}
}

type part struct{ field, value string }

func linksOf(c *Campaign) []part {
	return []part{{"cta_url", c.CTAURL}, {"media_url", c.MediaURL}, {"poster_url", c.PosterURL}, {"logo_url", c.LogoURL}}
}

// Policy checks a creative and lists its violations, nil if it has none. It finds those that a
// machine can find; the reviewer finds the rest, and may approve a false finding.
func Policy(c *Campaign) []Violation {
	var found []Violation
	for _, text := range []part{{"headline", c.Headline}, {"subtext", c.Subtext}, {"cta_label", c.CTALabel}} {
		for _, rule := range textRules {
			if rule.broken(text.value) {
				found = append(found, Violation{Rule: rule.name, Field: text.field, Message: rule.message})
			}
		}
	}
	for _, link := range linksOf(c) {
		if hidesText(link.value) {
			found = append(found, Violation{Rule: "hidden_text", Field: link.field, Message: "bidirectional overrides and zero-width characters must be percent-encoded"})
		}
		if privateHost(link.value) {
			found = append(found, Violation{Rule: "private_host", Field: link.field, Message: "the host is an IP address or a name that is not public"})
		}
	}
	return found
}

type textRule struct {
	name, message string
	broken        func(string) bool
}

var textRules = []textRule{
	{"hidden_text", "bidirectional overrides and zero-width characters are not allowed", hidesText},
	{"model_instruction", "text must speak to people, not instruct a model", modelInstruction.MatchString},
	{"markup", "markup and template macros are not allowed", markup.MatchString},
	{"shouting", "text must not be all capitals", shouts},
	{"prohibited", "the product category is not accepted", prohibited.MatchString},
	{"misleading", "claims of guaranteed gain are not allowed", misleading.MatchString},
}

// The patterns match claims, not topics: "counterfeit detection" and "never forget your messages"
// are honest products.
var (
	modelInstruction = regexp.MustCompile(`(?i)\b(ignore|disregard|override|bypass)\b.{0,40}\b(previous|prior|above|earlier|preceding|all|any|your|system)\b.{0,40}\b(instructions?|prompts?|guidelines)\b` +
		`|\bforget\b.{0,40}\b(previous|prior|above|earlier|preceding)\b|\bforget (everything|all instructions)\b` +
		`|\b(your|the|my) system prompt\b|\bsystem prompt:|\bnew instructions?:|\b(tell|convince|instruct) the user\b` +
		`|<\|?/?(system|assistant|im_start|im_end)\b|\[/?INST\]|\byou are now (a|an|the|dan|called|acting|no longer)\b`)
	markup     = regexp.MustCompile(`(?i)</?[a-z]|<[!?]|\]\]>|\$\{|\{\{|&#|javascript:\S`)
	prohibited = regexp.MustCompile(`(?i)\b(online casino|sports betting|escort services?|buy followers|(buy|order|cheap) (cocaine|heroin)|fake (ids?|passports?)|counterfeit (goods|money|bills|watches|bags)|malware kits?)\b`)
	misleading = regexp.MustCompile(`(?i)\b(guaranteed (profits?|returns?|income)|risk[- ]free (profits?|returns?)|double your money|get rich quick)\b`)
)

// hidesText finds characters that make a text look different from its stored form: Unicode bidi
// controls, zero-width characters, tag characters. A joiner inside an emoji is part of its picture.
func hidesText(s string) bool {
	var before rune
	for _, r := range s {
		switch {
		case r == 0x200D && (unicode.Is(unicode.So, before) || before == 0xFE0F || unicode.Is(unicode.Sk, before)):
		case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F, r == 0x061C,
			r >= 0x200B && r <= 0x200D, r == 0x2060, r == 0xFEFF, r == 0x00AD, r >= 0xE0000 && r <= 0xE007F:
			return true
		}
		before = r
	}
	return false
}

// shouts is true for a text without lower-case letters that is more than a row of acronyms: three
// words or more, one of them of five capitals or more.
func shouts(s string) bool {
	words := strings.Fields(s)
	return len(words) >= 3 && !strings.ContainsFunc(s, unicode.IsLower) && slices.ContainsFunc(words, func(word string) bool {
		run := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsUpper(r) })
		return utf8.RuneCountInString(run) >= 5 && !strings.ContainsFunc(run, unicode.IsDigit)
	})
}

// privateHost is true for hosts that no visitor should be sent to: addresses, single labels and
// names reserved for private use (RFC 6761, RFC 8375).
func privateHost(link string) bool {
	if link == "" {
		return false
	}
	u, err := url.Parse(link)
	if err != nil {
		return true
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return true
	}
	for _, suffix := range []string{".local", ".localhost", ".internal", ".test", ".invalid", ".home.arpa", ".onion"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	// 0x7f.1 and 2130706433 are addresses to some resolvers.
	return !strings.ContainsFunc(host[strings.LastIndex(host, ".")+1:], unicode.IsLetter)
}
