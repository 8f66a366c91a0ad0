package adtext

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"

	"go.mau.fi/util/confusable"
	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// hosts parses internationalised names like a browser (UTS 46, non-transitional). Names with an
// underscore exist, so ASCII letters are not restricted further.
var hosts = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.StrictDomainName(false))

var errNoName = errors.New("the host is not a valid name")

// ASCIILink returns link with its host in ASCII form (RFC 5891), so that a stored and displayed
// link cannot be mistaken for one to another host. An ASCII link is not changed. It fails if the
// host is not a valid name.
func ASCIILink(link string) (string, error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	host := u.Hostname()
	plain := isASCII(host)
	if plain && !strings.Contains(strings.ToLower(host), "xn--") {
		return link, nil
	}
	named, err := hosts.ToASCII(host)
	if err != nil {
		return "", err
	}
	if read, err := hosts.ToUnicode(named); err != nil || strings.HasPrefix(read, ".") || strings.Contains(read, "..") {
		return "", errNoName
	}
	if plain {
		return link, nil
	}
	if port := u.Port(); port != "" {
		named = net.JoinHostPort(named, port)
	}
	// Only the host is replaced: String would encode the rest anew.
	from, to := authority(link)
	return link[:from] + named + link[to:], nil
}

// authority returns the bounds of the host and port of link, both 0 without them.
func authority(link string) (from, to int) {
	from = strings.Index(link, "//") + len("//")
	if from < len("//") {
		return 0, 0
	}
	to = len(link)
	if at := strings.IndexAny(link[from:], "/?#"); at >= 0 {
		to = from + at
	}
	return from + strings.LastIndexByte(link[from:to], '@') + 1, to
}

// URI returns link as a URI of RFC 3986, which is ASCII, for use in a header: the host in ASCII
// form, and the other characters that a URI may not contain percent-encoded. Existing encodings and
// all other characters stay.
func URI(link string) string {
	from, to := authority(link)
	if !isASCII(link[from:to]) {
		if named, err := ASCIILink(link); err == nil {
			link = named
			from, to = authority(link)
		}
	}
	var encoded []byte // nil while nothing was encoded
	fragment := false
	for i := range len(link) {
		char := link[i]
		keep := uriChar(char)
		switch char {
		case '%':
			keep = i+2 < len(link) && isHex(link[i+1]) && isHex(link[i+2])
		case '[', ']': // around an IPv6 address
			keep = from <= i && i < to
		case '#':
			keep, fragment = !fragment, true
		}
		switch {
		case !keep:
			if encoded == nil {
				encoded = append(make([]byte, 0, len(link)+64), link[:i]...)
			}
			encoded = append(encoded, '%', hexDigits[char>>4], hexDigits[char&15])
		case encoded != nil:
			encoded = append(encoded, char)
		}
	}
	if encoded == nil {
		return link
	}
	return string(encoded)
}

const hexDigits = "0123456789ABCDEF"

// uriChar reports whether a URI may contain char unencoded, or in the case of % and [] perhaps.
func uriChar(char byte) bool {
	switch {
	case 'a' <= char && char <= 'z', 'A' <= char && char <= 'Z', '0' <= char && char <= '9':
		return true
	}
	return strings.IndexByte("-._~:/?#[]@!$&'()*+,;=%", char) >= 0
}

func isHex(char byte) bool {
	return '0' <= char && char <= '9' || 'a' <= char && char <= 'f' || 'A' <= char && char <= 'F'
}

// Host returns the host of link in ASCII form, "" if link has none.
func Host(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	host := u.Hostname()
	if isASCII(host) {
		return host
	}
	if named, err := hosts.ToASCII(host); err == nil {
		return named
	}
	return ""
}

// LinkText returns the parts of link that a reader sees: its host, path, query and fragment,
// decoded twice.
func LinkText(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return link
	}
	host, _ := hosts.ToUnicode(u.Hostname())
	text := strings.Join([]string{host, u.EscapedPath(), u.RawQuery, u.EscapedFragment()}, " ")
	for range 2 {
		decoded, err := url.QueryUnescape(text)
		if err != nil {
			break
		}
		text = decoded
	}
	return text
}

// PrivateHost reports whether the host of link is unsuitable for visitors: an address, a single
// label or a name reserved for private use (RFC 6761, RFC 8375).
func PrivateHost(link string) bool {
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
	// Some resolvers read 0x7f.1 and 2130706433 as addresses.
	return !strings.ContainsFunc(host[strings.LastIndex(host, ".")+1:], unicode.IsLetter)
}

