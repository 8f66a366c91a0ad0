package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/stream"
)

// Verify checks the promises that need only this store, under the names that the database's Verify
// uses.
func (s *Ledger) Verify(_ context.Context, o ledger.VerifyOptions) ([]ledger.Check, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := verification{s: s.core, l: &s.ledger, p: &s.payments}
	a.entries()
	a.deposits()
	a.verdicts()
	a.campaigns()
	a.budgets()
	a.clawbacks()
	a.credits()
	if o.Prepaid {
		a.prepaid()
	}
	a.ranges()
	return a.checks, nil
}

// verification is one run; the store's mutex is held.
type verification struct {
	s       *core
	l       *ledgerState
	p       *depositState
	charged map[uuid.UUID]int64 // by campaign, from the entries
	minted  int64
	checks  []ledger.Check
}

// promise counts the rows of a check and the violations.
type promise struct {
	rows, bad int64
	offenders []string
}

func (p *promise) look(bad bool, format string, args ...any) {
	p.rows++
	if bad {
		p.bad++
		p.offenders = append(p.offenders, fmt.Sprintf(format, args...))
	}
}

func (p *promise) detail() string {
	slices.Sort(p.offenders)
	return strings.Join(p.offenders[:min(3, len(p.offenders))], "; ")
}

func (a *verification) equal(name string, want, got int64) {
	a.checks = append(a.checks, ledger.Check{Name: name, Want: want, Got: got})
}

func (a *verification) all(name string, p promise) {
	a.checks = append(a.checks, ledger.Check{Name: name, Want: p.rows, Got: p.rows - p.bad, Detail: p.detail()})
}

func (a *verification) none(name string, p promise) {
	a.checks = append(a.checks, ledger.Check{Name: name, Got: p.bad, Detail: p.detail()})
}

func (a *verification) entries() {
	sums, accounts := make(map[ledger.Asset]int64), make(map[side]int64)
	var transactions, balances promise
	a.charged = make(map[uuid.UUID]int64)
	for i := range a.l.transactions {
		t := &a.l.transactions[i]
		transactions.look(t.Balanced() != nil, "%s", t.ID)
		for _, e := range t.Entries {
			sums[e.Asset] += e.Amount
			accounts[side{e.Account, e.Asset}] += e.Amount
			switch {
			case t.Kind == ledger.KindCharge && e.Asset == ledger.USD && e.Amount > 0:
				a.charged[t.Subject] += e.Amount
			case t.Kind == ledger.KindMint && e.Asset == ledger.Credit && e.Amount > 0:
				a.minted += e.Amount
			}
		}
	}
	for s := range a.l.balances {
		accounts[s] += 0
	}
	for s, sum := range accounts {
		balance := a.l.balances[s]
		balances.look(balance != sum, "%s %s: balance %d, entries %d", s.account, s.asset, balance, sum)
	}
	a.equal(ledger.CheckSumUSD, 0, sums[ledger.USD])
	a.equal(ledger.CheckSumCredit, 0, sums[ledger.Credit])
	a.all(ledger.CheckTransactions, transactions)
	a.all(ledger.CheckBalances, balances)
	a.checks = append(a.checks, a.l.chains())
}

func (a *verification) verdicts() {
	totals, tally := ledger.Totals{ByVerdict: make(map[ledger.Verdict]int64)}, ledger.Tally{}
	var claimed int64
	for _, ranges := range a.l.applied {
		for _, r := range ranges {
			claimed += r.Next - r.First
			totals.Add(r.Outcomes)
			tally.Add(r.Outcomes)
		}
	}
	a.l.pruned.AddTo(&totals, &tally)
	claimed += a.l.pruned.Rows()
	var charged, days, spentTotals, impressions int64
	for _, amount := range a.charged {
		charged += amount
	}
	for _, day := range a.l.spend {
		days += int64(day.amount)
	}
	for _, total := range a.l.totals {
		spentTotals += int64(total.amount)
	}
	marks := a.l.pruned[ledger.PrunedMarks]
	for key := range a.l.billed {
		if _, invalid := key.Type.Valid(); invalid || key.Type == ledger.ChargedConversion {
			continue
		}
		marks++
		if key.Type == ledger.Impression {
			impressions++
		}
	}
	impressions += a.l.pruned[ledger.PrunedImpressions]
	a.equal(ledger.CheckRecords, claimed, totals.Rows)
	a.equal(ledger.CheckChargeVerdicts, int64(totals.Charge), charged)
	a.equal(ledger.CheckChargeDays, charged, days)
	a.equal(ledger.CheckChargeTotals, charged, spentTotals)
	a.equal(ledger.CheckChargedOK, tally.Charged, tally.ChargedOK)
	a.equal(ledger.CheckChargedUnique, tally.Charged, min(tally.Charged, marks))
	a.equal(ledger.CheckMinted, int64(totals.Minted), a.minted)
	a.equal(ledger.CheckMintedUnique, tally.Minting, min(tally.Minting, impressions))
	a.equal(ledger.CheckMarks, totals.Marked(), marks)
	a.equal(ledger.CheckDead, totals.ByVerdict[ledger.Poison], int64(len(a.l.dead))+a.l.pruned[ledger.PrunedDead])
}

