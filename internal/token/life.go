package token

import (
	"errors"
	"time"

	"adnet/schemas/event"
)

// Life is the time for which an event counts: after the auction, a conversion after the click.
// Later events are recorded as expired and never billed.
type Life struct {
	Impression time.Duration `name:"impression-life" env:"ADNET_IMPRESSION_LIFE" default:"1h" help:"How long after the auction an impression still counts."`
	Click      time.Duration `name:"click-life" env:"ADNET_CLICK_LIFE" default:"24h" help:"How long after the auction a click, close, skip or completed video still counts."`
	Conversion time.Duration `name:"conversion-life" env:"ADNET_CONVERSION_LIFE" default:"720h" help:"How long after the click a conversion still counts: the attribution window."`
}

// Validate returns an error for a life that is not positive, or shorter than that of the preceding
// event.
func (l Life) Validate() error {
	if l.Impression <= 0 || l.Click < l.Impression || l.Conversion < l.Click {
		return errors.New("lives must be positive, and impression ≤ click ≤ conversion")
	}
	return nil
}

// ConversionExpired reports whether a conversion at now is too late for the click of a click id, or
// the click was too late for its auction.
func (l Life) ConversionExpired(a *Auction, now time.Time) bool {
	return a.ClickAfter > l.Click || now.Sub(a.ClickedAt()) > l.Conversion
}

// Longest returns the longest time from an auction to the last event of its ad.
func (l Life) Longest() time.Duration { return l.Click + l.Conversion }

// Of returns the life of an event type.
func (l Life) Of(t event.Type) time.Duration {
	switch t.Kind().Life {
	case event.Type_IMPRESSION:
		return l.Impression
	case event.Type_CONVERSION:
		return l.Conversion
	}
	return l.Click
}

// Expired reports whether an event at now is too late for an auction of issued. The last instant
// still counts; an auction in the future, by another node's clock, is not late.
func (l Life) Expired(t event.Type, issued, now time.Time) bool { return now.Sub(issued) > l.Of(t) }
