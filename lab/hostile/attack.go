package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"adnet/cmd/load/visitor"
	"adnet/internal/process/schedule"
)

// attacker is one kind of attacker. Its act is repeated at an interval, up to a maximum.
type attacker struct {
	name  string
	every time.Duration
	most  int
	act   func(ctx context.Context, w *world, a *attacks) error
}

// attacks holds the knowledge and the counters of the attackers.
type attacks struct {
	s        *suite
	requests sync.Map // *atomic.Int64 by attacker
	acts     sync.Map // *atomic.Int64 by attacker, completed acts only

	accomplice person   // of the colluder, an advertiser
	flooder    person   // an account that floods adnet with changes
	flooded    string   // its campaign
	old        []string // click URLs of ads shown before the change of the page
	changed    atomic.Bool
	unapproved atomic.Int64
}

// attackers returns all attackers. The numbers of attempts are budgets: an attacker with more would
// be limited sooner.
func attackers() []attacker {
	return []attacker{
		{"stranger forges", 2 * time.Millisecond, 20_000, forge},
		{"stranger invents", 20 * time.Millisecond, 2_000, invent},
		{"stranger with a receipt", 100 * time.Millisecond, 500, shareReceipt},
		{"stranger repeats a pixel", 5 * time.Millisecond, 5_000, repeatPixel},
		{"reader repeats a click", 50 * time.Millisecond, 1_000, repeatClick},
		{"unfurler", 100 * time.Millisecond, 500, unfurl},
		{"publisher converts", 100 * time.Millisecond, 500, convertOwn},
		{"publisher posts clicks", 200 * time.Millisecond, 300, postClicks},
		{"colluders", 100 * time.Millisecond, 500, collude},
		{"advertiser changes its page", 500 * time.Millisecond, 100, changePage},
		{"slow bodies", 20 * time.Millisecond, 5_000, stallBody},
		{"connections", 3 * time.Millisecond, 20_000, hoard},
		{"logins", 20 * time.Millisecond, 2_000, guess},
		{"writes", 10 * time.Millisecond, 3_000, flood},
		{"stolen browser key", 3 * time.Millisecond, stolenBudget, steal},
		{"advertiser aims at despair", 100 * time.Millisecond, 1_000, aim},
		{"publisher states that all is well", 100 * time.Millisecond, 1_000, stateOrdinary},
		{"stranger tries sessions", 15 * time.Millisecond, sessionBudget, trySession},
	}
}

