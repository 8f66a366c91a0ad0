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
func (report *reportedEvent) clicked() bool {
	return report.kind == event.Type_CONVERSION && (report.clickID != "" || report.auctionID == "")
}

// tokenless reports whether a report has neither a token nor a click id.
func (report *reportedEvent) tokenless() bool { return report.auctionID == "" && report.clickID == "" }

// eventOf returns the event of a report: of its token if that verifies, or else of the report alone.
// Then the proof of the event names what is missing, and countable reports whether the event still
// counts (ADNET_UNSIGNED_BEACONS=bill). Errors: a reporter without the right to report it.
func (t *Tracker) eventOf(report *reportedEvent, now time.Time) (e *placedEvent, countable bool, err error) {
	if report.tokenless() {
		if err := report.by.mayReport(report.kind, nil); err != nil {
			return nil, false, err
		}
		return t.unsignedOf(report, now)
	}
	auction, err := t.verify(report, now)
	if err != nil {
		// A key past its grace period signed honestly once; any other key was never ours. Trust
		// neither.
		e, err = t.unprovenOf(report, lacking(err), now)
		return e, false, err
	}
	if err := report.by.mayReport(report.kind, &auction); err != nil {
		return nil, false, err
	}
	e, err = t.provenOf(&auction, report, now)
	return e, true, err
}

// provenOf returns the event of a verified token.
func (t *Tracker) provenOf(auction *token.Auction, report *reportedEvent, now time.Time) (*placedEvent, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	e, err := t.fromToken(id, auction, report, now)
	if err != nil {
		return nil, err
	}
	t.stampReader(e, report, now)
	return e, nil
}

// unprovenOf returns an event that is counted as unverified, under the campaign of the report.
func (t *Tracker) unprovenOf(report *reportedEvent, proof event.Proof, now time.Time) (*placedEvent, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	e := fromReport(id, report, now)
	e.Proof = proof
	t.nameCampaign(&e.Event, report)
	return e, nil
}

// unsignedOf returns the event of a report without a token.
func (t *Tracker) unsignedOf(report *reportedEvent, now time.Time) (e *placedEvent, countable bool, err error) {
	e, err = t.unprovenOf(report, event.Proof_UNSIGNED, now)
	if err != nil || report.clicked() { // nothing but the click id proves a conversion
		return e, false, err
	}
	if countable = t.cfg.Unsigned == UnsignedBill; countable {
		e.Proof = event.Proof_UNSIGNED_BILLABLE
	}
	session, kind := report.session, ""
	if report.refuses() {
		session = ""
	}
	if e.Sandbox = report.sandbox; report.sandbox { // must not make a real event look like its repeat
		kind = "sandbox"
	}
	synthetic := t.deps.Keyring.Synthetic(day.Of(now), report.campaignID, report.developer, session, kind)
	e.AuctionId = synthetic[:]
	if known, ok := t.deps.Creatives.Creative(report.campaignID); ok {
		e.AdvertiserId = known.AdvertiserID[:]
		if e.Placement.Format == "" {
			e.Placement.Format = string(known.Format)
		}
	}
	t.stampReader(e, report, now)
	return e, countable, nil
}

