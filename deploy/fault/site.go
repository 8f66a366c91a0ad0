package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"adnet/internal/token"
)

// budget is a campaign of the run. Amounts are micro-USD.
type budget struct {
	id, owner, word string
	model           string
	daily, total    int64
	small           bool // meant to run out
}

// pauseMark is a pause as its caller saw it, in adnet's clock.
type pauseMark struct {
	campaign string
	from, to time.Time // after the reply of the pause, before the request to resume
}

// site is the accounts and campaigns of the run.
type site struct {
	s    *suite
	http *http.Client
	ring *token.Keyring
	keys []string // of publishers

	mu     sync.Mutex
	list   []*budget
	pauses []pauseMark
}

// openSite makes publishers and the first campaigns, while everything works.
func openSite(ctx context.Context, s *suite) (*site, error) {
	t := &site{s: s, http: &http.Client{Timeout: 5 * time.Second}}
	for _, setting := range s.nodes.ingress[0].env {
		if value, ok := strings.CutPrefix(setting, "ADNET_TOKEN_KEYS="); ok {
			keys, err := token.ParseKeys(value)
			if err != nil {
				return nil, err
			}
			if t.ring, err = token.NewKeyring(keys); err != nil {
				return nil, err
			}
		}
	}
	for i := range 4 {
		_, bearer, err := t.register(ctx, fmt.Sprintf("publisher-%d", i))
		if err != nil {
			return nil, err
		}
		reply, err := t.ask(ctx, "POST", "/api/keys", bearer, map[string]any{"kind": "publisher", "name": "fault"}, 201)
		if err != nil {
			return nil, err
		}
		t.keys = append(t.keys, reply["key"].(string))
	}
	const plenty = 1_000_000
	for i, b := range []struct {
		model string
		bid   float64
		daily int64
	}{
		{"cpm", 5, plenty}, {"cpm", 7, plenty}, {"cpm", 3, plenty}, {"cpm", 4, plenty}, {"cpc", 0.5, plenty}, {"cpc", 0.3, plenty},
		{"cpa", 2, plenty}, {"cpa", 3, plenty}, {"cpm", 20, 3}, {"cpm", 30, 2},
	} {
		if _, err := t.campaign(ctx, fmt.Sprintf("base-%d", i), b.model, b.bid, b.daily, plenty, b.daily < plenty); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// register makes an account.
func (t *site) register(ctx context.Context, name string) (id, bearer string, err error) {
	reply, err := t.ask(ctx, "POST", "/api/auth?action=register", "", map[string]any{"email": name + "@fault.example", "password": "correct horse battery"}, 201)
	if err != nil {
		return "", "", err
	}
	return reply["user"].(map[string]any)["id"].(string), reply["token"].(string), nil
}

// campaign makes an account with one campaign, which delivers at once, to requests with a word of its own.
// Budgets are in USD.
func (t *site) campaign(ctx context.Context, name, model string, bid float64, daily, total int64, small bool) (*budget, error) {
	id, bearer, err := t.register(ctx, name)
	if err != nil {
		return nil, err
	}
	word := "zq" + strings.ReplaceAll(name, "-", "") + "qz"
	reply, err := t.ask(ctx, "POST", "/api/campaigns", bearer, map[string]any{
		"advertiser_id": id, "headline": "Fault " + name, "cta_url": "https://fault.example.com/" + name, "billing_model": model, "bid_amount": bid,
		"daily_budget": daily, "total_budget": total, "target_intent_tokens": []string{word}, "pacing": "asap",
	}, 201)
	if err != nil {
		return nil, err
	}
	b := &budget{
		id: reply["campaign"].(map[string]any)["id"].(string), owner: bearer, word: word, model: model,
		daily: daily * 1_000_000, total: total * 1_000_000, small: small,
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, b)
	return b, nil
}

// campaigns is a copy of the list.
func (t *site) campaigns() []*budget {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]*budget(nil), t.list...)
}

// ask sends a request to an ingress node that answers.
func (t *site) ask(ctx context.Context, method, path, bearer string, body any, want int) (map[string]any, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	var failed error
	for try := range 6 {
		n := t.s.nodes.ingress[try%2]
		request, err := http.NewRequestWithContext(ctx, method, "http://"+n.http+path, bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		if bearer != "" {
			request.Header.Set("Authorization", "Bearer "+bearer)
		}
		reply, err := t.http.Do(request)
		if err != nil {
			failed = err
			pause(ctx, 300*time.Millisecond)
			continue
		}
		text, err := io.ReadAll(reply.Body)
		_ = reply.Body.Close()
		if err != nil || reply.StatusCode != want {
			failed = fmt.Errorf("%s %s: %d %s", method, path, reply.StatusCode, text)
			if reply.StatusCode < 500 {
				break
			}
			pause(ctx, 300*time.Millisecond)
			continue
		}
		var out map[string]any
		return out, json.Unmarshal(text, &out)
	}
	return nil, failed
}

// now is adnet's clock.
func (s *suite) now() time.Time { return time.Now().Add(s.clock).UTC() }

// pauseCampaign pauses a campaign that is delivering, for a while. Whatever ingress receives between the reply and
// the request to resume must never be charged.
func (t *site) pauseCampaign(ctx context.Context, b *budget, d time.Duration) error {
	if _, err := t.ask(ctx, "POST", "/api/campaigns?action=pause", b.owner, map[string]any{"id": b.id}, 200); err != nil {
		return err
	}
	mark := pauseMark{campaign: b.id, from: t.s.now()}
	pause(ctx, d)
	mark.to = t.s.now()
	t.mu.Lock()
	t.pauses = append(t.pauses, mark)
	t.mu.Unlock()
	_, err := t.ask(ctx, "POST", "/api/campaigns?action=resume", b.owner, map[string]any{"id": b.id}, 200)
	return err
}

func parseInt(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
