package markup

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The supported asset, image and data kinds of Native 1.2 (sections 7.3 to 7.5).
const (
	ImageIcon = 1
	ImageLogo = 2 // of Native 1.0 and 1.1; later versions use the icon
	ImageMain = 3

	DataSponsored  = 1
	DataDesc       = 2
	DataDisplayURL = 11
	DataCTAText    = 12
)

// NativeRequest has the fields of a Native 1.2 request that markup uses.
type NativeRequest struct {
	Assets []NativeAsset
	// PixelTracker reports whether an image tracker of the impression (event 1, method 1) is
	// offered; without it the reply has imptrackers.
	PixelTracker bool
	// Privacy reports whether a privacy link is supported.
	Privacy bool
	// Wrapped reports whether the request has the root wrapper of Native 1.0, which its reply then
	// has, too.
	Wrapped bool
}

// AssetKind is the requested object of an asset.
type AssetKind uint8

// The kinds of assets.
const (
	AssetUnknown AssetKind = iota // video, or of a later version
	AssetTitle
	AssetImage
	AssetData
)

// NativeAsset is one requested asset.
type NativeAsset struct {
	ID       int64
	HasID    bool // an asset without an id cannot be answered
	Required bool
	Kind     AssetKind
	Type     int64    // of an image or data
	Len      int64    // maximum code points of a title or data; 0 for any
	W, H     int64    // wanted size of an image, else the least; 0 if unknown
	Mimes    []string // of an image; empty for any
}

// FitsNative reports whether a creative has every required asset in the requested form.
func (r *NativeRequest) FitsNative(c *Creative) bool {
	for i := range r.Assets {
		a := &r.Assets[i]
		if !a.Required {
			continue
		}
		if _, ok := a.value(c); !ok {
			return false
		}
	}
	return len(r.Assets) > 0
}

// value returns the text or link for an asset.
func (a *NativeAsset) value(c *Creative) (value string, ok bool) {
	switch {
	case !a.HasID:
		return "", false
	case a.Kind == AssetTitle:
		value = c.Headline
	case a.Kind == AssetImage:
		return a.image(c)
	case a.Kind == AssetData && a.Type == DataSponsored, a.Kind == AssetData && a.Type == DataDisplayURL:
		value = c.Domain
	case a.Kind == AssetData && a.Type == DataDesc:
		value = c.Body
	case a.Kind == AssetData && a.Type == DataCTAText:
		value = c.CTALabel
	}
	value = printable(value)
	return value, value != "" && (a.Len <= 0 || int64(utf8.RuneCountInString(value)) <= a.Len)
}

// image returns the picture for a main image or an image without a type, and the logo for an icon.
func (a *NativeAsset) image(c *Creative) (string, bool) {
	from := c.MediaURL
	switch a.Type {
	case ImageMain, 0:
	case ImageIcon, ImageLogo:
		from = c.LogoURL
	default:
		return "", false
	}
	kind, media := mediaType(from), link(from)
	if len(kind) >= 6 && kind[:6] != "image/" || !accepts(a.Mimes, kind) {
		return "", false
	}
	return media, media != ""
}

// Append appends the reply of Native 1.2 as a JSON object, with a root wrapper if the request has
// one. Call it for an ad that [NativeRequest.FitsNative]. Optional assets that the ad lacks are left
// out.
func (r *NativeRequest) Append(b []byte, ad *Ad) []byte {
	if !r.Wrapped {
		return r.reply(b, ad)
	}
	return append(r.reply(append(b, `{"native":`...), ad), '}')
}

func (r *NativeRequest) reply(b []byte, ad *Ad) []byte {
	b = append(b, `{"ver":"1.2","assets":[`...)
	first := true
	for i := range r.Assets {
		a := &r.Assets[i]
		value, ok := a.value(&ad.Creative)
		if !ok {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = a.append(b, value)
	}
	b = append(b, `],"link":{"url":`...)
	b = quote(b, link(ad.ClickURL))
	b = append(b, '}')
	if pixel := link(ad.ImpressionURL); r.PixelTracker {
		b = append(b, `,"eventtrackers":[{"event":1,"method":1,"url":`...)
		b = append(quote(b, pixel), `}]`...)
	} else {
		b = append(b, `,"imptrackers":[`...)
		b = append(quote(b, pixel), ']')
	}
	if receipt := link(ad.ReceiptURL); r.Privacy && receipt != "" {
		b = quote(append(b, `,"privacy":`...), receipt)
	}
	return append(b, '}')
}

func (a *NativeAsset) append(b []byte, value string) []byte {
	b = append(b, `{"id":`...)
	b = appendInt(b, a.ID)
	switch a.Kind {
	case AssetTitle:
		b = append(quote(append(b, `,"title":{"text":`...), value), '}')
	case AssetData:
		b = appendInt(append(b, `,"data":{"type":`...), a.Type)
		b = append(quote(append(b, `,"value":`...), value), '}')
	default:
		b = append(b, `,"img":{`...)
		if a.Type != 0 {
			b = append(appendInt(append(b, `"type":`...), a.Type), ',')
		}
		b = quote(append(b, `"url":`...), value)
		if a.W > 0 && a.H > 0 {
			b = appendInt(append(b, `,"w":`...), a.W)
			b = appendInt(append(b, `,"h":`...), a.H)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

const hexDigits = "0123456789abcdef"

// quote appends s as a JSON string that is also inert in HTML and scripts and cannot begin a macro.
func quote(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && c != '$' && c != 0xE2:
			continue
		case c == '$' && !strings.HasPrefix(s[i:], "${"):
			continue
		case c == 0xE2:
			if strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029") {
				b = append(b, s[from:i]...)
				b = append(b, `\u202`...)
				b = append(b, '8'+s[i+2]-0xA8)
				i += 2
				from = i + 1
			}
			continue
		}
		b = append(b, s[from:i]...)
		b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		from = i + 1
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}
