package rtb

import (
	"strings"

	"adnet/auction/markup"
	"adnet/internal/consent"
	"adnet/internal/jsonscan"
)

// native is an imp.native. Its request is a JSON text inside a string; some exchanges send the
// object itself.
type native struct {
	Request embedded
	BAttr   numbers
}

func (n *native) member(r *reader, name string) {
	switch name {
	case "request":
		n.Request = r.embedded()
	case "battr":
		n.BAttr = r.numbers()
	default:
		r.skip()
	}
}

// embedded is a JSON object, or the text of one.
type embedded struct {
	text   string
	isText bool
	object object[nativeRequest]
}

func (r *reader) embedded() (e embedded) {
	if r.kind() == '"' {
		return embedded{text: r.quoted(), isText: true}
	}
	into(r, &e.object)
	return e
}

// nativeRequest is a Native 1.2 request (section 4.1), or the wrapper of Native 1.0 around one.
type nativeRequest struct {
	unwrapped
	Wrapped object[unwrapped]
}

func (n *nativeRequest) member(r *reader, name string) {
	switch name {
	case "native":
		into(r, &n.Wrapped)
	default:
		n.unwrapped.member(r, name)
	}
}

type unwrapped struct {
	Assets        objects[nativeAsset]
	EventTrackers objects[eventTracker]
	Privacy       whole
}

func (u *unwrapped) member(r *reader, name string) {
	switch name {
	case "assets":
		u.Assets = list(r, &r.assets)
	case "eventtrackers":
		u.EventTrackers = list(r, &r.trackers)
	case "privacy":
		u.Privacy = r.whole()
	default:
		r.skip()
	}
}

type eventTracker struct {
	Event   whole
	Methods numbers
}

func (e *eventTracker) member(r *reader, name string) {
	switch name {
	case "event":
		e.Event = r.whole()
	case "methods":
		e.Methods = r.numbers()
	default:
		r.skip()
	}
}

type nativeAsset struct {
	ID       whole
	Required consent.Choice
	Title    object[nativeTitle]
	Img      object[nativeImage]
	Data     object[nativeData]
}

func (n *nativeAsset) member(r *reader, name string) {
	switch name {
	case "id":
		n.ID = r.whole()
	case "required":
		n.Required = r.choice()
	case "title":
		into(r, &n.Title)
	case "img":
		into(r, &n.Img)
	case "data":
		into(r, &n.Data)
	default:
		r.skip()
	}
}

type nativeTitle struct {
	Len whole
}

func (n *nativeTitle) member(r *reader, name string) {
	switch name {
	case "len":
		n.Len = r.whole()
	default:
		r.skip()
	}
}

type nativeImage struct {
	Type  whole
	W     whole
	WMin  whole
	H     whole
	HMin  whole
	Mimes names
}

func (n *nativeImage) member(r *reader, name string) {
	switch name {
	case "type":
		n.Type = r.whole()
	case "w":
		n.W = r.whole()
	case "wmin":
		n.WMin = r.whole()
	case "h":
		n.H = r.whole()
	case "hmin":
		n.HMin = r.whole()
	case "mimes":
		n.Mimes = r.names()
	default:
		r.skip()
	}
}

type nativeData struct {
	Type whole
	Len  whole
}

func (n *nativeData) member(r *reader, name string) {
	switch name {
	case "type":
		n.Type = r.whole()
	case "len":
		n.Len = r.whole()
	default:
		r.skip()
	}
}

// maxAssets is the maximum number of assets that are read; real requests have a dozen.
const maxAssets = 100

// request returns the native request for the markup; false if it is missing or unreadable.
func (n *native) request(r *reader) (markup.NativeRequest, bool) {
	in := n.Request.object
	if n.Request.isText {
		var err error
		if in.set, err = r.document(strings.TrimPrefix(n.Request.text, jsonscan.ByteOrderMark), &in.v); err != nil {
			return markup.NativeRequest{}, false
		}
	}
	wanted := in.v.unwrapped
	if in.v.Wrapped.set {
		wanted = in.v.Wrapped.v
	}
	if assets := wanted.Assets; !in.set || len(assets.list) == 0 || assets.bad || len(assets.list) > maxAssets {
		return markup.NativeRequest{}, false
	}
	out := markup.NativeRequest{
		Privacy: wanted.Privacy.is(1), Wrapped: in.v.Wrapped.set,
		Assets: make([]markup.NativeAsset, len(wanted.Assets.list)),
	}
	for i := range wanted.EventTrackers.list {
		t := &wanted.EventTrackers.list[i]
		out.PixelTracker = out.PixelTracker || t.Event.is(1) && has(t.Methods.list, 1)
	}
	for i := range wanted.Assets.list {
		out.Assets[i] = wanted.Assets.list[i].asset()
	}
	return out, true
}

func (a *nativeAsset) asset() markup.NativeAsset {
	out := markup.NativeAsset{ID: a.ID.n, HasID: a.ID.set(), Required: a.Required.Strict()}
	switch {
	case a.unreadable(): // of no known kind: left out, or no bid if it is required
	case a.Title.set:
		out.Kind, out.Len = markup.AssetTitle, a.Title.v.Len.n
	case a.Img.set:
		m := &a.Img.v
		out.Kind, out.Type, out.Mimes = markup.AssetImage, m.Type.n, m.Mimes.list
		out.W, out.H = m.W.n, m.H.n
		if out.W <= 0 || out.H <= 0 {
			out.W, out.H = m.WMin.n, m.HMin.n
		}
	case a.Data.set:
		out.Kind, out.Type, out.Len = markup.AssetData, a.Data.v.Type.n, a.Data.v.Len.n
	}
	return out
}

// unreadable reports whether a limit of the asset cannot be read.
func (a *nativeAsset) unreadable() bool {
	m := &a.Img.v
	return max(a.Title.v.Len.state, a.Data.v.Len.state, a.Data.v.Type.state, m.Type.state) == unreadable ||
		m.Mimes.state != absent && len(m.Mimes.list) == 0
}

func has(list []int64, n int64) bool {
	for _, v := range list {
		if v == n {
			return true
		}
	}
	return false
}
