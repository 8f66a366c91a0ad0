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

	"adnet/internal/schedule"
)

// crisis are texts of people in need, of our own, that the rules refuse: ten in English, ten in
// German. Some have the broad words that the advertiser of despair aims at.
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

// ordinary are texts with the same broad words beside which the advertiser may well appear.
var ordinary = []string{
	"I am tired at the end of a long flight and travel alone, which neck pillow is good?",
	"Which hotel is good at the end of a trip to Lisbon, for one person alone?",
}

// needs are the attackers beside people in need: an advertiser who aims at them, a publisher who
// states that all is well, and a stranger who has their apps refuse others.
type needs struct {
	app      person // an honest publisher in whose conversations the advertiser aims at despair
	careless person // a publisher who states of everything that it is ordinary
	site     person // with a page, whose browser key the stranger has
	key      string // of that page
	campaign string // of the advertiser

	session atomic.Int64 // the last that the stranger tried

	mu  sync.Mutex
	got needReport
}

// needReport is the part of the report about people in need.
type needReport struct {
	Despair crises `json:"advertiser_of_despair"`
	Stated  crises `json:"stated_ordinary"`

	Tried      int64 `json:"sessions_tried"`
	Limited    int64 `json:"sessions_limited"`   // by the rate of the key
	Remembered int64 `json:"sessions_refused"`   // later, for the key that had them refused
	Kept       int64 `json:"sessions_kept"`      // of the other keys: they had their ad
	Lost       int64 `json:"sessions_lost"`      // of the other keys: they had none
	Marks      int64 `json:"most_marks_of_hour"` // of a key
}

// crises is how requests beside the texts were answered.
type crises struct {
	Requests int64 `json:"requests"`
	Ads      int64 `json:"ads"`
	Unjudged int64 `json:"without_an_ad_for_another_reason"`
	Ordinary int64 `json:"ads_beside_ordinary_texts"` // of the advertiser, for the same words and statements
}

const (
	sitePage = "https://talk.example.com"
	// sessionBudget is how many session ids the stranger tries.
	sessionBudget = 10_000
	// looksEvery is how many tries it takes until the same session is looked at with both keys.
	looksEvery = 20
	// marksBound is how many refused conversations of a key and hour Redis keeps.
	marksBound = 10_000
)

// prepareNeeds makes the accounts, the page's key and the campaign.
func (a *attacks) prepareNeeds(ctx context.Context) (err error) {
	w, n := a.s.world, &a.s.needs
	for _, into := range []*person{&n.app, &n.careless, &n.site} {
		if *into, err = w.publisher(ctx); err != nil {
			return err
		}
	}
	made, err := w.call(ctx, request{
		method: "POST", path: "/api/keys", bearer: n.site.bearer, want: 201,
		json: object{"kind": "browser", "name": "page", "origins": []string{sitePage}},
	})
	if err != nil {
		return err
	}
	n.key = made.text("key")
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

// beside asks for an ad beside a text. The floor is off, so that nothing but the judgement keeps an
// ad away.
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
			method: "POST", path: "/v1/ad-request", bearer: p.key, json: all, from: stranger(rand.Uint32()), want: 200,
		},
	)
	return reply.object("ad"), reply.text("reason"), err
}

// aim is the advertiser: its campaign competes beside crises, in turn, and beside ordinary texts.
func aim(ctx context.Context, w *world, a *attacks) error {
	n := &a.s.needs
	return n.crisis(ctx, w, n.app, nil, &n.got.Despair)
}

// stateOrdinary is the publisher: whatever the text, nothing was flagged and the reader is an
// adult.
func stateOrdinary(ctx context.Context, w *world, a *attacks) error {
	n := &a.s.needs
	stated := object{"suitability": object{"flags": []string{}, "age": "adult", "remember": false}}
	return n.crisis(ctx, w, n.careless, stated, &n.got.Stated)
}

