package campaign

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"adnet/internal/account"
	"adnet/internal/compliance/adtext"
	"adnet/internal/errs"
)

// firstReviewed has the texts and links of the first reviews, which are digested even if empty.
var firstReviewed = strings.Fields("headline subtext cta_label cta_url media_url poster_url logo_url")

// digest returns a digest of the texts and links of v. A field that is newer than stored reviews is
// digested only if it has a value, so that they stay valid.
func (v Creative) digest() string {
	var values []string
	for _, p := range append(v.parts(Text), v.parts(Link)...) {
		switch {
		case slices.Contains(firstReviewed, p.field):
			values = append(values, p.value)
		case p.value != "":
			values = append(values, p.field+":"+p.value)
		}
	}
	return digestOf(values...)
}

// sameParts reports whether v and other have the same texts and links.
func (v Creative) sameParts(other Creative) bool {
	v.Format = other.Format
	return v == other
}

// sameFace reports whether v and other have the same texts and the same hosts in their links and
// media.
func (v Creative) sameFace(other Creative) bool {
	hosts := func(v Creative) []part {
		links := v.parts(Link)
		for i := range links {
			links[i].value = adtext.Host(links[i].value)
		}
		return links
	}
	return slices.Equal(v.parts(Text), other.parts(Text)) && slices.Equal(hosts(v), hosts(other))
}

type part struct{ field, value string }

// parts returns the fields of v of a kind.
func (v Creative) parts(of Kind) (parts []part) {
	for i := range CreativeTable {
		if f := &CreativeTable[i]; f.Kind == of {
			parts = append(parts, part{f.Name, *f.At(&v).(*string)})
		}
	}
	return parts
}

// beside returns c with the name of its advertiser, if caller is the advertiser or owns that seat.
// Receipts show the name before an administrator has approved it for ads.
func beside(c *Campaign, caller account.User) *Campaign {
	name := caller.Sponsor()
	if name == "" || !slices.Contains(caller.Named(), c.AdvertiserID) {
		return c
	}
	named := *c
	named.Advertiser.Name = name
	return &named
}

// Policy checks a creative, also together with the name of its advertiser, and the trades of its
// campaign. It returns the violations, nil if there are none. A violation is a reason for a person
// to look. No violation is no approval, and a reviewer may approve a violation unless
// [Violation.Holds] marks the link as unsafe.
func Policy(c *Campaign) []Violation {
	var found []Violation
	instructing, together := instructingFields(c)
	if slices.Contains(instructing, fieldName) {
		found = append(
			found,
			Violation{
				Rule: ruleInstruction, Field: fieldName,
				Message: "the name of the advertiser must not instruct a model",
			},
		)
	}
	if together {
		found = append(
			found,
			Violation{
				Rule: ruleInstruction, Field: "creative",
				Message: "the texts together must speak to people, not instruct a model",
			},
		)
	}
	for _, text := range c.parts(Text) {
		if slices.Contains(instructing, text.field) {
			found = append(
				found,
				Violation{
					Rule: ruleInstruction, Field: text.field,
					Message: "text must speak to people, not instruct a model",
				},
			)
		}
		found = breaks(found, text, textRules)
	}
	for _, link := range c.parts(Link) {
		if link.value == "" {
			continue
		}
		if slices.Contains(instructing, link.field) {
			found = append(
				found, Violation{Rule: ruleInstruction, Field: link.field, Message: "a link must not instruct a model"},
			)
		}
		found = breaks(found, link, linkRules)
	}
	if len(c.Languages) > 0 && !slices.ContainsFunc(c.Languages, isRead) {
		found = append(found, Violation{Rule: ruleLanguage, Field: "target_languages", Message: messageLanguage})
	}
	return ofTrades(c, found)
}

