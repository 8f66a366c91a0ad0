package markup

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

// VideoRequest is what is used of a video impression.
type VideoRequest struct {
	Mimes     []string // empty for any
	W, H      int64    // of the player; 0 when not said
	Skippable bool     // a skip button may be shown
	Seconds   int64    // the length that the video is said to have
	Version   Version  // of the document; the zero value is [VAST42]
	Delivery  []int64  // methods of delivery (1 streaming, 2 progressive, 3 download); empty for any
}

// The size that a media file is said to have when the player's is not known.
const (
	defaultVideoW = 640
	defaultVideoH = 360
)

// FitsVideo says whether a creative has a video in one of the wanted forms. A link whose name does not tell its
// kind counts as MP4.
func (r *VideoRequest) FitsVideo(c *Creative) bool {
	kind := videoType(c.MediaURL)
	return link(c.MediaURL) != "" && kind != "" && accepts(r.Mimes, kind) && r.delivers(kind)
}

// streamed is the MIME type of playlists; everything else is one file.
const streamed = "application/x-mpegURL"

// delivery is how VAST calls the way that a kind of video takes.
func delivery(kind string) string {
	if kind == streamed {
		return "streaming"
	}
	return "progressive"
}

// delivers says whether the player takes a kind of video by the way that it comes: a file can be played as it comes,
// or once it is there.
func (r *VideoRequest) delivers(kind string) bool {
	for _, way := range r.Delivery {
		if (way == 1) == (kind == streamed) && way >= 1 && way <= 3 {
			return true
		}
	}
	return len(r.Delivery) == 0
}

// videoType is empty for what is no video.
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

// Version is the version of a VAST document: a player reads those that it says it does.
type Version uint8

// The versions, in ascending order; the zero value is none.
const (
	NoVAST Version = iota
	VAST20
	VAST30
	VAST40
	VAST41
	VAST42
)

// String is the version as a document names it.
func (v Version) String() string { return [...]string{"", "2.0", "3.0", "4.0", "4.1", "4.2"}[v] }

// BestVersion is the newest version among a video's protocols (AdCOM, Creative Subtypes - Audio/Video) in which an inline
// ad can be written, and [VAST42] for an empty list. A player of VAST 4.3 reads 4.2. The codes of wrappers do not count:
// a wrapper leads to another document, and ours hold the ad itself. [NoVAST] when there is none.
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

// xmlns is the namespace of VAST 4; the versions before it have none.
const xmlns = "http://www.iab.com/VAST"

// The elements that are written. The schemas of VAST 2 and 3 have another order than those of VAST 4, which put a base
// type's elements before those of the type; so there are two structures, of the classic and of the new order.
type vast struct {
	XMLName xml.Name `xml:"VAST"`
	Version string   `xml:"version,attr"`
	NS      string   `xml:"xmlns,attr,omitempty"`
	Ad      vastAd   `xml:"Ad"`
}

type vastAd struct {
	ID     string `xml:"id,attr"`
	InLine any    `xml:"InLine"` // inline or classicInline
}

type inline struct {
	AdSystem    adSystem    `xml:"AdSystem"`
	Error       string      `xml:"Error,omitempty"`
	Extensions  *extensions `xml:"Extensions"`
	Impression  impression  `xml:"Impression"`
	AdServingID string      `xml:"AdServingId,omitempty"` // from 4.1
	AdTitle     string      `xml:"AdTitle"`
	Advertiser  string      `xml:"Advertiser,omitempty"`
	Creatives   []creative  `xml:"Creatives>Creative"`
	Description string      `xml:"Description,omitempty"`
}

type classicInline struct {
	AdSystem    adSystem          `xml:"AdSystem"`
	AdTitle     string            `xml:"AdTitle"`
	Description string            `xml:"Description,omitempty"`
	Advertiser  string            `xml:"Advertiser,omitempty"` // from 3.0
	Error       string            `xml:"Error,omitempty"`
	Impression  impression        `xml:"Impression"`
	Creatives   []classicCreative `xml:"Creatives>Creative"`
	Extensions  *extensions       `xml:"Extensions"`
}

type adSystem struct {
	Version string `xml:"version,attr"`
	Name    string `xml:",chardata"`
}

type extensions struct {
	Extension []extension `xml:"Extension"`
}

type extension struct {
	Type       string `xml:"type,attr"`
	Label      string `xml:"DisclosureLabel"`
	ReceiptURL string `xml:"ReceiptURL,omitempty"`
}

type impression struct {
	ID  string `xml:"id,attr"`
	URL string `xml:",chardata"`
}

type creative struct {
	ID          string        `xml:"id,attr"`
	AdID        string        `xml:"adId,attr"`
	Linear      linear        `xml:"Linear"`
	UniversalID universalAdID `xml:"UniversalAdId"`
}

type classicCreative struct {
	ID     string        `xml:"id,attr"`
	AdID   string        `xml:"AdID,attr"`
	Linear classicLinear `xml:"Linear"`
}

type universalAdID struct {
	Registry string `xml:"idRegistry,attr"`
	Value    string `xml:"idValue,attr,omitempty"` // until 4.1, whose schema demands it
	ID       string `xml:",chardata"`
}

type linear struct {
	SkipOffset string      `xml:"skipoffset,attr,omitempty"`
	Tracking   []tracking  `xml:"TrackingEvents>Tracking"`
	Duration   string      `xml:"Duration"`
	MediaFiles []mediaFile `xml:"MediaFiles>MediaFile"`
	Click      click       `xml:"VideoClicks>ClickThrough"`
}

