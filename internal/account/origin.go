package account

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"adnet/internal/compliance/adtext"
	"adnet/internal/errs"
)

const (
	maxOrigins = 32  // of a browser key
	maxOrigin  = 300 // bytes: a host name has at most 253
	maxLabels  = 20  // of a host; a browser sends no more, and each adds a pattern to the lookup
	wildcard   = "https://*."
)

// Patterns lists the entries of a key that allow pages of origin, the value of the Origin header:
// the origin itself, and https://*.D for every parent domain D of its host. It is empty for a value
// that is not the origin of a page, such as "null".
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

// Allows reports whether the key allows pages of origin, the value of the Origin header. It runs
// for every request of a page. An origin listed literally in the key was checked when the key was
// created, so it is not parsed again (benchmark row page_ad).
func (k Key) Allows(origin string) bool {
	return !strings.HasPrefix(origin, wildcard) && slices.Contains(k.Origins, origin) || k.Names(Patterns(origin))
}

// Names reports whether the key allows one of patterns ([Patterns]).
func (k Key) Names(patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return slices.Contains(k.Origins, p) })
}

// originHost returns the host of an origin in the form that browsers send: scheme, host and port in
// lower case, and nothing else. Plain http is allowed only for the developer's own machine.
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
		return "", false // browsers omit the scheme's default port
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

// readOrigins checks the origins of a browser key and removes duplicates. At least one is required.
func readOrigins(texts []string) ([]string, error) {
	if len(texts) == 0 || len(texts) > maxOrigins {
		return nil, errs.New(
			errs.InvalidRequest,
			"origins must list 1 to %d origins of the pages that use the key, like https://app.example.com", maxOrigins,
		).With("field", "origins")
	}
	var origins []string
	for i, text := range texts {
		if !isNamable(text) {
			return nil, errs.New(errs.InvalidRequest,
				"origins has %.100q: write https://app.example.com in lower case and ASCII (xn--…), with a port if "+
					"it is not 443 and without a path, or https://*.example.com for all hosts below a "+
					"domain that you own; http is for localhost only", text).At("origins", i)
		}
		if !slices.Contains(origins, text) {
			origins = append(origins, text)
		}
	}
	return origins, nil
}

// isNamable reports whether a key may list text. A wildcard below a public suffix, such as
// https://*.co.uk, covers domains of many owners.
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
