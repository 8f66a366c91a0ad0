package ledger

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
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

// conversions is the rule that a conversion needs a click with a recorded mark, in this batch or an
// earlier one.
var conversions = precedence{
	judged: (*Record).verified,
	opens:  func(r *Record) bool { return r.Event.Type == Click && r.deduped() },
	refuse: func(r *Record) { r.Event.Proof = Unverified },
}

// Converted lists the auctions of the conversions that [ScreenConversions] checks, sorted and
// without duplicates.
func Converted(b Batch) []uuid.UUID { return conversions.auctions(b) }

// ScreenConversions makes conversions of b [Unverified] if no valid click of their auction precedes
// them: without a click, or with only a robot's click, an ad has sold nothing. clicks holds the
// auctions with a click recorded before the batch, as returned by [Tx.Recorded] for [Converted]. It
// runs after [Screen], so that a click without an impression does not count, and before
// [Candidates], so that such a conversion does not use up the key of a real one. As with clicks,
// the order of the log decides. Screening a batch again changes nothing.
func ScreenConversions(b Batch, clicks map[uuid.UUID]bool) { conversions.screen(b, clicks) }

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
		d.conversions = make(map[ConversionHour]int64)
	}
	d.conversions[e.conversionHour()]++
}

// conversionTotals lists the counts of the batch in a fixed order.
func (d *decider) conversionTotals() (counts []ConversionCount) {
	for hour, n := range d.conversions {
		counts = append(counts, ConversionCount{hour, n})
	}
	slices.SortFunc(counts, func(a, b ConversionCount) int { return compareHours(a.ConversionHour, b.ConversionHour) })
	return counts
}
