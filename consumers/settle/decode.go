package settle

import (
	"bytes"
	"errors"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// What makes a record poison: a closed list, so that the dead-letter table can be grouped by it.
const (
	problemProto   = "not a protobuf event"
	problemEnum    = "unknown type, proof or billing model"
	problemID      = "id that is not 16 bytes"
	problemPrice   = "price negative or beyond every limit"
	problemTime    = "absurd time"
	problemTraffic = "invalid-traffic rule that is not a short lower-case name"
	problemLost    = "offset is not in the log any more"

	// What makes a signed event a refused one. Whoever can write to the log can write such a
	// record; it costs and earns nothing.
	problemNoToken    = "no auction token"
	problemToken      = "auction token that does not verify"
	problemKey        = "auction token of a key that is not known here"
	problemKeyEnded   = "auction token of a key past its end"
	problemDifference = "differs from its auction token"
	problemPaidMore   = "price above that of its auction token"
)

// refusals are the problems of events that were not what their token says, or had none.
var refusals = [...]string{
	problemNoToken, problemToken, problemKey, problemKeyEnded, problemDifference, problemPaidMore,
}

// The times that an event may have been received at: after adnet existed, and not after the record
// was written, clock skew between ingress and broker aside. Both are facts of the record, so a
// replay years later decides the same.
var earliest = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	skew        = 24 * time.Hour
	longestRule = 64
)

var (
	eventTypes = map[event.Type]ledger.EventType{
		event.Type_IMPRESSION: ledger.Impression, event.Type_CLICK: ledger.Click, event.Type_CLOSE: ledger.Close,
		event.Type_SKIP: ledger.Skip, event.Type_VIDEO_COMPLETE: ledger.VideoComplete,
		event.Type_CONVERSION: ledger.Conversion,
		event.Type_VIEWABLE:   ledger.Viewable,
	}
	proofs = map[event.Proof]ledger.Proof{
		event.Proof_SIGNED: ledger.Signed, event.Proof_EXPIRED: ledger.Expired, event.Proof_UNSIGNED: ledger.Unsigned,
		event.Proof_UNSIGNED_BILLABLE: ledger.UnsignedBillable, event.Proof_BAD_SIGNATURE: ledger.BadSignature,
	}
	models = map[event.BillingModel]campaign.BillingModel{
		event.BillingModel_BILLING_UNSPECIFIED: "", event.BillingModel_CPM: campaign.CPM,
		event.BillingModel_CPC: campaign.CPC, event.BillingModel_CPA: campaign.CPA,
		event.BillingModel_VCPM: campaign.VCPM,
	}
)

// decoder turns records of the log into records of the ledger. It keeps one message between
// records.
type decoder struct {
	keys     *token.Keyring
	unsigned bool // beacons without a token are billed
	message  event.Event
}

// record decodes r. It never fails: what cannot be understood is a poison record that carries its
// own copy of the bytes, and the ledger decides about it like about any other.
func (d *decoder) record(r *event.Record) ledger.Record {
	if err := proto.Unmarshal(r.Value, &d.message); err != nil {
		return poison(r, problemProto)
	}
	e, problem := d.event(r.Time)
	if problem != "" {
		return poison(r, problem)
	}
	return ledger.Record{Event: e}
}

func poison(r *event.Record, problem string) ledger.Record {
	return ledger.Record{Problem: problem, Raw: bytes.Clone(r.Value)}
}

