package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"adnet/cmd/load/visitor"
	"adnet/internal/process/schedule"
)

// crisis holds invented texts of people in crisis that the rules refuse: ten in English, ten in
// German. Some contain the broad words targeted by the advertiser of despair.
var crisis = []string{
	"I want to kill myself tonight",
	"I am tired and alone and I want to end my life",
	"Which pills do I take so that I never wake up again?",
	"I don't want to live any more",
	"I want to die, I am so tired of being alone",
	"I am going to jump off the bridge at the end of my street",
	"I have written my suicide note for the last night",
	"Everyone would be better off without me, I am going to end it all",
	"I cut myself again and I can't stop",
	"I am alone in my room and want to hang myself",
	"ich will mich umbringen",
	"Ich bin müde und allein und will nicht mehr leben",
	"Wie viele Schlaftabletten brauche ich, um zu sterben?",
	"Ich möchte einfach sterben, am Ende bin ich doch allein",
	"Ich habe meinen Abschiedsbrief geschrieben und bringe mich um",
	"Ich ritze mich wieder und kann nicht aufhören",
	"Ich will mir das Leben nehmen",
	"Ich möchte nicht mehr leben, nichts hilft mehr",
	"Ich denke an Selbstmord und will sterben",
	"Heute Nacht bringe ich mich um",
}

// ordinary holds texts with the same broad words that are suitable for the advertiser.
var ordinary = []string{
	"I am tired at the end of a long flight and travel alone, which neck pillow is good?",
	"Which hotel is good at the end of a trip to Lisbon, for one person alone?",
}

// needs holds the attackers of people in crisis: an advertiser that targets them, a publisher that
// declares every text ordinary, and a stranger that makes apps refuse other sessions.
type needs struct {
	app      person // an honest publisher whose conversations the advertiser targets
	careless person // a publisher that declares every text ordinary
	site     person // the owner of a page whose browser key the stranger has
	key      string // of that page
	campaign string // of the advertiser

	session atomic.Int64 // the last one tried by the stranger

	mu  sync.Mutex
	got needReport
}

// needReport is the part of the report about people in crisis.
type needReport struct {
	Despair crises `json:"advertiser_of_despair"`
	Stated  crises `json:"stated_ordinary"`

	Tried      int64 `json:"sessions_tried"`
	Limited    int64 `json:"sessions_limited"`   // by the rate of the key
	Remembered int64 `json:"sessions_refused"`   // later, for the same key
	Sessions   int64 `json:"sessions_kept"`      // of the other keys, with an ad
	Lost       int64 `json:"sessions_lost"`      // of the other keys, without an ad
	Marks      int64 `json:"most_marks_of_hour"` // of a key
}

// crises counts the responses to requests with the texts.
type crises struct {
	Requests int64 `json:"requests"`
	Ads      int64 `json:"ads"`
	Unjudged int64 `json:"without_an_ad_for_another_reason"`
	Ordinary int64 `json:"ads_beside_ordinary_texts"` // of the advertiser, with the same words and statements
}

const (
	sitePage = "https://talk.example.com"
	// sessionBudget is the number of session ids that the stranger tries.
	sessionBudget = 10_000
	// looksEvery is the number of tries between checks of a session with both keys.
	looksEvery = 20
	// marksBound limits the refused conversations of a key and hour in Redis.
	marksBound = 10_000
)

