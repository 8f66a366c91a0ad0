package family_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/account/family"
)

func TestAddressesOfOneMailbox(t *testing.T) {
	for want, same := range map[string][]string{
		"thief@gmail.com":       {"thief@gmail.com", "T.h.i.e.f@Gmail.com", "thief+shop@googlemail.com", " th.ief+a+b@gmail.com"},
		"anna@proton.me":        {"an-na@protonmail.com", "a.nna+x@pm.me", "Anna@proton.me"},
		"anna-b@yandex.ru":      {"anna.b@ya.ru", "anna-b+x@yandex.com"},
		"anna@icloud.com":       {"anna@me.com", "anna+1@mac.com"},
		"anna@fastmail.com":     {"shop@anna.fastmail.com", "anna+x@fastmail.com", "other@anna.fastmail.com"},
		"anna.b@outlook.com":    {"Anna.B+news@outlook.com"}, // dots count at Outlook
		"annab@outlook.com":     {"annab@outlook.com"},
		"thief@example.org":     {"thief+0@example.org", "thief+9@example.org"},
		"victim@example.org":    {"victim@example.org"},
		"+x@gmail.com":          {"+x@gmail.com"}, // a tag without a name is the name
		"@shop.co.uk":           {"a@shop.co.uk", "b.c@mail.shop.co.uk", "x+y@eu.mail.SHOP.co.uk."},
		"@acme.example":         {"a@acme.example", "b@x.acme.example"},
		"@anna.github.io":       {"a@anna.github.io"},
		"@mailhost":             {"root@mailhost"},
		"@[192.0.2.1]":          {"root@[192.0.2.1]"},
		"anna@yahoo.co.jp":      {"anna@yahoo.co.jp"},
		"anna@user.t-online.de": nil,
		"":                      {"", "no address", "@gmail.com", "a@"},
	} {
		for _, email := range same {
			require.Equal(t, want, family.Providers(nil).Mailbox(email), "%q", email)
		}
	}
}

func TestOperatorsAddMailProviders(t *testing.T) {
	own, err := family.NewProviders([]string{"Regional.example", "gmail.com"})
	require.NoError(t, err)
	require.Equal(t, "anna@regional.example", own.Mailbox("anna+x@regional.example"))
	require.Equal(t, "thief@gmail.com", own.Mailbox("t.hief@gmail.com"), "a known provider stays as it is")
	require.Equal(t, "@regional.example", family.Providers(nil).Mailbox("anna@regional.example"))
	own, err = family.NewProviders([]string{" post.example ", "Müller.example", "eu.mail.example."})
	require.NoError(t, err)
	for _, email := range []string{"anna@post.example", "anna@xn--mller-kva.example", "anna@eu.mail.example"} {
		require.Equal(t, email, own.Mailbox(email))
	}
	for _, bad := range []string{
		"", " ", "*", "12", "mail", "bad domain", "two.example three.example", "a.example;b.example",
		"https://mail.example", "https://mail.example/inbox", "mail.example/", "mail.example:25", "@mail.example",
		"anna@mail.example", "*.mail.example", "192.0.2.1", "[192.0.2.1]", "2001:db8::1", "co.uk", "a..example",
		"-a.example", "under_score.example", "tab\tmail.example", strings.Repeat("a", 64) + ".example", "\"mail.example\"",
	} {
		_, err = family.NewProviders([]string{"good.example", bad})
		require.ErrorContains(t, err, "ADNET_MAIL_PROVIDERS must list domains", "%q", bad)
	}
}

func TestLandingDomains(t *testing.T) {
	for link, want := range map[string]string{
		"https://www.shop.co.uk/a?b":              "shop.co.uk",
		"https://a.b.shop.example:8443/x":         "shop.example",
		"https://müller.example/":                 "xn--mller-kva.example",
		"https://anna.github.io/lamps":            "anna.github.io",
		"https://github.io/lamps":                 "",
		"https://anna.myshopify.com":              "anna.myshopify.com",
		"https://apps.apple.com/app/id1":          "",
		"https://play.google.com/store/apps?id=x": "",
		"https://bit.ly/3x":                       "",
		"https://www.amazon.co.uk/dp/1":           "",
		"https://m.facebook.com/shop":             "",
		"https://shop.example.com/x":              "",
		"https://192.0.2.7/x":                     "192.0.2.7",
		"https://[2001:db8::7]/x":                 "2001:db8::7",
		"https://co.uk/":                          "",
		"http://localhost/x":                      "localhost",
		"":                                        "",
	} {
		require.Equal(t, want, family.Landing(link), "%q", link)
	}
}

func TestNearCopiesOfTexts(t *testing.T) {
	of := family.Words("Hand made oak tables", "Built to order in 14 days, delivered free.")
	for _, same := range []string{
		"HAND MADE OAK TABLES — built to order in 3 days; delivered free",
		"Delivered free: hand made oak tables, built to order in 14 days!",
		"Hаnd mаde оak tables. Built to order in 14 dаys, delivered frее", // Cyrillic letters
		"Hand made elm tables. Built to order in 14 days, delivered free.",
	} {
		like := family.Words(same)
		require.True(t, family.Alike(of, like), "%s", same)
		require.True(t, shareBand(of, like), "%s", same)
	}
	for _, other := range []string{
		"Hand made oak tables", "Free delivery of sofas, built to order in Leeds", "Tables", "",
	} {
		require.False(t, family.Alike(of, family.Words(other)), "%s", other)
	}
	require.False(t, family.Alike(family.Words("Buy now"), family.Words("Buy now")), "too short to compare")
	require.True(t, family.Alike(family.Words("暖かいランプを今日お届けします"), family.Words("暖かいランプを今日お届けします!")))
	require.False(t, family.Alike(family.Words("暖かいランプを今日お届けします"), family.Words("新鮮なパンを毎朝焼いています")))
}

func shareBand(a, b []int64) bool {
	for i, band := range family.Bands(a) {
		if band == family.Bands(b)[i] {
			return true
		}
	}
	return false
}
