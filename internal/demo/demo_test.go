package demo_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/demo"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/store/memory"
)

// alone announces to no serving node.
type alone struct{}

func (alone) Announce(context.Context, campaign.Campaign) (bool, error) { return true, nil }

func services() (demo.Deps, *memory.Stores) {
	store := memory.New(time.Now)
	return demo.Deps{
		Accounts: account.NewService(account.Deps{Users: store.Accounts, Keys: store.Accounts, Now: time.Now}),
		Campaigns: campaign.NewService(campaign.Deps{
			Store: store.Campaigns, Announcer: alone{}, Now: time.Now, CreditValue: money.USD,
		}),
	}, store
}

func TestLoad(t *testing.T) {
	deps, store := services()
	creds, err := demo.Load(t.Context(), deps)
	require.NoError(t, err)
	require.Len(t, creds.Advertisers, 8)
	all, err := demo.Campaigns()
	require.NoError(t, err)
	require.Equal(t, len(all), creds.Active, "the policy check finds nothing")
	require.Zero(t, creds.InReview)

	admin, err := deps.Accounts.Login(t.Context(), creds.Admin, creds.Password)
	require.NoError(t, err)
	require.True(t, admin.IsAdmin())
	page, total, err := deps.Campaigns.List(t.Context(), admin, campaign.Filter{Limit: 500})
	require.NoError(t, err)
	require.Equal(t, len(all), total)
	names, verified := map[string]bool{}, 0
	for _, c := range page {
		require.Equal(t, campaign.Active, c.Status, c.Name)
		require.Empty(t, c.PolicyViolations, c.Name)
		require.NotEmpty(t, c.Advertiser.Name, "%s: ads say who paid", c.Name)
		if !names[c.Advertiser.Name] && c.Advertiser.Verified {
			verified++
		}
		names[c.Advertiser.Name] = true
	}
	require.Len(t, names, 8, "each agency has its own")
	require.Equal(t, 7, verified, "one was not checked")

	agencies := map[string]string{}
	for _, email := range creds.Advertisers {
		owner, err := deps.Accounts.Login(t.Context(), email, creds.Password)
		require.NoError(t, err)
		list, _, err := deps.Campaigns.List(t.Context(), owner, campaign.Filter{Limit: 500})
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(list), len(all)/16, "a fair share")
		for _, c := range list {
			landing, err := url.Parse(c.CTAURL)
			require.NoError(t, err)
			agency, known := agencies[landing.Hostname()]
			require.True(t, !known || agency == email, "%s is with two agencies", landing.Hostname())
			agencies[landing.Hostname()] = email
		}
	}

	kind, hash, err := account.ParseKey(creds.PublisherKey)
	require.NoError(t, err)
	require.Equal(t, account.KindPublisher, kind)
	key, disabled, err := store.Accounts.KeyByHash(t.Context(), hash)
	require.NoError(t, err)
	require.False(t, disabled)
	require.Equal(t, creds.DeveloperID, key.DeveloperID)
}

func TestLoadTwice(t *testing.T) {
	deps, _ := services()
	first, err := demo.Load(t.Context(), deps)
	require.NoError(t, err)
	second, err := demo.Load(t.Context(), deps)
	require.NoError(t, err)
	require.NotEqual(t, first.PublisherKey, second.PublisherKey)
	second.PublisherKey = first.PublisherKey
	require.Equal(t, first, second)
}

func TestLoadKeepsForeignAccounts(t *testing.T) {
	deps, _ := services()
	_, err := deps.Accounts.Register(t.Context(), demo.Publisher, "somebody else's")
	require.NoError(t, err)
	_, err = demo.Load(t.Context(), deps)
	require.True(t, errs.Is(err, errs.InvalidCredentials), err)

	deps, _ = services()
	_, err = deps.Accounts.Register(t.Context(), demo.Admin, demo.Password)
	require.NoError(t, err)
	_, err = demo.Load(t.Context(), deps)
	require.True(t, errs.Is(err, errs.Conflict), err)
}

// printed answers the pasted commands as the service does and keeps their requests.
type printed struct {
	key      string
	base     string
	token    string
	mu       sync.Mutex // guards asked
	requests []string
	errors   []string
}