// crisis asks beside the next crisis, which must have no ad, and at times beside an ordinary text,
// which must have one: otherwise the run would prove nothing.
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
		ad.text("ad_id") == n.campaign {
		n.note(func() { got.Ordinary++ })
	}
	return err
}

// note changes the report.
func (n *needs) note(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// trySession has a session id refused with the page's key, as a stranger who guesses those of the
// publisher's other keys.
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

// fromPage asks with the page's key.
func (n *needs) fromPage(ctx context.Context, w *world, session, text string) (status int, reason string, err error) {
	status, _, body, err := w.send(ctx, request{
		method: "POST", path: "/v1/ad-request", bearer: n.key, from: stranger(rand.Uint32()),
		header: http.Header{"Origin": {sitePage}},
		json:   object{"context": text, "session_id": session, "min_relevance": 0},
	})
	return status, decoded(body).text("reason"), err
}

// look is a visit of the same session to the publisher's own application, with its other key. It
// asks again where adnet had no ad for want of budget or of Redis, as beside other attackers.
func (n *needs) look(ctx context.Context, w *world, session string) error {
	var reason string
	for range 5 {
		ad, why, err := n.beside(ctx, w, n.site, ordinary[0], object{"session_id": session})
		if err != nil {
			return err
		}
		if reason = why; ad != nil {
			n.note(func() { n.got.Kept++ }) // it is not shown: a charge here would back what thieves have
			return nil
		}
		if reason == "unsuitable" {
			break
		}
		if err := schedule.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	n.note(func() { n.got.Lost++ })
	return fmt.Errorf("no ad for a session of the other key: %s", reason)
}

// judgeNeeds wants no ad beside a person in need, and no session lost to a stranger.
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
		s.breach("%d ads of an advertiser who aims at despair were shown beside people in need", got.Despair.Ads)
	}
	if got.Stated.Ads > 0 {
		s.breach(
			"%d ads were shown beside people in need because their publisher stated that all is well", got.Stated.Ads,
		)
	}
	if unjudged := got.Despair.Unjudged + got.Stated.Unjudged; unjudged > 0 {
		s.breach("%d requests of people in need had no ad for another reason", unjudged)
	}
	if got.Lost > 0 {
		s.breach("a stranger took the ads of %d sessions of its publisher's other keys", got.Lost)
	}
	if got.Despair.Ordinary == 0 || got.Stated.Ordinary == 0 || got.Remembered == 0 || got.Kept+got.Lost == 0 {
		s.breach(
			"beside people in need: no ad beside ordinary texts, or no session that was refused and looked at, so "+
				"this run proves nothing about them (%+v)", *got,
		)
	}
	if !s.cfg.Short && got.Tried < sessionBudget*9/10 {
		s.breach("a stranger tried %d sessions, of %d that it has time for", got.Tried, sessionBudget)
	}
	if err := s.judgeMarks(ctx); err != nil {
		return err
	}
	s.say("people in need: %+v", *got)
	return nil
}

// judgeMarks counts the refused conversations that Redis keeps, by key and hour.
func (s *suite) judgeMarks(ctx context.Context) error {
	w := s.world
	_, err := w.keys(ctx, func(key string) error {
		list, isCounts := strings.CutSuffix(key, ":keys")
		if !isCounts || !strings.HasPrefix(key, w.prefix+":{refusals}:") {
			return nil
		}
		counts, err := w.cache.HGetAll(ctx, key).Result()
		if err != nil {
			return err
		}
		kept, err := w.cache.LLen(ctx, list).Result()
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
		if kept != counted {
			s.breach("Redis keeps %d marks of refused conversations, and counts %d of them", kept, counted)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch most := s.report.Needs.Marks; {
	case most > marksBound:
		s.breach("Redis keeps %d marks of a key and hour, at most %d", most, marksBound)
	case most == 0:
		s.breach("Redis keeps no mark of a refused conversation, so this run proves nothing about them")
	}
	return nil
}
