package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"adnet/internal/demo"
	"adnet/internal/money"
	"adnet/internal/testenv"
	"adnet/internal/token"
)

// compare measures adnet against a baseline at peak, then adnet in an open loop at half its peak.
// The load generator belongs to neither side.
func (s *session) compare(ctx context.Context, ours, baseline traffic) (result, error) {
	var mine, theirs map[string]float64
	at := func(t traffic, cost *map[string]float64) sampler {
		return func(ctx context.Context) (measured sample, err error) {
			counted := s.begin()
			m, err := t.peak(ctx, s.cfg.Sample)
			*cost, measured.stolen = counted.end(m.count)
			measured.rate, measured.cpu = m.perSecond, total(*cost, generator)
			return measured, err
		}
	}
	r, err := s.alternate(ctx, s.profiled(at(ours, &mine)), at(baseline, &theirs))
	if err != nil {
		return r, err
	}
	r.cpu = mine
	s.say("CPU µs a request: ours %s; baseline %s", costs(mine), costs(theirs))
	m, err := ours.open(ctx, r.ours/2, s.cfg.Sample)
	s.say("open loop at %s/s: p50 %s, p99 %s", number(r.ours/2), m.p50, m.p99)
	r.p50, r.p99 = m.p50, m.p99
	return r, err
}

// againstGin records adnet's response to the first request, and compares adnet with a gin that
// always sends it.
func (s *session) againstGin(ctx context.Context, ours traffic, method, path string) (result, error) {
	recorded, err := ours.record(method, path)
	if err != nil {
		return result{}, err
	}
	bare, addr, err := s.bareGin(ctx, recorded)
	if err != nil {
		return result{}, err
	}
	defer bare.Stop()
	same := ours
	same.addr = addr
	return s.compare(ctx, ours, same)
}

func (t *traffic) record(method, path string) (reply, error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	t.next(0, request)
	client := fasthttp.HostClient{Addr: t.addr, NoDefaultUserAgentHeader: true}
	if err := client.Do(request, response); err != nil {
		return reply{}, err
	}
	if response.StatusCode() != http.StatusOK {
		return reply{}, fmt.Errorf("%s %s: status %d: %s", method, path, response.StatusCode(), response.Body())
	}
	r := reply{Method: method, Path: path, Header: http.Header{}, Body: append([]byte(nil), response.Body()...)}
	for name, value := range response.Header.All() {
		r.Header.Add(string(name), string(value))
	}
	return r, nil
}

// anAuction returns an auction to sign, without an id.
func anAuction() token.Auction {
	return token.Auction{
		CampaignID: uuid.New(), AdvertiserID: uuid.New(), DeveloperID: uuid.New(), Price: 5 * money.USD / 1000,
		BillingModel: "cpm", Format: "image", IntegrationMethod: "rest", Surface: "chat", Region: "US", Language: "en",
		HostApp: "discord",
	}
}

// perBatch is the number of events in a batch of beacons.
const perBatch = 100

// sample returns an auction won by the site's own campaign. A beacon of an unknown campaign would
// take another code path.
func (t *site) sample() token.Auction {
	a := anAuction()
	a.CampaignID = t.copied
	return a
}

// batches returns a publisher server's traffic: many impressions per request, each with its own
// token.
func (t *site) batches(addr string) traffic {
	signed := t.sample()
	head := fmt.Sprintf(`{"event_type":"impression","campaign_id":"%s","auction_id":"`, signed.CampaignID)
	return traffic{addr: addr, next: func(_ uint64, r *fasthttp.Request) {
		r.Header.SetMethod(fasthttp.MethodPost)
		r.SetRequestURI("/api/track?action=batch")
		r.Header.SetHost("bench")
		r.Header.SetContentType("application/json")
		body := append(make([]byte, 0, 50_000), `{"events":[`...)
		for i := range perBatch {
			if i > 0 {
				body = append(body, ',')
			}
			a := signed
			a.AuctionID = uuid.Must(uuid.NewV7())
			body = t.Ring.AppendSign(append(body, head...), token.PurposeImpression, a)
			body = append(body, `"}`...)
		}
		r.SetBodyRaw(append(body, `]}`...))
	}, check: func(r *fasthttp.Response) error {
		if r.StatusCode() != http.StatusOK ||
			!strings.Contains(string(r.Body()), fmt.Sprintf(`"tracked":%d}`, perBatch)) {
			return fmt.Errorf("status %d: %s", r.StatusCode(), r.Body())
		}
		return nil
	}}
}

// beacons returns impressions of new auctions, each with its own token.
func (t *site) beacons(addr string) traffic {
	ring := t.Ring
	signed := t.sample()
	return traffic{addr: addr, conns: ofBrowsers, next: func(_ uint64, r *fasthttp.Request) {
		a := signed
		a.AuctionID = uuid.Must(uuid.NewV7())
		r.SetRequestURI("/api/track?event=impression&campaign_id=" + a.CampaignID.String() + "&auction_id=" + ring.Sign(
			token.PurposeImpression, a,
		) +
			"&session=s1&dev=" + a.DeveloperID.String() + "&format=image")
		r.Header.SetHost("bench")
		r.Header.SetUserAgent(
			"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36",
		)
	}}
}