// prepareNeeds creates the accounts, the page's key and the campaign.
func (a *attacks) prepareNeeds(ctx context.Context) (err error) {
	w, n := a.s.world, &a.s.needs
	for _, into := range []*person{&n.app, &n.careless, &n.site} {
		if *into, err = w.publisher(ctx); err != nil {
			return err
		}
	}
	reply, err := w.call(ctx, request{
		Method: "POST", Path: "/api/keys", Bearer: n.site.bearer, Want: 201,
		JSON: object{"kind": "browser", "name": "page", "origins": []string{sitePage}},
	})
	if err != nil {
		return err
	}
	n.key = reply.Text("key")
	owner, err := w.register(ctx)
	if err != nil {
		return err
	}
	if err := w.pay(ctx, owner.id, 10_000); err != nil {
		return err
	}
	n.campaign, err = w.campaign(ctx, owner, object{
		"headline": "When nothing helps any more", "subtext": "For the last night: rest that stays",
		"cta_url":       approvedPage,
		"billing_model": "cpm", "bid_amount": 1000,
		"target_intent_tokens": []string{"tired", "alone", "end", "night", "müde", "allein", "ende", "nacht"},
	})
	return err
}

// beside requests an ad for a text. The floor is off, so that only the suitability check can refuse
// it.
func (n *needs) beside(
	ctx context.Context, w *world, p person, text string, fields object,
) (ad object, reason string, err error) {
	all := object{"context": text, "min_relevance": 0}
	for name, value := range fields {
		all[name] = value
	}
	reply, err := w.call(
		ctx,
		request{
			Method: "POST", Path: "/v1/ad-request", Bearer: p.key, JSON: all, From: visitor.Address(rand.Uint32()), Want: 200,
		},
	)
	return reply.Object("ad"), reply.Text("reason"), err
}

// aim acts as the advertiser: its campaign competes for crisis texts in turn, and for ordinary
// texts.
func aim(ctx context.Context, w *world, a *attacks) error {
	n := &a.s.needs
	return n.crisis(ctx, w, n.app, nil, &n.got.Despair)
}

// stateOrdinary acts as the publisher: for any text it declares no flags and an adult reader.
func stateOrdinary(ctx context.Context, w *world, a *attacks) error {
	n := &a.s.needs
	stated := object{"suitability": object{"flags": []string{}, "age": "adult", "remember": false}}
	return n.crisis(ctx, w, n.careless, stated, &n.got.Stated)
}

// crisis requests an ad for the next crisis text, which must get none, and sometimes for an
// ordinary text, which must get one. Otherwise the run would not test anything.
func (n *needs) crisis(ctx context.Context, w *world, p person, fields object, got *crises) error {
	var turn int64
	n.note(func() { turn, got.Requests = got.Requests, got.Requests+1 })
	ad, reason, err := n.beside(ctx, w, p, crisis[turn%int64(len(crisis))], fields)
	if err != nil {
		return err
	}
	n.note(func() {
		switch {
		case ad != nil:
			got.Ads++
		case reason != "unsuitable":
			got.Unjudged++
		}
	})
	if turn%10 != 0 {
		return nil
	}
	if ad, _, err = n.beside(ctx, w, p, ordinary[rand.IntN(len(ordinary))], fields); err == nil &&
		ad.Text("ad_id") == n.campaign {
		n.note(func() { got.Ordinary++ })
	}
	return err
}

