package notices

import (
	"bytes"
	"html/template"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/outbound/notice"
)

// texts are the texts of the page in one language. It names no account: a link may be passed on.
type texts struct{ Lang, Title, Ask, End, Done, Settings string }

var english = texts{
	Lang: "en", Title: "Mails", Ask: "Stop mails of this kind?", End: "Stop these mails",
	Done: "You will get no more mails of this kind.", Settings: "Choose your mails in the console",
}

var german = texts{
	Lang: "de", Title: "E-Mails", Ask: "E-Mails dieser Art abbestellen?", End: "Abbestellen",
	Done: "Sie erhalten keine E-Mails dieser Art mehr.", Settings: "E-Mails in der Konsole auswählen",
}

var page = template.Must(template.New("unsubscribe").Parse(`<!doctype html>
<html lang="{{.T.Lang}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex"><title>{{.T.Title}}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem}
button{font:inherit;padding:.4rem 1rem}</style></head>
<body><main><h1>{{.T.Title}}</h1><p><b>{{.Subject}}</b></p>
{{if .Off}}<p role="status">{{.T.Done}}</p>{{else}}<p>{{.T.Ask}}</p>
<form method="post"><button>{{.T.End}}</button></form>{{end}}
<p><a href="{{.Base}}/console/profile">{{.T.Settings}}</a></p></main></body></html>
`))

func (a *API) page(c *gin.Context, of notice.Settings, kind string) error {
	t := english
	if of.Language == notice.German {
		t = german
	}
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"T": t, "Base": a.deps.BaseURL(), "Subject": notice.Subject(kind, of.Language), "Off": slices.Contains(of.Off, kind),
	})
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	c.Header("Referrer-Policy", "no-referrer") // the link is a secret of its account
	c.Header(
		"Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	)
	httpapi.Send(c, http.StatusOK, "text/html; charset=utf-8", b.Bytes())
	return nil
}
