package track

import (
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// reportedEvent is a caller's report of an event. The token wins over every fact that both state.
type reportedEvent struct {
	kind       event.Type
	auctionID  string // a token of the ad
	clickID    string // of a conversion; it wins over auctionID
	campaignID uuid.UUID
	developer  uuid.UUID
	session    string
	externalID string // of a conversion
	refused    bool   // the report says that the reader did not consent
	format     string
	method     string
	by         Reporter
	conversion *event.Conversion
	origin     Origin
	sandbox    bool // reported with a sandbox key; counts only without a token
}

// eventTypes are the event types by their names on the wire.
var eventTypes = map[string]event.Type{
	"impression": event.Type_IMPRESSION, "click": event.Type_CLICK, "close": event.Type_CLOSE,
	"skip": event.Type_SKIP, "video_complete": event.Type_VIDEO_COMPLETE, "conversion": event.Type_CONVERSION,
	"viewable": event.Type_VIEWABLE,
}

var wireNames = [...]string{
	event.Type_IMPRESSION: "impression", event.Type_CLICK: "click", event.Type_CLOSE: "close",
	event.Type_SKIP: "skip", event.Type_VIDEO_COMPLETE: "video_complete", event.Type_CONVERSION: "conversion",
	event.Type_VIEWABLE: "viewable",
}

var billingModels = map[string]event.BillingModel{
	"cpm": event.BillingModel_CPM, "cpc": event.BillingModel_CPC, "cpa": event.BillingModel_CPA,
	"vcpm": event.BillingModel_VCPM,
}

// eventOf turns a report into the event to record. With a valid token every fact is the token's;
// without one the event's proof says so, and kept whether it counts all the same
// (ADNET_UNSIGNED_BEACONS=bill).
func (t *Tracker) eventOf(c reportedEvent, now time.Time) (made *placedEvent, kept bool, err error) {
	made, err = newEvent(c.kind, now)
	if err != nil {
		return nil, false, err
	}
	e := &made.Event
	e.Conversion = c.conversion
	if c.auctionID == "" && c.clickID == "" {
		if err := c.by.mayReport(c.kind, nil); err != nil {
			return nil, false, err
		}
		t.unsigned(made, &c, now)
		return made, e.Proof == event.Proof_UNSIGNED_BILLABLE, nil
	}
	if made.auction, err = t.verify(&c, now); err != nil {
		// A key past its grace signed honestly once; anything else was never ours. Of neither is
		// anything believed.
		e.Proof = lacking(err)
		copyReported(e, &c)
		return made, false, nil
	}
	if err := c.by.mayReport(c.kind, &made.auction); err != nil {
		return nil, false, err
	}
	if c.clickID != "" {
		t.signed(made, c.clickID, now)
		t.remember(made, &c, now)
		return made, true, t.converted(made, &c, now)
	}
	t.signed(made, c.auctionID, now)
	t.remember(made, &c, now)
	if e.Conversion != nil {
		e.Conversion.Type = traffic.ConversionType(e.Conversion.Type)
	}
	return made, true, nil
}

// verify reads the token that a report comes with.
func (t *Tracker) verify(c *reportedEvent, now time.Time) (token.Auction, error) {
	switch {
	case c.clickID != "":
		return t.deps.Keyring.Verify(token.ForConversion, c.clickID, now)
	case c.kind == event.Type_CONVERSION:
		return t.deps.Keyring.Verify(token.ForClaim, c.auctionID, now)
	}
	return t.deps.Keyring.Verify(token.ForEvent(wireNames[c.kind]), c.auctionID, now)
}

// converted decides what a conversion with a click id proves. Only the click id together with the
// word of the campaign's owner makes one that settlement may charge: the id is on the landing page,
// where its visitors see it, and a link of the ad has none. The token of the event says that both
// were checked, and is made here alone. Errors: a conversion key of something else.
func (t *Tracker) converted(made *placedEvent, c *reportedEvent, now time.Time) (err error) {
	e := &made.Event
	if e.Conversion.Verified, err = c.by.vouches(&made.auction); err != nil {
		return err
	}
	if t.cfg.Life.ConversionExpired(&made.auction, now) {
		e.Proof, e.Token = event.Proof_EXPIRED, nil
		return nil
	}
	text := c.clickID
	if e.Conversion.Verified {
		text = t.deps.Keyring.Sign(token.PurposeConverted, made.auction)
	} else {
		e.Conversion.Type = traffic.ConversionType(e.Conversion.Type)
	}
	e.Proof, e.Token = event.Proof_SIGNED, t.deps.Keyring.AppendRaw(made.token[:0], text)
	return nil
}

// placedEvent is an event with everything that it points to, in one allocation (benchmark row
// beacon).
type placedEvent struct {
	event.Event
	id        uuid.UUID
	session   token.Pseudonym
	auction   token.Auction
	placement event.Placement
	token     [tokenRoom]byte
}

// tokenRoom is enough for the bytes of nearly every token; a longer one has memory of its own.
const tokenRoom = 160

func newEvent(kind event.Type, now time.Time) (*placedEvent, error) {
	made := new(placedEvent)
	var err error
	if made.id, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	made.EventId, made.Type, made.ReceivedAtUs = made.id[:], kind, now.UnixMicro()
	return made, nil
}

// remember notes who the reader of an event is, by keyed hashes alone: the ids themselves end here.
// Of a reader who did not consent nothing is noted; the token says so, or the request does
// (Sec-GPC, a report's field consent).
func (t *Tracker) remember(made *placedEvent, c *reportedEvent, now time.Time) {
	e := &made.Event
	if e.NoConsent = made.auction.NoConsent || c.refused || c.origin.private(); e.NoConsent {
		return
	}
	date := day.Of(now)
	if e.Conversion != nil && c.externalID != "" {
		order := t.deps.Keyring.Lasting(uuid.UUID(e.AdvertiserId), date, c.externalID)
		e.Conversion.ExternalHash = order[:]
	}
	if c.session == "" {
		return
	}
	if e.Proof == event.Proof_SIGNED || e.Proof == event.Proof_EXPIRED {
		date = day.OfUUID(made.auction.AuctionID) // the day of the frequency cap
	}
	made.session = t.deps.Keyring.SessionSaid(uuid.UUID(e.DeveloperId), date, cut(c.session, maxSession))
	e.SessionHash = made.session[:]
}

// signed takes every fact from the token, which goes with the event: settlement verifies it again,
// so that whoever can write to the log bills nothing.
func (t *Tracker) signed(made *placedEvent, text string, now time.Time) {
	e, a := &made.Event, &made.auction
	e.Proof = event.Proof_SIGNED
	if t.cfg.Life.Expired(wireNames[e.Type], a.IssuedAt(), now) {
		e.Proof = event.Proof_EXPIRED
	}
	e.AuctionId, e.CampaignId, e.AdvertiserId = a.AuctionID[:], a.CampaignID[:], a.AdvertiserID[:]
	e.DeveloperId = a.DeveloperID[:]
	e.PriceMicros, e.BillingModel = int64(a.Price), billingModels[a.BillingModel]
	e.Sandbox, e.House, e.CreditFunded = a.Sandbox, a.House, a.CreditFunded
	p := &made.placement
	p.Format, p.IntegrationMethod, p.Surface = a.Format, a.IntegrationMethod, a.Surface
	p.Region, p.Language, p.HostApp = a.Region, a.Language, a.HostApp
	e.Placement = p
	if e.Proof == event.Proof_SIGNED {
		e.Token = t.deps.Keyring.AppendRaw(made.token[:0], text)
	}
}

// copyReported keeps the caller's statements, for the record only; words only of our lists.
func copyReported(e *event.Event, c *reportedEvent) {
	e.CampaignId, e.DeveloperId = c.campaignID[:], c.developer[:]
	e.AdvertiserId = uuid.Nil[:]
	e.Placement = &event.Placement{Format: traffic.Format(c.format), IntegrationMethod: traffic.Method(c.method)}
}

func (t *Tracker) unsigned(made *placedEvent, c *reportedEvent, now time.Time) {
	e := &made.Event
	copyReported(e, c)
	if c.refused = c.refused || c.origin.private(); c.refused {
		c.session = ""
	}
	kind := ""
	if c.sandbox { // must not make a real event look like its repeat
		kind = "sandbox"
	}
	synthetic := t.deps.Keyring.Synthetic(day.Of(now), c.campaignID, c.developer, c.session, kind)
	e.AuctionId = synthetic[:]
	t.remember(made, c, now)
	e.Proof, e.Sandbox = event.Proof_UNSIGNED, c.sandbox
	if t.cfg.Unsigned == UnsignedBill {
		e.Proof = event.Proof_UNSIGNED_BILLABLE
	}
	if known, ok := t.deps.Creatives.Creative(c.campaignID); ok {
		e.AdvertiserId = known.AdvertiserID[:]
		if e.Placement.Format == "" {
			e.Placement.Format = string(known.Format)
		}
	}
}
