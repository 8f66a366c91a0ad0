package campaign

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// Policy checks a creative and lists what is wrong with it, nil when nothing is. It judges only what a
// machine can be sure of; the rest is the reviewer's.
func Policy(c *Campaign) []Violation {
	var found []Violation
	for _, text := range []struct{ field, value string }{
		{"headline", c.Headline}, {"subtext", c.Subtext}, {"cta_label", c.CTALabel}, {"name", c.Name},
	} {
		for _, rule := range textRules {
			if rule.broken(text.value) {
				found = append(found, Violation{Rule: rule.name, Field: text.field, Message: rule.message})
			}
		}
	}
	for _, link := range []struct{ field, value string }{
		{"cta_url", c.CTAURL}, {"media_url", c.MediaURL}, {"poster_url", c.PosterURL},
	} {
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

var (
	modelInstruction = regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.{0,40}\b(previous|prior|above|earlier|all|your|system)\b.{0,40}\b(instructions?|prompts?|rules|messages?|context)\b|\bsystem prompt\b|<\|?(system|assistant|im_start)\b|\byou are now\b`)
	markup           = regexp.MustCompile(`(?i)<\s*/?\s*[a-z!]|\]\]>|\$\{|&#|javascript:`)
	prohibited       = regexp.MustCompile(`(?i)\b(online casino|sports betting|escort service|buy followers|counterfeit|fake (id|passport)s?|cocaine|heroin|malware kit)\b`)
	misleading       = regexp.MustCompile(`(?i)\b(guaranteed (profits?|returns?|income)|risk[- ]free (profits?|returns?)|double your money|get rich quick)\b`)
)

// hidesText finds what shows a reader something other than what is stored (Unicode bidi controls,
// zero-width characters, tag characters).
func hidesText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		switch {
		case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F, r == 0x061C:
			return true
		case r >= 0x200B && r <= 0x200D, r == 0x2060, r == 0xFEFF, r == 0x00AD, r >= 0xE0000 && r <= 0xE007F:
			return true
		}
		return false
	})
}

// shouts is true for a text of three or more words with no lower-case letter at all.
func shouts(s string) bool {
	return len(strings.Fields(s)) >= 3 && strings.ContainsFunc(s, unicode.IsUpper) && !strings.ContainsFunc(s, unicode.IsLower) &&
		len(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsUpper(r) })) >= 3
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
