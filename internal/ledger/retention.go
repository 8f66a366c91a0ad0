package ledger

import (
	"strings"
	"time"

	"adnet/internal/day"
	"adnet/internal/money"
)

// Cutoffs holds the times before which data can be deleted. Zero values keep everything.
type Cutoffs struct {
	// Horizon is the first day whose auctions still accept events. Events of earlier auctions are
	// rejected (verdict expired), so their deduplication marks can be deleted without a repeat
	// becoming new. It only rises. Ids without a time are kept.
	Horizon day.Day
	Applied time.Time // ranges applied before it; the last one of each partition stays
	Dead    time.Time // dead letters from before it
	Keys    time.Time // idempotency keys from before it
	Clicks  day.Day   // counts of the clicks of networks from before it, see [NetworkClicksLife]
	Emails  time.Time // e-mails of readers' reports from before it
	Reports time.Time // readers' reports from before it
}

// Removed counts the data that retention removed, or would remove in a dry run.
type Removed struct {
	Horizon day.Day   // current value
	Days    []day.Day // days with removed marks
	Marks   int64     // of these days
	Ranges  int64     // applied ranges
	Records int64     // of these ranges
	Dead    int64
	Keys    int64
	Emails  int64 // of readers' reports
	Reports int64 // of readers
}

// Accepted reports whether events of an auction's day are still accepted with the given retention
// horizon. Day 0 stands for an id without a time, which is always accepted.
func Accepted(horizon, auction day.Day) bool { return auction == 0 || auction >= horizon }

// Pruned holds the sums of removed rows, by name. Verify adds them to the sums of the remaining
// rows.
type Pruned map[string]int64

// The names of the sums. The name of a verdict's count is prunedVerdict plus the verdict.
const (
	prunedRows      = "rows"
	prunedCharge    = "charge"
	prunedMinted    = "minted"
	prunedCharged   = "charged"
	prunedChargedOK = "charged_ok"
	prunedMinting   = "minting"
	prunedVerdict   = "verdict:"

	// PrunedMarks and PrunedImpressions are deduplication marks; PrunedDead dead letters.
	PrunedMarks       = "marks"
	PrunedImpressions = "marked_impressions"
	PrunedDead        = "dead"
)

// PrunedOf returns the sums of outcomes that are about to be removed.
func PrunedOf(t *Totals, tally *Tally) Pruned {
	p := Pruned{
		prunedRows: t.Rows, prunedCharge: int64(t.Charge), prunedMinted: int64(t.Minted),
		prunedCharged: tally.Charged, prunedChargedOK: tally.ChargedOK, prunedMinting: tally.Minting,
	}
	for verdict, n := range t.ByVerdict {
		p[prunedVerdict+string(verdict)] = n
	}
	return p
}

// AddTo adds the sums to the sums of the remaining rows.
func (p Pruned) AddTo(t *Totals, tally *Tally) {
	if t.ByVerdict == nil {
		t.ByVerdict = make(map[Verdict]int64)
	}
	t.Rows += p[prunedRows]
	t.Charge += money.Micros(p[prunedCharge])
	t.Minted += money.Credits(p[prunedMinted])
	tally.Charged += p[prunedCharged]
	tally.ChargedOK += p[prunedChargedOK]
	tally.Minting += p[prunedMinting]
	for name, n := range p {
		if verdict, ok := strings.CutPrefix(name, prunedVerdict); ok && n != 0 {
			t.ByVerdict[Verdict(verdict)] += n
		}
	}
}

// Rows returns the number of removed records.
func (p Pruned) Rows() int64 { return p[prunedRows] }
