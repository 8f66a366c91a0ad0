package rtb

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"adnet/ingress/offer"
	"adnet/internal/consent"
	"adnet/internal/jsonscan"
	"adnet/internal/money"
)

// bidRequest has the fields of a BidRequest (OpenRTB 2.6, 3.2.1) that we use. No field of user or
// device that could identify a person is read. The consent signals (regs, user.consent, device.lmt)
// determine whether the session of ext.mcp_context may be used.
type bidRequest struct {
	ID     text
	Imp    objects[imp]
	Site   object[channel]
	App    object[channel]
	DOOH   object[channel]
	Device object[device]
	User   object[user]
	Test   consent.Choice
	TMax   whole
	Cur    names
	WLang  names
	WLangB names
	BCat   names
	ACat   names
	CatTax whole
	BAdv   names
	BApp   names
	WSeat  names
	BSeat  names
	Regs   object[regs]
	Ext    object[reqExt]
}

func (b *bidRequest) member(r *reader, name string) {
	switch name {
	case "id":
		b.ID = r.id()
	case "imp":
		b.Imp = list(r, &r.imps)
	case "site":
		into(r, &b.Site)
	case "app":
		into(r, &b.App)
	case "dooh":
		into(r, &b.DOOH)
	case "device":
		into(r, &b.Device)
	case "user":
		into(r, &b.User)
	case "test":
		b.Test = r.choice()
	case "tmax":
		b.TMax = r.pixels()
	case "cur":
		b.Cur = r.names()
	case "wlang":
		b.WLang = r.names()
	case "wlangb":
		b.WLangB = r.names()
	case "bcat":
		b.BCat = r.names()
	case "acat":
		b.ACat = r.names()
	case "cattax":
		b.CatTax = r.whole()
	case "badv":
		b.BAdv = r.names()
	case "bapp":
		b.BApp = r.names()
	case "wseat":
		b.WSeat = r.seats()
	case "bseat":
		b.BSeat = r.seats()
	case "regs":
		into(r, &b.Regs)
	case "ext":
		into(r, &b.Ext)
	default:
		r.skip()
	}
}

type reqExt struct {
	Context     object[mcpContext]
	Suitability offer.Suitability
	Debug       whole
	Qty         object[quantity] // of an imp, before 2.6
}

func (e *reqExt) member(r *reader, name string) {
	switch name {
	case "mcp_context":
		into(r, &e.Context)
	case "suitability":
		e.Suitability = offer.ReadSuitability(r.value())
	case "debug":
		e.Debug = r.whole()
	case "qty":
		into(r, &e.Qty)
	default:
		r.skip()
	}
}

func (e *reqExt) lose() { e.Suitability.Unknown = "(ext is not an object)" }

// mcpContext is ext.mcp_context of a request or an imp: fields seen in the wild and both argument
// sets of the JSON-RPC tool.
type mcpContext struct {
	Intent       text
	Summary      text
	Context      text
	IntentTokens texts
	Tool         text
	Tools        texts
	Host         text
	HostApp      text
	Surface      text
	Region       text
	RegionShort  text
	Language     text
	LangShort    text
	Session      text // opaque, for frequency caps
}

func (m *mcpContext) member(r *reader, name string) {
	switch name {
	case "intent":
		m.Intent = r.string()
	case "context_summary":
		m.Summary = r.string()
	case "context":
		m.Context = r.string()
	case "intent_tokens":
		m.IntentTokens = r.texts()
	case "mcp_tool":
		m.Tool = r.string()
	case "active_tools":
		m.Tools = r.texts()
	case "host":
		m.Host = r.string()
	case "host_app":
		m.HostApp = r.string()
	case "surface":
		m.Surface = r.string()
	case "user_region":
		m.Region = r.string()
	case "region":
		m.RegionShort = r.string()
	case "user_language":
		m.Language = r.string()
	case "language":
		m.LangShort = r.string()
	case "session_id":
		m.Session = r.string()
	default:
		r.skip()
	}
}

// channel is a site, app or screen.
type channel struct {
	Name      text
	Keywords  text
	KWArray   texts
	Search    text
	Content   object[content]
	Publisher object[origin]

	// Read only to judge the conversation.
	Page, Ref                text
	CatTax                   whole
	Cat, SectionCat, PageCat names
}

