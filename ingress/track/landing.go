package track

import (
	"net/url"
	"strings"
)

// ClickParam is the query parameter in which a landing page gets its click id.
const ClickParam = "adnet_click"

// withClickID gives a landing page its click id, in place of one that it has already. Everything
// else of the URL stays as its owner wrote it, byte for byte: order, encoding, fragment.
func withClickID(page, id string) string {
	page, fragment, hasFragment := strings.Cut(page, "#")
	base, query, _ := strings.Cut(page, "?")
	var b strings.Builder
	b.Grow(len(page) + len(ClickParam) + len(id) + len(fragment) + 3)
	b.WriteString(base)
	separator := byte('?')
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if isClickParam(pair) {
			continue
		}
		b.WriteByte(separator)
		b.WriteString(pair)
		separator = '&'
	}
	b.WriteByte(separator)
	b.WriteString(ClickParam + "=")
	b.WriteString(id) // of the URL alphabet
	if hasFragment {
		b.WriteByte('#')
		b.WriteString(fragment)
	}
	return b.String()
}

// isClickParam also knows the name with percent signs in it, which the landing page reads alike.
func isClickParam(pair string) bool {
	name, _, _ := strings.Cut(pair, "=")
	if name == ClickParam {
		return true
	}
	if !strings.ContainsAny(name, "%+") {
		return false
	}
	plain, err := url.QueryUnescape(name)
	return err == nil && plain == ClickParam
}
