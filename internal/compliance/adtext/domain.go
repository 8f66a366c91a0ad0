package adtext

import (
	"net/url"
	"strings"
)

// Domain returns the host that text names, in the one form in which block lists, allow lists and
// landing pages are compared: ASCII, lower case, without scheme, port, path, wildcard, "www." and
// final dot. It accepts links, names in any script, *.name and .name. The host is "" if text names
// none that a landing page can have. ok is false if text is unreadable: a wildcard within a name, or
// a bare number.
func Domain(text string) (host string, ok bool) {
	host = hostPart(strings.TrimSpace(text))
	if host == "*" {
		return "", false
	}
	if strings.IndexByte(host, '%') >= 0 {
		if decoded, err := url.PathUnescape(host); err == nil {
			host = decoded
		}
	}
	host = strings.TrimLeft(host, "*.")
	if !isASCII(host) {
		named, err := hosts.ToASCII(host)
		if err != nil {
			return "", true
		}
		host = named
	}
	host = strings.ToLower(strings.Trim(host, "."))
	if rest, is := strings.CutPrefix(host, "www."); is && strings.IndexByte(rest, '.') >= 0 {
		host = rest
	}
	if strings.IndexByte(host, '*') >= 0 || host != "" && strings.Trim(host, "0123456789") == "" {
		return "", false
	}
	return host, true
}

// hostPart cuts a link or a host with a port down to its host.
func hostPart(s string) string {
	if scheme, rest, is := strings.Cut(s, "://"); is && !strings.ContainsAny(scheme, `/\?#`) {
		s = rest
	} else {
		s = strings.TrimLeft(s, `/\`)
	}
	if i := strings.IndexAny(s, `/\?#`); i >= 0 {
		s = s[:i]
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	if inner, is := strings.CutPrefix(s, "["); is {
		s, _, _ = strings.Cut(inner, "]")
		return s
	}
	if i := strings.IndexByte(s, ':'); i >= 0 && strings.IndexByte(s[i+1:], ':') < 0 {
		s = s[:i]
	}
	return s
}
