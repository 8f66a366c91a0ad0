package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/traffic"
)

// ConversionHour is the unit in which charged conversions count against the cap: a campaign on one
// publisher in one hour (UTC) of receipt.
type ConversionHour struct {
	CampaignID  uuid.UUID
	DeveloperID uuid.UUID // zero if the publisher is unknown
	Hour        int32     // since 1970
}

// ConversionCount is the number of charged conversions of an hour.
type ConversionCount struct {
	ConversionHour
	Charged int64 // > 0
}

// HourOf returns the hour of at, counted since 1970 in UTC.
func HourOf(at time.Time) int32 { return int32(at.Unix() / 3600) }

func (e *Event) conversionHour() ConversionHour {
	return ConversionHour{CampaignID: e.CampaignID, DeveloperID: e.DeveloperID, Hour: HourOf(e.ReceivedAt)}
}

func compareHours(a, b ConversionHour) int {
	return cmp.Or(
		bytes.Compare(a.CampaignID[:], b.CampaignID[:]), bytes.Compare(a.DeveloperID[:], b.DeveloperID[:]),
		cmp.Compare(a.Hour, b.Hour),
	)
}

// verified reports whether the record is a conversion confirmed by its advertiser. It counts only
// after a valid click. Sandbox conversions keep their own verdict.
func (r *Record) verified() bool {
	return r.Event.Type == Conversion && r.Event.Proof == Signed && !r.Event.Sandbox && r.deduped()
}

// Goal is the business identity of a conversion: two goals of one click are two events.
type Goal struct {
	Type     string // as its advertiser names it
	External string // the keyed hash of the advertiser's own id, empty without one
}

// goalHash is the number of bytes of a goal's hash in a key.
const goalHash = 12

// ConversionKey returns the type that deduplicates a verified conversion of an auction: one per
// type, in its normal form, and external id. Both may be empty. See [UnverifiedKey] for the others.
func ConversionKey[T ~string | ~[]byte](kind string, external T) EventType {
	if kind = traffic.ConversionName(kind); kind == "" && len(external) == 0 {
		return Conversion
	}
	sum := sha256.Sum256(append(append([]byte(kind), 0), external...))
	return Conversion + ":" + EventType(hex.EncodeToString(sum[:goalHash]))
}

// unverifiedIDs is the number of external ids that unverified conversions of one auction and type
// can have: any viewer of the ad can invent ids, and each key is a row.
const unverifiedIDs = 16

// UnverifiedKey is the same as [ConversionKey] for an unverified conversion, with the external id
// reduced to one of 16 values.
func UnverifiedKey[T ~string | ~[]byte](kind string, external T) EventType {
	if len(external) == 0 {
		return ConversionKey(kind, "").Unverified()
	}
	return ConversionKey(kind, string(rune('0'+external[len(external)-1]%unverifiedIDs))).Unverified()
}

// ChargedConversion is the type of the mark of a charged conversion. It is no mark of a first event
// and stays out of their count.
const ChargedConversion EventType = "charged_conversion"

// sells reports whether a campaign pays for a conversion: of one click for one at most, of the type
// that the campaign names, or else the first.
func (d *decider) sells(e *Event, book *CampaignBook) bool {
	if d.converted[e.AuctionID] || d.books.Converted[e.AuctionID] {
		return false
	}
	kind := traffic.ConversionName(book.ConversionType)
	return kind == "" || e.Goal != nil && traffic.ConversionName(e.Goal.Type) == kind
}

// convertedMarks lists the marks of the charged conversions in a fixed order.
func (d *decider) convertedMarks() (marks []Key) {
	for _, id := range sortedIDs(d.converted) {
		marks = append(marks, Key{Day: day.OfUUID(id), Auction: id, Type: ChargedConversion})
	}
	return marks
}

// conversionCapped reports whether a campaign has reached its cap of charged conversions for the
// publisher in this hour. The advertiser reports conversions, so the cap protects it from its own
// mistakes and from a stolen key.
func (d *decider) conversionCapped(e *Event) bool {
	if e.Type != Conversion || d.batch.ConversionCap <= 0 {
		return false
	}
	hour := e.conversionHour()
	return d.books.Conversions[hour]+d.conversions[hour] >= d.batch.ConversionCap
}

// countConversion counts a charged conversion.
func (d *decider) countConversion(e *Event, out *Outcome) {
	if e.Type != Conversion || out.Charge == 0 {
		return
	}
	if d.conversions == nil {
		d.conversions, d.converted = make(map[ConversionHour]int64), make(map[uuid.UUID]bool)
	}
	d.conversions[e.conversionHour()]++
	d.converted[e.AuctionID] = true
}

// conversionTotals lists the counts of the batch in a fixed order.
func (d *decider) conversionTotals() (counts []ConversionCount) {
	for hour, n := range d.conversions {
		counts = append(counts, ConversionCount{hour, n})
	}
	slices.SortFunc(counts, func(a, b ConversionCount) int { return compareHours(a.ConversionHour, b.ConversionHour) })
	return counts
}