func (c *channel) member(r *reader, name string) {
	switch name {
	case "name":
		c.Name = r.string()
	case "keywords":
		c.Keywords = r.words()
	case "kwarray":
		c.KWArray = r.texts()
	case "search":
		c.Search = r.string()
	case "content":
		into(r, &c.Content)
	case "publisher":
		into(r, &c.Publisher)
	case "page":
		c.Page = r.string()
	case "ref":
		c.Ref = r.string()
	case "cattax":
		c.CatTax = r.whole()
	case "cat":
		c.Cat = r.names()
	case "sectioncat":
		c.SectionCat = r.names()
	case "pagecat":
		c.PageCat = r.names()
	default:
		r.skip()
	}
}

func (c *channel) lose() { c.Cat.state = unreadable }

// origin is a publisher or a producer (3.2.15, 3.2.17).
type origin struct {
	Name   text
	CatTax whole
	Cat    names
}

func (o *origin) member(r *reader, name string) {
	switch name {
	case "name":
		o.Name = r.string()
	case "cattax":
		o.CatTax = r.whole()
	case "cat":
		o.Cat = r.names()
	default:
		r.skip()
	}
}

func (o *origin) lose() { o.Cat.state = unreadable }

type content struct {
	Title    text
	Series   text
	Genre    text
	Keywords text
	KWArray  texts

	// Read only to judge the conversation.
	Season, Episode, Artist, Album, URL text
	Producer                            object[origin]
	CatTax                              whole
	Cat                                 names
	Rating                              text // unreadableCode if it is no text or number
	QAG                                 whole
}

func (c *content) member(r *reader, name string) {
	switch name {
	case "title":
		c.Title = r.string()
	case "series":
		c.Series = r.string()
	case "genre":
		c.Genre = r.string()
	case "keywords":
		c.Keywords = r.words()
	case "kwarray":
		c.KWArray = r.texts()
	case "season":
		c.Season = r.string()
	case "episode":
		c.Episode = r.string()
	case "artist":
		c.Artist = r.string()
	case "album":
		c.Album = r.string()
	case "url":
		c.URL = r.string()
	case "producer":
		into(r, &c.Producer)
	case "cattax":
		c.CatTax = r.whole()
	case "cat":
		c.Cat = r.names()
	case "contentrating":
		c.Rating = r.code()
	case "qagmediarating":
		c.QAG = r.whole()
	default:
		r.skip()
	}
}

func (c *content) lose() { c.Cat.state = unreadable }

// regs has the regulatory signals (3.2.3): the fields of 2.6 and the same names in ext, where 2.5
// has most of them.
type regs struct {
	regulations
	Ext object[regulations]
}

func (g *regs) member(r *reader, name string) {
	if name == "ext" {
		into(r, &g.Ext)
	} else {
		g.regulations.member(r, name)
	}
}

type regulations struct {
	GDPR      consent.Choice
	COPPA     consent.Choice
	GPC       consent.Choice // not in the standard, but sent
	USPrivacy text
	GPP       text
	GPPSID    numbers
	DSA       object[dsa]
}

func (g *regulations) member(r *reader, name string) {
	switch name {
	case "gdpr":
		g.GDPR = r.choice()
	case "coppa":
		g.COPPA = r.choice()
	case "gpc":
		g.GPC = r.choice()
	case "us_privacy":
		g.USPrivacy = r.code()
	case "gpp":
		g.GPP = r.code()
	case "gpp_sid":
		g.GPPSID = r.numbers()
	case "dsa":
		into(r, &g.DSA)
	default:
		r.skip()
	}
}

func (g *regulations) lose() {
	g.GDPR, g.COPPA, g.GPC = consent.Unclear, consent.Unclear, consent.Unclear
	g.USPrivacy, g.GPP, g.GPPSID.state = unreadableCode, unreadableCode, unreadable
	g.DSA.v.lose()
}

// dsa has the field of the DSA extension (IAB Tech Lab, DSA Transparency) that restricts bids.
type dsa struct{ Required whole }

func (d *dsa) member(r *reader, name string) {
	if name == "dsarequired" {
		d.Required = r.whole()
	} else {
		r.skip()
	}
}

func (d *dsa) lose() { d.Required.state = unreadable }

type device struct {
	Language text
	LangB    text
	Geo      object[geo]
	LMT      consent.Choice
	DNT      consent.Choice
}

func (d *device) member(r *reader, name string) {
	switch name {
	case "language":
		d.Language = r.string()
	case "langb":
		d.LangB = r.string()
	case "lmt":
		d.LMT = r.choice()
	case "dnt":
		d.DNT = r.choice()
	case "geo":
		into(r, &d.Geo)
	default:
		r.skip()
	}
}

