package archive

import (
	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// RowOf returns the row of one record as [Archiver] writes it. It serves to rebuild a day from the
// log and the verdicts.
func RowOf(r *event.Record, o ledger.Outcome) report.Row {
	at := stream.Range{
		Partition: stream.Partition{Stream: r.TopicID, Number: r.Partition}, First: r.Offset, Next: r.Offset + 1,
	}
	buffered := []bufferedRecord{{offset: r.Offset, at: r.Time.UTC(), value: r.Value}}
	block, _ := appendRows(nil, ledger.AppliedRange{Range: at, Outcomes: []ledger.Outcome{o}}, buffered)
	return block[0]
}