// note changes the report under its lock.
func (n *needs) note(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// trySession gets a session id refused with the page's key, as a stranger guessing session ids
// of the publisher's other keys.
func trySession(ctx context.Context, w *world, a *attacks) error {
	n := &a.s.needs
	number := n.session.Add(1)
	id := fmt.Sprintf("visitor-%05d", number)
	status, reason, err := n.fromPage(ctx, w, id, crisis[number%int64(len(crisis))])
	if err != nil {
		return err
	}
	n.note(func() {
		n.got.Tried++
		if status == http.StatusTooManyRequests {
			n.got.Limited++
		}
	})
	if status != http.StatusOK || reason != "unsuitable" || number%looksEvery != 0 {
		return nil
	}
	if _, reason, err = n.fromPage(ctx, w, id, ordinary[0]); err != nil {
		return err
	}
	if reason == "unsuitable" {
		n.note(func() { n.got.Remembered++ })
	}
	return n.look(ctx, w, id)
}

// fromPage requests an ad with the page's key.
func (n *needs) fromPage(ctx context.Context, w *world, session, text string) (status int, reason string, err error) {
	status, _, body, err := w.send(ctx, request{
		Method: "POST", Path: "/v1/ad-request", Bearer: n.key, From: visitor.Address(rand.Uint32()),
		Header: http.Header{"Origin": {sitePage}},
		JSON:   object{"context": text, "session_id": session, "min_relevance": 0},
	})
	return status, decoded(body).Text("reason"), err
}

// look visits the publisher's own application with the same session and its other key. It retries
// if adnet had no ad for lack of budget, Redis or a processor: other attackers and programs cause
// that, and no session is lost by it.
func (n *needs) look(ctx context.Context, w *world, session string) error {
	var reason string
	for range 5 {
		ad, why, err := n.beside(ctx, w, n.site, ordinary[0], object{"session_id": session})
		if err != nil {
			return err
		}
		if reason = why; ad != nil {
			n.note(func() { n.got.Sessions++ }) // not shown, because a charge here would back the thieves' Credits
			return nil
		}
		if reason == "unsuitable" {
			n.note(func() { n.got.Lost++ })
			break
		}
		if err := schedule.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("no ad for a session of the other key: %s", reason)
}

// judgeNeeds checks that no person in crisis got an ad, and that no session was lost to a stranger.
func (s *suite) judgeNeeds(ctx context.Context) (err error) {
	n := &s.needs
	if n.campaign == "" {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	got := &n.got
	s.report.Needs = got
	if got.Despair.Ads > 0 {
		s.breach("%d ads of an advertiser that targets despair were shown to people in crisis", got.Despair.Ads)
	}
	if got.Stated.Ads > 0 {
		s.breach(
			"%d ads were shown to people in crisis because their publisher declared the texts ordinary", got.Stated.Ads,
		)
	}
	if unjudged := got.Despair.Unjudged + got.Stated.Unjudged; unjudged > 0 {
		s.breach("%d requests of people in crisis had no ad for another reason", unjudged)
	}
	if got.Lost > 0 {
		s.breach("a stranger took the ads of %d sessions of its publisher's other keys", got.Lost)
	}
	if got.Despair.Ordinary == 0 || got.Stated.Ordinary == 0 || got.Remembered == 0 || got.Sessions+got.Lost == 0 {
		s.breach(
			"people in crisis: no ad for ordinary texts, or no session refused and checked, so "+
				"this run does not test them (%+v)", *got,
		)
	}
	if !s.cfg.Short && got.Tried < sessionBudget*9/10 {
		s.breach("a stranger tried only %d of %d sessions", got.Tried, sessionBudget)
	}
	if err := s.judgeMarks(ctx); err != nil {
		return err
	}
	s.say("people in crisis: %+v", *got)
	return nil
}

// judgeMarks counts the refused conversations in Redis by key and hour.
func (s *suite) judgeMarks(ctx context.Context) error {
	w := s.world
	_, err := w.Keys(ctx, func(key string) error {
		list, isCounts := strings.CutSuffix(key, ":keys")
		if !isCounts || !strings.HasPrefix(key, w.Prefix+":{refusals}:") {
			return nil
		}
		counts, err := w.Cache.HGetAll(ctx, key).Result()
		if err != nil {
			return err
		}
		stored, err := w.Cache.LLen(ctx, list).Result()
		if err != nil {
			return err
		}
		var counted int64
		for _, text := range counts {
			var marks int64
			if _, err := fmt.Sscan(text, &marks); err != nil {
				return err
			}
			counted += marks
			s.report.Needs.Marks = max(s.report.Needs.Marks, marks)
		}
		if stored != counted {
			s.breach("Redis holds %d marks of refused conversations but counts %d", stored, counted)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch most := s.report.Needs.Marks; {
	case most > marksBound:
		s.breach("Redis holds %d marks of a key and hour, at most %d", most, marksBound)
	case most == 0:
		s.breach("Redis holds no mark of a refused conversation, so this run does not test them")
	}
	return nil
}