// verify verifies the token of a report.
func (t *Tracker) verify(report *reportedEvent, now time.Time) (token.Auction, error) {
	switch {
	case report.clickID != "":
		return t.deps.Keyring.Verify(token.ForConversion, report.clickID, now)
	case report.kind == event.Type_CONVERSION:
		return t.deps.Keyring.Verify(token.ForClaim, report.auctionID, now)
	}
	return t.deps.Keyring.Verify(token.ForEvent(report.kind), report.auctionID, now)
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

func newEvent(id uuid.UUID, report *reportedEvent, now time.Time) *placedEvent {
	e := &placedEvent{id: id}
	e.EventId, e.Type, e.ReceivedAtUs, e.Conversion = e.id[:], report.kind, now.UnixMicro(), report.conversion
	return e
}

// fromReport returns an event with the caller's facts, for the record only. Names are limited to
// known values.
func fromReport(id uuid.UUID, report *reportedEvent, now time.Time) *placedEvent {
	e := newEvent(id, report, now)
	e.CampaignId, e.DeveloperId, e.AdvertiserId = report.campaignID[:], report.developer[:], uuid.Nil[:]
	e.Placement = &event.Placement{
		Format: traffic.Format(report.format), IntegrationMethod: traffic.Method(report.method),
	}
	return e
}

// fromToken returns an event with the facts of the token of a report. The token stays with the
// event: settlement verifies it again, so that write access to the log is not enough to bill.
// Errors: a conversion key for something else.
func (t *Tracker) fromToken(
	id uuid.UUID, auction *token.Auction, report *reportedEvent, now time.Time,
) (*placedEvent, error) {
	e := newEvent(id, report, now)
	e.auction = *auction
	a, p := &e.auction, &e.placement
	e.AuctionId, e.CampaignId, e.AdvertiserId = a.AuctionID[:], a.CampaignID[:], a.AdvertiserID[:]
	e.DeveloperId = a.DeveloperID[:]
	e.PriceMicros, e.BillingModel = int64(a.Price), event.ModelOf(a.BillingModel)
	e.Sandbox, e.House, e.CreditFunded = a.Sandbox, a.House, a.CreditFunded
	p.Format, p.IntegrationMethod, p.Surface = a.Format, a.IntegrationMethod, a.Surface
	p.Region, p.Language, p.HostApp = a.Region, a.Language, a.HostApp
	e.Placement = p
	text, expired := report.auctionID, t.cfg.Life.Expired(e.Type, a.IssuedAt(), now)
	if report.clickID != "" {
		expired = t.cfg.Life.ConversionExpired(a, now)
		var err error
		if text, err = t.clickProof(e, report); err != nil {
			return nil, err
		}
	}
	if e.Conversion != nil && !e.Conversion.Verified && (report.clickID == "" || !expired) {
		e.Conversion.Type = traffic.ConversionType(e.Conversion.Type)
	}
	if e.Proof = event.Proof_EXPIRED; !expired {
		e.Proof, e.Token = event.Proof_SIGNED, t.deps.Keyring.AppendRaw(e.token[:0], text)
	}
	return e, nil
}

// clickProof returns the token that proves a conversion with a click id. Settlement may charge a
// conversion only if it has the click id and the credentials of the campaign's owner: the landing
// page exposes the id to its visitors, and links of the ad do not contain one. Only clickProof
// creates the token which attests that both were checked.
func (t *Tracker) clickProof(e *placedEvent, report *reportedEvent) (text string, err error) {
	if e.Conversion.Verified, err = report.by.vouches(&e.auction); err != nil || !e.Conversion.Verified {
		return report.clickID, err
	}
	return t.deps.Keyring.Sign(token.PurposeConverted, e.auction), nil
}

// refuses reports whether the reader did not consent, according to the request (Sec-GPC, a report's
// field consent).
func (report *reportedEvent) refuses() bool { return report.refused || report.origin.private() }

// stampReader stores keyed hashes that identify the reader, never the ids themselves. It stores
// nothing about a reader without consent, according to the token or the request.
func (t *Tracker) stampReader(e *placedEvent, report *reportedEvent, now time.Time) {
	if e.NoConsent = e.auction.NoConsent || report.refuses(); e.NoConsent {
		return
	}
	date := day.Of(now)
	if e.Conversion != nil && report.externalID != "" {
		order := t.deps.Keyring.Lasting(uuid.UUID(e.AdvertiserId), date, report.externalID)
		e.Conversion.ExternalHash = order[:]
	}
	if report.session == "" {
		return
	}
	if e.Proof == event.Proof_SIGNED || e.Proof == event.Proof_EXPIRED {
		date = day.OfUUID(e.auction.AuctionID) // the day of the frequency cap
	}
	e.session = t.deps.Keyring.SessionSaid(uuid.UUID(e.DeveloperId), date, cut(report.session, maxSession))
	e.SessionHash = e.session[:]
}