type classicLinear struct {
	SkipOffset string      `xml:"skipoffset,attr,omitempty"` // from 3.0
	Duration   string      `xml:"Duration"`
	Tracking   []tracking  `xml:"TrackingEvents>Tracking"`
	Click      click       `xml:"VideoClicks>ClickThrough"`
	MediaFiles []mediaFile `xml:"MediaFiles>MediaFile"`
}

type tracking struct {
	Event string `xml:"event,attr"`
	URL   string `xml:",chardata"`
}

type mediaFile struct {
	Delivery string `xml:"delivery,attr"`
	Type     string `xml:"type,attr"`
	Width    int64  `xml:"width,attr"`
	Height   int64  `xml:"height,attr"`
	URL      string `xml:",chardata"`
}

type click struct {
	ID  string `xml:"id,attr"`
	URL string `xml:",chardata"`
}

// VAST is the ad as a VAST document of r.Version (the zero value is [VAST42]) with one inline linear video. Call it for
// an ad that [VideoRequest.FitsVideo]. The click-through link counts the click itself, so there is no ClickTracking
// beside it, which would count it again.
func (r *VideoRequest) VAST(ad *Ad) ([]byte, error) {
	version := r.Version
	if version == NoVAST {
		version = VAST42
	}
	document := vast{Version: version.String(), Ad: vastAd{ID: printable(ad.CampaignID)}}
	if version >= VAST40 {
		document.NS, document.Ad.InLine = xmlns, r.inline(ad, version)
	} else {
		document.Ad.InLine = r.classicInline(ad, version)
	}
	body, err := xml.Marshal(document)
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), noMacros(body)...), nil
}

func (r *VideoRequest) inline(ad *Ad, version Version) inline {
	campaign := printable(ad.CampaignID)
	film := creative{ID: campaign, AdID: campaign, Linear: r.film(ad, version), UniversalID: universalAdID{Registry: "unknown", ID: campaign}}
	if version < VAST42 {
		film.UniversalID.Value = campaign
	}
	in := inline{
		AdSystem: adSystem{Version: "1.0", Name: "adnet"}, Error: errorLink(ad), Extensions: disclosure(ad), Impression: impression{ID: "adnet", URL: link(ad.ImpressionURL)},
		AdTitle: printable(ad.Headline), Advertiser: printable(ad.Domain), Creatives: []creative{film}, Description: printable(ad.Body),
	}
	if version >= VAST41 {
		in.AdServingID = printable(ad.ID)
	}
	return in
}

func (r *VideoRequest) classicInline(ad *Ad, version Version) classicInline {
	campaign := printable(ad.CampaignID)
	in := classicInline{
		AdSystem: adSystem{Version: "1.0", Name: "adnet"}, AdTitle: printable(ad.Headline), Description: printable(ad.Body), Error: errorLink(ad),
		Impression: impression{ID: "adnet", URL: link(ad.ImpressionURL)}, Extensions: disclosure(ad),
		Creatives: []classicCreative{{ID: campaign, AdID: campaign, Linear: r.film(ad, version).classic()}},
	}
	if version >= VAST30 {
		in.Advertiser = printable(ad.Domain)
	}
	return in
}

// classic is l in the order of VAST 2 and 3.
func (l linear) classic() classicLinear {
	return classicLinear{SkipOffset: l.SkipOffset, Duration: l.Duration, Tracking: l.Tracking, Click: l.Click, MediaFiles: l.MediaFiles}
}

// film is the linear video with the events that the version names.
func (r *VideoRequest) film(ad *Ad, version Version) linear {
	w, h := r.W, r.H
	if w <= 0 || h <= 0 {
		w, h = defaultVideoW, defaultVideoH
	}
	kind := videoType(ad.MediaURL)
	film := linear{
		Duration:   clock(r.Seconds),
		MediaFiles: []mediaFile{{Delivery: delivery(kind), Type: kind, Width: w, Height: h, URL: link(ad.MediaURL)}},
		Click:      click{ID: "1", URL: link(ad.ClickURL)},
	}
	if version >= VAST30 && r.Skippable && ad.SkipAfter >= 0 && int64(ad.SkipAfter) < r.Seconds {
		film.SkipOffset = clock(int64(ad.SkipAfter))
	}
	events := []tracking{{"complete", ad.CompleteURL}, {"skip", ad.SkipURL}, {"closeLinear", ad.CloseURL}}
	switch version {
	case VAST20: // nothing can be skipped yet
		events = []tracking{events[0], {"close", ad.CloseURL}}
	case VAST40: // the only version without closeLinear since it exists
		events[2].Event = "close"
	}
	for _, t := range events {
		if t.URL = link(t.URL); t.URL != "" {
			film.Tracking = append(film.Tracking, t)
		}
	}
	return film
}

// errorLink takes the code after everything is encoded, or no player would find the macro.
func errorLink(ad *Ad) string {
	failed := link(ad.ErrorURL)
	if failed == "" {
		return ""
	}
	return failed + "[ERRORCODE]"
}

func disclosure(ad *Ad) *extensions {
	return &extensions{[]extension{{Type: "adnet", Label: printable(ad.DisclosureLabel), ReceiptURL: link(ad.ReceiptURL)}}}
}

// noMacros takes the dollar out of every "${" of a text that is XML already; links have none.
func noMacros(body []byte) []byte {
	return bytes.ReplaceAll(body, []byte("${"), []byte("&#36;{"))
}

// clock is a number of seconds as HH:MM:SS, the only form that VAST allows besides a percentage.
func clock(seconds int64) string {
	seconds = max(seconds, 0)
	return fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}