func (d *decoder) event(written time.Time) (e ledger.Event, problem string) {
	m := &d.message
	var known [3]bool
	e.Type, known[0] = eventTypes[m.Type]
	e.Proof, known[1] = proofs[m.Proof]
	e.BillingModel, known[2] = models[m.BillingModel]
	priced := e.Proof == ledger.Signed && !m.Sandbox
	if known != [3]bool{true, true, true} || priced && e.BillingModel == "" {
		return e, problemEnum
	}
	if !d.ids(&e) {
		return e, problemID
	}
	if m.PriceMicros < 0 || m.PriceMicros > int64(money.Max) {
		return e, problemPrice
	}
	e.ReceivedAt = time.UnixMicro(m.ReceivedAtUs).UTC()
	if !plausible(e, written) {
		return e, problemTime
	}
	if !ruleName(m.InvalidTraffic) {
		return e, problemTraffic
	}
	e.Price, e.Sandbox, e.InvalidTraffic = money.Micros(m.PriceMicros), m.Sandbox, m.InvalidTraffic
	if e.Type == ledger.Conversion && e.Proof == ledger.Signed && (!m.Conversion.GetVerified() || len(m.Token) == 0) {
		e.Proof = ledger.Unverified // also what builds wrote that did not ask for the advertiser's word
	}
	switch {
	case e.Proof == ledger.Signed, e.Proof == ledger.Unverified:
		return e, d.proven(&e)
	case e.Proof == ledger.UnsignedBillable && !d.unsigned:
		e.Proof = ledger.Unsigned // ingress may be told to bill them, but the log alone cannot say so
	}
	return e, ""
}

// proven verifies the token of a signed event and holds the event to it: the token says how much is
// charged, to whom, and who earns, whoever wrote the record.
func (d *decoder) proven(e *ledger.Event) (problem string) {
	m := &d.message
	if len(m.Token) == 0 {
		return problemNoToken
	}
	// The key is judged at the time of the event: one that ended while the record waited here
	// signed honestly. A key that must not count any more is taken off the list.
	allowed := token.ForEvent(string(e.Type))
	if e.Proof == ledger.Unverified {
		allowed = token.ForClaim | token.ForConversion
	}
	said, err := d.keys.VerifyRaw(allowed, m.Token, e.ReceivedAt)
	switch {
	case errors.Is(err, token.ErrUnknownKey):
		return problemKey
	case errors.Is(err, token.ErrKeyExpired):
		return problemKeyEnded
	case err != nil:
		return problemToken
	case e.Price > said.Price:
		return problemPaidMore
	case e.Price != said.Price, e.AuctionID != said.AuctionID, e.CampaignID != said.CampaignID,
		e.AdvertiserID != said.AdvertiserID, e.DeveloperID != said.DeveloperID,
		string(e.BillingModel) != said.BillingModel, e.Sandbox != said.Sandbox, m.CreditFunded != said.CreditFunded,
		m.House != said.House:
		return problemDifference
	}
	e.Browser, e.House = said.Browser, said.House
	return ""
}

// ids reads the ids. Who and what may be unknown (empty); the event itself may not, nor may the
// auction of an event that is deduplicated by it.
func (d *decoder) ids(e *ledger.Event) bool {
	m := &d.message
	var eventID uuid.UUID
	return readID(&eventID, m.EventId) && eventID != uuid.Nil &&
		readID(&e.AuctionID, m.AuctionId) && readID(&e.CampaignID, m.CampaignId) &&
		readID(&e.AdvertiserID, m.AdvertiserId) && readID(&e.DeveloperID, m.DeveloperId) &&
		(e.AuctionID != uuid.Nil || e.Proof != ledger.Signed && e.Proof != ledger.UnsignedBillable)
}

func readID(id *uuid.UUID, b []byte) bool {
	copy(id[:], b)
	return len(b) == 0 || len(b) == len(id)
}

// plausible also looks into the auction id, because its day decides where the dedupe mark is kept.
func plausible(e ledger.Event, written time.Time) bool {
	if e.ReceivedAt.Before(earliest) || e.ReceivedAt.After(written.Add(skew)) {
		return false
	}
	date := day.OfUUID(e.AuctionID)
	return e.AuctionID.Version() != 7 || date >= day.Of(earliest) && date <= day.Of(e.ReceivedAt.Add(skew))
}

func ruleName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return len(s) <= longestRule
}
