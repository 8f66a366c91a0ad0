package track

import (
	"bytes"
	"html/template"
	"net/http"
	"time"

	"adnet/ingress/httpapi"
	"adnet/internal/adtext"
	"adnet/internal/token"
)

// receiptPage tells a reader of an ad, without any account, that the ad is one and who paid for it.
var receiptPage = template.Must(template.New("receipt").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Ad receipt</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;color:#1a1a1a}
dt{color:#666;font-size:.85rem;margin-top:.8rem}dd{margin:0;overflow-wrap:anywhere}</style></head>
<body><h1>Ad receipt</h1>
<p>{{if .Sandbox}}This was a test ad: nobody paid for it.{{else}}This was an advertisement. The sponsor below paid for it.{{end}}</p>
<dl>{{if .Headline}}<dt>Ad</dt><dd>{{.Headline}}</dd>{{end}}{{if .Host}}<dt>Leads to</dt><dd>{{.Host}}</dd>{{end}}<dt>Sponsor</dt><dd>{{.Advertiser}}</dd>
<dt>Campaign</dt><dd>{{.Campaign}}</dd>{{if .Price}}<dt>Agreed price</dt><dd>{{.Price}}</dd>{{end}}<dt>Shown after the auction of</dt><dd>{{.At}} (UTC)</dd></dl>
<p>The signature of this receipt was checked just now.</p></body></html>
`))

// paidFor says what the price of an ad pays for.
var paidFor = map[string]string{"cpm": "for showing it", "cpc": "for a click on it", "cpa": "for a conversion after it"}

// receipt serves GET /r/<token>, the receipt_url of a served ad. It shows what the reader saw, which
// the token has, and nothing of the campaign as it is now: receipts of earlier builds, which do not
// say it, name the parties only.
func (t *Tracker) receipt(c *httpapi.Context) error {
	auction, err := t.deps.Keyring.Verify(token.ForReceipt, c.Param("token"), t.deps.Now())
	if err != nil {
		return errNoLink
	}
	price := ""
	if !auction.Sandbox {
		price = auction.Price.String() + " USD " + paidFor[auction.BillingModel]
	}
	var page bytes.Buffer
	err = receiptPage.Execute(&page, map[string]any{
		"Sandbox": auction.Sandbox, "Headline": auction.Headline, "Host": adtext.Host(auction.Landing), "Advertiser": auction.AdvertiserID,
		"Campaign": auction.CampaignID, "At": auction.IssuedAt().Format(time.DateTime), "Price": price,
	})
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	c.Data(http.StatusOK, "text/html; charset=utf-8", page.Bytes())
	return nil
}
