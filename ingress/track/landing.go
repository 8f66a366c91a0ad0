package track

import (
	"net/url"
	"strings"
)

// ClickParam is the query parameter that carries the click id to a landing page.
const ClickParam = "adnet_click"

// withClickID adds the click id to a landing page, in place of an existing one. The rest of the URL
// stays unchanged, byte for byte: order, encoding, fragment.
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

// isClickParam also recognizes the percent-encoded name, which the landing page decodes to the
// same.
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
