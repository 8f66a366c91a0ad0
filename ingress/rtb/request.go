package rtb

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"adnet/ingress/offer"
	"adnet/internal/compliance/consent"
	"adnet/internal/jsonscan"
	"adnet/internal/money"
)

//go:generate go run adnet/internal/jsonscan/gen

// The tags rtb below and in native.go state the name of a field in JSON and, where its type alone
// does not, the method of reader that reads it. A field that is lost becomes unreadable if another
// value was sent in place of its object (see [restricting]). Fields without a tag are not read.

// bidRequest has the fields of a BidRequest (OpenRTB 2.6, 3.2.1) that we use. No field of user or
// device that could identify a person is read. The consent signals (regs, user.consent, device.lmt)
// determine whether the session of ext.mcp_context may be used.
type bidRequest struct {
	ID     text            `rtb:"id,id"`
	Imp    objects[imp]    `rtb:"imp"`
	Site   object[channel] `rtb:"site"`
	App    object[channel] `rtb:"app"`
	DOOH   object[channel] `rtb:"dooh"`
	Device object[device]  `rtb:"device"`
	User   object[user]    `rtb:"user"`
	Test   consent.Choice  `rtb:"test"`
	TMax   whole           `rtb:"tmax,pixels"`
	Cur    names           `rtb:"cur"`
	WLang  names           `rtb:"wlang"`
	WLangB names           `rtb:"wlangb"`
	BCat   names           `rtb:"bcat"`
	ACat   names           `rtb:"acat"`
	CatTax whole           `rtb:"cattax"`
	BAdv   names           `rtb:"badv"`
	BApp   names           `rtb:"bapp"`
	WSeat  names           `rtb:"wseat,seats"`
	BSeat  names           `rtb:"bseat,seats"`
	Regs   object[regs]    `rtb:"regs"`
	Ext    object[reqExt]  `rtb:"ext"`
}

type reqExt struct {
	Context     object[mcpContext] `rtb:"mcp_context"`
	Suitability offer.Suitability  `rtb:"suitability"`
	Debug       whole              `rtb:"debug"`
	Qty         object[quantity]   `rtb:"qty"` // of an imp, before 2.6
}

func (e *reqExt) lose() { e.Suitability.Unknown = "(ext is not an object)" }

// mcpContext is ext.mcp_context of a request or an imp: fields seen in the wild and both argument
// sets of the JSON-RPC tool.
type mcpContext struct {
	Intent       text  `rtb:"intent"`
	Summary      text  `rtb:"context_summary"`
	Context      text  `rtb:"context"`
	IntentTokens texts `rtb:"intent_tokens"`
	Tool         text  `rtb:"mcp_tool"`
	Tools        texts `rtb:"active_tools"`
	Host         text  `rtb:"host"`
	HostApp      text  `rtb:"host_app"`
	Surface      text  `rtb:"surface"`
	Region       text  `rtb:"user_region"`
	RegionShort  text  `rtb:"region"`
	Language     text  `rtb:"user_language"`
	LangShort    text  `rtb:"language"`
	Session      text  `rtb:"session_id"` // opaque, for frequency caps
}

// channel is a site, app or screen.
type channel struct {
	Name      text            `rtb:"name"`
	Keywords  text            `rtb:"keywords,words"`
	KWArray   texts           `rtb:"kwarray"`
	Search    text            `rtb:"search"`
	Content   object[content] `rtb:"content"`
	Publisher object[origin]  `rtb:"publisher"`

	// Read only to judge the conversation.
	Page       text  `rtb:"page"`
	Ref        text  `rtb:"ref"`
	CatTax     whole `rtb:"cattax"`
	Cat        names `rtb:"cat,lost"`
	SectionCat names `rtb:"sectioncat"`
	PageCat    names `rtb:"pagecat"`
}

// origin is a publisher or a producer (3.2.15, 3.2.17).
type origin struct {
	Name   text  `rtb:"name"`
	CatTax whole `rtb:"cattax"`
	Cat    names `rtb:"cat,lost"`
}

type content struct {
	Title    text  `rtb:"title"`
	Series   text  `rtb:"series"`
	Genre    text  `rtb:"genre"`
	Keywords text  `rtb:"keywords,words"`
	KWArray  texts `rtb:"kwarray"`

	// Read only to judge the conversation.
	Season   text           `rtb:"season"`
	Episode  text           `rtb:"episode"`
	Artist   text           `rtb:"artist"`
	Album    text           `rtb:"album"`
	URL      text           `rtb:"url"`
	Producer object[origin] `rtb:"producer"`
	CatTax   whole          `rtb:"cattax"`
	Cat      names          `rtb:"cat,lost"`
	Rating   text           `rtb:"contentrating,code"` // unreadableCode if it is no text or number
	QAG      whole          `rtb:"qagmediarating"`
}

