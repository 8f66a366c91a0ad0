package billing

import (
	"bytes"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/compliance/adtext"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

var checkoutTemplate = template.Must(template.New("checkout").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title><style>
body{font:1rem/1.5 system-ui,sans-serif;margin:0;background:#f4f4f2;color:#1a1a1a}
main{max-width:26rem;margin:8vh auto;padding:1.5rem;background:#fff;border-radius:12px;box-shadow:0 1px 6px #0002}
h1{font-size:1.15rem;margin:0 0 1rem}.amount{font-size:2.2rem;font-weight:600;margin:.2rem 0}
dl{margin:1rem 0;font-size:.85rem}dt{color:#666}dd{margin:0 0 .5rem;overflow-wrap:anywhere}
.note{background:#fff6da;border-radius:8px;padding:.6rem .8rem;font-size:.9rem}
button,a.button{display:block;box-sizing:border-box;width:100%;margin-top:1rem;padding:.9rem;border:0;border-radius:8px;background:#1450c8;color:#fff;font:inherit;
font-weight:600;text-align:center;text-decoration:none;cursor:pointer}button:focus-visible,a:focus-visible{outline:3px solid #8fb4ff}
@media(max-width:30rem){body{background:#fff}main{margin:0 auto;box-shadow:none}}
@media(prefers-color-scheme:dark){body{background:#16181c;color:#eee}main{background:#202329}dt{color:#aaa}.note{background:#3a3212}}
</style></head><body><main><h1>{{.Title}}</h1>
{{if .Deposit}}<p class="amount">{{.Amount}} USD</p>
<dl><dt>For</dt><dd>Advertising balance</dd><dt>Account</dt><dd>{{.Deposit.AdvertiserID}}</dd><dt>Deposit</dt><dd>{{.Deposit.ID}}</dd></dl>{{end}}
{{if .Open}}<p class="note">This is the test provider of in-memory mode: no money moves, no card is needed.</p>
<form method="post"><button>Pay {{.Amount}} USD</button></form>
{{else}}<p>{{.Text}}</p>{{if .Back}}<a class="button" href="{{.Back}}">Back</a>{{end}}{{end}}
</main></body></html>
`))

// donePath is the page for payers without a return URL.
const donePath = "done"

// checkoutPage serves GET /checkout/{id}: the amount and a button, without scripts.
func (a *API) checkoutPage(c *gin.Context) error {
	if c.Param("id") == donePath {
		return page(
			c,
			map[string]any{
				"Title": "Thank you", "Text": "Your payment is on its way to your balance. You can close this page.",
			}, "",
		)
	}
	d, err := a.checkout(c)
	if err != nil {
		return err
	}
	if d.Status() == ledger.DepositOpen {
		return page(
			c, map[string]any{"Title": "Checkout", "Deposit": d, "Amount": dollars(d.Requested), "Open": true},
			d.ReturnURL,
		)
	}
	return page(c, map[string]any{
		"Title": "Paid", "Deposit": d, "Amount": dollars(d.Paid), "Text": "The amount is on your balance.",
		"Back": d.ReturnURL,
	}, d.ReturnURL)
}

// dollars formats an amount for a bill: two decimals, more only if needed.
func dollars(m money.Micros) string {
	text := m.String()
	switch whole, part, _ := strings.Cut(text, "."); len(part) {
	case 0, 1:
		return whole + "." + (part + "00")[:2]
	}
	return text
}

// payCheckout serves POST /checkout/{id}: it pays and redirects back. A repeated request pays
// nothing.
func (a *API) payCheckout(c *gin.Context) error {
	d, err := a.checkout(c)
	if err == nil {
		d, err = a.deps.Demo.Complete(c.Request.Context(), d.ID)
	}
	if err != nil {
		return err
	}
	c.Redirect(http.StatusSeeOther, adtext.URI(d.ReturnURL))
	return nil
}

// checkout returns the checkout in the path. Its id is a secret, like the address of a provider's
// checkout.
func (a *API) checkout(c *gin.Context) (ledger.Deposit, error) {
	missing := errs.New(errs.NotFound, "there is no such checkout")
	id, err := httpapi.ParseID("id", c.Param("id"))
	if a.deps.Demo == nil || err != nil {
		return ledger.Deposit{}, missing
	}
	d, err := a.deps.Demo.Checkout(c.Request.Context(), id)
	if errs.Is(err, errs.NotFound) {
		err = missing
	}
	return d, err
}

// page renders the template. returnURL is the redirect target of the form, because browsers apply
// the policy's form-action to redirects as well.
func page(c *gin.Context, values map[string]any, returnURL string) error {
	var text bytes.Buffer
	if err := checkoutTemplate.Execute(&text, values); err != nil {
		return err
	}
	target := ""
	if u, err := url.Parse(returnURL); err == nil && u.Host != "" {
		target = " " + u.Scheme + "://" + u.Host
	}
	c.Header(
		"Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action 'self'"+target,
	)
	httpapi.Send(c, http.StatusOK, "text/html; charset=utf-8", text.Bytes())
	return nil
}
