package markup

import (
	"fmt"
	"strconv"
	"strings"
)

// VideoRequest has the fields of a video impression that markup uses.
type VideoRequest struct {
	Mimes     []string // empty for any
	W, H      int64    // of the player; 0 if unknown
	Skippable bool     // a skip button may be shown
	SkipFrom  int64    // seconds before the skip button at the least
	Kbps      int64    // the stated bit rate in kbit/s; 0 for none
	Seconds   int64    // the stated length of the video
	Version   Version  // of the document; the zero value is [VAST42]
	Delivery  []int64  // methods of delivery (1 streaming, 2 progressive, 3 download); empty for any
}

// The stated size of a media file if the player's is unknown.
const (
	defaultVideoW = 640
	defaultVideoH = 360
)

// FitsVideo reports whether a creative has a video in one of the requested formats. A link without
// a known file extension counts as MP4.
func (r *VideoRequest) FitsVideo(c *Creative) bool {
	kind := videoType(c.MediaURL)
	return link(c.MediaURL) != "" && kind != "" && accepts(r.Mimes, kind) && r.delivers(kind)
}

// streamed is the MIME type of playlists; all other types are single files.
const streamed = "application/x-mpegURL"

// delivery returns the VAST name of the delivery method of a kind of video.
func delivery(kind string) string {
	if kind == streamed {
		return "streaming"
	}
	return "progressive"
}

// delivers reports whether the player accepts the delivery method of a kind of video. A single file
// can be played progressively or after the download.
func (r *VideoRequest) delivers(kind string) bool {
	for _, way := range r.Delivery {
		if (way == 1) == (kind == streamed) && way >= 1 && way <= 3 {
			return true
		}
	}
	return len(r.Delivery) == 0
}

// videoType returns the MIME type of a video, or "" if the file is not a video.
func videoType(u string) string {
	kind := mediaType(u)
	switch {
	case kind == "":
		return "video/mp4"
	case len(kind) >= 6 && kind[:6] == "image/":
		return ""
	}
	return kind
}

// Version is the version of a VAST document. A player reads only the versions it declares.
type Version uint8

// The versions, in ascending order; the zero value means no VAST.
const (
	NoVAST Version = iota
	VAST20
	VAST30
	VAST40
	VAST41
	VAST42
)

// String returns the version as written in a document.
func (v Version) String() string { return [...]string{"", "2.0", "3.0", "4.0", "4.1", "4.2"}[v] }

// BestVersion returns the newest version among a video's protocols (AdCOM, Creative Subtypes -
// Audio/Video) in which an inline ad can be written, and [VAST42] for an empty list. A player of
// VAST 4.3 reads 4.2. The codes of wrappers do not count: a wrapper leads to another document, and
// ours contain the ad itself. The result is [NoVAST] if no version fits.
func BestVersion(protocols []int64) (best Version) {
	if len(protocols) == 0 {
		return VAST42
	}
	for _, code := range protocols {
		switch code {
		case 2:
			best = max(best, VAST20)
		case 3:
			best = max(best, VAST30)
		case 7:
			best = max(best, VAST40)
		case 11:
			best = max(best, VAST41)
		case 13, 15:
			best = max(best, VAST42)
		}
	}
	return best
}

// Append appends the ad as a VAST document of r.Version (the zero value is [VAST42]) with one
// inline linear video. Call it for an ad that [VideoRequest.FitsVideo]. The click-through link
// counts the click itself, so the ad has no ClickTracking, which would count it twice.
//
// It is written by hand: encoding/xml took longer than the rest of a bid (BenchmarkMarkup). The
// element order of VAST 2 and 3 differs from that of VAST 4, which puts a base type's elements
// before those of the type.
func (r *VideoRequest) Append(dst []byte, ad *Ad) []byte {
	d := vast{text: dst, request: r, ad: ad, version: r.Version}
	if d.version == NoVAST {
		d.version = VAST42
	}
	d.raw(`<?xml version="1.0" encoding="UTF-8"?>`, "\n", `<VAST version="`, d.version.String(), `"`)
	if d.version >= VAST40 {
		d.raw(` xmlns="http://www.iab.com/VAST"`)
	}
	d.raw(`><Ad id="`).put(ad.CampaignID).raw(`"><InLine><AdSystem version="1.0">adnet</AdSystem>`)
	if d.version >= VAST40 {
		d.inline()
	} else {
		d.classicInline()
	}
	return d.raw(`</InLine></Ad></VAST>`).text
}

// vast is a VAST document being written.
type vast struct {
	text    []byte
	request *VideoRequest
	ad      *Ad
	version Version
}

// raw appends parts as they are.
func (d *vast) raw(parts ...string) *vast {
	for _, part := range parts {
		d.text = append(d.text, part...)
	}
	return d
}

// put appends a text or a link, escaped, as text or attribute value.
func (d *vast) put(s string) *vast {
	from := len(d.text)
	if d.text = appendText(d.text, s); holds(s)&strange != 0 {
		d.text = append(d.text[:from], breaks.Replace(string(d.text[from:]))...)
	}
	return d
}

// breaks escapes the white space that an XML parser would normalize to one space.
var breaks = strings.NewReplacer("\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;")

// element appends an element with a text.
func (d *vast) element(name, text string) {
	d.raw("<", name, ">").put(text).raw("</", name, ">")
}

