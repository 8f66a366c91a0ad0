package ledger

import (
	"strings"
	"time"

	"adnet/internal/day"
	"adnet/internal/money"
)

// Cutoffs holds the times before which nothing needs the data. Zero values keep everything.
type Cutoffs struct {
	// Horizon: events of auctions of earlier days are not accepted ever again (verdict expired), so
	// their deduplication marks can go without a repeat becoming new. It only rises. Ids without a
	// time are kept.
	Horizon day.Day
	Applied time.Time // archived ranges applied before it; the last one of each partition stays
	Dead    time.Time // dead letters from before it
	Keys    time.Time // idempotency keys from before it
	Emails  time.Time // e-mails that readers left with reports of ads before it
	Reports time.Time // reports of ads from before it
}

// Removed counts the data that retention removed, or with a dry run would remove.
type Removed struct {
	Horizon day.Day   // as it is now
	Days    []day.Day // whose marks
	Marks   int64     // of these days
	Ranges  int64     // applied ranges
	Records int64     // of these ranges
	Dead    int64
	Keys    int64
	Emails  int64 // of readers' reports
	Reports int64 // of readers
}

// Accepted says whether events of an auction's day may still come in while retention's horizon is
// the given one. Day 0 is that of an id without a time, which is always accepted.
func Accepted(horizon, auction day.Day) bool { return auction == 0 || auction >= horizon }

// Pruned holds the sums of removed rows, by name: Verify adds them to the sums of the remaining
// ones.
type Pruned map[string]int64

// The names of the sums. A verdict's count has the name prunedVerdict and the verdict.
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

// PrunedOf is the sums of outcomes that are about to be removed.
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

// AddTo adds the sums to those of the remaining rows.
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

// Rows is how many records were removed.
func (p Pruned) Rows() int64 { return p[prunedRows] }