// attack runs all attackers beside honest traffic, and watches the process.
func (s *suite) attack(ctx context.Context) error {
	a := &attacks{s: s}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	s.say("attack, %s", s.attacked())
	part, cancel := context.WithTimeout(ctx, s.attacked())
	defer cancel()
	began, err := s.begin(ctx)
	if err != nil {
		return err
	}
	var under sync.WaitGroup
	under.Go(func() { s.honest.run(part) })
	under.Go(func() { s.watch(part) })
	for _, item := range attackers() {
		under.Go(func() { a.repeat(part, item) })
	}
	under.Wait()
	if s.report.Waited, s.report.Answered, err = s.end(ctx, began); err != nil {
		return err
	}
	s.report.AttackedP99, s.report.HonestRefused = s.honest.p99(), s.honest.refused
	a.requests.Range(func(name, n any) bool {
		s.report.Requests[name.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	a.acts.Range(func(name, n any) bool {
		if n.(*atomic.Int64).Load() == 0 && ctx.Err() == nil {
			s.breach("%s: no act completed, so this run does not test it", name)
		}
		return true
	})
	s.report.UnapprovedShown = a.unapproved.Load()
	s.say("honest p99 %.1f ms, %d of %d visits refused", s.report.AttackedP99, s.honest.refused, s.honest.visits)
	return ctx.Err()
}

// repeat runs the acts of an attacker, whatever adnet answers.
func (a *attacks) repeat(ctx context.Context, first attacker) {
	count, done, logged := &atomic.Int64{}, &atomic.Int64{}, sync.Once{}
	a.requests.Store(first.name, count)
	a.acts.Store(first.name, done)
	slots := make(chan struct{}, 64) // concurrent acts
	for range first.most {           // the first error is logged
		if schedule.Pause(ctx, first.every) != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		count.Add(1)
		go func() {
			defer func() { <-slots }()
			err := first.act(ctx, a.s.world, a)
			switch {
			case err == nil:
				done.Add(1)
			case ctx.Err() == nil:
				logged.Do(func() { a.s.say("%s: %v", first.name, err) })
			}
		}()
	}
}

// watch records the peak usage of the process, and that it is running.
func (s *suite) watch(ctx context.Context) {
	s.report.FileLimit = fileLimit
	for schedule.Pause(ctx, 200*time.Millisecond) == nil {
		if s.world.ingress.Ended() {
			s.breach("strangers ended the ingress process")
			return
		}
		if n, err := s.world.ingress.RSS(); err == nil {
			s.report.PeakRSS = max(s.report.PeakRSS, n)
		}
		if n, err := s.world.ingress.Files(); err == nil {
			s.report.PeakFiles = max(s.report.PeakFiles, n)
		}
	}
}

// prepare creates the accounts of the colluders: one deposits 1 USD for a campaign of cheap clicks,
// the other publishes it.
func (a *attacks) prepare(ctx context.Context) (err error) {
	w := a.s.world
	if a.accomplice, err = w.register(ctx); err != nil {
		return err
	}
	if err := w.pay(ctx, a.accomplice.id, 1); err != nil {
		return err
	}
	if _, err := w.campaign(ctx, a.accomplice, object{
		"headline": "Cheap clicks", "cta_url": "https://cheap.example.com/", "billing_model": "cpc", "bid_amount": 0.01,
		"daily_budget": 1, "total_budget": 1, "target_intent_tokens": []string{"zqcheapqz"},
	}); err != nil {
		return err
	}
	for _, into := range []*person{&a.s.colluder, &a.s.liar} {
		if *into, err = w.publisher(ctx); err != nil {
			return err
		}
	}
	if a.flooder, a.flooded, err = w.flooder(ctx); err != nil {
		return err
	}
	for _, item := range []func(context.Context) error{a.prepareTheft, a.prepareNeeds} {
		if err := item(ctx); err != nil {
			return err
		}
	}
	patience := time.Now().Add(20 * time.Second)
	for len(a.old) < 5 { // shown while the approved page was in place
		ad, err := w.ad(ctx, w.publishers[0], "zqpageqz", visitor.Address(rand.Uint32()))
		switch {
		case err == nil:
			a.old = append(a.old, ad.Text("click_url"))
		case time.Now().After(patience):
			return err
		default: // a busy machine learns the budget late
			_ = schedule.Pause(ctx, 100*time.Millisecond)
		}
	}
	return ctx.Err()
}

// ad requests one ad. It returns an empty object without one.
func (w *world) ad(ctx context.Context, p person, word, from string) (object, error) {
	reply, err := w.call(
		ctx, request{Method: "POST", Path: "/v1/ad-request", Bearer: p.key, JSON: object{"context": word}, From: from},
	)
	if err == nil && reply.Object("ad") == nil {
		err = fmt.Errorf("no ad for %s: %v", word, reply)
	}
	return reply.Object("ad"), err
}

// adOf returns the ad of a reply, or nil.
func adOf(reply []byte) object { return decoded(reply).Object("ad") }

// decoded returns a JSON reply, or nothing for other replies.
func decoded(reply []byte) (out object) {
	_ = json.Unmarshal(reply, &out) // a refusal has no ad
	return out
}

func publisherOf(w *world) person { return w.publishers[rand.IntN(len(w.publishers))] }

// forge sends a beacon with an unsigned token.
func forge(ctx context.Context, w *world, _ *attacks) error {
	path := fmt.Sprintf(
		"/api/track?event=impression&campaign_id=%s&auction_id=%s.%d&format=%x", w.cpm, uuid.NewString(), rand.Uint64(),
		rand.Uint32(),
	)
	_, err := w.call(ctx, request{Method: "GET", Path: path, From: visitor.Address(rand.Uint32N(50))})
	return err
}

// invent posts a hundred events without tokens, each of a different form.
func invent(ctx context.Context, w *world, _ *attacks) error {
	events := make([]object, 100)
	for i := range events {
		events[i] = object{
			"event": "impression", "campaign_id": w.cpm, "developer_id": uuid.NewString(),
			"format":             fmt.Sprintf("f%x", rand.Uint32()),
			"integration_method": fmt.Sprintf("m%x", rand.Uint32()),
		}
	}
	_, err := w.call(
		ctx,
		request{
			Method: "POST", Path: "/api/track?action=batch", JSON: object{"events": events},
			From: visitor.Address(rand.Uint32N(50)),
		},
	)
	return err
}

// last returns the token in a URL: its last segment, or the value of auction_id.
func last(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	if t := u.Query().Get("auction_id"); t != "" {
		return t
	}
	return u.Path[strings.LastIndexByte(u.Path, '/')+1:]
}

// shareReceipt uses the public receipt of an ad for a click and a conversion.
func shareReceipt(ctx context.Context, w *world, _ *attacks) error {
	from := visitor.Address(rand.Uint32())
	ad, err := w.ad(ctx, publisherOf(w), "zqcpaqz", from)
	if err != nil {
		return err
	}
	stolen := last(ad.Text("receipt_url"))
	_, _ = w.call(ctx, request{Method: "GET", Path: "/s/" + stolen, From: from})
	return convert(ctx, w, from, stolen)
}

// convert claims a conversion with a token, in both forms.
func convert(ctx context.Context, w *world, from, stolen string) error {
	for _, field := range []string{"click_id", "auction_id"} {
		if _, err := w.call(ctx, request{Method: "POST", Path: "/api/track", From: from, JSON: object{
			"event": "conversion", "campaign_id": w.cpa, field: stolen, "conversion_type": "sale", "value": 10,
			"currency": "USD",
		}}); err != nil {
			return err
		}
	}
	return nil
}

// repeatPixel fires one pixel of an honest publisher repeatedly, as a program would, with
// parameters that might count against the publisher.
var repeatPixel = func() func(context.Context, *world, *attacks) error {
	var mu sync.Mutex
	var link string
	return func(ctx context.Context, w *world, _ *attacks) error {
		mu.Lock()
		if link == "" {
			ad, err := w.ad(ctx, w.publishers[0], "zqcpmqz", visitor.Address(1))
			if err != nil {
				mu.Unlock()
				return err
			}
			link = ad.Text("impression_url")
		}
		mu.Unlock()
		_, _, _, err := w.send(
			ctx,
			request{
				Method: "GET", Path: link + "&integration_method=js_snippet", Agent: "curl/8.5.0",
				From: visitor.Address(rand.Uint32N(20)),
			},
		)
		return err
	}
}()

// repeatClick clicks ads of a cpc campaign many times each, all from one address, with an invented
// browser for each ad.
func repeatClick(ctx context.Context, w *world, _ *attacks) error {
	from := visitor.Address(2)
	ad, err := w.ad(ctx, publisherOf(w), "zqrepeatqz", from)
	if err != nil {
		return err
	}
	if _, _, _, err := w.send(ctx, request{Method: "GET", Path: ad.Text("impression_url"), From: from}); err != nil {
		return err
	}
	_ = schedule.Pause(ctx, 400*time.Millisecond) // no person is faster
	agent := fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64; rv:%[1]d.0) Gecko/20100101 Firefox/%[1]d.0", rand.IntN(900)+100)
	for range 20 {
		if _, _, _, err := w.send(
			ctx, request{Method: "GET", Path: ad.Text("click_url"), From: from, Agent: agent},
		); err != nil {
			return err
		}
	}
	return nil
}

var unfurlers = []string{
	"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
	"Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
	"TelegramBot (like TwitterBot)", "WhatsApp/2.23.20.0", "Twitterbot/1.0",
	"Mozilla/5.0 (Windows NT 10.0) SkypeUriPreview Preview/0.5",
}

// unfurl follows an ad's link of a cpc campaign as the preview bot of a chat service does.
func unfurl(ctx context.Context, w *world, _ *attacks) error {
	from := visitor.Address(rand.Uint32())
	ad, err := w.ad(ctx, publisherOf(w), "zqcpcqz", from)
	if err != nil {
		return err
	}
	if _, _, _, err := w.send(ctx, request{Method: "GET", Path: ad.Text("impression_url"), From: from}); err != nil {
		return err
	}
	_ = schedule.Pause(ctx, 800*time.Millisecond)
	_, _, _, err = w.send(
		ctx,
		request{
			Method: "GET", Path: ad.Text("click_url"), From: visitor.Address(rand.Uint32()),
			Agent: unfurlers[rand.IntN(len(unfurlers))],
		},
	)
	return err
}

// convertOwn acts as a publisher that claims conversions of its own ads.
func convertOwn(ctx context.Context, w *world, _ *attacks) error {
	from := visitor.Address(rand.Uint32())
	ad, err := w.ad(ctx, publisherOf(w), "zqcpaqz", from)
	if err != nil {
		return err
	}
	if _, _, _, err := w.send(ctx, request{Method: "GET", Path: ad.Text("impression_url"), From: from}); err != nil {
		return err
	}
	_ = schedule.Pause(ctx, 800*time.Millisecond)
	_, header, _, err := w.send(ctx, request{Method: "GET", Path: ad.Text("click_url"), From: from})
	if err != nil {
		return err
	}
	for _, stolen := range []string{
		ad.Text("auction_id"), last(ad.Text("click_url")), clickID(header.Get("Location")),
	} {
		if err := convert(ctx, w, from, stolen); err != nil {
			return err
		}
	}
	return nil
}

// clickID returns the click id in the URL of a landing page.
func clickID(landing string) string {
	u, err := url.Parse(landing)
	if err != nil {
		return ""
	}
	return u.Query().Get("adnet_click")
}

// postClicks acts as a publisher whose server reports a click for every ad of a cpc campaign.
func postClicks(ctx context.Context, w *world, a *attacks) error {
	var events []object
	for range 10 {
		ad, err := w.ad(ctx, a.s.liar, "zqcpcqz", visitor.Address(3))
		if err != nil {
			return err
		}
		for _, event := range []string{"impression", "click"} {
			events = append(
				events,
				object{
					"event": event, "campaign_id": w.cpc, "auction_id": ad.Text("auction_id"),
					"integration_method": "rest",
				},
			)
		}
	}
	return w.report(ctx, a.s.liar, events)
}

// report posts events as a publisher's server, which adnet must accept.
func (w *world) report(ctx context.Context, p person, events []object) error {
	reply, err := w.call(
		ctx,
		request{
			Method: "POST", Path: "/api/track?action=batch", Bearer: p.key, JSON: object{"events": events},
			From: visitor.Address(3), Want: 200,
		},
	)
	if err == nil && int(reply.Number("tracked")) != len(events) {
		err = fmt.Errorf("not all of %d events were tracked: %v", len(events), reply)
	}
	return err
}

// collude shows ads of the accomplice for the Credits of impressions and clicks few of them, so
// that some charges back some Credits. It then tries to fund a campaign from all Credits.
func collude(ctx context.Context, w *world, a *attacks) error {
	var events []object
	var ad object
	for range 10 {
		var err error
		if ad, err = w.ad(ctx, a.s.colluder, "zqcheapqz", visitor.Address(4)); err != nil {
			return err
		}
		events = append(
			events,
			object{
				"event": "impression", "campaign_id": ad.Text("ad_id"), "auction_id": ad.Text("auction_id"),
				"integration_method": "rest",
			},
		)
	}
	if err := w.report(ctx, a.s.colluder, events); err != nil {
		return err
	}
	_ = schedule.Pause(ctx, 400*time.Millisecond)
	if _, _, _, err := w.send(
		ctx, request{Method: "GET", Path: ad.Text("click_url"), From: visitor.Address(rand.Uint32())},
	); err != nil {
		return err
	}
	_, err := w.call(ctx, request{Method: "POST", Path: "/api/campaigns", Bearer: a.s.colluder.bearer, JSON: object{
		"advertiser_id": a.s.colluder.id, "headline": "Paid by nothing", "cta_url": "https://nothing.example.com/",
		"bid_amount": 1000, "total_budget": 0.05,
		"daily_budget": 0.05, "use_ad_credit": true, "target_intent_tokens": []string{"zqnothingqz"},
	}})
	return err
}

const evilPage = "https://evil.example.net/login"

// changePage changes the page behind the advertiser's ads, including ads shown before, and follows
// them.
func changePage(ctx context.Context, w *world, a *attacks) error {
	if a.changed.CompareAndSwap(false, true) {
		_, err := w.call(ctx, request{Method: "PATCH", Path: "/api/campaigns", Bearer: w.page.bearer, Want: 200,
			JSON: object{
				"id": w.pages, "headline": "Sign in again to keep your account", "cta_url": evilPage,
			}})
		return err
	}
	links := a.old
	from := visitor.Address(rand.Uint32())
	if ad, err := w.ad(ctx, publisherOf(w), "zqpageqz", from); err == nil && ad != nil {
		links = append(links[:len(links):len(links)], ad.Text("click_url"))
	}
	for _, link := range links {
		_, header, _, err := w.send(ctx, request{Method: "GET", Path: link, From: from})
		if err == nil && strings.HasPrefix(header.Get("Location"), evilPage) {
			a.unapproved.Add(1)
		}
	}
	return nil
}

// stallBody announces the longest body of a path, sends one byte of it, and waits.
func stallBody(ctx context.Context, w *world, _ *attacks) error {
	path := []string{"/api/rtb", "/api/track?action=batch"}[rand.IntN(2)]
	return w.stall(
		ctx,
		"POST "+path+" HTTP/1.1\r\nHost: adnet\r\nContent-Type: application/json\r\nContent-Length: 262144\r\n\r\n{",
	)
}

// hoard opens a connection and keeps it silent.
func hoard(ctx context.Context, w *world, _ *attacks) error { return w.stall(ctx, "") }

// stall holds a connection in the background until ctx ends.
func (w *world) stall(ctx context.Context, text string) error {
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", w.addr)
	if err != nil {
		return err
	}
	_, err = connection.Write([]byte(text))
	go func() {
		defer func() { _ = connection.Close() }()
		first := make([]byte, 512)
		for ctx.Err() == nil {
			_ = connection.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := connection.Read(first); err != nil && !isTimeout(err) {
				return
			}
		}
	}()
	return err
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

// guess logs in with wrong passwords, from many networks.
func guess(ctx context.Context, w *world, _ *attacks) error {
	_, err := w.call(ctx, request{Method: "POST", Path: "/api/auth", From: visitor.Address(rand.Uint32()), JSON: object{
		"email": "admin@hostile.example", "password": fmt.Sprintf("a wrong passphrase %d", rand.Uint32()),
	}})
	return err
}

// flood creates campaigns with as many words as allowed, and changes one.
func flood(ctx context.Context, w *world, a *attacks) error {
	if rand.IntN(2) == 0 {
		words := make([]string, 100)
		for i := range words {
			words[i] = fmt.Sprintf("w%x%x", rand.Uint64(), bytes.MinRead)
		}
		_, err := w.call(ctx, request{Method: "POST", Path: "/api/campaigns", Bearer: a.flooder.bearer, JSON: object{
			"advertiser_id": a.flooder.id, "headline": "One of many", "cta_url": "https://many.example.com/",
			"bid_amount":   1,
			"daily_budget": 1, "total_budget": 1, "target_intent_tokens": words,
		}})
		return err
	}
	return w.patch(ctx, a.flooder, a.flooded)
}

// flooder creates an account with one campaign, which it keeps changing.
func (w *world) flooder(ctx context.Context) (p person, campaign string, err error) {
	if p, err = w.register(ctx); err != nil {
		return p, "", err
	}
	campaign, err = w.campaign(ctx, p, object{
		"headline": "Changed again", "cta_url": "https://flood.example.com/", "bid_amount": 1,
		"target_intent_tokens": []string{"zqfloodqz"},
	})
	return p, campaign, err
}

// change returns a request that changes the bid of a campaign.
func change(owner person, campaign string) request {
	return request{
		Method: "PATCH", Path: "/api/campaigns", Bearer: owner.bearer,
		JSON: object{"id": campaign, "bid_amount": 1 + rand.IntN(9)},
	}
}

// patch sends such a request.
func (w *world) patch(ctx context.Context, owner person, campaign string) error {
	_, _, _, err := w.send(ctx, change(owner, campaign))
	return err
}