// regs has the regulatory signals (3.2.3): the fields of 2.6 and the same names in ext, where 2.5
// has most of them.
type regs struct {
	regulations
	Ext object[regulations] `rtb:"ext"`
}

type regulations struct {
	GDPR      consent.Choice `rtb:"gdpr,lost"`
	COPPA     consent.Choice `rtb:"coppa,lost"`
	GPC       consent.Choice `rtb:"gpc,lost"` // not in the standard, but sent
	USPrivacy text           `rtb:"us_privacy,code,lost"`
	GPP       text           `rtb:"gpp,code,lost"`
	GPPSID    numbers        `rtb:"gpp_sid,lost"`
	DSA       object[dsa]    `rtb:"dsa,lost"`
}

// dsa has the field of the DSA extension (IAB Tech Lab, DSA Transparency) that restricts bids.
type dsa struct {
	Required whole `rtb:"dsarequired,lost"`
}

type device struct {
	Language text           `rtb:"language"`
	LangB    text           `rtb:"langb"`
	Geo      object[geo]    `rtb:"geo"`
	LMT      consent.Choice `rtb:"lmt,lost"`
	DNT      consent.Choice `rtb:"dnt,lost"`
}

// user has no field that identifies the person; the standard's ids are not read. Year of birth,
// keywords and segment names are read only to judge the conversation.
type user struct {
	Geo      object[geo]        `rtb:"geo"`
	Consent  text               `rtb:"consent,code,lost"` // TC string, since 2.6
	Ext      object[userSignal] `rtb:"ext"`               // has it in 2.5
	Born     year               `rtb:"yob,lost"`
	Keywords text               `rtb:"keywords,words"`
	KWArray  texts              `rtb:"kwarray"`
	Data     objects[data]      `rtb:"data"`
}

// data and segment have the fields of 3.2.21 and 3.2.22 that we use.
type data struct {
	Segments objects[segment] `rtb:"segment"`
}

type segment struct {
	Name text `rtb:"name"`
}

type userSignal struct {
	Consent text `rtb:"consent,code,lost"`
}

type geo struct {
	Country text `rtb:"country"` // ISO 3166-1 alpha-3
	Region  text `rtb:"region"`  // ISO 3166-2; two letters for the USA
}

// imp has the fields of an Imp (3.2.4) that we use.
type imp struct {
	ID          text             `rtb:"id,id"`
	TagID       text             `rtb:"tagid"`
	BidFloor    amount           `rtb:"bidfloor"`
	BidFloorCur text             `rtb:"bidfloorcur,code"`
	Secure      consent.Choice   `rtb:"secure"`
	Native      object[native]   `rtb:"native"`
	Banner      object[banner]   `rtb:"banner"`
	Video       object[video]    `rtb:"video"`
	Audio       object[empty]    `rtb:"audio"`
	PMP         object[pmp]      `rtb:"pmp"`
	Qty         object[quantity] `rtb:"qty"`
	DT          whole            `rtb:"dt,pixels"` // milliseconds since 1970, of a delayed display
	Ext         object[reqExt]   `rtb:"ext"`
}

// empty is an object that is only checked for presence.
type empty struct{}

func (*empty) member(r *reader, _ string) { r.skip() }

// offersNothing takes empty lists for formats, as PHP writes objects without members, if p has no
// other format. It reports whether p has none at all.
func (i *imp) offersNothing() bool {
	if i.Native.set || i.Banner.set || i.Video.set || i.Audio.set {
		return false
	}
	i.Native.set, i.Banner.set = i.Native.hollow, i.Banner.hollow
	i.Video.set, i.Audio.set = i.Video.hollow, i.Audio.hollow
	return !(i.Native.set || i.Banner.set || i.Video.set || i.Audio.set)
}

// quantity has the field of a Qty (3.2.31) that restricts bids: the number of views of one
// impression.
type quantity struct {
	Multiplier amount `rtb:"multiplier,lost"`
}

// other reports whether an impression may stand for another number of views than one.
func (q *quantity) other() bool {
	m := &q.Multiplier
	return m.bad || m.set && m.micros != money.USD
}

