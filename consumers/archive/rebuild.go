package archive

import (
	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// RowOf is the row of one record as [Archiver] writes it: for putting a day together again from the log and the verdicts.
func RowOf(r *event.Record, o ledger.Outcome) report.Row {
	q := &queue{records: []held{{offset: r.Offset, at: r.Time.UTC(), value: r.Value}}, end: r.Offset + 1}
	p := ledger.Partition{Stream: r.TopicID, Number: r.Partition}
	block, _ := rows(ledger.Chunk{Range: ledger.Range{Partition: p, First: r.Offset, Next: r.Offset + 1}, Outcomes: []ledger.Outcome{o}}, q)
	return block[0]
}