// serving starts only a node for the site of n campaigns. In production settlement and archive run
// on other machines, and they have their own rows.
func (s *session) serving(ctx context.Context, n int) (*site, *node, error) {
	t, err := s.at(ctx, s.size(n))
	if err != nil {
		return nil, nil, err
	}
	t.rest()
	ingress, err := t.ingress(ctx)
	return t, ingress, err
}

func beacon(ctx context.Context, s *session) (result, error) {
	t, n, err := s.serving(ctx, 10_000)
	if err != nil {
		return result{}, err
	}
	defer n.Stop()
	return s.againstGin(ctx, t.beacons(n.addr), http.MethodGet, "/api/track")
}

const nginxConf = `
worker_processes auto;
pid nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
  keepalive_requests 1000000;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  access_log access.log combined buffer=64k;
  server { listen %s; location = /api/track { empty_gif; } }
}
`

func beaconNginx(ctx context.Context, s *session) (r result, err error) {
	program, err := nginx(ctx, s)
	if err != nil {
		return r, err
	}
	addr, err := testenv.FreeAddr()
	if err != nil {
		return r, err
	}
	dir := filepath.Join(s.dir, "nginx")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return r, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, addr), 0o644); err != nil {
		return r, err
	}
	server, err := s.start("nginx", nil, program, "-p", dir, "-c", conf, "-g", "daemon off;")
	if err != nil {
		return r, err
	}
	defer server.Stop()
	if err := server.Await(ctx, startWait, func(ctx context.Context) error { return answers(addr) }); err != nil {
		return r, err
	}
	t, n, err := s.serving(ctx, 10_000)
	if err != nil {
		return r, err
	}
	defer n.Stop()
	ours := t.beacons(n.addr)
	theirs := ours
	theirs.addr = addr
	return s.compare(ctx, ours, theirs)
}

// nginx returns the path of the program and installs the Debian package if possible.
func nginx(ctx context.Context, s *session) (string, error) {
	for _, candidate := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, nil
		}
	}
	if os.Geteuid() != 0 {
		return "", fmt.Errorf("nginx is missing: install it (apt-get install nginx-light)")
	}
	s.say("installing nginx-light ...")
	install := exec.CommandContext(
		ctx, "sh", "-c",
		"(apt-get install -y --no-install-recommends nginx-light || (apt-get update && apt-get install -y "+
			"--no-install-recommends nginx-light)) 2>&1",
	)
	install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "SYSTEMD_OFFLINE=1")
	// The package must not start its own server.
	policy := "/usr/sbin/policy-rc.d"
	if _, err := os.Stat(policy); os.IsNotExist(err) {
		if err := os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755); err == nil {
			defer os.Remove(policy)
		}
	}
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("nginx is missing and could not be installed: %w: %s", err, out)
	}
	return exec.LookPath("/usr/sbin/nginx")
}

// posts returns traffic that sends the JSON bodies with the keys, both in turn.
func posts(addr, path string, keys []string, bodies [][]byte) traffic {
	bearers := make([]string, len(keys))
	for i, key := range keys {
		bearers[i] = "Bearer " + key
	}
	return traffic{addr: addr, next: func(n uint64, r *fasthttp.Request) {
		r.Header.SetMethod(fasthttp.MethodPost)
		r.SetRequestURI(path)
		r.Header.SetHost("bench")
		r.Header.SetContentType("application/json")
		r.Header.Set("Authorization", bearers[n%uint64(len(bearers))])
		r.SetBodyRaw(bodies[n%uint64(len(bodies))])
	}}
}

// adRequests returns ad requests with the contexts of the demo's requests.
func (t *site) adRequests(addr string) (traffic, error) {
	contexts, err := demo.Requests()
	if err != nil {
		return traffic{}, err
	}
	bodies := make([][]byte, len(contexts))
	for i := range contexts {
		if bodies[i], err = json.Marshal(map[string]any{"context": contexts[i].Context}); err != nil {
			return traffic{}, err
		}
	}
	return posts(addr, "/v1/ad-request", t.publisherKeys[:], bodies), nil
}

func adRequest(ctx context.Context, s *session) (result, error) {
	t, n, err := s.serving(ctx, 100_000)
	if err != nil {
		return result{}, err
	}
	defer n.Stop()
	ours, err := t.adRequests(n.addr)
	if err != nil {
		return result{}, err
	}
	return s.againstGin(ctx, ours, http.MethodPost, "/v1/ad-request")
}

