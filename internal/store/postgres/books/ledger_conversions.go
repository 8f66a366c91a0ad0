package books

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/ledger"
)

const (
	// The campaigns' totals are already locked, so no other transaction counts for them meanwhile.
	readConversionsSQL = `
SELECT h.campaign_id, h.developer_id, h.hour, h.charged FROM conversion_hour h
JOIN unnest($1::uuid[], $2::uuid[], $3::integer[]) AS want (campaign_id, developer_id, hour) USING (campaign_id,
	developer_id, hour)`

	addConversionsSQL = `
INSERT INTO conversion_hour AS h (campaign_id, developer_id, hour, charged)
SELECT campaign_id, developer_id, hour, charged
FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::bigint[]) AS c (campaign_id, developer_id, hour, charged)
ORDER BY campaign_id, developer_id, hour
ON CONFLICT (campaign_id, developer_id, hour) DO UPDATE SET charged = h.charged + EXCLUDED.charged`

	// Settlement no longer accepts events of auctions before the horizon, so no event received
	// before it is accepted either.
	dropConversionsSQL = `DELETE FROM conversion_hour WHERE hour < $1`
)

// queueConversions reads the number of conversions charged in the hours of the batch.
func queueConversions(batch *pgx.Batch, need ledger.Need, books *ledger.Books) {
	n := len(need.Conversions)
	if n == 0 {
		return
	}
	books.Conversions = make(map[ledger.ConversionHour]int64, n)
	campaigns, developers, hours := splitHours(n, func(i int) ledger.ConversionHour { return need.Conversions[i] })
	batch.Queue(readConversionsSQL, campaigns, developers, hours).Query(func(rows pgx.Rows) error {
		var campaign, developer [16]byte
		var hour int32
		var charged int64
		_, err := pgx.ForEachRow(rows, []any{&campaign, &developer, &hour, &charged}, func() error {
			books.Conversions[ledger.ConversionHour{
				CampaignID: uuid.UUID(campaign), DeveloperID: uuid.UUID(developer), Hour: hour,
			}] = charged
			return nil
		})
		return err
	})
}

// queueConversionEffects counts the batch's charged conversions.
func queueConversionEffects(batch *pgx.Batch, e ledger.Effects) {
	n := len(e.Conversions)
	if n == 0 {
		return
	}
	campaigns, developers, hours := splitHours(
		n, func(i int) ledger.ConversionHour { return e.Conversions[i].ConversionHour },
	)
	charged := make([]int64, n)
	for i := range e.Conversions {
		charged[i] = e.Conversions[i].Charged
	}
	batch.Queue(addConversionsSQL, campaigns, developers, hours, charged)
}

func splitHours(n int, at func(int) ledger.ConversionHour) (campaigns, developers [][16]byte, hours []int32) {
	campaigns, developers, hours = make([][16]byte, n), make([][16]byte, n), make([]int32, n)
	for i := range n {
		hour := at(i)
		campaigns[i], developers[i], hours[i] = hour.CampaignID, hour.DeveloperID, hour.Hour
	}
	return campaigns, developers, hours
}