// OddPort reports whether link names a port other than that of https.
func OddPort(link string) bool {
	u, err := url.Parse(link)
	return err == nil && u.Port() != "" && u.Port() != "443"
}

// Shortened reports whether link belongs to a shortener, whose user can change the destination at
// any time.
func Shortened(link string) bool {
	return slices.Contains(shorteners, strings.TrimPrefix(labelled(link), "www."))
}

var shorteners = []string{
	"adf.ly", "amzn.to", "bit.do", "bit.ly", "bitly.com", "bl.ink", "buff.ly", "clck.ru", "cutt.ly", "fb.me", "goo.gl",
	"goo.su", "is.gd", "j.mp", "lnkd.in", "ow.ly", "qr.ae", "rb.gy",
	"rebrand.ly", "s.id", "short.io", "shorte.st", "shorturl.at", "soo.gd", "surl.li", "t.co", "t.ly", "tiny.cc",
	"tinyurl.com", "u.to", "urlz.fr", "v.gd", "vk.cc", "x.co", "youtube.page.link",
}

// labelled returns the host of link in Unicode form and lower case, without a trailing dot.
func labelled(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	host, _ := hosts.ToUnicode(u.Hostname())
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// Imitates reports whether the host of link can be mistaken for another: by look-alike letters, or
// because the labels before its own domain form a domain, as in paypal.com.login.example.
func Imitates(link string) bool {
	host := labelled(link)
	labels := strings.Split(host, ".")
	foreignEnd := !isASCII(labels[len(labels)-1])
	for _, label := range labels {
		if !highlyRestrictive(strings.ReplaceAll(label, "-", "")) ||
			!isASCII(label) && !foreignEnd && isASCII(likeness(label)) || misspelt(label) {
			return true
		}
	}
	return domainInside(host)
}

// likeness returns the skeleton of label. The ligatures of Danish and French count as letters:
// otherwise every word with one would be an imitation.
func likeness(label string) string {
	if strings.ContainsAny(label, "æœ") {
		return label
	}
	return confusable.Skeleton(label)
}

// known are the most imitated names: of payment and login services.
var known = []string{
	"amazon", "amex", "anthropic", "apple", "bankofamerica", "binance", "chase", "citibank", "coinbase", "dropbox",
	"ebay", "facebook", "github", "google", "hsbc", "icloud", "instagram", "kraken",
	"linkedin", "mastercard", "metamask", "microsoft", "netflix", "office365", "openai", "outlook", "paypal", "revolut",
	"santander", "spotify", "stripe", "telegram", "twitter", "visa", "wellsfargo", "whatsapp", "yahoo",
}

// looks has the skeletons of known.
var looks = sync.OnceValue(func() map[string]string {
	of := make(map[string]string, len(known))
	for _, name := range known {
		of[confusable.Skeleton(name)] = name
	}
	return of
})

// misspelt reports whether a word of label looks like a known name without being it.
func misspelt(label string) bool {
	for _, word := range strings.Split(label, "-") {
		like := digits.Replace(confusable.Skeleton(word))
		if name, is := looks()[like]; is && name != word {
			return true
		}
	}
	return false
}

// digits maps digits to the letters that they replace, besides 0 and 1, which the skeleton covers.
var digits = strings.NewReplacer("3", "e", "4", "a", "5", "s", "7", "t", "8", "b")

// ends are the domain endings that people recognise.
var ends = []string{"com", "net", "org", "gov", "edu"}

// domainInside reports whether a label before the registered domain of host looks like the end of
// an address.
func domainInside(host string) bool {
	registered, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil || len(registered) >= len(host) {
		return false
	}
	inner := strings.Split(strings.TrimSuffix(host, "."+registered), ".")
	return slices.ContainsFunc(inner[1:], func(label string) bool { return slices.Contains(ends, label) })
}

// HasOwner reports whether a host and all its subdomains belong to one owner, unlike a shared
// suffix such as co.uk.
func HasOwner(host string) bool {
	_, err := publicsuffix.EffectiveTLDPlusOne(host)
	return err == nil
}

// Registrable returns the domain that the owner of host registered, such as example.co.uk for
// www.example.co.uk, and sub.github.io below a suffix that is shared like github.io. It is "" for a
// name that is itself such a suffix.
func Registrable(host string) string {
	registered, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return ""
	}
	return registered
}