func adRequestGrowth(ctx context.Context, s *session) (result, error) {
	small, few, err := s.serving(ctx, 10_000)
	if err != nil {
		return result{}, err
	}
	defer few.Stop()
	large, many, err := s.serving(ctx, 1_000_000)
	if err != nil {
		return result{}, err
	}
	defer many.Stop()
	ours, err := large.adRequests(many.addr)
	if err != nil {
		return result{}, err
	}
	baseline, err := small.adRequests(few.addr)
	if err != nil {
		return result{}, err
	}
	return s.compare(ctx, ours, baseline)
}

// bidRequests matches the bid requests of the tests of ingress/rtb.
const bidRequests = "ingress/rtb/testdata/openrtb/*.json"

func bidRequest(ctx context.Context, s *session) (result, error) {
	t, n, err := s.serving(ctx, 100_000)
	if err != nil {
		return result{}, err
	}
	defer n.Stop()
	all, err := bids()
	if err != nil {
		return result{}, err
	}
	bodies, err := answered(posts(n.addr, "/api/rtb", []string{t.seatKey}, all), all)
	if err != nil {
		return result{}, err
	}
	s.say(
		"%d of %d bid requests get a bid; the others are skipped, because an empty reply has no ratio", len(bodies),
		len(all),
	)
	ours := posts(n.addr, "/api/rtb", []string{t.seatKey}, bodies)
	var bids, none atomic.Int64
	ours.check = func(r *fasthttp.Response) error {
		switch r.StatusCode() {
		case http.StatusOK:
			bids.Add(1)
		case http.StatusNoContent: // mostly beyond the request's tmax
			none.Add(1)
		default:
			return fmt.Errorf("status %d: %s", r.StatusCode(), r.Body())
		}
		return nil
	}
	r, err := s.againstGin(ctx, ours, http.MethodPost, "/api/rtb")
	r.note = fmt.Sprintf(
		"%.1f %% of all replies were no bid", 100*float64(none.Load())/float64(max(1, none.Load()+bids.Load())),
	)
	return r, err
}

// answered returns the bodies that get a bid.
func answered(t traffic, all [][]byte) (with [][]byte, err error) {
	client := fasthttp.HostClient{Addr: t.addr, NoDefaultUserAgentHeader: true}
	for i := range all {
		request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		t.next(uint64(i), request)
		if err := client.Do(request, response); err != nil {
			return nil, err
		}
		switch response.StatusCode() {
		case http.StatusOK:
			with = append(with, all[i])
		case http.StatusNoContent:
		default:
			return nil, fmt.Errorf("bid request %d: status %d: %s", i, response.StatusCode(), response.Body())
		}
	}
	if len(with) == 0 {
		return nil, fmt.Errorf("none of %d bid requests got a bid", len(all))
	}
	return with, nil
}

// bids returns the bid requests of the tests, each with the context of a demo request as its
// conversation.
func bids() ([][]byte, error) {
	contexts, err := demo.Requests()
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(bidRequests)
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no files like %s: run from the root of the project", bidRequests)
	}
	all := make([][]byte, len(contexts))
	for i := range contexts {
		text, err := os.ReadFile(names[i%len(names)])
		if err != nil {
			return nil, err
		}
		var request map[string]any
		if err := json.Unmarshal(text, &request); err != nil {
			return nil, err
		}
		request["ext"] = map[string]any{"mcp_context": map[string]any{"intent": contexts[i].Context}}
		if all[i], err = json.Marshal(request); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func toolCall(ctx context.Context, s *session) (result, error) {
	t, n, err := s.serving(ctx, 100_000)
	if err != nil {
		return result{}, err
	}
	defer n.Stop()
	baseline, err := t.adRequests(n.addr)
	if err != nil {
		return result{}, err
	}
	contexts, err := demo.Requests()
	if err != nil {
		return result{}, err
	}
	bodies := make([][]byte, len(contexts))
	for i := range contexts {
		bodies[i], err = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": i, "method": "tools/call",
			"params": map[string]any{
				"name": "get_sponsored_content", "arguments": map[string]any{"context_summary": contexts[i].Context},
			}})
		if err != nil {
			return result{}, err
		}
	}
	ours := posts(n.addr, "/api/mcp", t.publisherKeys[:], bodies)
	ours.check = func(r *fasthttp.Response) error {
		if r.StatusCode() != http.StatusOK || strings.Contains(string(r.Body()), `"error"`) {
			return fmt.Errorf("status %d: %s", r.StatusCode(), r.Body())
		}
		return nil
	}
	return s.compare(ctx, ours, baseline)
}

// inBackground sends at a fixed rate until stop is called.
func (t *traffic) inBackground(ctx context.Context, perSecond float64) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := t.open(ctx, perSecond, time.Hour)
		ended <- err
	}()
	return func() error {
		cancel()
		if err := <-ended; err != context.Canceled {
			return err
		}
		return nil
	}
}
