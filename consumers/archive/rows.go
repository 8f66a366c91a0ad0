package archive

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// appendRows builds the rows of a chunk: one row per offset but those of early events, which follow
// with [ledger.EarlyStream]. It uses the chunk and the log alone, so that a second try builds the
// same block. records holds the chunk's records that the log still has, by offset, and perhaps some
// more. missing counts settled records that are neither there nor poison. Their rows hold only the
// outcome, so that sums still equal the ledger.
func appendRows(block []report.Row, c ledger.AppliedRange, records []bufferedRecord) (_ []report.Row, missing int) {
	from := len(block)
	block = slices.Grow(block, len(c.Outcomes))[:from+len(c.Outcomes)]
	var reader event.Reader
	at := time.Unix(0, 0).UTC()
	n := len(records)
	for ; n > 0 && records[n-1].offset >= c.Next; n-- {
		at = records[n-1].at // a row without a record takes the time of the next record
	}
	for i := len(c.Outcomes) - 1; i >= 0; i-- {
		outcome, row := c.Outcomes[i], &block[from+i]
		*row = report.Row{}
		if n > 0 && records[n-1].offset == c.First+int64(i) {
			n--
			at = records[n].at
			if message := decoded(&reader, outcome, records[n]); message != nil {
				fill(row, message)
				if message.Proof == event.Proof_UNSIGNED_BILLABLE {
					row.Price = outcome.Charge // no auction price: the campaign's was charged
				}
			} else {
				row.ReceivedAt = at
			}
		} else {
			row.ReceivedAt = at
			if outcome.Verdict != ledger.Poison && outcome.Verdict != ledger.VerdictEarly {
				missing++
			}
		}
		row.Verdict, row.Charge, row.Minted, row.Credit = outcome.Verdict, outcome.Charge, outcome.Minted,
			outcome.Credit
	}
	return withoutEarly(block, from, c), missing
}

// decoded returns the event of a record, or nil for poison.
func decoded(reader *event.Reader, o ledger.Outcome, r bufferedRecord) *event.Event {
	if o.Verdict == ledger.Poison {
		return nil
	}
	if message, err := reader.Read(r.value); err == nil {
		return message
	}
	return nil
}

// withoutEarly removes the rows of early events from those of a chunk, which begin at from. Few
// chunks have one, so rows are not passed to a function by value (benchmark row archive).
func withoutEarly(block []report.Row, from int, c ledger.AppliedRange) []report.Row {
	end := from
	for i := range c.Outcomes {
		if c.Outcomes[i].Verdict == ledger.VerdictEarly {
			continue
		}
		if end != from+i {
			block[end] = block[from+i]
		}
		end++
	}
	return block[:end]
}

// fill copies an event that settlement accepted, so ids have their length and enums are known.
func fill(row *report.Row, m *event.Event) {
	row.EventID, row.AuctionID, row.CampaignID = readID(m.EventId), readID(m.AuctionId), readID(m.CampaignId)
	row.AdvertiserID, row.DeveloperID = readID(m.AdvertiserId), readID(m.DeveloperId)
	row.ReceivedAt = time.UnixMicro(m.ReceivedAtUs).UTC()
	row.Price = money.Micros(m.PriceMicros)
	row.Type, _ = ledger.TypeOf(m.Type)
	row.BillingModel, _ = m.BillingModel.Name()
	p := m.GetPlacement()
	row.Format, row.IntegrationMethod, row.Surface = p.GetFormat(), p.GetIntegrationMethod(), p.GetSurface()
	row.Region, row.Language, row.HostApp = p.GetRegion(), p.GetLanguage(), p.GetHostApp()
	row.Session, row.NetworkMark = pseudonym(m.SessionHash), int64(m.NetworkMark)
	c := m.GetConversion()
	// Ingress rejects larger values; a larger one in the log would overflow sums.
	row.ConversionType, row.ConversionValue = c.GetType(), min(
		money.Micros(c.GetValueMicros()), report.MaxConversionValue,
	)
	row.Currency, row.ExternalID = c.GetCurrency(), pseudonym(c.GetExternalHash())
}

// pseudonym encodes the archived form of a person's id: the keyed hash that ingress computed, and
// nothing else.
func pseudonym(hash []byte) string {
	var p token.Pseudonym
	if len(hash) == len(p) {
		copy(p[:], hash)
	}
	return p.String()
}

func readID(b []byte) (id uuid.UUID) {
	copy(id[:], b)
	return id
}