func (d *device) lose() { d.LMT, d.DNT = consent.Unclear, consent.Unclear }

// user has no field that identifies the person; the standard's ids are not read. Year of birth,
// keywords and segment names are read only to judge the conversation.
type user struct {
	Geo      object[geo]
	Consent  text               // TC string, since 2.6
	Ext      object[userSignal] // has it in 2.5
	Born     year
	Keywords text
	KWArray  texts
	Data     objects[data]
}

// data and segment have the fields of 3.2.21 and 3.2.22 that we use.
type data struct{ Segments objects[segment] }

func (d *data) member(r *reader, name string) {
	if name == "segment" {
		d.Segments = list(r, &r.segments)
	} else {
		r.skip()
	}
}

type segment struct{ Name text }

func (s *segment) member(r *reader, name string) {
	if name == "name" {
		s.Name = r.string()
	} else {
		r.skip()
	}
}

type userSignal struct{ Consent text }

func (u *userSignal) member(r *reader, name string) {
	if name == "consent" {
		u.Consent = r.code()
	} else {
		r.skip()
	}
}

func (u *userSignal) lose() { u.Consent = unreadableCode }

func (u *user) lose() { u.Consent, u.Born.set = unreadableCode, true }

func (u *user) member(r *reader, name string) {
	switch name {
	case "consent":
		u.Consent = r.code()
	case "ext":
		into(r, &u.Ext)
	case "geo":
		into(r, &u.Geo)
	case "yob":
		u.Born = r.year()
	case "keywords":
		u.Keywords = r.words()
	case "kwarray":
		u.KWArray = r.texts()
	case "data":
		u.Data = list(r, &r.data)
	default:
		r.skip()
	}
}

type geo struct {
	Country text // ISO 3166-1 alpha-3
	Region  text // ISO 3166-2; two letters for the USA
}

func (g *geo) member(r *reader, name string) {
	switch name {
	case "country":
		g.Country = r.string()
	case "region":
		g.Region = r.string()
	default:
		r.skip()
	}
}

// imp has the fields of an Imp (3.2.4) that we use.
type imp struct {
	ID          text
	TagID       text
	BidFloor    amount
	BidFloorCur text
	Secure      consent.Choice
	Native      object[native]
	Banner      object[banner]
	Video       object[video]
	Audio       object[empty]
	PMP         object[pmp]
	Qty         object[quantity]
	DT          whole // milliseconds since 1970, of a delayed display
	Ext         object[reqExt]
}

