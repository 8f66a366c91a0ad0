// Package markup writes the markup that an exchange shows when our bid wins: Native 1.2 JSON,
// banner HTML and VAST 2.0 to 4.2.
//
// Contract: a pure function of its arguments. Every text of an [Ad] is inert in the output,
// whatever it contains: it cannot end an element, an attribute, a script or a CDATA section, and it
// cannot form an auction macro (${…}), which exchanges replace as plain text anywhere in a markup.
// Links other than absolute http or https URLs are left out. [FitsNative] and [FitsVideo] check
// before the auction is decided whether an ad meets the requirements (a required asset, a length, a
// MIME type), so that no bid is made with incomplete markup.
//
// # Not obvious
//
// VAST 2 and 3 differ from VAST 4 in more than the number: order, namespace, events and attributes
// differ, so there are two structures.
package markup

import (
	"path"
	"strings"
	"unicode/utf8"
)

// Ad is the winner in displayable form. Texts are plain text, links absolute URLs.
type Ad struct {
	Creative
	ID         string // of the auction, unique
	CampaignID string

	DisclosureLabel string // marks the ad as an ad
	ReceiptURL      string // public page that names the payer
	ClickURL        string // counts a click and leads to the landing page
	ImpressionURL   string // pixel that counts the impression
	CompleteURL     string // pixel: a video was watched to its end
	SkipURL         string // pixel: a video was skipped
	CloseURL        string // pixel: a video was closed
	ErrorURL        string // pixel of video errors; the code is appended to it
}

// Creative is the part of an [Ad] that is known before the auction.
type Creative struct {
	Headline  string
	Body      string
	CTALabel  string
	MediaURL  string // image or video, https
	PosterURL string
	LogoURL   string // of the advertiser
	Domain    string // host of the landing page
	SkipAfter int    // seconds until a video may be skipped
}

// class is the meaning of a byte in the formats that this package writes.
type class uint8

const (
	strange class = 1 << iota // a control character, or part of a character beyond ASCII
	special                   // has a meaning in HTML and XML, or may begin a macro
	risky                     // could end a link, an attribute or a script, or begin a macro
)

var classes = classify()

func classify() (of [256]class) {
	for c := range of {
		if c < ' ' || c >= utf8.RuneSelf {
			of[c] |= strange
		}
		if strings.IndexByte(`&<>"'$`, byte(c)) >= 0 {
			of[c] |= special
		}
		if strings.IndexByte("$[]\"'<>` \\", byte(c)) >= 0 {
			of[c] |= risky
		}
	}
	return of
}

// holds returns the classes of all bytes of s.
func holds(s string) (all class) {
	for i := range len(s) {
		all |= classes[s[i]]
	}
	return all
}

// appendText appends s as HTML or XML text or attribute value. It escapes special characters, and a
// dollar that could begin a macro. Control characters that XML cannot represent are left out.
func appendText(b []byte, s string) []byte {
	all := holds(s)
	if all&strange != 0 {
		s = printable(s)
	}
	if all&special == 0 {
		return append(b, s...)
	}
	from := 0
	for i := range len(s) {
		if classes[s[i]]&special == 0 {
			continue
		}
		by := ""
		switch s[i] {
		case '&':
			by = "&amp;"
		case '<':
			by = "&lt;"
		case '>':
			by = "&gt;"
		case '"':
			by = "&#34;"
		case '\'':
			by = "&#39;"
		case '$':
			if !strings.HasPrefix(s[i:], "${") {
				continue
			}
			by = "&#36;"
		}
		b = append(append(b, s[from:i]...), by...)
		from = i + 1
	}
	return append(b, s[from:]...)
}

// printable returns s as valid UTF-8 without the characters that XML 1.0 forbids (section 2.2).
func printable(s string) string {
	if holds(s)&strange == 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, s)
}

// link returns u if it is an absolute http or https URL, with the characters encoded that could end
// an attribute or begin a macro; otherwise it returns "". Our own links contain none of them.
func link(u string) string {
	plain := holds(u)&(strange|risky) == 0
	if !plain {
		u = strings.TrimSpace(printable(u))
	}
	rest, secure := strings.CutPrefix(u, "https://")
	if !secure {
		var is bool
		if rest, is = strings.CutPrefix(u, "http://"); !is {
			return ""
		}
	}
	switch {
	case rest == "" || strings.ContainsAny(rest[:1], "/?#\\"):
		return ""
	case plain:
		return u
	}
	return encoded.Replace(u)
}

var encoded = strings.NewReplacer("${", "%24%7B", "[", "%5B", "]", "%5D", `"`, "%22", "'", "%27", "<", "%3C", ">",
	"%3E",
	"`", "%60", " ", "%20", "\t", "", "\n", "", "\r", "", "\\", "%5C",
	"\u0085", "%C2%85", "\u2028", "%E2%80%A8", "\u2029", "%E2%80%A9") // line ends to some parsers

// mediaType returns the MIME type of a media link by its file extension, or "" if that is unknown.
func mediaType(u string) string {
	if i := strings.IndexAny(u, "?#"); i >= 0 {
		u = u[:i]
	}
	switch strings.ToLower(path.Ext(u)) {
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".png":
		return "image/png"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".avif":
		return "image/avif"
	case ".svg":
		return "image/svg+xml"
	case ".mp4", ".m4v":
		return "video/mp4"
	case ".webm":
		return "video/webm"
	case ".mov":
		return "video/quicktime"
	case ".m3u8":
		return "application/x-mpegURL"
	}
	return ""
}

// accepts reports whether a list of MIME types, empty for any, includes kind. "image/jpg" is a
// common name of image/jpeg.
func accepts(mimes []string, kind string) bool {
	if len(mimes) == 0 || kind == "" {
		return true
	}
	for _, m := range mimes {
		m = strings.ToLower(strings.TrimSpace(m))
		if m == strings.ToLower(kind) || m == "image/jpg" && kind == "image/jpeg" || m == "*/*" {
			return true
		}
		if family, all := strings.CutSuffix(m, "*"); all && strings.HasSuffix(family, "/") &&
			strings.HasPrefix(kind, family) {
			return true
		}
	}
	return false
}
