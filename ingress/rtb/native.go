package rtb

import (
	"adnet/auction/markup"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// native is an imp.native. Its request is a JSON text inside of a string; some exchanges send the object itself.
type native struct {
	Request embedded `json:"request"`
}

// embedded is a JSON object, or the text of one.
type embedded struct {
	text   []byte
	object object[nativeRequest]
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (e *embedded) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*e = embedded{}
	switch dec.PeekKind() {
	case '"':
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		e.text = []byte(token.String())
		return nil
	case '{':
		return e.object.UnmarshalJSONFrom(dec)
	}
	return dec.SkipValue()
}

// nativeRequest is a Native 1.2 request (section 4.1), or the wrapper of Native 1.0 around one.
type nativeRequest struct {
	Wrapped       object[unwrapped]     `json:"native"`
	Assets        objects[nativeAsset]  `json:"assets"`
	EventTrackers objects[eventTracker] `json:"eventtrackers"`
	Privacy       whole                 `json:"privacy"`
}

type unwrapped struct {
	Assets        objects[nativeAsset]  `json:"assets"`
	EventTrackers objects[eventTracker] `json:"eventtrackers"`
	Privacy       whole                 `json:"privacy"`
}

type eventTracker struct {
	Event   whole  `json:"event"`
	Methods wholes `json:"methods"`
}

type nativeAsset struct {
	ID       whole               `json:"id"`
	Required whole               `json:"required"`
	Title    object[nativeTitle] `json:"title"`
	Img      object[nativeImage] `json:"img"`
	Data     object[nativeData]  `json:"data"`
}

type nativeTitle struct {
	Len whole `json:"len"`
}

type nativeImage struct {
	Type  whole `json:"type"`
	W     whole `json:"w"`
	WMin  whole `json:"wmin"`
	H     whole `json:"h"`
	HMin  whole `json:"hmin"`
	Mimes texts `json:"mimes"`
}

type nativeData struct {
	Type whole `json:"type"`
	Len  whole `json:"len"`
}

// most assets of a native request that are read; real ones have a dozen.
const maxAssets = 100

// request is the native request for the markup; false when there is none that can be read.
func (n *native) request() (markup.NativeRequest, bool) {
	in := n.Request.object
	if n.Request.text != nil {
		if json.Unmarshal(n.Request.text, &in, decodeOptions()) != nil {
			return markup.NativeRequest{}, false
		}
	}
	r := unwrapped{in.v.Assets, in.v.EventTrackers, in.v.Privacy}
	if in.v.Wrapped.set {
		r = in.v.Wrapped.v
	}
	if !in.set || len(r.Assets.list) == 0 || r.Assets.bad || len(r.Assets.list) > maxAssets {
		return markup.NativeRequest{}, false
	}
	out := markup.NativeRequest{Privacy: r.Privacy.is(1), Assets: make([]markup.NativeAsset, len(r.Assets.list))}
	for i := range r.EventTrackers.list {
		t := &r.EventTrackers.list[i]
		out.PixelTracker = out.PixelTracker || t.Event.is(1) && has(t.Methods, 1)
	}
	for i := range r.Assets.list {
		out.Assets[i] = r.Assets.list[i].asset()
	}
	return out, true
}

func (a *nativeAsset) asset() markup.NativeAsset {
	out := markup.NativeAsset{ID: a.ID.n, HasID: a.ID.set, Required: a.Required.is(1)}
	switch {
	case a.Title.set:
		out.Kind, out.Len = markup.AssetTitle, a.Title.v.Len.n
	case a.Img.set:
		m := &a.Img.v
		out.Kind, out.Type, out.Mimes = markup.AssetImage, m.Type.n, m.Mimes
		out.W, out.H = m.W.n, m.H.n
		if out.W <= 0 || out.H <= 0 {
			out.W, out.H = m.WMin.n, m.HMin.n
		}
	case a.Data.set:
		out.Kind, out.Type, out.Len = markup.AssetData, a.Data.v.Type.n, a.Data.v.Len.n
	}
	return out
}

func has(list []int64, n int64) bool {
	for _, v := range list {
		if v == n {
			return true
		}
	}
	return false
}
