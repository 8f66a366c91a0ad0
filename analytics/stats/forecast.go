package stats

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"adnet/internal/report"
)

// wonQuery counts the winners of requests and the steps of their prices. It leaves out requests
// where no ad may be shown, since no campaign could win them.
var wonQuery = `
SELECT owners.advertiser_id AS advertiser,
	toInt64(if(won.campaign_id = toUUID('00000000-0000-0000-0000-000000000000'), 0, won.step)) AS step,
	toInt64(sum(won.n)) AS n
FROM
(
    SELECT campaign_id, arrayFirstIndex(s -> s >= ecpm OR s = ` + dearest + `, [` + priceSteps() + `]) AS step,
	count() AS n
    FROM auctions
    WHERE day BETWEEN {since:Date} AND {until:Date} AND NOT sandbox` + notRefused +
	covers("host_app", "hosts") + covers("surface", "surfaces") + covers(
	"integration_method", "methods",
) + covers("region", "regions") + covers("language", "languages") + `
    GROUP BY campaign_id, step
) AS won
LEFT ANY JOIN (SELECT campaign_id, any(advertiser_id) AS advertiser_id FROM stats_daily
	GROUP BY campaign_id) AS owners ON owners.campaign_id = won.campaign_id
GROUP BY advertiser, step
LIMIT 100000`

// dearest is the last step, which also counts all higher prices.
var dearest = fmt.Sprint(int64(report.PriceSteps[len(report.PriceSteps)-1]))

func priceSteps() string {
	texts := make([]string, len(report.PriceSteps))
	for i, step := range report.PriceSteps {
		texts[i] = fmt.Sprint(int64(step))
	}
	return strings.Join(texts, ", ")
}

// covers returns the condition of report.Covers on a column. The values are bound in hexadecimal,
// because a list in a parameter has its own escaping.
func covers(column, name string) string {
	value := "replaceAll(lowerUTF8(" + column + "), '_', '-')"
	return fmt.Sprintf(`
        AND ({%s:String} = '' OR arrayExists(v -> %s = unhex(v) OR startsWith(%s, concat(unhex(v), '-')),
	splitByChar(',', {%s:String})))`, name, value, value, name)
}

// bindPlaces returns the parameters of [covers] and of the days of p.
func bindPlaces(p report.Places) map[string]string {
	params := map[string]string{"since": max(p.Since, 0).String(), "until": min(p.Until, lastDay).String()}
	for name, list := range map[string][]string{
		"hosts": p.HostApps, "surfaces": p.Surfaces, "methods": p.Methods, "regions": p.Regions,
		"languages": p.Languages,
	} {
		coded := make([]string, len(list))
		for i, value := range list {
			coded[i] = hex.EncodeToString([]byte(report.Place(value)))
		}
		params[name] = strings.Join(coded, ",")
	}
	return params
}

// Requests counts the winners of the requests for some placements. Errors: as [Reader.Stats].
func (r *Reader) Requests(ctx context.Context, p report.Places) ([]report.Won, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	params := bindPlaces(p)
	var rows []struct {
		Advertiser uuid.UUID `ch:"advertiser"`
		Step       int64     `ch:"step"`
		N          int64     `ch:"n"`
	}
	if err := r.store.Select(ctx, &rows, wonQuery, params); err != nil {
		return nil, r.failure(ctx, err)
	}
	won := make([]report.Won, len(rows))
	for i, row := range rows {
		won[i] = report.Won{Advertiser: row.Advertiser, Step: int(max(row.Step, 1)) - 1, Requests: row.N}
	}
	return won, nil
}
