package mcp_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/ingress/httpapi/apitest"
	"adnet/ingress/track"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/schemas/event"
)

// exchange is a file of ingress/testdata: a world, requests to it and their replies.
//
// `${name}` in a request is replaced: key is the publisher's live key, seat a key of another kind,
// and what replies named. In a reply `${name}` matches any text and names it; a name must mean the
// same everywhere in a file. An object {"$json": …} matches a string that holds that JSON.
type exchange struct {
	Description string `json:"description"`
	World       struct {
		Campaign struct {
			Headline   *string  `json:"headline"`
			Subtext    *string  `json:"subtext"`
			CTALabel   *string  `json:"cta_label"`
			Advertiser string   `json:"advertiser"` // an approved name
			PosterURL  string   `json:"poster_url"`
			Format     string   `json:"format"`
			Tools      []string `json:"target_active_tools"`
			Hosts      []string `json:"target_host_apps"`
			Surfaces   []string `json:"target_surfaces"`
			Methods    []string `json:"target_integration_methods"`
			Regions    []string `json:"target_regions"`
			Languages  []string `json:"target_languages"`
			Intent     []string `json:"target_intent_tokens"`
		} `json:"campaign"`
		Refuse   string `json:"refuse"` // what the budget gate says
		Stale    bool   `json:"stale"`  // the catalog is not up to date
		LogDown  bool   `json:"log_down"`
		Requests int    `json:"requests"` // that the rate limit lets through
		Unsigned string `json:"unsigned"`
	} `json:"world"`
	Steps []struct {
		Request struct {
			Method  string            `json:"method"`  // default POST
			Path    string            `json:"path"`    // default /api/mcp
			Headers map[string]string `json:"headers"` // Authorization is the live key unless given; "" leaves it out
			Body    any               `json:"body"`
			Raw     string            `json:"raw"`
		} `json:"request"`
		Reply struct {
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"` // "" means absent
			Body    any               `json:"body"`    // null means empty
		} `json:"reply"`
	} `json:"steps"`
	Events []struct { // what was recorded, in order
		Event     string `json:"event"`
		Proof     string `json:"proof"`
		Method    string `json:"integration_method"`
		Developer string `json:"developer_id"`
		Sandbox   bool   `json:"sandbox"`
	} `json:"events"`
}

func TestExchanges(t *testing.T) {
	apitest.Files(t, "mcp", func(t *testing.T, x *exchange) {
		require.NotEmpty(t, x.Description)
		require.NotEmpty(t, x.Steps)
		x.run(t)
	})
}

func (x *exchange) run(t *testing.T) {
	if x.World.Unsigned == "" {
		x.World.Unsigned = track.UnsignedRecord
	}
	f := newFixture(t, x.World.Unsigned)
	x.shape(f)
	names := map[string]string{"key": f.key, "seat": f.Key(account.KindSeat), "event_types": event.TypeNames()}
	for i, step := range x.Steps {
		method, path := step.Request.Method, step.Request.Path
		if method == "" {
			method = http.MethodPost
		}
		if path == "" {
			path = "/api/mcp"
		}
		header := http.Header{"Authorization": {"Bearer " + f.key}}
		for name, value := range step.Request.Headers {
			header.Set(name, apitest.Fill(value, names))
			if value == "" {
				header.Del(name)
			}
		}
		body := step.Request.Raw
		if step.Request.Body != nil {
			encoded, err := json.Marshal(step.Request.Body)
			require.NoError(t, err)
			body = string(encoded)
		}
		w := f.do(method, apitest.Fill(path, names), apitest.Fill(body, names), header)
		require.Equal(t, step.Reply.Status, w.Code, "step %d: %s", i+1, w.Body)
		for name, value := range step.Reply.Headers {
			require.NoError(t, match(name, value, w.Header().Get(name), names))
		}
		if step.Reply.Body == nil {
			require.Empty(t, w.Body.String())
			continue
		}
		require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
		var got any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		if err := match("body", step.Reply.Body, got, names); err != nil {
			t.Fatalf("step %d: %v\ngot %s", i+1, err, w.Body)
		}
	}
	require.Len(t, f.Log.Events, len(x.Events))
	for i, want := range x.Events {
		got := f.Log.Events[i]
		require.Equal(t, want.Event, strings.ToLower(got.Type.String()))
		require.Equal(t, want.Proof, strings.ToLower(got.Proof.String()))
		require.Equal(t, want.Method, got.GetPlacement().GetIntegrationMethod())
		require.Equal(t, want.Sandbox, got.Sandbox)
		if want.Developer == "publisher" {
			require.Equal(t, developerID[:], got.DeveloperId)
		} else {
			require.Equal(t, make([]byte, 16), got.DeveloperId)
		}
	}
	for _, a := range f.Log.Auctions {
		require.Equal(t, "mcp", a.GetPlacement().GetIntegrationMethod())
		require.Equal(t, developerID[:], a.DeveloperId)
	}
}

func (x *exchange) shape(f *fixture) {
	k, c := generic(), x.World.Campaign
	for _, text := range []struct {
		to   *string
		from *string
	}{{&k.Headline, c.Headline}, {&k.Subtext, c.Subtext}, {&k.CTALabel, c.CTALabel}} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	k.PosterURL, k.Advertiser.Name = c.PosterURL, c.Advertiser
	if c.Format != "" {
		k.Format = campaign.Format(c.Format)
	}
	k.Targeting = campaign.Targeting{
		IntentTokens: c.Intent, ActiveTools: c.Tools, HostApps: c.Hosts, Surfaces: c.Surfaces,
		IntegrationMethods: c.Methods, Regions: c.Regions, Languages: c.Languages,
	}
	f.Shelf.Put(k)
	f.Shelf.Refuse, f.Shelf.Stale = auction.Reason(x.World.Refuse), x.World.Stale
	if x.World.LogDown {
		f.Log.Err = fmt.Errorf("broker-3: connection refused")
	}
	if x.World.Requests > 0 {
		f.limiter.left = x.World.Requests
	}
}

// match binds names in texts, over line breaks too, and looks into texts that hold JSON. A list
// "${event_types}" has all names of the API.
func match(at string, want, got any, names map[string]string) error {
	return apitest.Match(at, want, got, func(at string, want, got any) (bool, error) {
		switch want := want.(type) {
		case string:
			if list, is := got.([]any); is && want == "${event_types}" {
				return true, typesDiffer(at, list)
			}
			return true, apitest.MatchText(at, want, got, names, "(?s:.+)")
		case map[string]any:
			inner, is := want["$json"]
			if !is || len(want) != 1 {
				return false, nil
			}
			var value any
			text, ok := got.(string)
			if !ok || json.Unmarshal([]byte(text), &value) != nil {
				return true, fmt.Errorf("%s: want a text that is JSON, got %v", at, got)
			}
			return true, match(at+"(json)", inner, value, names)
		}
		return false, nil
	})
}

func typesDiffer(at string, list []any) error {
	var want []any
	for _, k := range event.Kinds() {
		want = append(want, k.Name)
	}
	if !slices.Equal(want, list) {
		return fmt.Errorf("%s: want %v, got %v", at, want, list)
	}
	return nil
}
