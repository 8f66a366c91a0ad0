package markup

import (
	"strconv"
	"strings"
)

// DefaultWidth and DefaultHeight are the size in CSS pixels of a banner whose request states none.
const (
	DefaultWidth  = 300
	DefaultHeight = 250
)

// flat is the greatest height in CSS pixels at which a banner is laid out in one row.
const flat = 120

// BannerRequest has the fields of a banner impression that markup uses.
type BannerRequest struct {
	Mimes []string // empty for any
}

// FitsBanner reports whether a creative has one of the requested formats: HTML, or that of its
// picture.
func (r *BannerRequest) FitsBanner(c *Creative) bool {
	return len(r.Mimes) == 0 || accepts(r.Mimes, "text/html") ||
		c.MediaURL != "" && accepts(r.Mimes, mediaType(c.MediaURL))
}

// narrow is the least width in CSS pixels at which the disclosure label is in one line.
const narrow = 100

// AppendBanner appends the ad as an HTML fragment of w × h CSS pixels without any script: a link
// around picture and texts, a disclosure label that leads to the receipt, and the impression pixel.
func AppendBanner(dst []byte, ad *Ad, w, h int) []byte {
	b := html{dst}
	direction, picture := "column", "max-width:100%;max-height:50%"
	if h <= flat {
		direction, picture = "row", "max-height:100%;max-width:40%"
	}
	b.raw(`<div style="position:relative;box-sizing:border-box;width:`, strconv.Itoa(w), `px;height:`, strconv.Itoa(h),
		`px;overflow:hidden;border:1px solid #d0d0d0;background:#fff;font:14px/1.3 system-ui,Arial,sans-serif">`)
	b.raw(`<a href="`).put(link(ad.ClickURL)).
		raw(`" target="_blank" rel="noopener sponsored" style="display:flex;flex-direction:`, direction,
			`;align-items:center;justify-content:center;gap:6px;box-sizing:border-box;width:100%;height:100%;padding:6px;color:#1a1a1a;text-decoration:none;text-align:center">`)
	if media := link(ad.MediaURL); media != "" && !strings.HasPrefix(mediaType(ad.MediaURL), "video/") {
		b.raw(`<img src="`).put(media).raw(`" alt="" style="`, picture, `;object-fit:contain">`)
	}
	b.raw(`<span style="min-width:0"><b>`).put(ad.Headline).raw(`</b>`)
	if ad.Body != "" && h > flat {
		b.raw(`<br>`).put(ad.Body)
	}
	b.raw(`</span>`)
	if ad.CTALabel != "" {
		b.raw(
			`<span style="flex:none;padding:4px 10px;border-radius:4px;background:#1a56db;color:#fff">`,
		).put(ad.CTALabel).raw(`</span>`)
	}
	b.raw(`</a>`)
	b.label(ad, w)
	if pixel := link(ad.ImpressionURL); pixel != "" {
		b.raw(`<img src="`).put(pixel).raw(
			`" alt="" width="1" height="1" style="position:absolute;left:0;bottom:0;opacity:0">`,
		)
	}
	b.raw(`</div>`)
	return b.text
}

// label appends the disclosure label. In a narrow place it has several lines, so that none of it is
// cut off.
func (b *html) label(ad *Ad, w int) {
	wrap := ""
	if w < narrow {
		wrap = ";max-width:100%;box-sizing:border-box;overflow-wrap:anywhere"
	}
	receipt := link(ad.ReceiptURL)
	if receipt != "" {
		b.raw(`<a href="`).put(receipt).raw(`" target="_blank" rel="noopener">`)
	}
	b.raw(
		`<span style="position:absolute;top:0;right:0;padding:0 4px;background:#fff;color:#555;font-size:11px`, wrap, `">`,
	).put(ad.DisclosureLabel).raw(`</span>`)
	if receipt != "" {
		b.raw(`</a>`)
	}
}

// html is an HTML fragment being written.
type html struct{ text []byte }

// raw appends parts as they are.
func (b *html) raw(parts ...string) *html {
	for _, part := range parts {
		b.text = append(b.text, part...)
	}
	return b
}

// put appends a text or a link, escaped.
func (b *html) put(s string) *html {
	b.text = appendText(b.text, s)
	return b
}
