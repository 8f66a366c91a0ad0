package family

import (
	_ "embed"
	"fmt"
	"net/netip"
	"strings"

	"adnet/internal/compliance/adtext"
)

// Providers are mail providers whose addresses belong to many people. Addresses of any other domain
// join.
type Providers map[string]provider

// provider is how a provider reads the part of an address before the @.
type provider struct {
	name    string // of the domain that stands for all its aliases
	ignored string // characters that change nothing
	same    string // pairs of characters that are one: the second is read as the first
	folders bool   // anything@user.name is the mailbox user
}

//go:embed providers.txt
var providersText string

//go:embed shared.txt
var sharedText string

// own is the list of providers. There is no maintained Go library of such a list with few
// dependencies. An operator adds the providers that are missing for the region of its users.
var own = parse(providersText)

func parse(text string) Providers {
	all := make(Providers)
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		var p provider
		names := fields[:0:0]
		for _, field := range fields {
			key, value, is := strings.Cut(field, "=")
			switch {
			case !is:
				names = append(names, key)
			case key == "ignores":
				p.ignored = value
			case key == "same":
				p.same = value
			case key == "folders":
				p.folders = true
			}
		}
		p.name = names[0]
		for _, name := range names {
			all[name] = p
		}
	}
	return all
}

// NewProviders returns the list of public mail providers with further domains. Errors: a text that
// is no domain of the part of an address after the @.
func NewProviders(further []string) (Providers, error) {
	all := make(Providers, len(own)+len(further))
	for name, p := range own {
		all[name] = p
	}
	for _, text := range further {
		name := mailDomain(strings.TrimSpace(text))
		if name == "" {
			return nil, fmt.Errorf(
				"ADNET_MAIL_PROVIDERS must list domains, separated by commas: the part after the @, like mail.example, not %q",
				text,
			)
		}
		if _, known := all[name]; !known {
			all[name] = provider{name: name}
		}
	}
	return all, nil
}

// mailDomain returns the ASCII form of a domain that addresses may have, or "" of any other text: a
// link, an address, a pattern, a name without a dot, a public suffix.
func mailDomain(text string) string {
	if strings.ContainsAny(text, "/\\:@*%?#[] ") {
		return ""
	}
	name, ok := adtext.Domain(text)
	if !ok || !strings.Contains(name, ".") || isAddress(name) || isSuffix(name) {
		return ""
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "-") != label || strings.Trim(label, hostLetters) != "" {
			return ""
		}
	}
	return name
}

// hostLetters are the characters of a host name (RFC 1123).
const hostLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// Mailbox returns the text that is the same for all addresses of one mailbox. At a public mail
// provider that is the address without case, the tag after a plus sign and what else the provider
// ignores. Anywhere else it is the registrable domain: its owner has every address. It is "" for a
// text that is no address. The nil Providers are the list of this package.
func (p Providers) Mailbox(email string) string {
	if p == nil {
		p = own
	}
	email = strings.ToLower(strings.TrimSpace(email))
	at := strings.LastIndexByte(email, '@')
	if at < 1 || at == len(email)-1 {
		return ""
	}
	local, host := email[:at], strings.TrimSuffix(email[at+1:], ".")
	if public, is := p[host]; is {
		return public.mailbox(local)
	}
	domain := registrable(host)
	public, is := p[domain]
	if !is {
		return "@" + domain
	}
	if public.folders {
		local = strings.TrimSuffix(host, "."+domain)
	}
	return public.mailbox(local)
}

func (p provider) mailbox(local string) string {
	if user, _, tagged := strings.Cut(local, "+"); tagged && user != "" {
		local = user
	}
	local = strings.Map(func(r rune) rune {
		if strings.ContainsRune(p.ignored, r) {
			return -1
		}
		if len(p.same) == 2 && r == rune(p.same[1]) {
			return rune(p.same[0])
		}
		return r
	}, local)
	return local + "@" + p.name
}

// registrable is [adtext.Registrable], and the host itself where it has no such domain: an address
// of the network, or a host of the operator's own network.
func registrable(host string) string {
	if isAddress(host) {
		return host
	}
	if domain := adtext.Registrable(host); domain != "" {
		return domain
	}
	return host
}

// shared are the domains of sites where many advertisers have a page: stores, marketplaces, social
// networks, link shorteners and measurement, and those that only serve as examples. Suffixes such as
// github.io are in the public suffix list, so that each page below them is a domain of its own.
var shared = parse(sharedText)

// Landing returns the registrable domain of a landing page; "" for a site where many advertisers
// have a page, and for a link without a host.
func Landing(link string) string {
	host, ok := adtext.Domain(link)
	if !ok || host == "" {
		return ""
	}
	domain := registrable(host)
	_, byHost := shared[host]
	_, byDomain := shared[domain]
	if byHost || byDomain || !isAddress(host) && isSuffix(domain) {
		return ""
	}
	return domain
}

// isAddress reports whether host is an address of the network, in brackets or not.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

// isSuffix reports whether a domain with a dot is itself a public suffix, such as github.io.
func isSuffix(domain string) bool { return strings.Contains(domain, ".") && !adtext.HasOwner(domain) }
