package adtext

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestURIIsASCII(t *testing.T) {
	for link, want := range map[string]string{
		"https://shop.example/a?b=c&d=%20%C3%A4#e": "https://shop.example/a?b=c&d=%20%C3%A4#e",
		"https://shop.example":                     "https://shop.example",
		"https://shop.example/naïve/パン?q=кофе#смета": "https://shop.example/na%C3%AFve/" +
			"%E3%83%91%E3%83%B3?q=%D0%BA%D0%BE%D1%84%D0%B5#%D1%81%D0%BC%D0%B5%D1%82%D0%B0",
		"https://köln.example:8443/Straße":          "https://xn--kln-sna.example:8443/Stra%C3%9Fe",
		"https://пример.рф?ü":                       "https://xn--e1afmkfd.xn--p1ai?%C3%BC",
		"https://köln.example/a%2Fb|c?%zz=100%":     "https://xn--kln-sna.example/a%2Fb%7Cc?%25zz=100%25",
		`https://x.example/"<>|{}\^` + "` ?\"<>|{}": "https://x.example/%22%3C%3E%7C%7B%7D%5C%5E%60%20?%22%3C%3E%7C%7B%7D",
		"https://[2001:db8::1]:8443/a[1]?b[]=1#[x]": "https://[2001:db8::1]:8443/a%5B1%5D?b%5B%5D=1#%5Bx%5D",
		"https://x.example/#a#b":                    "https://x.example/#a%23b",
		"https://x.example/\r\nSet-Cookie: a=b":     "https://x.example/%0D%0ASet-Cookie:%20a=b",
		"https://x.example/\xff":                    "https://x.example/%FF",
		"/console/ä":                                "/console/%C3%A4",
		"":                                          "",
	} {
		require.Equal(t, want, URI(link), link)
		require.Equal(t, want, URI(want), "encoded once")
	}
}

func TestPropertyURIsReadAsTheirLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		link := "https://shop.example/" + rapid.String().Draw(t, "rest")
		uri := URI(link)
		if strings.ContainsFunc(uri, func(r rune) bool {
			return r <= ' ' || r > '~' || strings.ContainsRune(`"<>|{}`, r)
		}) {
			t.Fatalf("%q has other characters", uri)
		}
		read, err := url.Parse(uri)
		if err != nil {
			t.Fatalf("%q: %v", uri, err)
		}
		if was, err := url.Parse(link); err == nil && (was.Path != read.Path || was.Fragment != read.Fragment) {
			t.Fatalf("%q is another page than %q", uri, link)
		}
		if again := URI(uri); again != uri {
			t.Fatalf("%q became %q", uri, again)
		}
	})
}