func (a *verification) campaigns() {
	days := make(map[uuid.UUID]money.Micros)
	ids := make(map[uuid.UUID]struct{})
	for key, day := range a.l.spend {
		days[key.campaign] += day.amount
		ids[key.campaign] = struct{}{}
	}
	for id := range a.charged {
		ids[id] = struct{}{}
	}
	for id := range a.l.totals {
		ids[id] = struct{}{}
	}
	var p promise
	for id := range ids {
		charged, total := a.charged[id], int64(a.l.totals[id].amount)
		p.look(charged != int64(days[id]) || charged != total,
			"campaign %s: ledger %d, days %d, total %d", id, charged, int64(days[id]), total)
	}
	a.all(ledger.CheckCampaigns, p)
}

func (a *verification) budgets() {
	var daily, total promise
	for key, day := range a.l.spend {
		daily.look(
			day.net() > day.budget, "campaign %s day %d: spent %d of %d", key.campaign, key.day, int64(day.net()),
			int64(day.budget),
		)
	}
	for id, sum := range a.l.totals {
		total.look(sum.net() > sum.budget, "campaign %s: spent %d of %d", id, int64(sum.net()), int64(sum.budget))
	}
	a.none(ledger.CheckDailyBudget, daily)
	a.none(ledger.CheckTotalBudget, total)
}

// clawbacks checks each claw-back against the rows that it reverses.
func (a *verification) clawbacks() {
	named, back, moved := make(map[uuid.UUID]int64), make(map[uuid.UUID]int64), make(map[uuid.UUID]int64)
	for _, r := range a.l.publishers.taken {
		named[r.Transaction] += r.Amount
		back[r.Reverses] += r.Amount
	}
	var all, over promise
	var refunds, reopened int64
	for i := range a.l.transactions {
		t := &a.l.transactions[i]
		for _, e := range t.Entries {
			moved[t.ID] += max(0, e.Amount)
		}
		if t.Kind == ledger.KindTrafficRefund {
			refunds += moved[t.ID]
		}
		if t.Kind == ledger.KindTrafficRefund || t.Kind == ledger.KindMintClawback {
			all.look(moved[t.ID] != named[t.ID], "%s %s: moves %d, names %d", t.Kind, t.ID, moved[t.ID], named[t.ID])
		}
	}
	for id, amount := range back {
		over.look(amount > moved[id], "%s: moved %d, taken back %d", id, moved[id], amount)
	}
	for _, total := range a.l.totals {
		reopened += int64(total.refunded)
	}
	a.all(ledger.CheckClawbacks, all)
	a.none(ledger.CheckReversed, over)
	a.equal(ledger.CheckReopened, refunds, reopened)
}

func (a *verification) prepaid() {
	var p promise
	back := make(map[ledger.Account]int64) // returned by providers: only this may make a balance negative
	for i := range a.l.transactions {
		for _, e := range a.l.transactions[i].Entries {
			if a.l.transactions[i].Kind.TakesBack() && e.Asset == ledger.USD {
				back[e.Account] -= e.Amount
			}
		}
	}
	for s, amount := range a.l.balances {
		if _, ok := advertiserOf(s.account); ok && s.asset == ledger.USD {
			p.look(amount+back[s.account] < 0, "%s: %d, given back %d", s.account, amount, back[s.account])
		}
	}
	a.none(ledger.CheckPrepaid, p)
}

// deposits compares the ledger's deposits with the providers' reports.
func (a *verification) deposits() {
	var reported, booked int64
	for _, book := range a.p.payments {
		reported += int64(book.Paid - book.Reversed)
	}
	for _, p := range a.p.parked {
		switch { // a credit of a parked payment is in the payment's book
		case p.Decision == ledger.ParkedDebited:
			reported -= int64(p.Applied)
		case p.Decision == ledger.ParkedCredited && (p.Kind != ledger.NoticePaid || p.Shared):
			reported += int64(p.Applied)
		}
	}
	for i := range a.l.transactions {
		for _, e := range a.l.transactions[i].Entries {
			if e.Account == ledger.Deposits {
				booked -= e.Amount
			}
		}
	}
	a.equal(ledger.CheckDeposits, reported, booked)
}

func (a *verification) ranges() {
	var gaps, offsets, archive promise
	ends := make(map[stream.Partition]int64)
	for p, ranges := range a.l.applied {
		for i, r := range ranges {
			gaps.look(i > 0 && r.First != ends[p], "%s/%d: %d follows %d", p.Stream, p.Number, r.First, ends[p])
			ends[p] = r.Next
		}
		if _, ok := a.l.offsets[p]; !ok {
			offsets.look(true, "%s/%d: applied to %d, none stored", p.Stream, p.Number, ends[p])
		}
	}
	for p, offset := range a.l.offsets {
		offsets.look(ends[p] != offset, "%s/%d: applied to %d, stored %d", p.Stream, p.Number, ends[p], offset)
	}
	for p, at := range a.l.archive {
		to := at.reaches(p)
		archive.look(
			to > a.l.offsets[p], "%s/%d: archived or planned to %d, applied to %d", p.Stream, p.Number, to,
			a.l.offsets[p],
		)
	}
	a.none(ledger.CheckGaps, gaps)
	a.all(ledger.CheckOffsets, offsets)
	a.all(ledger.CheckArchive, archive)
}
