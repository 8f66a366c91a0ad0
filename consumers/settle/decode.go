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

// Reasons for a poison record: a closed list, so that the dead-letter table can be grouped by it.
const (
	problemProto   = "not a protobuf event"
	problemEnum    = "unknown type, proof or billing model"
	problemID      = "id that is not 16 bytes"
	problemPrice   = "price negative or beyond every limit"
	problemTime    = "absurd time"
	problemTraffic = "invalid-traffic rule that is not a short lower-case name"
	problemLost    = "offset is not in the log any more"

	// Reasons for rejecting a signed event. Any writer to the log can forge such a record; it costs
	// and earns nothing.
	problemNoToken    = "no auction token"
	problemToken      = "auction token that does not verify"
	problemKey        = "auction token of a key that is not known here"
	problemKeyEnded   = "auction token of a key past its end"
	problemDifference = "differs from its auction token"
	problemPaidMore   = "price above that of its auction token"
)

// refusals lists the problems of events without a token or with a contradicting one.
var refusals = [...]string{
	problemNoToken, problemToken, problemKey, problemKeyEnded, problemDifference, problemPaidMore,
}

// An event must be received after adnet existed, and before its record was written, apart from
// clock skew between ingress and broker. Both are facts of the record, so a replay years later
// decides the same.
var earliest = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	skew        = 24 * time.Hour
	longestRule = 64
	longestMark = 1 << 16 // of a network
)

var proofs = map[event.Proof]ledger.Proof{
	event.Proof_SIGNED: ledger.Signed, event.Proof_EXPIRED: ledger.Expired, event.Proof_UNSIGNED: ledger.Unsigned,
	event.Proof_UNSIGNED_BILLABLE: ledger.UnsignedBillable, event.Proof_BAD_SIGNATURE: ledger.BadSignature,
}

// decoder turns records of the log into records of the ledger. It reuses one message.
type decoder struct {
	keys     *token.Keyring
	unsigned bool // beacons without a token are billed
	message  event.Event
}

// record decodes r. It never fails: an undecodable record becomes a poison record with its own copy
// of the bytes, and the ledger decides about it like about any other.
func (d *decoder) record(r *event.Record) ledger.Record {
	if err := proto.Unmarshal(r.Value, &d.message); err != nil {
		return poison(r, problemProto)
	}
	e, problem := d.event(r.Time)
	if problem != "" {
		return poison(r, problem)
	}
	return ledger.Record{Event: e, Raw: r.Value, Written: r.Time.UTC()}
}

func poison(r *event.Record, problem string) ledger.Record {
	return ledger.Record{Problem: problem, Raw: bytes.Clone(r.Value), Written: r.Time.UTC()}
}

func (d *decoder) event(written time.Time) (e ledger.Event, problem string) {
	m := &d.message
	var known [3]bool
	e.Type, known[0] = ledger.TypeOf(m.Type)
	e.Proof, known[1] = proofs[m.Proof]
	model, ok := m.BillingModel.Name()
	e.BillingModel, known[2] = campaign.BillingModel(model), ok
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
	e.FromReader, e.Reported = m.FromReader, m.Reported
	if m.NetworkMark <= longestMark { // others are not from ingress: their network is unknown
		e.NetworkMark = int32(m.NetworkMark)
	}
	if e.Type == ledger.Conversion && e.Proof == ledger.Signed && (!m.Conversion.GetVerified() || len(m.Token) == 0) {
		e.Proof = ledger.Unverified // also from builds that did not require the advertiser's report
	}
	if c := m.Conversion; e.Type == ledger.Conversion && (c.GetType() != "" || len(c.GetExternalHash()) > 0) {
		e.Goal = &ledger.Goal{Type: c.GetType(), External: string(c.GetExternalHash())}
	}
	switch {
	case e.Proof == ledger.Signed, e.Proof == ledger.Unverified:
		return e, d.proven(&e)
	case e.Proof == ledger.UnsignedBillable && !d.unsigned:
		e.Proof = ledger.Unsigned // ingress may be set to bill them, but the log cannot prove it
	}
	return e, ""
}

// proven verifies the token of a signed event and compares the event with it: only the token
// decides the charge, the advertiser and the publisher, regardless of the record's writer.
func (d *decoder) proven(e *ledger.Event) (problem string) {
	m := &d.message
	if len(m.Token) == 0 {
		return problemNoToken
	}
	// The key is judged at the time of the event: a key that ended while the record waited here was
	// valid when it signed. A compromised key is taken off the list.
	allowed := token.ForEvent(m.Type)
	if e.Proof == ledger.Unverified {
		allowed = token.ForClaim | token.ForConversion
	}
	signed, err := d.keys.VerifyRaw(allowed, m.Token, e.ReceivedAt)
	switch {
	case errors.Is(err, token.ErrUnknownKey):
		return problemKey
	case errors.Is(err, token.ErrKeyExpired):
		return problemKeyEnded
	case err != nil:
		return problemToken
	case e.Price > signed.Price:
		return problemPaidMore
	case e.Price != signed.Price, e.AuctionID != signed.AuctionID, e.CampaignID != signed.CampaignID,
		e.AdvertiserID != signed.AdvertiserID, e.DeveloperID != signed.DeveloperID,
		string(e.BillingModel) != signed.BillingModel, e.Sandbox != signed.Sandbox, m.CreditFunded != signed.CreditFunded,
		m.House != signed.House:
		return problemDifference
	}
	e.Browser, e.House = signed.Browser, signed.House
	return ""
}

// ids reads the ids. Person and campaign may be unknown (empty). The event's own id must be
// present, and so must the auction id of an event that is deduplicated by it.
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

// plausible also checks the auction id, because its day decides where the deduplication mark is
// stored.
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
