package frequency

import (
	"context"
	"encoding/binary"
	"time"

	"adnet/internal/campaign"
)

// The intervals of the exchange.
const (
	shareEvery  = 50 * time.Millisecond
	calmAfter   = time.Second            // after this long without news,
	calmEvery   = 200 * time.Millisecond // news of other nodes are read this often; own news do not wait
	shareWait   = time.Second
	beaconDelay = time.Second
	pageNews    = 5_000
	maxNews     = 200_000 // queue during a Redis outage; more is dropped, which only loosens caps
	newsSize    = 1 + 16 + 4 + 16 + 16 + 8 + 2
)

// Run writes in the background and exchanges news with the other nodes until ctx ends, and then
// once more. It returns nil.
func (c *Caps) Run(ctx context.Context) error {
	if c.deps.Store == nil || c.deps.Exchange == nil {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(shareEvery)
	defer ticker.Stop()
	var shared time.Time
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shareWait)
			defer cancel()
			c.release(c.deps.Now().Add(beaconDelay))
			if err := c.Share(last); err != nil {
				c.failures.Inc()
			}
			return nil
		case <-ticker.C:
		}
		now := time.Now()
		if c.calm(now) && now.Sub(shared) < calmEvery {
			continue
		}
		shared = now
		if err := c.Share(ctx); err != nil && ctx.Err() == nil {
			c.failures.Inc()
			c.often.Warn(ctx, "frequency caps use this node's counts alone: news cannot be exchanged", "error", err)
		}
	}
}

// calm reports whether this node has no news to send and has received none for a while.
func (c *Caps) calm(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.news) == 0 && len(c.delayed) == 0 && now.Sub(c.heard) >= calmAfter
}

// Share writes this node's decisions and confirmations, sends them to the other nodes and receives
// theirs. The next call writes what this one could not. Run calls it; tests may call it directly.
func (c *Caps) Share(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shareWait)
	defer cancel()
	c.release(c.deps.Now())
	c.mu.Lock()
	page := c.news[:min(len(c.news), pageNews)]
	c.news = c.news[len(page):]
	if len(page) > 0 {
		c.heard = time.Now()
	}
	c.mu.Unlock()
	// Write the hash before sending the news: a node that reads the hash before it receives news
	// has missed nothing.
	err := c.deps.Store.Record(ctx, page)
	if err == nil {
		err = c.deps.Exchange.Exchange(ctx, encode(page), c.hear)
	}
	if err != nil {
		c.lapses.Add(1) // news of others may be lost
		c.mu.Lock()
		c.news = append(page[:len(page):len(page)], c.news...)
		c.mu.Unlock()
	}
	return err
}

// release queues the confirmations that are due and applies them here again: the decision may have
// arrived from another node after its beacon.
func (c *Caps) release(now time.Time) {
	c.mu.Lock()
	n := 0
	for n < len(c.delayed) && !c.delayed[n].due.After(now) {
		c.news = append(c.news, c.delayed[n].Exposure)
		n++
	}
	due := c.delayed[:n:n]
	c.delayed = c.delayed[n:]
	c.mu.Unlock()
	for i := range due {
		c.known(due[i].Session, func(s *session) { s.confirm(&due[i].Exposure) })
	}
}

func encode(page []campaign.Exposure) []byte {
	if len(page) == 0 {
		return nil
	}
	b := make([]byte, 0, len(page)*newsSize)
	for i := range page {
		e := &page[i]
		b = append(b, byte(e.Kind))
		b = append(b, e.Session[:]...)
		b = binary.BigEndian.AppendUint32(b, uint32(e.Day))
		b = append(b, e.Auction[:]...)
		b = append(b, e.Campaign[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(e.Until.Unix()))
		b = binary.BigEndian.AppendUint16(b, e.Turn)
	}
	return b
}

// hear applies the news of another node. It skips unknown sessions: they are read on their first
// request.
func (c *Caps) hear(_ string, data []byte) {
	c.mu.Lock()
	c.heard = time.Now()
	c.mu.Unlock()
	for ; len(data) >= newsSize; data = data[newsSize:] {
		e := campaign.Exposure{Kind: campaign.ExposureKind(data[0]), Day: int32(binary.BigEndian.Uint32(data[17:]))}
		copy(e.Session[:], data[1:])
		copy(e.Auction[:], data[21:])
		copy(e.Campaign[:], data[37:])
		e.Until = time.Unix(int64(binary.BigEndian.Uint64(data[53:])), 0)
		e.Turn = binary.BigEndian.Uint16(data[61:])
		c.known(e.Session, func(s *session) {
			switch e.Kind {
			case campaign.Decided:
				s.take(&e)
			case campaign.Confirmed:
				s.confirm(&e)
			case campaign.Turned:
				s.turns++
			}
		})
	}
}