// PolicyOfName returns the policy's findings in the name of an advertiser, which ads show beside
// their texts. They are for the administrator's review of the name.
func PolicyOfName(name string) []Violation {
	found := []Violation{}
	if alone, _ := adtext.Instructing(name); len(alone) > 0 {
		found = append(
			found, Violation{Rule: ruleInstruction, Field: "name", Message: "a name must not instruct a model"},
		)
	}
	return breaks(found, part{"name", name}, textRules)
}

func breaks(found []Violation, p part, rules []policyRule) []Violation {
	for _, rule := range rules {
		if rule.broken(p.value) {
			found = append(found, Violation{Rule: rule.name, Field: p.field, Message: rule.message, Holds: rule.holds})
		}
	}
	return found
}

// instructingFields returns the fields with texts or links that address a model. A model reads all
// of them, so together is true if only several of them combined do so.
func instructingFields(c *Campaign) (fields []string, together bool) {
	var parts []part
	if c.Advertiser.Name != "" {
		parts = append(parts, part{fieldName, c.Advertiser.Name})
	}
	parts = append(parts, c.parts(Text)...)
	for _, link := range c.parts(Link) {
		if link.value != "" {
			parts = append(parts, part{link.field, adtext.LinkText(link.value)})
		}
	}
	texts := make([]string, len(parts))
	for i := range parts {
		texts[i] = parts[i].value
	}
	alone, together := adtext.Instructing(texts...)
	for _, i := range alone {
		fields = append(fields, parts[i].field)
	}
	return fields, together
}

// instructsBeside reports whether c instructs a model only if name is read together with its texts.
func (c *Campaign) instructsBeside(name string) bool {
	with, without := *c, *c
	with.Advertiser.Name, without.Advertiser.Name = name, ""
	alone, together := instructingFields(&with)
	aloneBefore, before := instructingFields(&without)
	return together && !before || len(alone) > len(aloneBefore)
}

// Names used in several places.
const (
	ruleInstruction = "model_instruction"
	ruleLanguage    = "unread_language"
	ruleChanged     = "unreviewed_change"

	// fieldName is the field of a finding in the advertiser's name.
	fieldName = "advertiser"

	messageLanguage = "the policy check does not support this language; a reviewer must read the text"
)

// isRead reports whether instructions are recognised in language, a BCP 47 tag.
func isRead(language string) bool {
	primary, _, _ := strings.Cut(strings.ToLower(language), "-")
	return slices.Contains(adtext.Languages, primary)
}

type policyRule struct {
	name, message string
	broken        func(string) bool
	holds         bool // remains after a reviewer approved the creative
}

var textRules = []policyRule{
	{
		name:    "hidden_text",
		message: "bidirectional overrides, zero-width and other invisible characters are not allowed",
		broken:  adtext.Hidden,
	},
	{name: "markup", message: "markup and template macros are not allowed", broken: anyForm(markup)},
	{name: "link_in_text", message: "links belong in cta_url, not in texts", broken: anyForm(linkInText)},
	{name: "mixed_scripts", message: "a word must not mix letters of different scripts", broken: adtext.MixedScripts},
	{name: "unreadable_text", message: "text must be written in plain letters and words", broken: adtext.Unreadable},
	{name: ruleLanguage, message: messageLanguage, broken: adtext.OtherLanguage},
	{name: "shouting", message: "text must not be all capitals", broken: shouts},
	{name: "prohibited", message: "the product category is not accepted", broken: anyForm(prohibited)},
	{name: "misleading", message: "claims of guaranteed gain are not allowed", broken: anyForm(misleading)},
}

