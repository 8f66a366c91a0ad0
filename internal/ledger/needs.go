package ledger

import (
	"bytes"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/day"
)

// deduped reports whether the record is a valid event: verified, and not invalid traffic.
// Unverified conversions have separate keys, so that none uses up that of a verified one.
func (r *Record) deduped() bool {
	return r.proven() && r.Event.InvalidTraffic == ""
}

// invalid reports whether the record is verified but invalid traffic.
func (r *Record) invalid() bool {
	return r.proven() && r.Event.InvalidTraffic != ""
}

func (r *Record) proven() bool {
	return r.Problem == "" && !r.early && !r.again &&
		(r.Event.Proof == Signed || r.Event.Proof == UnsignedBillable || r.Event.Proof == Unverified)
}

// keyed reports whether the record takes part in deduplication. Only verified events do, so that a
// forged one can never use up a key.
func (r *Record) keyed() bool { return r.deduped() || r.invalid() }

// Candidates lists the keys of the records that take part in deduplication, in the order of the
// batch. [Tx.MarkFirst] returns marks in the same order, and [Decide] uses them unchanged: the i-th
// mark belongs to the i-th record that takes part.
func Candidates(b Batch) []Key {
	n := 0
	for i := range b.Runs {
		n += len(b.Runs[i].Records)
	}
	keys := make([]Key, 0, n)
	for i := range b.Runs {
		records := b.Runs[i].Records
		for j := range records {
			if records[j].keyed() {
				keys = append(keys, records[j].Event.Key())
			}
		}
	}
	return keys
}

// NeedOf lists the books that [Decide] will use.
func NeedOf(b Batch) Need {
	campaigns := make(map[uuid.UUID]struct{})
	days := make(map[day.Day]struct{}, 2)
	hours := make(map[ConversionHour]struct{})
	publishers := make(map[uuid.UUID]struct{})
	for i := range b.Runs {
		records := b.Runs[i].Records
		for j := range records {
			e := &records[j].Event
			if records[j].invalid() && e.DeveloperID != uuid.Nil { // only counted, but under the same lock
				publishers[e.DeveloperID] = struct{}{}
				days[day.Of(e.ReceivedAt)] = struct{}{}
			}
			if !records[j].deduped() || e.Sandbox || e.Proof == Unverified {
				continue
			}
			campaigns[e.CampaignID] = struct{}{}
			days[day.Of(e.ReceivedAt)] = struct{}{}
			if e.DeveloperID != uuid.Nil {
				publishers[e.DeveloperID] = struct{}{}
			}
			if e.Type == Conversion && b.ConversionCap > 0 {
				hours[e.conversionHour()] = struct{}{}
			}
		}
	}
	need := Need{Campaigns: sortedIDs(campaigns), Prepaid: b.Prepaid, Publishers: sortedIDs(publishers)}
	for date := range days {
		need.Days = append(need.Days, date)
	}
	slices.Sort(need.Days)
	for hour := range hours {
		need.Conversions = append(need.Conversions, hour)
	}
	slices.SortFunc(need.Conversions, compareHours)
	return need
}

func sortedIDs[V any](set map[uuid.UUID]V) []uuid.UUID {
	if len(set) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, 0, len(set))
	for id := range set {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
