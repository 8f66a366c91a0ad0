package project

import (
	"context"
	"fmt"
	"time"

	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
)

// repairShare is the part of the rounds' time that a repair may take.
const repairShare = 5

// repair publishes every room again, a few in each round. That repairs single values that the
// target evicted or never stored. Nothing waits for it: with a million campaigns it takes minutes.
type repair struct {
	ended   time.Time
	reading chan everything // of the read in progress, if any
	left    []reserve.Room  // read and not yet published
}

// everything holds all rooms, or the error of reading them.
type everything struct {
	rooms []reserve.Room
	err   error
}

// rooms publishes the changed rooms, or all. The epoch comes first: releases belong to one.
func (p *Projector) rooms(ctx context.Context) error {
	next, err := p.follows(ctx)
	if err != nil {
		return err
	}
	if next == 0 {
		if err := p.publishChanged(ctx, p.epoch); err != nil {
			return err
		}
		if err := p.grant(ctx); err != nil {
			return err
		}
		return p.mend(ctx)
	}
	p.cursor = 0
	if err := p.publishChanged(ctx, next); err != nil {
		return err
	}
	return p.open(ctx, next)
}

// publishChanged publishes the rooms changed after the cursor, for the reservations of epoch.
func (p *Projector) publishChanged(ctx context.Context, epoch int64) error {
	all := p.cursor == 0
	rooms, next, err := p.readRooms(ctx, p.cursor)
	if err != nil {
		return err
	}
	for len(rooms) > 0 {
		if rooms, err = p.publishPage(ctx, epoch, rooms); err != nil {
			return err
		}
		if err := p.meanwhile(ctx); err != nil {
			return err
		}
	}
	p.cursor = next // only now: unpublished rooms are read again
	if all {
		return p.mended(ctx)
	}
	return nil
}

// readRooms calls Source.Rooms.
func (p *Projector) readRooms(ctx context.Context, cursor int64) ([]reserve.Room, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	rooms, next, err := p.deps.Source.Rooms(ctx, cursor)
	if err != nil {
		return nil, 0, fmt.Errorf("read rooms: %w", err)
	}
	return rooms, next, nil
}

// publishPage publishes the first rooms of the list and returns the rest. Each page has its own
// time limit, so that many campaigns take longer and do not fail.
func (p *Projector) publishPage(
	ctx context.Context, epoch int64, rooms []reserve.Room,
) (rest []reserve.Room, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	page := rooms[:min(p.cfg.Page, len(rooms))]
	if err := p.deps.Target.PublishRooms(ctx, epoch, page); err != nil {
		return rooms, fmt.Errorf("publish rooms: %w", err)
	}
	p.metrics.rooms.Add(float64(len(page)))
	return rooms[len(page):], nil
}

// meanwhile publishes changes of campaigns between two pages of rooms: paused campaigns must not
// wait.
func (p *Projector) meanwhile(ctx context.Context) error {
	select {
	case <-p.wake:
	default:
		if time.Since(p.followed) < p.cfg.Every {
			return nil
		}
	}
	return p.follow(ctx)
}

// mend continues the repair for a part of a round. Its rooms may be older than those published
// since; versions keep the newer.
func (p *Projector) mend(ctx context.Context) error {
	if !p.mendable(ctx) {
		return nil
	}
	for until := time.Now().Add(p.cfg.Every / repairShare); ; {
		var err error
		if p.repair.left, err = p.publishPage(ctx, p.epoch, p.repair.left); err != nil {
			p.repair.left, p.repair.ended = nil, time.Now() // read again next time: the day may be over
			return err
		}
		if len(p.repair.left) == 0 {
			return p.mended(ctx)
		}
		if !time.Now().Before(until) {
			return nil
		}
	}
}

// mendable starts reading everything beside the rounds when a repair is due, and reports whether
// there is something to publish.
func (p *Projector) mendable(ctx context.Context) bool {
	r := &p.repair
	if r.reading == nil && len(r.left) == 0 && time.Since(r.ended) >= p.cfg.RepairEvery {
		reading := make(chan everything, 1)
		r.reading = reading
		p.aside.Go(func() {
			rooms, _, err := p.readRooms(ctx, 0)
			reading <- everything{rooms, err}
		})
	}
	select {
	case read := <-r.reading: // never, when it is nil
		r.reading = nil
		if r.left = read.rooms; len(read.rooms) == 0 {
			r.ended = time.Now()
		}
		if read.err != nil && ctx.Err() == nil {
			p.often.Warn(ctx, "a repair of the rooms is postponed", "error", read.err)
		}
	default:
	}
	return len(r.left) > 0
}

// mended records that every room was published, and removes releases without reservations.
func (p *Projector) mended(ctx context.Context) error {
	p.repair.left, p.repair.ended = nil, time.Now()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	if err := p.deps.Source.Prune(ctx, day.MinuteOf(p.repair.ended)-3*reserve.MaxMinutes); err != nil {
		return fmt.Errorf("prune releases: %w", err)
	}
	return nil
}