// linkRules check links. Rules that hold concern the destination of a link: a reviewer sees today's
// page, but cannot see how the address will be mistaken or what it will show tomorrow.
var linkRules = []policyRule{
	{
		name:    "hidden_text",
		message: "bidirectional overrides, zero-width and other invisible characters must be percent-encoded",
		broken:  adtext.Hidden, holds: true,
	},
	{
		name: "private_host", message: "the host is an IP address or not a public name",
		broken: adtext.PrivateHost, holds: true,
	},
	{
		name: "imitated_host", message: "the host can be mistaken for another one; use a domain of your own",
		broken: adtext.Imitates, holds: true,
	},
	{
		name: "link_shortener", message: "a short link can lead elsewhere tomorrow; use the address of the page",
		broken: adtext.Shortened, holds: true,
	},
	{name: "unusual_port", message: "the link names a port; use the port of https", broken: adtext.OddPort},
}

// anyForm returns a check for pattern in s, both as written and with look-alikes replaced.
func anyForm(pattern *regexp.Regexp) func(string) bool {
	return func(s string) bool { return pattern.MatchString(s) || pattern.MatchString(adtext.Plain(s)) }
}

// The patterns match claims, not topics: "counterfeit detection" is an honest product.
var (
	markup     = regexp.MustCompile(`(?i)</?[a-z]|<[!?]|\]\]>|\$\{|\{\{|&#|javascript:\S`)
	linkInText = regexp.MustCompile(`(?i)\]\s*\(|\]\[|!\[|\bhttps?:|\bwww\.|://`)
	prohibited = regexp.MustCompile(
		`(?i)\b(escort services?|buy followers|(buy|order|cheap) (cocaine|heroin)|fake (ids?|passports?)|counterfeit (goods|money|bills|watches|bags)|malware kits?)\b`,
	)
	misleading = regexp.MustCompile(
		`(?i)\b(guaranteed (profits?|returns?|income)|risk[- ]free (profits?|returns?)|double your money|get rich quick)\b`,
	)
)

// shouts reports whether a text without lower-case letters is more than a series of acronyms: three
// words or more, one of them with five capitals or more.
func shouts(s string) bool {
	words := strings.Fields(s)
	return len(words) >= 3 && !strings.ContainsFunc(s, unicode.IsLower) &&
		slices.ContainsFunc(words, func(word string) bool {
			run := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsUpper(r) })
			return utf8.RuneCountInString(run) >= 5 && !strings.ContainsFunc(run, unicode.IsDigit)
		})
}

// examine returns the findings of the policy check of c after a change by caller, given its
// reviews. A reviewer's approval of exactly this version clears every finding except those that
// hold.
func (s *Service) examine(c *Campaign, caller account.User) []Violation {
	found := s.findings(c, caller)
	if s.approved(c) {
		found = held(found)
	}
	return found
}

// Suspended returns the finding on every campaign of a suspended account. It holds: only the end of
// the suspension clears it, no approval or edit does.
func Suspended() Violation {
	return Violation{
		Rule: RuleSuspended, Field: "account", Message: "the account is suspended; its owner reads why under Decisions",
		Holds: true,
	}
}

// RuleSuspended is the rule of [Suspended].
const RuleSuspended = "account_suspended"

// Suspend adds the finding of a suspended account to c, or removes it.
func (c *Campaign) Suspend(on bool) {
	c.PolicyViolations = slices.DeleteFunc(
		slices.Clone(c.PolicyViolations), func(v Violation) bool { return v.Rule == RuleSuspended },
	)
	if on {
		c.PolicyViolations = append(c.PolicyViolations, Suspended())
	}
}

// suspended reports whether c is stopped because of its account.
func (c *Campaign) suspended() bool {
	return slices.ContainsFunc(c.PolicyViolations, func(v Violation) bool { return v.Rule == RuleSuspended })
}

// RuleReported is the finding on a campaign that readers have reported; a reviewer must look at it.
const RuleReported = "reported"

// ErrSuspended reports that a suspended account cannot get a campaign.
var ErrSuspended = errs.New(errs.Forbidden, "the advertiser's account is suspended")

// held returns the findings that no approval clears.
func held(found []Violation) []Violation {
	return slices.DeleteFunc(slices.Clone(found), func(v Violation) bool { return !v.Holds })
}