func (p *printed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r.Method+" "+r.URL.Path)
	authorized := r.Header.Get("Authorization") == "Bearer "+p.key
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/ad-request" && authorized:
		var in struct {
			Context string `json:"context"`
		}
		if err := json.UnmarshalRead(r.Body, &in); err != nil || in.Context == "" {
			p.errors = append(p.errors, "ad request body")
		}
		query := url.Values{
			"event": {"impression"}, "auction_id": {p.token}, "session": {""}, "dev": {uuid.Nil.String()},
		}
		// The way and order of encoding of ingress/httpapi and ingress/serve; texts that a shell
		// could trip over.
		raw, err := json.Marshal(map[string]any{"ad": struct {
			Headline      string `json:"headline"`
			ClickURL      string `json:"click_url"`
			ImpressionURL string `json:"impression_url"`
			Label         string `json:"disclosure_label"`
		}{
			`50% "off" \n it's $HOME & <b>`, p.base + "/s/" + p.token + "?event=click",
			p.base + "/api/track?" + query.Encode(), "Sponsored",
		}}, json.Deterministic(true))
		if err != nil || bytes.Contains(raw, []byte(`\u0026`)) {
			p.errors = append(p.errors, "ampersands must stay as they are")
		}
		_, _ = w.Write(raw)
	case r.Method == http.MethodGet && r.URL.Path == "/api/track" && r.URL.Query().Get("event") == "impression" &&
		r.URL.Query().Get("auction_id") == p.token:
		w.Header().Set("Content-Type", "image/gif")
	case r.Method == http.MethodGet && r.URL.Path == "/s/"+p.token && r.URL.RawQuery == "event=click":
		w.Header().Set("Location", "https://example.com/landing")
		w.WriteHeader(http.StatusFound)
	case r.Method == http.MethodGet && r.URL.Path == "/api/stats" && r.URL.RawQuery == "type=developer" && authorized:
		_, _ = w.Write([]byte(`{"impressions":1,"clicks":1}`))
	default:
		p.errors = append(p.errors, r.Method+" "+r.URL.String())
		w.WriteHeader(http.StatusTeapot)
	}
}

func TestPrintedCommandsWork(t *testing.T) {
	p := &printed{key: "pub_live_0123456789", token: "AQ-x_y0"}
	server := httptest.NewServer(p)
	defer server.Close()
	p.base = server.URL
	creds := demo.Credentials{
		Advertisers: []string{demo.Advertiser(1), demo.Advertiser(2), demo.Advertiser(3)}, Publisher: demo.Publisher,
		Admin:    demo.Admin,
		Password: demo.Password, PublisherKey: p.key,
		DeveloperID: uuid.MustParse("01890000-0000-7000-8000-000000000001"), Active: 5, InReview: 1,
	}
	var greeting strings.Builder
	require.NoError(t, demo.Print(&greeting, server.URL+"/", creds))
	for _, part := range []string{
		server.URL, demo.Advertiser(1), demo.Advertiser(3), demo.Publisher, demo.Admin, demo.Password, p.key,
		creds.DeveloperID.String(), "5 campaigns", "1 wait",
	} {
		require.Contains(t, greeting.String(), part)
	}

	requests, err := demo.Requests()
	require.NoError(t, err)
	require.Contains(t, greeting.String(), requests[0].Context, "the first request is the sample")

	// Pasted: the commands as they stand in the text, found by what they call.
	var lines []string
	for line := range strings.Lines(greeting.String()) {
		if strings.Contains(line, "curl ") {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, 4)
	shell := exec.CommandContext(t.Context(), "sh")
	shell.Stdin = strings.NewReader(strings.Join(lines, ""))
	var stdout, stderr bytes.Buffer
	shell.Stdout, shell.Stderr = &stdout, &stderr
	require.NoError(t, shell.Run(), stderr.String())
	require.Empty(t, stderr.String())
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(t, p.errors)
	require.Equal(t, []string{"POST /v1/ad-request", "GET /api/track", "GET /s/AQ-x_y0", "GET /api/stats"}, p.requests)
	require.Contains(t, stdout.String(), "impression: HTTP 200\n")
	require.Contains(t, stdout.String(), "click: HTTP 302 to https://example.com/landing\n")
	require.Contains(t, stdout.String(), `{"impressions":1,"clicks":1}`)
}
