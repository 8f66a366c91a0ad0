package track

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/compliance/adtext"
	"adnet/internal/token"
)

// receiptPage shows the reader of an ad, without an account, that it is an ad and its payer,
// in the texts of [receiptTexts].
var receiptPage = template.Must(template.New("receipt").Parse(`<!doctype html>
<html lang="{{.T.Lang}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.T.Title}}</title>
<meta name="color-scheme" content="light dark"><style>:root{color-scheme:light dark;--soft:#555;--bad:#b00020}
body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
select,textarea,input,button{font:inherit;width:100%;max-width:100%;box-sizing:border-box;padding:.4rem}button{width:auto}.problem{color:var(--bad)}.note{color:var(--soft);font-size:.85rem}h2{font-size:1.1rem}
dt{color:var(--soft);font-size:.85rem;margin-top:.8rem}dd{margin:0;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){:root{--soft:#b4b4b4;--bad:#ff8a9a}body{color:#eee;background:#161616}}
@media print{:root{color-scheme:light;--soft:#555}body{margin:0;max-width:none;color:#000;background:#fff}.screen{display:none}dt{break-after:avoid}}</style></head>
<body><main><h1>{{.T.Title}}</h1>
<p>{{if .Sandbox}}{{.T.Sandbox}}{{else if .House}}{{.T.House}}{{else}}{{.T.Paid}}{{end}}</p>
<dl>{{if .Headline}}<dt>{{.T.Ad}}</dt><dd>{{.Headline}}</dd>{{end}}{{if .Host}}<dt>{{.T.LeadsTo}}</dt><dd>{{.Host}}</dd>{{end}}<dt>{{.T.Sponsor}}</dt><dd>{{.Advertiser}}</dd>
<dt>{{.T.Campaign}}</dt><dd>{{.Campaign}}</dd>{{if .PaidFor}}<dt>{{.T.Pays}}</dt><dd>{{.PaidFor}}</dd>{{end}}<dt>{{.T.ShownAt}}</dt><dd>{{.At}} (UTC)</dd></dl>
<p>{{.T.Checked}}{{if .Operator}} {{.T.Network}} <b>{{.Operator}}</b>.{{end}}</p>
{{if not .House}}<h2>{{.T.Why}}</h2><p>{{.T.Chosen}}</p>
<ul><li>{{if .Words}}{{.T.Words}} {{.Words}}{{else if .Ended}}{{.T.WordsEnded}}{{else}}{{.T.NoWords}}{{end}}</li>{{if .Surface}}<li>{{.T.Place}} {{.Surface}}</li>{{end}}{{if .HostApp}}<li>{{.T.App}} {{.HostApp}}</li>{{end}}{{if .Region}}<li>{{.T.Region}} {{.Region}}</li>{{end}}{{if .Language}}<li>{{.T.Language}} {{.Language}}</li>{{end}}
<li>{{.T.Offered}}{{if .NoConsent}}{{.T.NotRemembered}}{{end}}</li></ul>
<p>{{.T.Change}}</p>{{end}}
{{if .Reported}}<p role="status"><b>{{.T.Thanks}}</b> {{.T.Received}}{{if .Answered}} {{.T.Decision}}{{end}}</p>
{{else if .Report}}<h2 class="screen">{{.T.Report}}</h2>
<form method="post" class="screen"><p>{{.T.Ask}}</p>
{{if .Problem}}<p role="alert" class="problem">{{.Problem}}</p>{{end}}
<p><label for="reason">{{.T.Reason}}</label><br><select id="reason" name="reason" required><option value="">{{.T.Choose}}</option>{{range .Reasons}}<option value="{{.Value}}"{{if .Chosen}} selected{{end}}>{{.Words}}</option>{{end}}</select></p>
<p><label for="text">{{.T.Wrong}}</label><br><textarea id="text" name="text" rows="4" maxlength="1000">{{.Text}}</textarea></p>
<p><label for="email">{{.T.Email}}</label><br><input id="email" name="email" type="email" maxlength="254" autocomplete="email" value="{{.Email}}"></p>
<p class="note">{{.T.EmailNote}}</p>
<p><button>{{.T.Send}}</button></p></form>{{end}}</main></body></html>
`))

// operator returns the name of the network's operator, or the host of its pages.
func (t *Tracker) operator() string {
	if t.cfg.Operator != "" || t.deps.BaseURL == nil {
		return t.cfg.Operator
	}
	return adtext.Host(t.deps.BaseURL())
}

// Words returns the recorded words that an auction's request shares with a campaign. Rare words,
// sensitive words and the context are never recorded.
type Words interface {
	Matched(ctx context.Context, auction, campaign uuid.UUID, at time.Time) ([]string, error)
}

