package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/adreport"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/compliance/decision"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// The days of the acts, by their distance from today.
const (
	firstDeposits = Days - 1
	pausedAgo     = 20
	secondDeposit = 14
	refundAgo     = 12
	submitAgo     = 11
	rejectAgo     = 10
	appealAgo     = 9
	reportedAgo   = 3
	nameAgo       = 2
)

// acts holds the acts of owners and administrators, by day.
var acts = map[int][]func(*past, context.Context) error{
	firstDeposits: {(*past).payAll},
	pausedAgo:     {(*past).pauseOne},
	secondDeposit: {(*past).payAgain},
	refundAgo:     {(*past).refund},
	submitAgo:     {(*past).submitBad},
	rejectAgo:     {(*past).reject},
	appealAgo:     {(*past).appeal},
	nameAgo:       {(*past).rename, (*past).submitFirst},
	1:             {(*past).submitSecond, (*past).submitThird},
}

func (p *past) act(ctx context.Context, ago int) error {
	for _, act := range acts[ago] {
		if err := act(p, ctx); err != nil {
			return fmt.Errorf("%d days ago: %w", ago, err)
		}
	}
	return nil
}

// by returns the context of an account's act.
func by(ctx context.Context, u account.User) context.Context {
	return auditlog.With(ctx, auditlog.Actor{AccountID: u.ID, Role: string(u.Role), Via: auditlog.API, Action: "demo"})
}

// now is the time of the clock that Set moved; the services date their own rows by it.
func (p *past) now() time.Time { return p.at.UTC() }

// pay makes a paid deposit.
func (p *past) pay(ctx context.Context, u account.User, amount money.Micros) error {
	id := uuid.New()
	d := ledger.Deposit{
		ID: id, AdvertiserID: u.ID, Provider: ledger.Demo, CheckoutID: "demo_checkout_" + id.String(),
		Requested: amount, CreatedAt: p.now(),
	}
	ctx = by(ctx, u)
	if err := p.Deposits.CreateDeposit(ctx, d); err != nil {
		return err
	}
	result, err := p.Deposits.ApplyNotice(ctx, ledger.Notice{
		Provider: ledger.Demo, EventID: "demo_event_" + id.String(), Kind: ledger.NoticePaid,
		PaymentID: "demo_payment_" + id.String(), Amount: amount, Names: []uuid.UUID{id}, At: p.now(),
	})
	p.paid = append(p.paid, result.Deposit)
	return err
}

// payAll lets every advertiser pay in.
func (p *past) payAll(ctx context.Context) error {
	for i, u := range p.advertisers {
		if err := p.pay(ctx, u, money.Micros(150+50*i)*money.USD); err != nil {
			return err
		}
	}
	return nil
}

func (p *past) payAgain(ctx context.Context) error {
	return p.pay(ctx, p.advertisers[0], 100*money.USD)
}

// refund takes back a part of the newest deposit.
func (p *past) refund(ctx context.Context) error {
	d := p.paid[len(p.paid)-1]
	_, err := p.Deposits.ApplyNotice(by(ctx, p.admin), ledger.Notice{
		Provider: ledger.Demo, EventID: "demo_refund_" + d.ID.String(), Kind: ledger.NoticeRefunded,
		PaymentID: d.PaymentID, RefundID: "demo_refund_" + d.ID.String(), Amount: 40 * money.USD, At: p.now(),
	})
	return err
}

// pauseOne pauses a campaign of the first advertiser that others can replace.
func (p *past) pauseOne(ctx context.Context) error {
	owner := p.advertisers[0]
	list, _, err := p.Campaigns.List(ctx, owner, campaign.Filter{Status: campaign.Active, Limit: 1})
	if err != nil || len(list) == 0 {
		return err
	}
	id := list[0].ID
	if _, err := p.Campaigns.Pause(by(ctx, owner), owner, id); err != nil {
		return err
	}
	p.delivering--
	for i := range p.ads {
		var left []campaign.Campaign
		for _, c := range p.ads[i].campaigns {
			if c.ID != id {
				left = append(left, c)
			}
		}
		p.ads[i].campaigns = left
	}
	return nil
}

