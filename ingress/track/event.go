package track

import (
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// reportedEvent is a caller's report of an event. The token overrides every fact that both contain.
type reportedEvent struct {
	kind       event.Type
	auctionID  string // a token of the ad
	clickID    string // of a conversion; it overrides auctionID
	campaignID uuid.UUID
	developer  uuid.UUID
	session    string
	externalID string // of a conversion
	refused    bool   // the report states that the reader did not consent
	format     string
	method     string
	by         Reporter
	conversion *event.Conversion
	origin     Origin
	sandbox    bool // reported with a sandbox key; counts only without a token
}

// clicked reports whether a conversion depends on its click id, which may be missing.
func (c *reportedEvent) clicked() bool {
	return c.kind == event.Type_CONVERSION && (c.clickID != "" || c.auctionID == "")
}

// eventOf converts a report to an event. With a valid token all facts come from the token.
// Otherwise the proof of the event names what is missing, and countable reports whether the event
// still counts (ADNET_UNSIGNED_BEACONS=bill).
func (t *Tracker) eventOf(c reportedEvent, now time.Time) (placed *placedEvent, countable bool, err error) {
	placed, err = newEvent(c.kind, now)
	if err != nil {
		return nil, false, err
	}
	e := &placed.Event
	e.Conversion = c.conversion
	if c.auctionID == "" && c.clickID == "" {
		if err := c.by.mayReport(c.kind, nil); err != nil {
			return nil, false, err
		}
		if c.clicked() { // nothing but the click id proves a conversion
			e.Proof = event.Proof_UNSIGNED
			copyReported(e, &c)
			t.nameCampaign(e, &c)
			return placed, false, nil
		}
		t.unsigned(placed, &c, now)
		return placed, e.Proof == event.Proof_UNSIGNED_BILLABLE, nil
	}
	if placed.auction, err = t.verify(&c, now); err != nil {
		// A key past its grace period signed honestly once; any other key was never ours. Trust
		// neither.
		e.Proof = lacking(err)
		copyReported(e, &c)
		t.nameCampaign(e, &c)
		return placed, false, nil
	}
	if err := c.by.mayReport(c.kind, &placed.auction); err != nil {
		return nil, false, err
	}
	if c.clickID != "" {
		t.signed(placed, c.clickID, now)
		t.remember(placed, &c, now)
		return placed, true, t.converted(placed, &c, now)
	}
	t.signed(placed, c.auctionID, now)
	t.remember(placed, &c, now)
	if e.Conversion != nil {
		e.Conversion.Type = traffic.ConversionType(e.Conversion.Type)
	}
	return placed, true, nil
}

// verify verifies the token of a report.
func (t *Tracker) verify(c *reportedEvent, now time.Time) (token.Auction, error) {
	switch {
	case c.clickID != "":
		return t.deps.Keyring.Verify(token.ForConversion, c.clickID, now)
	case c.kind == event.Type_CONVERSION:
		return t.deps.Keyring.Verify(token.ForClaim, c.auctionID, now)
	}
	return t.deps.Keyring.Verify(token.ForEvent(c.kind), c.auctionID, now)
}

// converted sets the proof of a conversion with a click id. Settlement may charge a conversion only
// if it has the click id and the credentials of the campaign's owner: the landing page exposes the
// id to its visitors, and links of the ad do not contain one. Only converted creates the token
// which attests that both were checked. Errors: a conversion key for something else.
func (t *Tracker) converted(placed *placedEvent, c *reportedEvent, now time.Time) (err error) {
	e := &placed.Event
	if e.Conversion.Verified, err = c.by.vouches(&placed.auction); err != nil {
		return err
	}
	if t.cfg.Life.ConversionExpired(&placed.auction, now) {
		e.Proof, e.Token = event.Proof_EXPIRED, nil
		return nil
	}
	text := c.clickID
	if e.Conversion.Verified {
		text = t.deps.Keyring.Sign(token.PurposeConverted, placed.auction)
	} else {
		e.Conversion.Type = traffic.ConversionType(e.Conversion.Type)
	}
	e.Proof, e.Token = event.Proof_SIGNED, t.deps.Keyring.AppendRaw(placed.token[:0], text)
	return nil
}

// placedEvent is an event and everything that it points to, in one allocation (benchmark row
// beacon).
type placedEvent struct {
	event.Event
	id        uuid.UUID
	session   token.Pseudonym
	auction   token.Auction
	placement event.Placement
	token     [tokenRoom]byte
}

// tokenRoom is enough for nearly every token. A longer one is allocated separately.
const tokenRoom = 160

func newEvent(kind event.Type, now time.Time) (*placedEvent, error) {
	placed := new(placedEvent)
	var err error
	if placed.id, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	placed.EventId, placed.Type, placed.ReceivedAtUs = placed.id[:], kind, now.UnixMicro()
	return placed, nil
}

// remember stores keyed hashes that identify the reader, never the ids themselves. It stores
// nothing about a reader without consent, according to the token or the request (Sec-GPC, a
// report's field consent).
func (t *Tracker) remember(placed *placedEvent, c *reportedEvent, now time.Time) {
	e := &placed.Event
	if e.NoConsent = placed.auction.NoConsent || c.refused || c.origin.private(); e.NoConsent {
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
		date = day.OfUUID(placed.auction.AuctionID) // the day of the frequency cap
	}
	placed.session = t.deps.Keyring.SessionSaid(uuid.UUID(e.DeveloperId), date, cut(c.session, maxSession))
	e.SessionHash = placed.session[:]
}

// signed copies every fact from the token. The token stays with the event: settlement verifies it
// again, so that write access to the log is not enough to bill.
func (t *Tracker) signed(placed *placedEvent, text string, now time.Time) {
	e, a := &placed.Event, &placed.auction
	e.Proof = event.Proof_SIGNED
	if t.cfg.Life.Expired(e.Type, a.IssuedAt(), now) {
		e.Proof = event.Proof_EXPIRED
	}
	e.AuctionId, e.CampaignId, e.AdvertiserId = a.AuctionID[:], a.CampaignID[:], a.AdvertiserID[:]
	e.DeveloperId = a.DeveloperID[:]
	e.PriceMicros, e.BillingModel = int64(a.Price), event.ModelOf(a.BillingModel)
	e.Sandbox, e.House, e.CreditFunded = a.Sandbox, a.House, a.CreditFunded
	p := &placed.placement
	p.Format, p.IntegrationMethod, p.Surface = a.Format, a.IntegrationMethod, a.Surface
	p.Region, p.Language, p.HostApp = a.Region, a.Language, a.HostApp
	e.Placement = p
	if e.Proof == event.Proof_SIGNED {
		e.Token = t.deps.Keyring.AppendRaw(placed.token[:0], text)
	}
}

// copyReported copies the caller's facts, for the record only. Names are limited to known values.
func copyReported(e *event.Event, c *reportedEvent) {
	e.CampaignId, e.DeveloperId = c.campaignID[:], c.developer[:]
	e.AdvertiserId = uuid.Nil[:]
	e.Placement = &event.Placement{Format: traffic.Format(c.format), IntegrationMethod: traffic.Method(c.method)}
}

func (t *Tracker) unsigned(placed *placedEvent, c *reportedEvent, now time.Time) {
	e := &placed.Event
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
	t.remember(placed, c, now)
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
