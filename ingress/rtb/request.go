package rtb

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// bidRequest is what is used of a BidRequest (OpenRTB 2.6, 3.2.1). Nothing of user or device that could identify
// a person is read, so consent, wherever an exchange puts it, has nothing to allow or forbid here.
type bidRequest struct {
	ID     text            `json:"id"`
	Imp    objects[imp]    `json:"imp"`
	Site   object[channel] `json:"site"`
	App    object[channel] `json:"app"`
	DOOH   object[channel] `json:"dooh"`
	Device object[device]  `json:"device"`
	User   object[user]    `json:"user"`
	Test   whole           `json:"test"`
	TMax   whole           `json:"tmax"`
	Cur    texts           `json:"cur"`
	BCat   texts           `json:"bcat"`
	ACat   texts           `json:"acat"`
	CatTax whole           `json:"cattax"`
	BAdv   texts           `json:"badv"`
	WSeat  texts           `json:"wseat"`
	BSeat  texts           `json:"bseat"`
	Ext    object[reqExt]  `json:"ext"`
}

type reqExt struct {
	Context object[mcpContext] `json:"mcp_context"`
	Debug   whole              `json:"debug"`
}

// mcpContext is ext.mcp_context of a request or an imp: fields seen in the wild and both argument sets of
// the JSON-RPC tool.
type mcpContext struct {
	Intent       text  `json:"intent"`
	Summary      text  `json:"context_summary"`
	Context      text  `json:"context"`
	IntentTokens texts `json:"intent_tokens"`
	Tool         text  `json:"mcp_tool"`
	Tools        texts `json:"active_tools"`
	Host         text  `json:"host"`
	HostApp      text  `json:"host_app"`
	Surface      text  `json:"surface"`
	Region       text  `json:"user_region"`
	RegionShort  text  `json:"region"`
	Language     text  `json:"user_language"`
	LangShort    text  `json:"language"`
	Session      text  `json:"session_id"` // opaque, for frequency caps
}

// channel is a site, app or screen.
type channel struct {
	Name     text            `json:"name"`
	Keywords text            `json:"keywords"`
	KWArray  texts           `json:"kwarray"`
	Search   text            `json:"search"`
	Content  object[content] `json:"content"`
}

type content struct {
	Title    text  `json:"title"`
	Series   text  `json:"series"`
	Genre    text  `json:"genre"`
	Keywords text  `json:"keywords"`
	KWArray  texts `json:"kwarray"`
}

type device struct {
	Language text        `json:"language"`
	LangB    text        `json:"langb"`
	Geo      object[geo] `json:"geo"`
}

type user struct {
	Geo object[geo] `json:"geo"`
}

type geo struct {
	Country text `json:"country"` // ISO 3166-1 alpha-3
	Region  text `json:"region"`  // ISO 3166-2, of the USA two letters
}

// imp is what is used of an Imp (3.2.4).
type imp struct {
	ID          text           `json:"id"`
	TagID       text           `json:"tagid"`
	BidFloor    amount         `json:"bidfloor"`
	BidFloorCur text           `json:"bidfloorcur"`
	Secure      whole          `json:"secure"`
	Native      object[native] `json:"native"`
	Banner      object[banner] `json:"banner"`
	Video       object[video]  `json:"video"`
	Audio       object[empty]  `json:"audio"`
	PMP         object[pmp]    `json:"pmp"`
	Ext         object[reqExt] `json:"ext"`
}

type empty struct{}

type pmp struct {
	Private whole         `json:"private_auction"`
	Deals   objects[deal] `json:"deals"`
}

// deal is what is used of a Deal (3.2.12).
type deal struct {
	ID          text   `json:"id"`
	BidFloor    amount `json:"bidfloor"`
	BidFloorCur text   `json:"bidfloorcur"`
	AT          whole  `json:"at"`
	WSeat       texts  `json:"wseat"`
	WADomain    texts  `json:"wadomain"`
	MType       wholes `json:"mtype"` // not of the standard, but sent
}

type banner struct {
	W      whole         `json:"w"`
	H      whole         `json:"h"`
	Format objects[size] `json:"format"`
	BType  wholes        `json:"btype"`
}

type size struct {
	W whole `json:"w"`
	H whole `json:"h"`
}

type video struct {
	W           whole  `json:"w"`
	H           whole  `json:"h"`
	Mimes       texts  `json:"mimes"`
	MinDuration whole  `json:"minduration"`
	MaxDuration whole  `json:"maxduration"`
	Protocols   wholes `json:"protocols"`
	Protocol    whole  `json:"protocol"` // of 2.2
	Linearity   whole  `json:"linearity"`
	Skip        whole  `json:"skip"`
	BAttr       wholes `json:"battr"`
	Delivery    wholes `json:"delivery"`
}

// malformed is what makes a request one that the standard calls malformed; its text is shown to the caller.
type malformed string

func (m malformed) Error() string { return string(m) }

// parse reads a body. Errors are malformed.
func parse(body []byte, r *bidRequest) error {
	if body = bytes.TrimLeft(body, " \t\r\n"); len(body) == 0 || body[0] != '{' {
		return malformed("the body must be a JSON object")
	}
	if !utf8.Valid(body) {
		return malformed("the body is not UTF-8")
	}
	if err := json.Unmarshal(body, r, decodeOptions()); err != nil {
		return malformed("the body is not well-formed JSON")
	}
	return r.check()
}

// check refuses what PROTOCOLS and the standard call malformed, and nothing else.
func (r *bidRequest) check() error {
	switch {
	case r.ID == "":
		return malformed("id is required")
	case len(r.Imp.list) == 0 && !r.Imp.bad:
		return malformed("imp must hold at least one impression")
	case r.Imp.bad:
		return malformed("imp must hold objects only")
	case r.Site.set && r.App.set:
		return malformed("site and app exclude each other")
	}
	for i := range r.Imp.list {
		p := &r.Imp.list[i]
		if p.ID == "" {
			return malformed("imp.id is required")
		}
		if !p.Native.set && !p.Banner.set && !p.Video.set && !p.Audio.set {
			return malformed("an imp must offer native, banner, video or audio")
		}
	}
	return nil
}

// isMalformed finds the caller's mistake in err's chain.
func isMalformed(err error) (malformed, bool) {
	var m malformed
	ok := errors.As(err, &m)
	return m, ok
}