type pmp struct {
	Private consent.Choice `rtb:"private_auction,lost"`
	Deals   objects[deal]  `rtb:"deals"`
}

// deal has the fields of a Deal (3.2.12) that we use.
type deal struct {
	ID          text    `rtb:"id,id"`
	BidFloor    amount  `rtb:"bidfloor"`
	BidFloorCur text    `rtb:"bidfloorcur,code"`
	AT          whole   `rtb:"at"`
	WSeat       names   `rtb:"wseat,seats"`
	WADomain    names   `rtb:"wadomain"`
	MType       numbers `rtb:"mtype"` // not in the standard, but sent

	DurFloors    objects[durFloor] `rtb:"durfloors"`
	MinCPMPerSec amount            `rtb:"mincpmpersec"`
}

type banner struct {
	W      whole         `rtb:"w,pixels"`
	H      whole         `rtb:"h,pixels"`
	Format objects[size] `rtb:"format"`
	BType  numbers       `rtb:"btype"`
	BAttr  numbers       `rtb:"battr"`
	Mimes  names         `rtb:"mimes"`

	// Of versions before 2.4.
	WMin whole `rtb:"wmin,pixels"`
	WMax whole `rtb:"wmax,pixels"`
	HMin whole `rtb:"hmin,pixels"`
	HMax whole `rtb:"hmax,pixels"`
}

type size struct {
	W whole `rtb:"w,pixels"`
	H whole `rtb:"h,pixels"`
}

type video struct {
	W           whole          `rtb:"w,pixels"`
	H           whole          `rtb:"h,pixels"`
	Mimes       names          `rtb:"mimes"`
	MinDuration whole          `rtb:"minduration"`
	MaxDuration whole          `rtb:"maxduration"`
	Protocols   numbers        `rtb:"protocols"`
	Protocol    numbers        `rtb:"protocol"` // from 2.2
	Linearity   whole          `rtb:"linearity"`
	Skip        consent.Choice `rtb:"skip"`
	SkipMin     whole          `rtb:"skipmin"`   // seconds from which a video may be skippable
	SkipAfter   whole          `rtb:"skipafter"` // seconds before the skip button
	BAttr       numbers        `rtb:"battr"`
	Delivery    numbers        `rtb:"delivery"`
	MinBitrate  whole          `rtb:"minbitrate"` // kbit/s
	MaxBitrate  whole          `rtb:"maxbitrate"`
	Boxing      consent.Choice `rtb:"boxingallowed"`

	// RqdDurs are the exact accepted lengths; minduration and maxduration are then ignored.
	RqdDurs      numbers           `rtb:"rqddurs"`
	DurFloors    objects[durFloor] `rtb:"durfloors"`
	MinCPMPerSec amount            `rtb:"mincpmpersec"` // floor per second, in the currency of the imp's floor

	PodID     text    `rtb:"podid,code"` // shared by the imps of a pod
	PodDur    whole   `rtb:"poddur"`
	MaxSeq    whole   `rtb:"maxseq"`
	PodDedupe numbers `rtb:"poddedupe"`
}

// durFloor has the fields of a DurFloors (3.2.35): the floor of videos within a range of lengths.
type durFloor struct {
	MinDur   whole  `rtb:"mindur"`
	MaxDur   whole  `rtb:"maxdur"`
	BidFloor amount `rtb:"bidfloor"`
}

// malformed is the error of a request that violates the standard. Its text is shown to the caller.
type malformed string

func (m malformed) Error() string { return string(m) }

// parse reads a body; in is valid until r.forget. Errors are malformed.
func (r *reader) parse(body []byte, in *bidRequest) error {
	if body = bytes.TrimLeft(body, " \t\r\n"); len(body) == 0 || body[0] != '{' {
		return malformed("the body must be a JSON object")
	}
	if r.valid(body, in) {
		return in.check()
	}
	plain, mended := jsonscan.Mend(body)
	if *in = (bidRequest{}); !mended || !r.valid(plain, in) {
		return malformed("the body is not well-formed JSON")
	}
	return in.check()
}

// valid reads a body and reports whether it is JSON in UTF-8.
func (r *reader) valid(body []byte, in *bidRequest) bool {
	if !utf8.Valid(body) {
		return false
	}
	_, err := r.document(string(body), in)
	return err == nil
}

// check rejects exactly the requests that PROTOCOLS and the standard define as malformed.
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
		if p.offersNothing() {
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