// Sponsors returns the account of a sponsor, with its name.
type Sponsors interface {
	User(ctx context.Context, id uuid.UUID) (account.User, error)
}

// sponsor returns the advertiser of an ad as readers see it: its name, whether the operator has
// verified the name, and its id. It returns only the id if the account has no name, if name and
// headline together instruct a model, or if the store fails. A seat appears under its owner's name,
// unless the owner is an administrator.
func (t *Tracker) sponsor(ctx context.Context, ad *token.Auction, in *receiptTexts) string {
	id := ad.AdvertiserID
	if t.deps.Sponsors == nil {
		return id.String()
	}
	u, err := t.deps.Sponsors.User(ctx, id)
	if err == nil && u.ParentID != uuid.Nil {
		if u, err = t.deps.Sponsors.User(ctx, u.ParentID); u.IsAdmin() {
			return id.String()
		}
	}
	if err != nil || u.Sponsor() == "" {
		return id.String()
	}
	if _, together := adtext.Instructing(u.Sponsor(), ad.Headline); together {
		return id.String()
	}
	checked := in.Unverified
	if u.Approved.Verified {
		checked = in.Verified
	}
	return u.Sponsor() + " (" + checked + " " + id.String() + ")"
}

const (
	// wordsFor is how long after the auction a receipt shows words of its request.
	wordsFor = 24 * time.Hour
	// wordsWait is how long the page waits for them.
	wordsWait = time.Second
)

// words returns the words of the request that the page may show. ended reports that their 24 hours
// are over.
func (t *Tracker) words(c *gin.Context, auction *token.Auction) (words string, ended bool) {
	if t.deps.Words == nil || auction.Sandbox || auction.House {
		return "", false
	}
	if t.deps.Now().Sub(auction.IssuedAt()) > wordsFor {
		return "", true
	}
	ctx, stop := context.WithTimeout(c.Request.Context(), wordsWait)
	defer stop()
	list, err := t.deps.Words.Matched(ctx, auction.AuctionID, auction.CampaignID, auction.IssuedAt())
	if err != nil { // the receipt is complete without them
		return "", false
	}
	return strings.Join(list, ", "), false
}

// hourOf returns the UTC hour of a time. Readers recognise an ad by it, and a receipt that they
// share does not show to the minute when they talked to a bot.
func hourOf(t time.Time) string {
	t = t.UTC()
	return fmt.Sprintf("%s, %02d:00–%02d:00", t.Format(time.DateOnly), t.Hour(), t.Hour()+1)
}

// receipt serves GET /r/<token>, the receipt_url of a served ad. It shows the ad that the reader
// saw, from the token, never the campaign's current state.
func (t *Tracker) receipt(c *gin.Context) error {
	auction, err := t.deps.Keyring.Verify(token.ForReceipt, c.Param("token"), t.deps.Now())
	if err != nil {
		return errNoLink
	}
	return t.showReceipt(c, auction, complaint{status: http.StatusOK})
}

// showReceipt renders the page, with the outcome of a report.
func (t *Tracker) showReceipt(c *gin.Context, auction token.Auction, of complaint) error {
	in, paidFor := receiptFor(c.Request.Header), ""
	if !auction.Sandbox && !auction.House {
		paidFor = in.PaidFor[auction.BillingModel] // not the price: it is the sponsor's bid, and receipts are public
	}
	words, ended := t.words(c, &auction)
	var page bytes.Buffer
	err := receiptPage.Execute(&page, map[string]any{
		"T": in, "Words": words, "Ended": ended, "Sandbox": auction.Sandbox, "House": auction.House,
		"Headline": auction.Headline, "Host": adtext.Host(auction.Landing),
		"Advertiser": t.sponsor(c.Request.Context(), &auction, in),
		"Surface":    auction.Surface, "HostApp": auction.HostApp, "Region": auction.Region,
		"Language": auction.Language, "NoConsent": auction.NoConsent,
		"Operator": t.operator(),
		"Campaign": auction.CampaignID, "At": hourOf(auction.IssuedAt()), "PaidFor": paidFor,
		"Report": t.deps.Complaints != nil && !auction.Sandbox, "Reported": of.filed, "Answered": of.Email != "",
		"Problem": in.Problems[of.problem],
		"Reasons": in.reasons(of.Reason), "Text": of.Text, "Email": of.Email,
	})
	if err != nil {
		return err
	}
	c.Header("Content-Language", in.Lang)
	c.Header("Vary", "Accept-Language")
	c.Header(
		"Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	)
	httpapi.Send(c, of.status, "text/html; charset=utf-8", page.Bytes())
	return nil
}
