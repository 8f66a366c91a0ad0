package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"adnet/internal/process/schedule"
)

// The load for measuring pauses: few advertisers, each below its limit of changes, and one tenant
// with the connections of one client machine.
const (
	pausers     = 8
	pauseEvery  = 1100 * time.Millisecond // and a resumption: 110 changes a minute of an account
	flooderUses = 64
)

// pauser is an advertiser that pauses and resumes a campaign.
type pauser struct {
	who      person
	campaign string
}

// measurePauses measures the latency of a pause, alone and while another tenant floods adnet with
// changes over many connections.
func (s *suite) measurePauses(ctx context.Context) error {
	w := s.world
	owners := make([]pauser, pausers)
	for i := range owners {
		who, err := w.register(ctx)
		if err != nil {
			return err
		}
		id, err := w.campaign(
			ctx, who,
			object{
				"headline": "Paused at times", "cta_url": approvedPage, "bid_amount": 1,
				"target_intent_tokens": []string{"zqpauseqz"},
			},
		)
		if err != nil {
			return err
		}
		owners[i] = pauser{who, id}
	}
	who, campaign, err := w.flooder(ctx)
	if err != nil {
		return err
	}
	s.say("pauses, alone and beside a flood of changes, %s each", s.pausing())
	if s.report.PausesAlone, err = s.pauses(ctx, owners); err != nil {
		return err
	}
	part, stop := context.WithCancel(ctx)
	var under sync.WaitGroup
	var mu sync.Mutex
	for range flooderUses {
		under.Go(func() {
			for part.Err() == nil {
				status, _, _, err := w.send(part, change(who, campaign))
				if err != nil {
					continue
				}
				mu.Lock()
				s.report.Changes[strconv.Itoa(status)]++
				mu.Unlock()
			}
		})
	}
	s.report.PausesFlooded, err = s.pauses(ctx, owners)
	stop()
	under.Wait()
	if n := s.report.Changes["400"]; n > 0 {
		s.breach("%d changes of a flood were not understood, so this run does not test it", n)
	}
	s.say(
		"p99 of a pause %.1f ms, beside a flood %.1f ms; the flood's answers %v", s.report.PausesAlone,
		s.report.PausesFlooded, s.report.Changes,
	)
	return err
}

// pauses makes all advertisers pause and resume their campaigns for a while. It returns the p99 of
// the pauses in ms.
func (s *suite) pauses(ctx context.Context, owners []pauser) (p99 float64, failed error) {
	part, cancel := context.WithTimeout(ctx, s.pausing())
	defer cancel()
	var under sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	for _, item := range owners {
		under.Go(func() {
			for schedule.Pause(part, time.Duration(rand.Int64N(int64(pauseEvery)))) == nil {
				began := time.Now()
				err := s.world.pause(ctx, item, "pause")
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
				if err == nil {
					err = s.world.pause(ctx, item, "resume")
				}
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
				_ = schedule.Pause(part, pauseEvery/2)
			}
		})
	}
	under.Wait()
	return p99Of(took), failed
}

func (w *world) pause(ctx context.Context, first pauser, action string) error {
	_, err := w.call(
		ctx,
		request{
			Method: "POST", Path: "/api/campaigns?action=" + action, Bearer: first.who.bearer,
			JSON: object{"id": first.campaign}, Want: 200,
		},
	)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return nil
}
