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
	return link(c.MediaURL) != "" && kind != "" && accepts(r.Mimes, kind)
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

// The elements of VAST 4.2 that are written, in the order of the schema: of a base type's elements before those
// of the type.
type vast struct {
	XMLName xml.Name `xml:"VAST"`
	Version string   `xml:"version,attr"`
	NS      string   `xml:"xmlns,attr"`
	Ad      vastAd   `xml:"Ad"`
}

type vastAd struct {
	ID     string `xml:"id,attr"`
	InLine inline `xml:"InLine"`
}

type inline struct {
	AdSystem    adSystem    `xml:"AdSystem"`
	Error       string      `xml:"Error,omitempty"`
	Extensions  *extensions `xml:"Extensions"`
	Impression  impression  `xml:"Impression"`
	AdServingID string      `xml:"AdServingId"`
	AdTitle     string      `xml:"AdTitle"`
	Advertiser  string      `xml:"Advertiser,omitempty"`
	Creatives   []creative  `xml:"Creatives>Creative"`
	Description string      `xml:"Description,omitempty"`
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

type universalAdID struct {
	Registry string `xml:"idRegistry,attr"`
	ID       string `xml:",chardata"`
}

type linear struct {
	SkipOffset string      `xml:"skipoffset,attr,omitempty"`
	Tracking   []tracking  `xml:"TrackingEvents>Tracking"`
	Duration   string      `xml:"Duration"`
	MediaFiles []mediaFile `xml:"MediaFiles>MediaFile"`
	Click      click       `xml:"VideoClicks>ClickThrough"`
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

// VAST is the ad as a VAST 4.2 document with one inline linear video. Call it for an ad that
// [VideoRequest.FitsVideo]. The click-through link counts the click itself, so there is no ClickTracking beside
// it, which would count it again.
func (r *VideoRequest) VAST(ad *Ad) ([]byte, error) {
	w, h := r.W, r.H
	if w <= 0 || h <= 0 {
		w, h = defaultVideoW, defaultVideoH
	}
	film := linear{
		Duration:   clock(r.Seconds),
		MediaFiles: []mediaFile{{Delivery: "progressive", Type: videoType(ad.MediaURL), Width: w, Height: h, URL: link(ad.MediaURL)}},
		Click:      click{ID: "1", URL: link(ad.ClickURL)},
	}
	if r.Skippable && ad.SkipAfter >= 0 && int64(ad.SkipAfter) < r.Seconds {
		film.SkipOffset = clock(int64(ad.SkipAfter))
	}
	for _, t := range []tracking{{"complete", ad.CompleteURL}, {"skip", ad.SkipURL}, {"closeLinear", ad.CloseURL}} {
		if t.URL = link(t.URL); t.URL != "" {
			film.Tracking = append(film.Tracking, t)
		}
	}
	in := inline{
		AdSystem: adSystem{Version: "1.0", Name: "adnet"}, Impression: impression{ID: "adnet", URL: link(ad.ImpressionURL)},
		AdServingID: printable(ad.ID), AdTitle: printable(ad.Headline), Advertiser: printable(ad.Domain), Description: printable(ad.Body),
		Creatives: []creative{{
			ID: printable(ad.CampaignID), AdID: printable(ad.CampaignID), Linear: film,
			UniversalID: universalAdID{Registry: "unknown", ID: printable(ad.CampaignID)},
		}},
		Extensions: &extensions{[]extension{{Type: "adnet", Label: printable(ad.DisclosureLabel), ReceiptURL: link(ad.ReceiptURL)}}},
	}
	if failed := link(ad.ErrorURL); failed != "" {
		in.Error = failed + "[ERRORCODE]" // after encoding, or no player would find it
	}
	body, err := xml.Marshal(vast{Version: "4.2", NS: "http://www.iab.com/VAST", Ad: vastAd{ID: printable(ad.CampaignID), InLine: in}})
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), noMacros(body)...), nil
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
