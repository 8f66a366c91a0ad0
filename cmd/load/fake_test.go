package load

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"adnet/internal/money"
)

// fake is a small service with the replies of the API: accounts, keys, campaigns with review, ads,
// beacons with duplicates refused, stats that lag behind by some reads.
type fake struct {
	*httptest.Server
	mu        sync.Mutex // guards everything below
	passwords map[string]string
	tokens    map[string]string // token → e-mail
	keys      map[string]string // key → e-mail
	campaigns []*fakeCampaign
	auctions  map[string]string // auction id → the publisher's e-mail
	seen      map[string]bool
	stats     map[string]*Stats // by the publisher's e-mail
	hits      map[string]int    // by method and path
	contexts  []adRequest
	fired     []string // beacons in the order they came

	base     string // of links; the server's own when empty
	lag      int    // reads of stats that show nothing yet
	lose     int    // beacons that are answered and forgotten
	refuse   func(r *http.Request, hit int) (status int, retryAfter string)
	onAd     func()
	noFillOf string
}

type fakeCampaign struct {
	ID           string `json:"id"`
	AdvertiserID string `json:"advertiser_id"`
	Status       string `json:"status"`
	Headline     string `json:"headline"`
	Violations   []any  `json:"policy_violations"`
}

func newFake(t *testing.T) *fake {
	f := &fake{
		passwords: map[string]string{}, tokens: map[string]string{}, keys: map[string]string{},
		auctions: map[string]string{},
		seen:     map[string]bool{}, stats: map[string]*Stats{}, hits: map[string]int{},
	}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	f.addAdmin("admin@x.example", "admin-password")
	return f
}

