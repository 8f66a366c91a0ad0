package offer

import (
	"context"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/words"
	"adnet/ingress/httpapi"
	"adnet/internal/errs"
	"adnet/internal/traffic"
)

// Answer is the answer to a [Request]: an ad with its signed links, or the reason for none.
// [Seller.Answer] fills it; it may be reused.
type Answer struct {
	Ad // Creative is nil if nothing won

	AuctionID  uuid.UUID      // the id to request an explanation with, if nothing won
	Reason     auction.Reason // the reason for no ad
	RetryAfter int            // seconds to wait before a retry; 0 if a retry cannot help
	// turns of the conversation until an ad may be shown; RetryAfter is then an estimate of their
	// time
	RetryTurns int
}

// Reset clears a, and keeps the memory of its tokens.
func (a *Answer) Reset() {
	ad := a.Ad
	ad.Reset()
	*a = Answer{Ad: ad}
}

// work holds the memory of one answer.
type work struct {
	Auction
	words words.Reader
	suits Conversation
}

// forget releases the data of the request.
func (w *work) forget() {
	w.Forget()
	w.words.Reset()
	w.suits.Forget()
}

// Admit counts a request against the caller's rate. Errors: errs.RateLimited.
func (s *Seller) Admit(caller httpapi.Caller) error {
	if caller.Browser {
		return s.deps.Limiter.AllowBrowser(caller.Reply, caller.KeyID, caller.Network, s.deps.Now())
	}
	return s.deps.Limiter.Allow(caller.Reply, limitID(caller), s.deps.Now())
}

// limitID returns the id that a request counts against: the publisher, whatever the key; for a
// public sandbox key, the key.
func limitID(caller httpapi.Caller) uuid.UUID {
	if caller.DeveloperID != uuid.Nil {
		return caller.DeveloperID
	}
	return caller.KeyID
}

// Answer answers a checked request. It fills answer with the auction's winner, else with a house ad
// of the publisher. For a sandbox key it is an ad of the sandbox pool: its token is marked sandbox,
// and no advertiser is charged. No ad of any kind is shown beside a conversation that excludes ads.
// Errors: errs.UpstreamError if the auction failed.
func (s *Seller) Answer(ctx context.Context, caller httpapi.Caller, in *Request, answer *Answer) error {
	answer.Reset()
	w := s.work.Get().(*work)
	defer s.work.Put(w)
	defer w.forget()
	in.judge(&w.suits)
	if !caller.Sandbox {
		in.read(&w.words)
	}
	w.Terms = Terms{
		Request: auction.Request{
			Words: w.words.Terms(), ActiveTools: in.ActiveTools, Views: in.Views || caller.Browser,
		},
		Place: in.place(caller.DeveloperID), Received: s.deps.Now(), Blocks: caller.Blocks, Sandbox: caller.Sandbox,
		Judged: s.Judge(ctx, &w.suits, in.stated(in.Consent.Read())), Publishing: caller.Publishing,
		MinRelevance: in.MinRelevance, Own: House{Owner: caller.OwnerID, Campaigns: caller.House},
	}
	w.Place.Key, w.Place.Unlearned, w.Place.Family = caller.KeyID, caller.Unlearned, caller.Family
	w.Place.Models = traffic.ReadByModels(in.Method, caller.Browser && !caller.ReadByModels)
	if caller.Sandbox {
		err := s.draw(ctx, &w.Auction, &answer.Ad)
		if err == nil && w.Outcome.Reason != "" {
			s.unfilled(&w.Auction, answer)
		}
		return err
	}
	if caller.Browser {
		w.Place.Browser = browserOf(caller)
	}
	if err := s.Sell(ctx, &w.Auction, &answer.Ad); err != nil {
		return errs.Wrap(err, errs.UpstreamError, "the auction failed; treat it as no fill")
	}
	if w.Outcome.Winner == nil {
		s.unfilled(&w.Auction, answer)
		return nil
	}
	s.metrics.filled.Inc()
	if s.deps.Sales != nil && !traffic.ReaderSide(w.Place.Method) {
		s.deps.Sales.Sold(caller.DeveloperID, w.Received)
	}
	return nil
}

// unfilled fills answer after an auction without a winner: with the house ad if there is one, else
// with the reason.
func (s *Seller) unfilled(a *Auction, answer *Answer) {
	s.metrics.unfill.WithLabelValues(string(a.Outcome.Reason)).Inc()
	if a.House != nil {
		s.metrics.house.Inc()
		return
	}
	answer.AuctionID, answer.Reason = a.ID, a.Outcome.Reason
	answer.RetryAfter, answer.RetryTurns = a.RetryAfter()
}
