package billing_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi/apitest"
	"adnet/internal/account"
)

// exchange is a file of ingress/testdata: requests to a fresh world and their replies.
//
// `${name}` in a request is replaced: advertiser_id and developer_id are the caller's, other_id is
// another account's, and what replies named. In a reply `${name}` matches any text and names it; a
// name means the same everywhere in a file.
type exchange struct {
	Description string `json:"description"`
	World       struct {
		Prepaid bool `json:"prepaid"` // ADNET_PREPAID=required
	} `json:"world"`
	Steps []struct {
		Request struct {
			Method string `json:"method"` // default POST
			Path   string `json:"path"`   // default /api/billing
			As     string `json:"as"`     // advertiser (default), other, admin, nobody
			Body   any    `json:"body"`
			Raw    string `json:"raw"`
			Signed *struct {
				By      string `json:"by"`      // stripe, paypal
				Age     int    `json:"age"`     // seconds
				Changed bool   `json:"changed"` // a byte of the body after signing
			} `json:"signed"`
		} `json:"request"`
		Reply struct {
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"`
			Body    any               `json:"body"` // null: any page
		} `json:"reply"`
	} `json:"steps"`
}

func TestExchanges(t *testing.T) {
	apitest.Files(t, "billing", func(t *testing.T, x *exchange) {
		require.NotEmpty(t, x.Description)
		require.NotEmpty(t, x.Steps)
		x.run(t)
	})
}

func (x *exchange) run(t *testing.T) {
	w := newWorld(t, options{prepaid: x.World.Prepaid})
	people := map[string]*person{
		"advertiser": w.advertiser(t), "other": w.advertiser(t), "admin": w.person(t, account.RoleAdmin),
		"nobody": w.nobody(),
	}
	names := map[string]string{
		"advertiser_id": people["advertiser"].ID.String(), "developer_id": people["advertiser"].DeveloperID.String(),
		"other_id": people["other"].ID.String(), "today": w.Now.Format(time.DateOnly),
	}
	for i := range x.Steps {
		request, want := &x.Steps[i].Request, &x.Steps[i].Reply
		body := request.Raw
		if request.Body != nil {
			encoded, err := json.Marshal(request.Body, json.Deterministic(true))
			require.NoError(t, err)
			body = string(encoded)
		}
		body = apitest.Fill(body, names)
		header := http.Header{}
		if s := request.Signed; s != nil {
			sign := map[string]func(string, time.Time) http.Header{"stripe": stripeSigned, "paypal": paypalSigned}[s.By]
			require.NotNil(t, sign, s.By)
			header = sign(body, w.Now.Add(-time.Duration(s.Age)*time.Second))
			if s.Changed {
				body = strings.Replace(body, "0", "1", 1)
			}
		} else if p := people[or(request.As, "advertiser")]; p.Token != "" {
			header.Set("Authorization", "Bearer "+p.Token)
		}
		r := httptest.NewRequest(
			or(request.Method, http.MethodPost), apitest.Fill(or(request.Path, "/api/billing"), names),
			strings.NewReader(body),
		)
		r.Header = header
		got := w.send(t, r)
		require.Equal(t, want.Status, got.Code, "step %d: %s", i+1, got.Text)
		for name, value := range want.Headers {
			require.NoError(t, match(name, value, got.Header.Get(name), names))
		}
		if want.Body == nil {
			continue
		}
		var value any
		require.NoError(t, json.Unmarshal([]byte(got.Text), &value), got.Text)
		if err := match("body", want.Body, value, names); err != nil {
			t.Fatalf("step %d: %v\ngot %s", i+1, err, got.Text)
		}
	}
	w.clean(t)
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// match binds names in texts.
func match(at string, want, got any, names map[string]string) error {
	return apitest.Match(at, want, got, func(at string, want, got any) (bool, error) {
		if text, is := want.(string); is {
			return true, apitest.MatchText(at, text, got, names, ".+")
		}
		return false, nil
	})
}