func (f *fake) addAdmin(email, password string) { f.passwords[email] = password }

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := r.URL.Path
	if strings.HasPrefix(path, "/s/") {
		path = "/s/"
	}
	what := r.Method + " " + path
	f.hits[what]++
	if f.refuse != nil {
		if status, after := f.refuse(r, f.hits[what]); status != 0 {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			answer(w, status, map[string]string{"error": "refused on purpose", "code": "x"})
			return
		}
	}
	switch what {
	case "POST /api/auth":
		f.auth(w, r)
	case "POST /api/keys":
		email := f.tokens[bearer(r)]
		key := fmt.Sprintf("pub_live_%d", len(f.keys))
		f.keys[key] = email
		answer(w, 201, map[string]string{"key": key})
	case "GET /api/campaigns":
		f.list(w, r)
	case "POST /api/campaigns":
		f.change(w, r)
	case "POST /v1/ad-request":
		f.adRequest(w, r)
	case "GET /api/track":
		f.event(r.URL.Query().Get("auction_id"), "impression")
		w.Header().Set("Content-Type", "image/gif")
	case "GET /s/":
		f.event(strings.TrimPrefix(r.URL.Path, "/s/"), "click")
		w.Header().Set("Location", "https://landing.example/?adnet_click="+strings.TrimPrefix(r.URL.Path, "/s/"))
		w.WriteHeader(302)
	case "POST /api/track":
		var in map[string]any
		if err := json.UnmarshalRead(r.Body, &in); err != nil || in["event"] != "conversion" {
			answer(w, 400, map[string]string{"error": "bad conversion"})
			return
		}
		kind := "conversion"
		if f.tokens[bearer(r)] == "" {
			kind = "unverified"
		}
		f.event(in["click_id"].(string), kind)
		answer(w, 200, map[string]any{"tracked": true, "event": "conversion"})
	case "GET /api/stats":
		f.answerStats(w, r)
	default:
		answer(w, 404, map[string]string{"error": "no such path"})
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, body)
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (f *fake) auth(w http.ResponseWriter, r *http.Request) {
	var in struct{ Email, Password string }
	if err := json.UnmarshalRead(r.Body, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		answer(w, 400, nil)
		return
	}
	known, exists := f.passwords[in.Email]
	status := 200
	switch {
	case r.URL.Query().Get("action") == "register" && exists:
		answer(w, 409, map[string]string{"error": "exists", "code": "conflict"})
		return
	case r.URL.Query().Get("action") == "register":
		f.passwords[in.Email], status = in.Password, 201
	case known != in.Password:
		answer(w, 401, map[string]string{"error": "wrong", "code": "invalid_credentials"})
		return
	}
	token := uuid.NewString()
	f.tokens[token] = in.Email
	answer(w, status, map[string]any{"token": token, "user": map[string]string{"id": in.Email}})
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	query, owner := r.URL.Query(), f.tokens[bearer(r)]
	status := query.Get("status")
	if query.Get("action") == "review_queue" {
		if owner != "admin@x.example" {
			answer(w, 401, map[string]string{"error": "no admin"})
			return
		}
		owner, status = query.Get("advertiser_id"), "in_review"
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	offset, _ := strconv.Atoi(query.Get("offset"))
	page, total := []*fakeCampaign{}, 0
	for _, c := range f.campaigns {
		if c.AdvertiserID != owner || status != "" && c.Status != status {
			continue
		}
		if total >= offset && len(page) < limit {
			page = append(page, c)
		}
		total++
	}
	answer(w, 200, map[string]any{"campaigns": page, "total": total})
}

func (f *fake) change(w http.ResponseWriter, r *http.Request) {
	var in struct {
		fakeCampaign
		Decision string `json:"decision"`
	}
	if err := json.UnmarshalRead(r.Body, &in); err != nil {
		answer(w, 400, map[string]string{"error": err.Error()})
		return
	}
	caller := f.tokens[bearer(r)]
	if r.URL.Query().Get("action") == "review" {
		for _, c := range f.campaigns {
			if c.ID == in.ID && c.Status == "in_review" && caller == "admin@x.example" && in.Decision == "approved" {
				c.Status = "active"
				answer(w, 200, map[string]any{"campaign": c})
				return
			}
		}
		answer(w, 400, map[string]string{"error": "not in review"})
		return
	}
	if caller != in.AdvertiserID || in.Headline == "" {
		answer(w, 400, map[string]string{"error": "headline is required", "code": "invalid_request"})
		return
	}
	c := in.fakeCampaign
	c.ID, c.Status = uuid.NewString(), "active"
	if strings.Contains(c.Headline, "<b>") {
		c.Violations = []any{"markup"}
	}
	for _, other := range f.campaigns {
		if other.AdvertiserID == c.AdvertiserID {
			c.Status = "in_review"
		}
	}
	if len(c.Violations) > 0 {
		c.Status = "in_review"
	}
	f.campaigns = append(f.campaigns, &c)
	answer(w, 201, map[string]any{"campaign": c})
}

func (f *fake) adRequest(w http.ResponseWriter, r *http.Request) {
	email, ok := f.keys[bearer(r)]
	if !ok {
		answer(w, 401, map[string]string{"error": "unknown key", "code": "invalid_token"})
		return
	}
	var in adRequest
	if err := json.UnmarshalRead(r.Body, &in); err != nil || in.Context == "" {
		answer(w, 400, map[string]string{"error": "context", "code": "missing_context"})
		return
	}
	f.contexts = append(f.contexts, in)
	if f.onAd != nil {
		f.onAd()
	}
	if f.noFillOf != "" && strings.Contains(in.Context, f.noFillOf) {
		answer(w, 200, map[string]any{"ad": nil, "reason": "no_match"})
		return
	}
	id := in.SessionID
	f.auctions[id] = email
	base := f.base
	if base == "" {
		base = f.URL
	}
	query := url.Values{"event": {"impression"}, "auction_id": {id}}
	answer(
		w, 200,
		map[string]any{"ad": ad{
			AdID: f.adID(), AuctionID: id, ClickURL: base + "/s/" + id,
			ImpressionURL: base + "/api/track?" + query.Encode(),
		}},
	)
}

// event counts a beacon as settlement does: the first of an auction and kind, later ones as
// duplicates.
func (f *fake) event(auction, kind string) {
	f.fired = append(f.fired, kind+" "+auction)
	if f.lose > 0 {
		f.lose--
		return
	}
	s := f.stats[f.auctions[auction]]
	if s == nil {
		s = &Stats{}
		f.stats[f.auctions[auction]] = s
	}
	switch key := auction + " " + kind; {
	case f.seen[key]:
		s.Duplicates++
		return
	default:
		f.seen[key] = true
	}
	switch kind {
	case "impression":
		s.Impressions++
		s.Credits++
		s.Billed++
		s.Spend += 3 * money.USD / 1000
	case "click":
		s.Clicks++
	case "conversion":
		s.Conversions++
	case "unverified":
		s.Unverified++
	}
}

func (f *fake) answerStats(w http.ResponseWriter, r *http.Request) {
	email, ok := f.tokens[bearer(r)]
	if !ok {
		email, ok = f.keys[bearer(r)]
	}
	if !ok || r.URL.Query().Get("type") != "developer" {
		answer(w, 401, map[string]string{"error": "who?"})
		return
	}
	out := Stats{AsOf: time.Unix(1_800_000_000, 0).UTC()}
	if s := f.stats[email]; s != nil {
		if f.lag > 0 {
			f.lag--
		} else {
			asOf := out.AsOf
			out = *s
			out.AsOf = asOf
		}
	}
	answer(w, 200, out)
}

func (f *fake) count(what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits[what]
}

// adID is a campaign that can be served.
func (f *fake) adID() string {
	for _, c := range f.campaigns {
		if c.Status == "active" {
			return c.ID
		}
	}
	return "c"
}
