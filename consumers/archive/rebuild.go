package archive

import (
	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// RowOf is the row of one record as [Archiver] writes it: for putting a day together again from the
// log and the verdicts.
func RowOf(r *event.Record, o ledger.Outcome) report.Row {
	at := stream.Range{
		Partition: stream.Partition{Stream: r.TopicID, Number: r.Partition}, First: r.Offset, Next: r.Offset + 1,
	}
	one := []bufferedRecord{{offset: r.Offset, at: r.Time.UTC(), value: r.Value}}
	block, _ := appendRows(nil, ledger.AppliedRange{Range: at, Outcomes: []ledger.Outcome{o}}, one)
	return block[0]
}