// proposal is a campaign that was submitted.
type proposal struct{ name, headline, subtext string }

// submit creates a campaign of an advertiser like its newest one. It waits for review, as it is not
// the first one.
func (p *past) submit(ctx context.Context, owner account.User, in proposal) (uuid.UUID, error) {
	list, _, err := p.Campaigns.List(ctx, owner, campaign.Filter{Limit: 1})
	if err != nil || len(list) == 0 {
		return uuid.Nil, err
	}
	like := &list[0]
	cta := like.CTALabel
	created, err := p.Campaigns.Create(by(ctx, owner), owner, campaign.Create{
		AdvertiserID: owner.ID, Fields: campaign.Fields{
			Name: &in.name, Headline: &in.headline, Subtext: &in.subtext, Format: &like.Format, CTALabel: &cta,
			CTAURL: &like.CTAURL, BillingModel: &like.BillingModel, BidAmount: &like.BidAmount,
			DailyBudget: &like.DailyBudget, TotalBudget: &like.TotalBudget, IntentTokens: like.IntentTokens,
		},
	})
	if err == nil {
		p.waiting++
	}
	return created.Campaign.ID, err
}

func (p *past) submitBad(ctx context.Context) (err error) {
	p.rejected, err = p.submit(ctx, p.advertisers[0], proposal{
		"spring-promise", "The last tool that your team will need", "It replaces all others from the first day.",
	})
	return err
}

func (p *past) reject(ctx context.Context) error {
	_, err := p.Campaigns.Decide(by(ctx, p.admin), p.admin, p.rejected, campaign.Decision{
		Decision: "rejected", Notes: "The headline promises what no product can keep. Say what it does.",
	})
	p.waiting--
	return err
}

// appeal objects to the rejection. No administrator has answered yet.
func (p *past) appeal(ctx context.Context) error {
	owner := p.advertisers[0]
	list, _, err := p.Decisions.Decisions(ctx, decision.Query{OwnerID: owner.ID, Kind: decision.Rejection, Limit: 1})
	if err != nil || len(list) == 0 {
		return err
	}
	return p.Decisions.Appeal(by(ctx, owner), decision.Appeal{
		ID: uuid.New(), DecisionID: list[0].ID, OwnerID: owner.ID, CreatedAt: p.now(),
		Text: "The sentence is a figure of speech. The landing page lists every feature with its limits.",
	})
}

// rename gives the second publisher a name that waits for an administrator.
func (p *past) rename(ctx context.Context) error {
	at := &p.publishers[1]
	_, err := p.Accounts.Describe(by(ctx, at.account), at.account, account.Profile{Company: &at.name})
	return err
}

func (p *past) submitFirst(ctx context.Context) error {
	_, err := p.submit(ctx, p.advertisers[1], proposal{
		"autumn-range", "The autumn range has arrived", "Forty new pieces, and returns are free until January.",
	})
	return err
}

func (p *past) submitSecond(ctx context.Context) error {
	_, err := p.submit(ctx, p.advertisers[2], proposal{
		"open-evening", "Meet us on Thursday evening", "Two talks, an hour of questions, and tea for all.",
	})
	return err
}

func (p *past) submitThird(ctx context.Context) error {
	_, err := p.submit(ctx, p.advertisers[0], proposal{
		"night-builds", "Builds that run while you sleep", "Half the price from ten in the evening until six.",
	})
	return err
}

// note remembers an ad that a reader saw.
func (p *past) note(r *request, c *campaign.Campaign, at time.Time) {
	p.reported = adreport.Report{
		AuctionID: r.id, AuctionDay: day.OfUUID(r.id), CampaignID: c.ID, AdvertiserID: c.AdvertiserID,
		DeveloperID: r.from.developer, Headline: c.Headline, Reason: "misleading",
		Text: "The page behind the link sells something else.", At: at.Add(time.Minute),
	}
}

// report lets a reader report an ad of the day.
func (p *past) report(ctx context.Context, ago int) error {
	if ago != reportedAgo || p.reported.AuctionID == uuid.Nil {
		return nil
	}
	_, err := p.Reports.AddReport(ctx, p.reported)
	return err
}
