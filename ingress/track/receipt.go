package track

import (
	"bytes"
	"context"
	"html/template"
	"net/http"
	"time"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/adtext"
	"adnet/internal/token"

	"github.com/google/uuid"
)

// receiptPage tells a reader of an ad, without any account, that the ad is one and who paid for it.
var receiptPage = template.Must(template.New("receipt").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Ad receipt</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;color:#1a1a1a}
select,textarea,input,button{font:inherit;width:100%;max-width:100%;box-sizing:border-box;padding:.4rem}button{width:auto}.problem{color:#b00020}.note{color:#555;font-size:.85rem}h2{font-size:1.1rem}
dt{color:#555;font-size:.85rem;margin-top:.8rem}dd{margin:0;overflow-wrap:anywhere}</style></head>
<body><main><h1>Ad receipt</h1>
<p>{{if .Sandbox}}This was a test ad: nobody paid for it.{{else if .House}}This was a house ad: whoever shows it advertises something of their own, and nobody paid for it.{{else}}This was an advertisement. The sponsor below paid for it.{{end}}</p>
<dl>{{if .Headline}}<dt>Ad</dt><dd>{{.Headline}}</dd>{{end}}{{if .Host}}<dt>Leads to</dt><dd>{{.Host}}</dd>{{end}}<dt>Sponsor</dt><dd>{{.Advertiser}}</dd>
<dt>Campaign</dt><dd>{{.Campaign}}</dd>{{if .Price}}<dt>Agreed price</dt><dd>{{.Price}}</dd>{{end}}<dt>Shown after the auction of</dt><dd>{{.At}} (UTC)</dd></dl>
<p>The signature of this receipt was checked just now.</p>
{{if not .House}}<h2>Why this ad</h2><p>An auction chose it among the ads that suited what was asked or shown at that moment, by:</p>
<ul><li>how well the words of that request suit the ad: they are not in this receipt</li>{{if .Surface}}<li>the place of the ad: {{.Surface}}</li>{{end}}{{if .HostApp}}<li>the app that shows it: {{.HostApp}}</li>{{end}}{{if .Region}}<li>the region of the request: {{.Region}}</li>{{end}}{{if .Language}}<li>the language of the request: {{.Language}}</li>{{end}}
<li>what the sponsor offered, and how often its ad was shown today{{if .NoConsent}}; you were not remembered, as you had not agreed to it{{end}}</li></ul>
<p>To change them: ask for something else, choose another language or region in the app, or withdraw your consent there. What the app tells this network is in its own settings.</p>{{end}}
{{if .Reported}}<p role="status"><b>Thank you.</b> Your report was kept; a person of this network looks at it.{{if .Told}} You get a mail with the decision.{{end}}</p>
{{else if .Report}}<h2>Report this ad</h2>
<form method="post"><p>Is it illegal, misleading or not what an ad should be? No account is needed.</p>
{{if .Problem}}<p role="alert" class="problem">{{.Problem}}</p>{{end}}
<p><label for="reason">Reason</label><br><select id="reason" name="reason" required><option value="">Choose</option>{{range .Reasons}}<option value="{{.Value}}"{{if .Chosen}} selected{{end}}>{{.Words}}</option>{{end}}</select></p>
<p><label for="text">What is wrong? (at most 1,000 characters)</label><br><textarea id="text" name="text" rows="4" maxlength="1000">{{.Text}}</textarea></p>
<p><label for="email">E-mail, if you want to hear the decision</label><br><input id="email" name="email" type="email" maxlength="254" autocomplete="email" value="{{.Email}}"></p>
<p class="note">The e-mail is used for the decision alone and forgotten with it, after 90 days at most.</p>
<p><button>Send report</button></p></form>{{end}}</main></body></html>
`))

// Sponsors tells what an account calls itself.
type Sponsors interface {
	User(ctx context.Context, id uuid.UUID) (account.User, error)
}

// sponsor is how readers know an advertiser: as it calls itself, which nothing has checked, with its
// id; the id alone where it said nothing or the store does not answer.
func (t *Tracker) sponsor(ctx context.Context, id uuid.UUID) string {
	if t.deps.Sponsors == nil {
		return id.String()
	}
	u, err := t.deps.Sponsors.User(ctx, id)
	if err != nil || u.Sponsor() == "" {
		return id.String()
	}
	return u.Sponsor() + " (not verified; account " + id.String() + ")"
}

// paidFor says what the price of an ad pays for.
var paidFor = map[string]string{"cpm": "for showing it", "cpc": "for a click on it", "cpa": "for a conversion after it", "vcpm": "for a view of it"}

// receipt serves GET /r/<token>, the receipt_url of a served ad. It shows what the reader saw, which
// the token has, and nothing of the campaign as it is now: receipts of earlier builds, which do not
// say it, name the parties only.
func (t *Tracker) receipt(c *httpapi.Context) error {
	auction, err := t.deps.Keyring.Verify(token.ForReceipt, c.Param("token"), t.deps.Now())
	if err != nil {
		return errNoLink
	}
	return t.showReceipt(c, auction, complaint{status: http.StatusOK})
}

// showReceipt answers the page, with what became of a report.
func (t *Tracker) showReceipt(c *httpapi.Context, auction token.Auction, of complaint) error {
	price := ""
	if !auction.Sandbox && !auction.House {
		price = auction.Price.String() + " USD " + paidFor[auction.BillingModel]
	}
	var page bytes.Buffer
	err := receiptPage.Execute(&page, map[string]any{
		"Sandbox": auction.Sandbox, "House": auction.House, "Headline": auction.Headline, "Host": adtext.Host(auction.Landing), "Advertiser": t.sponsor(c.Request.Context(), auction.AdvertiserID),
		"Surface": auction.Surface, "HostApp": auction.HostApp, "Region": auction.Region, "Language": auction.Language, "NoConsent": auction.NoConsent,
		"Campaign": auction.CampaignID, "At": auction.IssuedAt().Format(time.DateTime), "Price": price,
		"Report": t.deps.Complaints != nil && !auction.Sandbox, "Reported": of.filed, "Told": of.Email != "", "Problem": of.problem,
		"Reasons": reasons(of.Reason), "Text": of.Text, "Email": of.Email,
	})
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	c.Data(of.status, "text/html; charset=utf-8", page.Bytes())
	return nil
}