func (i *imp) member(r *reader, name string) {
	switch name {
	case "id":
		i.ID = r.id()
	case "tagid":
		i.TagID = r.string()
	case "bidfloor":
		i.BidFloor = r.amount()
	case "bidfloorcur":
		i.BidFloorCur = r.code()
	case "secure":
		i.Secure = r.choice()
	case "native":
		into(r, &i.Native)
	case "banner":
		into(r, &i.Banner)
	case "video":
		into(r, &i.Video)
	case "audio":
		into(r, &i.Audio)
	case "pmp":
		into(r, &i.PMP)
	case "qty":
		into(r, &i.Qty)
	case "dt":
		i.DT = r.pixels()
	case "ext":
		into(r, &i.Ext)
	default:
		r.skip()
	}
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
type quantity struct{ Multiplier amount }

func (q *quantity) member(r *reader, name string) {
	if name == "multiplier" {
		q.Multiplier = r.amount()
	} else {
		r.skip()
	}
}

// other reports whether an impression may stand for another number of views than one.
func (q *quantity) other() bool {
	m := &q.Multiplier
	return m.bad || m.set && m.micros != money.USD
}

func (q *quantity) lose() { q.Multiplier.bad = true }

type pmp struct {
	Private consent.Choice
	Deals   objects[deal]
}

func (p *pmp) member(r *reader, name string) {
	switch name {
	case "private_auction":
		p.Private = r.choice()
	case "deals":
		p.Deals = list(r, &r.deals)
	default:
		r.skip()
	}
}

func (p *pmp) lose() { p.Private = consent.Unclear }

// deal has the fields of a Deal (3.2.12) that we use.
type deal struct {
	ID          text
	BidFloor    amount
	BidFloorCur text
	AT          whole
	WSeat       names
	WADomain    names
	MType       numbers // not in the standard, but sent

	DurFloors    objects[durFloor]
	MinCPMPerSec amount
}

func (d *deal) member(r *reader, name string) {
	switch name {
	case "id":
		d.ID = r.id()
	case "bidfloor":
		d.BidFloor = r.amount()
	case "bidfloorcur":
		d.BidFloorCur = r.code()
	case "at":
		d.AT = r.whole()
	case "wseat":
		d.WSeat = r.seats()
	case "wadomain":
		d.WADomain = r.names()
	case "mtype":
		d.MType = r.numbers()
	case "durfloors":
		d.DurFloors = list(r, &r.ranges)
	case "mincpmpersec":
		d.MinCPMPerSec = r.amount()
	default:
		r.skip()
	}
}

type banner struct {
	W      whole
	H      whole
	Format objects[size]
	BType  numbers
	BAttr  numbers
	Mimes  names

	WMin, WMax, HMin, HMax whole // of versions before 2.4
}

func (b *banner) member(r *reader, name string) {
	switch name {
	case "w":
		b.W = r.pixels()
	case "h":
		b.H = r.pixels()
	case "format":
		b.Format = list(r, &r.sizes)
	case "btype":
		b.BType = r.numbers()
	case "battr":
		b.BAttr = r.numbers()
	case "mimes":
		b.Mimes = r.names()
	case "wmin":
		b.WMin = r.pixels()
	case "wmax":
		b.WMax = r.pixels()
	case "hmin":
		b.HMin = r.pixels()
	case "hmax":
		b.HMax = r.pixels()
	default:
		r.skip()
	}
}

type size struct {
	W whole
	H whole
}

func (s *size) member(r *reader, name string) {
	switch name {
	case "w":
		s.W = r.pixels()
	case "h":
		s.H = r.pixels()
	default:
		r.skip()
	}
}

type video struct {
	W           whole
	H           whole
	Mimes       names
	MinDuration whole
	MaxDuration whole
	Protocols   numbers
	Protocol    numbers // from 2.2
	Linearity   whole
	Skip        consent.Choice
	SkipMin     whole // seconds from which a video may be skippable
	SkipAfter   whole // seconds before the skip button
	BAttr       numbers
	Delivery    numbers
	MinBitrate  whole // kbit/s
	MaxBitrate  whole
	Boxing      consent.Choice // boxingallowed

	RqdDurs      numbers // the exact accepted lengths; minduration and maxduration are then ignored
	DurFloors    objects[durFloor]
	MinCPMPerSec amount // floor per second, in the currency of the imp's floor

	PodID     text // shared by the imps of a pod
	PodDur    whole
	MaxSeq    whole
	PodDedupe numbers
}

// durFloor has the fields of a DurFloors (3.2.35): the floor of videos within a range of lengths.
type durFloor struct {
	MinDur   whole
	MaxDur   whole
	BidFloor amount
}

func (f *durFloor) member(r *reader, name string) {
	switch name {
	case "mindur":
		f.MinDur = r.whole()
	case "maxdur":
		f.MaxDur = r.whole()
	case "bidfloor":
		f.BidFloor = r.amount()
	default:
		r.skip()
	}
}

func (v *video) member(r *reader, name string) {
	switch name {
	case "w":
		v.W = r.pixels()
	case "h":
		v.H = r.pixels()
	case "mimes":
		v.Mimes = r.names()
	case "minduration":
		v.MinDuration = r.whole()
	case "maxduration":
		v.MaxDuration = r.whole()
	case "protocols":
		v.Protocols = r.numbers()
	case "protocol":
		v.Protocol = r.numbers()
	case "linearity":
		v.Linearity = r.whole()
	case "battr":
		v.BAttr = r.numbers()
	case "delivery":
		v.Delivery = r.numbers()
	case "minbitrate":
		v.MinBitrate = r.whole()
	case "maxbitrate":
		v.MaxBitrate = r.whole()
	case "boxingallowed":
		v.Boxing = r.choice()
	case "rqddurs":
		v.RqdDurs = r.numbers()
	case "durfloors":
		v.DurFloors = list(r, &r.ranges)
	case "mincpmpersec":
		v.MinCPMPerSec = r.amount()
	default:
		v.skipOrPod(r, name)
	}
}

// skipOrPod reads the members about skipping and pods.
func (v *video) skipOrPod(r *reader, name string) {
	switch name {
	case "skip":
		v.Skip = r.choice()
	case "skipmin":
		v.SkipMin = r.whole()
	case "skipafter":
		v.SkipAfter = r.whole()
	case "podid":
		v.PodID = r.code()
	case "poddur":
		v.PodDur = r.whole()
	case "maxseq":
		v.MaxSeq = r.whole()
	case "poddedupe":
		v.PodDedupe = r.numbers()
	default:
		r.skip()
	}
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
