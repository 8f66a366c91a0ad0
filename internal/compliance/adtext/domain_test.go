package adtext

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDomainHasOneForm(t *testing.T) {
	for _, text := range []string{
		"shop.example", "SHOP.Example", "shop.example.", " shop.example\t", "www.shop.example", "WWW.shop.example.",
		"*.shop.example", ".shop.example", "*shop.example", "*.www.shop.example", "https://shop.example",
		"HTTP://Shop.Example:8443/a?b#c", "//shop.example/", "shop.example:443", "shop.example/", "shop.example/a//b",
		"shop.example?x=https://other.example", "shop.example#x", "https://user:word@shop.example:1/",
		"https://www.shop.example./start", `shop.example\a`, "s%68op.example", "ｓｈｏｐ。example",
	} {
		host, ok := Domain(text)
		require.True(t, ok, text)
		require.Equal(t, "shop.example", host, text)
	}
	for _, text := range []string{
		"bücher.example", "BÜCHER.example", "https://www.bücher.example/x", "xn--bcher-kva.example",
		"XN--BCHER-KVA.EXAMPLE.", "b%C3%BCcher.example", "bu\u0308cher.example",
	} {
		host, ok := Domain(text)
		require.True(t, ok, text)
		require.Equal(t, "xn--bcher-kva.example", host, text)
	}
	for text, want := range map[string]string{
		"": "", " ": "", ".": "", "https://": "", "//": "", "a..b\u2024..c": "",
		"example": "example", "www.example": "www.example",
		"a.shop.example": "a.shop.example", "192.0.2.7:80": "192.0.2.7", "[2001:db8::1]:443": "2001:db8::1",
		"2001:db8::1": "2001:db8::1",
	} {
		host, ok := Domain(text)
		require.True(t, ok, text)
		require.Equal(t, want, host, text)
	}
	for _, text := range []string{"*", "shop.*", "*.shop.*", "5", "8443", "https://77/"} {
		_, ok := Domain(text)
		require.False(t, ok, text)
	}
}

func TestDomainOfAPlainNameAllocatesNothing(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if host, _ := Domain("https://www.shop.example/a?b"); host != "shop.example" {
			panic(host)
		}
	}))
}