// optional appends an element unless its text is empty.
func (d *vast) optional(name, text string) {
	if text = printable(text); text != "" {
		d.element(name, text)
	}
}

// inline appends what follows AdSystem in VAST 4.
func (d *vast) inline() {
	d.errorLink()
	d.disclosure()
	d.impression()
	if d.version >= VAST41 {
		d.optional("AdServingId", d.ad.ID)
	}
	d.element("AdTitle", d.ad.Headline)
	d.optional("Advertiser", d.ad.Domain)
	d.raw(`<Creatives><Creative id="`).put(d.ad.CampaignID).raw(`" adId="`).put(d.ad.CampaignID).raw(`"><Linear`)
	d.skipOffset()
	d.tracking()
	d.duration()
	d.mediaFile()
	d.click()
	d.raw(`</Linear><UniversalAdId idRegistry="unknown"`)
	if d.version == VAST40 { // required by its schema; that of 4.1 has no such attribute
		d.raw(` idValue="`).put(d.ad.CampaignID).raw(`"`)
	}
	d.raw(`>`).put(d.ad.CampaignID).raw(`</UniversalAdId></Creative></Creatives>`)
	d.optional("Description", d.ad.Body)
}

// classicInline appends what follows AdSystem in VAST 2 and 3.
func (d *vast) classicInline() {
	d.element("AdTitle", d.ad.Headline)
	d.optional("Description", d.ad.Body)
	if d.version >= VAST30 {
		d.optional("Advertiser", d.ad.Domain)
	}
	d.errorLink()
	d.impression()
	d.raw(`<Creatives><Creative id="`).put(d.ad.CampaignID).raw(`" AdID="`).put(d.ad.CampaignID).raw(`"><Linear`)
	d.skipOffset()
	d.duration()
	d.tracking()
	d.click()
	d.mediaFile()
	d.raw(`</Linear></Creative></Creatives>`)
	d.disclosure()
}

// errorLink appends the error code macro after encoding, so that players still find it.
func (d *vast) errorLink() {
	if failed := link(d.ad.ErrorURL); failed != "" {
		d.raw(`<Error>`).put(failed).raw(`[ERRORCODE]</Error>`)
	}
}

func (d *vast) disclosure() {
	d.raw(`<Extensions><Extension type="adnet">`)
	d.element("DisclosureLabel", d.ad.DisclosureLabel)
	d.optional("ReceiptURL", link(d.ad.ReceiptURL))
	d.raw(`</Extension></Extensions>`)
}

func (d *vast) impression() {
	d.raw(`<Impression id="adnet">`).put(link(d.ad.ImpressionURL)).raw(`</Impression>`)
}

// Skips reports whether a video that may be skipped after that many seconds gets the skip button
// requested by r.
func (r *VideoRequest) Skips(after int64) bool {
	return r.Version != VAST20 && r.Skippable && after >= 0 && max(after, r.SkipFrom) < r.Seconds
}

// skipOffset ends the tag of the linear video. VAST 2 has no skippable videos.
func (d *vast) skipOffset() {
	if after := int64(d.ad.SkipAfter); d.request.Skips(after) {
		d.raw(` skipoffset="`).clock(max(after, d.request.SkipFrom)).raw(`"`)
	}
	d.raw(`>`)
}

func (d *vast) duration() { d.raw(`<Duration>`).clock(d.request.Seconds).raw(`</Duration>`) }

// tracking appends the events defined by the version.
func (d *vast) tracking() {
	d.raw(`<TrackingEvents>`)
	d.event("complete", d.ad.CompleteURL)
	if d.version >= VAST30 {
		d.event("skip", d.ad.SkipURL)
	}
	closing := "closeLinear"
	if d.version == VAST20 || d.version == VAST40 { // closeLinear exists since 3.0, except in 4.0
		closing = "close"
	}
	d.event(closing, d.ad.CloseURL)
	d.raw(`</TrackingEvents>`)
}

func (d *vast) event(name, pixel string) {
	if pixel = link(pixel); pixel != "" {
		d.raw(`<Tracking event="`, name, `">`).put(pixel).raw(`</Tracking>`)
	}
}

func (d *vast) mediaFile() {
	w, h := d.request.W, d.request.H
	if w <= 0 || h <= 0 {
		w, h = defaultVideoW, defaultVideoH
	}
	kind := videoType(d.ad.MediaURL)
	d.raw(
		`<MediaFiles><MediaFile delivery="`, delivery(kind), `" type="`, kind, `" width="`,
	).number(w).raw(`" height="`).number(h)
	if d.request.Kbps > 0 {
		d.raw(`" bitrate="`).number(d.request.Kbps)
	}
	d.raw(`">`).put(link(d.ad.MediaURL)).raw(`</MediaFile></MediaFiles>`)
}

func (d *vast) click() {
	d.raw(`<VideoClicks><ClickThrough id="1">`).put(link(d.ad.ClickURL)).raw(`</ClickThrough></VideoClicks>`)
}

func (d *vast) number(n int64) *vast {
	d.text = strconv.AppendInt(d.text, n, 10)
	return d
}

// clock appends a number of seconds as HH:MM:SS, the only form that VAST allows besides a
// percentage.
func (d *vast) clock(seconds int64) *vast {
	seconds = max(seconds, 0)
	d.text = fmt.Appendf(d.text, "%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	return d
}
