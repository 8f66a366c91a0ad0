package rtb

import (
	"strings"

	"adnet/auction/markup"
	"adnet/internal/compliance/consent"
	"adnet/internal/jsonscan"
)

// native is an imp.native. Its request is a JSON text inside a string; some exchanges send the
// object itself.
type native struct {
	Request embedded `rtb:"request"`
	BAttr   numbers  `rtb:"battr"`
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
	Wrapped object[unwrapped] `rtb:"native"`
}

type unwrapped struct {
	Assets        objects[nativeAsset]  `rtb:"assets"`
	EventTrackers objects[eventTracker] `rtb:"eventtrackers"`
	Privacy       whole                 `rtb:"privacy"`
}

type eventTracker struct {
	Event   whole   `rtb:"event"`
	Methods numbers `rtb:"methods"`
}

type nativeAsset struct {
	ID       whole               `rtb:"id"`
	Required consent.Choice      `rtb:"required"`
	Title    object[nativeTitle] `rtb:"title"`
	Img      object[nativeImage] `rtb:"img"`
	Data     object[nativeData]  `rtb:"data"`
}

type nativeTitle struct {
	Len whole `rtb:"len"`
}

type nativeImage struct {
	Type  whole `rtb:"type"`
	W     whole `rtb:"w"`
	WMin  whole `rtb:"wmin"`
	H     whole `rtb:"h"`
	HMin  whole `rtb:"hmin"`
	Mimes names `rtb:"mimes"`
}

type nativeData struct {
	Type whole `rtb:"type"`
	Len  whole `rtb:"len"`
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
