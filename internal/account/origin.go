package account

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"adnet/internal/adtext"
	"adnet/internal/errs"
)

const (
	maxOrigins = 32  // of a browser key
	maxOrigin  = 300 // bytes: a host name has at most 253
	maxLabels  = 20  // of a host; a browser sends no more, and each is a pattern to look for
	wildcard   = "https://*."
)

// Patterns lists what a key may name to allow pages of origin, which is the value of the header of
// that name: the origin itself, and https://*.D for every domain D that its host is below. It is
// empty for what is not the origin of a page, so also for "null".
func Patterns(origin string) []string {
	host, ok := originHost(origin)
	if !ok {
		return nil
	}
	patterns := []string{origin}
	rest, https := strings.CutPrefix(origin, "https://")
	if _, err := netip.ParseAddr(host); !https || err == nil {
		return patterns
	}
	for {
		_, parent, below := strings.Cut(rest, ".")
		if !below || len(patterns) > maxLabels {
			return patterns
		}
		patterns, rest = append(patterns, wildcard+parent), parent
	}
}

// Allows says whether the key allows pages of origin, which is the value of the header of that
// name. It is on the path of every page's request: an origin that the key names as it is has been
// looked at when the key was made (benchmark row page_ad).
func (k Key) Allows(origin string) bool {
	return !strings.HasPrefix(origin, wildcard) && slices.Contains(k.Origins, origin) || k.Names(Patterns(origin))
}

// Names says whether the key allows pages that one of patterns ([Patterns]) stands for.
func (k Key) Names(patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return slices.Contains(k.Origins, p) })
}

// originHost is the host of an origin in the form that browsers send: scheme, host and port in
// lower case, and nothing else. Plain http is for the developer's own machine only.
func originHost(origin string) (host string, ok bool) {
	if len(origin) > maxOrigin {
		return "", false
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || origin != u.Scheme+"://"+u.Host || strings.ToLower(origin) != origin {
		return "", false
	}
	host = u.Hostname()
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || strconv.FormatUint(n, 10) != port) {
		return "", false
	}
	if strings.HasSuffix(u.Host, ":") || port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		return "", false // a browser leaves the scheme's own port out
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(host)) {
		return "", false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return host, true
	}
	labels := strings.Split(host, ".")
	return host, len(labels) <= maxLabels && !slices.ContainsFunc(labels, func(l string) bool { return !isLabel(l) })
}

func isLabel(label string) bool {
	return label != "" && strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// readOrigins checks the origins of a browser key, which must have some, and drops repeats.
func readOrigins(texts []string) ([]string, error) {
	if len(texts) == 0 || len(texts) > maxOrigins {
		return nil, errs.New(
			errs.InvalidRequest,
			"origins must name 1 to %d origins of the pages that use the key, like https://app.example.com", maxOrigins,
		).With("field", "origins")
	}
	var origins []string
	for _, text := range texts {
		if !isNamable(text) {
			return nil, errs.New(errs.InvalidRequest,
				"origins has %.100q: write https://app.example.com in lower case and ASCII (xn--…), with a port if "+
					"it is another than 443 and without a path, or https://*.example.com for all hosts below a "+
					"domain of yours; http is for localhost only", text).With("field", "origins")
		}
		if !slices.Contains(origins, text) {
			origins = append(origins, text)
		}
	}
	return origins, nil
}

// isNamable says whether a key may name text. What is below a public suffix, as https://*.co.uk,
// has many owners.
func isNamable(text string) bool {
	domain, below := strings.CutPrefix(text, wildcard)
	if !below {
		_, ok := originHost(text)
		return ok
	}
	host, ok := originHost("https://" + domain)
	if _, err := netip.ParseAddr(host); !ok || err == nil {
		return false
	}
	return adtext.HasOwner(host)
}
