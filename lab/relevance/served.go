package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"adnet/auction"
	"adnet/cmd/load/visitor"
	"adnet/internal/campaign/subject"
	"adnet/internal/money"
	"adnet/lab/process"
	"adnet/lab/product"
	"adnet/lab/site"
)

// The account that owns all campaigns and requests ads.
const (
	ownerEmail    = "owner@relevance.example"
	ownerPassword = "the relevance of ads"
)

// installation builds adnet once and starts a process for each world.
type installation struct {
	dir, binary string
	started     int
}

func install(ctx context.Context) (*installation, error) {
	dir, err := os.MkdirTemp("", "adnet-relevance-")
	if err != nil {
		return nil, err
	}
	in := &installation{dir: dir, binary: filepath.Join(dir, "adnet")}
	return in, product.Build{Binary: in.binary, Scratch: dir}.Make(ctx)
}

func (in *installation) remove() { _ = os.RemoveAll(in.dir) }

// served runs `adnet standalone` and uses its public API, as an outsider would.
type served struct {
	process *process.Process
	people  site.People
	owner   visitor.Account
	admin   string
	key     string
	labels  map[string]string // by campaign id
	err     error             // the first
}

// serve makes worlds served by a process.
func (in *installation) serve(s *set, bids []money.Micros, more ...extra) (world, error) {
	w := &served{labels: map[string]string{}}
	if err := in.start(w); err != nil {
		return nil, err
	}
	list := s.list(bids, more...)
	var owner struct {
		Token string
		User  struct{ ID string }
	}
	w.call("/api/auth", map[string]any{"email": ownerEmail, "password": ownerPassword}, &owner)
	w.owner = visitor.Account{ID: owner.User.ID, Bearer: owner.Token}
	for i := range list {
		w.create(&list[i])
	}
	if w.err == nil {
		w.key, w.err = w.people.Key(
			context.Background(), w.owner.Bearer, visitor.Object{"kind": "publisher", "name": "relevance"},
		)
	}
	// The rows measure how well an ad fits, so all sensitive subjects are allowed.
	allowed := map[string]any{"sensitive_contexts": subject.Names(subject.Sensitive)}
	w.send(http.MethodPut, "/api/account/publishing", allowed, nil)
	w.awaitVotes(len(list))
	if w.err != nil {
		return nil, errors.Join(w.err, w.close())
	}
	return w, nil
}

func (in *installation) start(w *served) error {
	addr, admin, env, err := process.Listeners()
	if err != nil {
		return err
	}
	in.started++
	w.people.Client = &visitor.Client{Base: visitor.Of("http://" + addr), HTTP: http.DefaultClient}
	w.admin = admin
	w.process, err = process.Start(process.Program{
		Name: "adnet standalone", Path: in.binary, Log: filepath.Join(in.dir, fmt.Sprintf("%d.log", in.started)),
		Env: append(os.Environ(), env...),
		Args: []string{
			"standalone", "--demo=off", "--log-level=warn", "--admin-email", ownerEmail, "--admin-password", ownerPassword,
			"--rate-per-minute=0", "--standing-every=1s",
		},
	})
	if err != nil {
		return err
	}
	return w.process.Await(context.Background(), time.Minute, func(ctx context.Context) error {
		if err := process.Ready(admin)(ctx); err != nil {
			return err
		}
		l, err := net.Dial("tcp", addr) // the public listener opens last
		if err != nil {
			return err
		}
		return l.Close()
	})
}

func (w *served) close() error {
	w.process.Stop()
	return w.err
}

// create creates a campaign as an advertiser does, and approves it.
func (w *served) create(c *entry) {
	fields := visitor.Object{
		"name": c.label, "headline": c.Headline, "subtext": c.Subtext,
		"cta_url": "https://shop.example/",
		"format":  "native", "bid_amount": float64(c.Bid) / float64(money.USD), "frequency_cap": 0,
		"sensitive_contexts": subject.Names(subject.Sensitive),
	}
	if t := c.Targeting; t != nil {
		for name, list := range statedLists(t) {
			if len(list) > 0 {
				fields[name] = list
			}
		}
	}
	if w.err != nil {
		return
	}
	var id string
	id, w.err = w.people.Campaign(context.Background(), w.owner, fields)
	w.call("/api/campaigns/review", map[string]any{"id": id, "decision": "approved"}, nil)
	w.labels[id] = c.label
}

// awaitVotes waits until the owner has a vote, and then two computations longer, after which every
// campaign has its part of it and the table of words is frozen with it. Without votes a network
// judges relevance like one that has no ads.
func (w *served) awaitVotes(campaigns int) {
	if w.err != nil || campaigns == 0 {
		return
	}
	w.err = w.process.Await(context.Background(), time.Minute, func(ctx context.Context) error {
		votes, err := process.Metric(ctx, w.admin, `adnet_standing_votes{side="advertiser"}`)
		if err == nil && votes == 0 {
			err = errors.New("the owner of the campaigns has no vote")
		}
		return err
	})
	time.Sleep(3 * time.Second)
}

func statedLists(t *auction.Targeting) map[string][]string {
	return map[string][]string{
		"target_intent_tokens": t.IntentTokens, "target_keywords": t.Keywords, "target_active_tools": t.ActiveTools,
		"target_host_apps": t.HostApps,
		"target_surfaces":  t.Surfaces, "target_integration_methods": t.IntegrationMethods, "target_regions": t.Regions,
		"target_languages": t.Languages,
	}
}

// ask implements world.
func (w *served) ask(q question) string {
	body := map[string]any{"context": q.Context, "format": "card", "user_language": q.Lang}
	if at := q.place; at != nil {
		body["user_language"] = at.UserLanguage
		for name, value := range map[string]string{
			"user_region": at.UserRegion, "host_app": at.HostApp, "placement": at.Placement,
		} {
			if value != "" {
				body[name] = value
			}
		}
		if len(at.ActiveTools) > 0 {
			body["active_tools"] = at.ActiveTools
		}
	}
	if len(q.turns) > 0 {
		delete(body, "context")
		body["messages"] = messages(q)
	}
	if q.open {
		body["min_relevance"] = 0
	}
	var answer struct {
		Ad *struct {
			ID string `json:"ad_id"`
		}
	}
	w.call("/v1/ad-request", body, &answer)
	if answer.Ad == nil {
		return ""
	}
	return w.labels[answer.Ad.ID]
}

func messages(q question) (list []map[string]string) {
	for _, turn := range append(q.turns[:len(q.turns):len(q.turns)], q.Context) {
		list = append(list, map[string]string{"role": "user", "content": turn})
	}
	return list
}

// call posts a body and decodes the response into a value.
func (w *served) call(path string, body any, into any) { w.send(http.MethodPost, path, body, into) }

// send is call with a method. It does nothing after the first error.
func (w *served) send(method, path string, body any, into any) {
	if w.err == nil {
		w.err = w.exchange(method, path, body, into)
	}
}

func (w *served) exchange(method, path string, body any, into any) error {
	bearer := w.owner.Bearer
	if path == "/v1/ad-request" {
		bearer = w.key
	}
	return w.people.Do(context.Background(), visitor.Request{
		Method: method, Path: path, Bearer: bearer, JSON: body, Want: visitor.Success,
	}, into)
}
