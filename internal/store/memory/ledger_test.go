package memory

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account/family"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/store/storetest"
	"adnet/internal/stream"
)

func TestLedgerConformance(t *testing.T) {
	storetest.RunLedger(t, func(*testing.T) storetest.Ledger {
		s := New(time.Now)
		return storetest.Ledger{
			Stores: storesOf(s), Settler: s.Ledger, Archive: s.Archive, Accounts: s.Ledger,
			Rooms: func(o reserve.RoomOptions) storetest.RoomReader { return s.Campaigns.RoomReader(o) },
			Deposit: func(ctx context.Context, id uuid.UUID, amount money.Micros) error {
				return storetest.Pay(ctx, s.Payments, id, amount)
			},
			Deposits: storetest.Deposits{Store: s.Payments, Statements: s.Ledger},
			Dead: func(context.Context) (dead []ledger.DeadLetter, err error) {
				err = s.locked(func(l *ledgerState) {
					for _, d := range l.dead {
						dead = append(dead, d.DeadLetter)
					}
				})
				slices.SortFunc(dead, func(a, b ledger.DeadLetter) int { return cmp.Compare(a.Offset, b.Offset) })
				return dead, err
			},
			Corrupt: s.corruptions(),
			Join: func(ctx context.Context, account, of uuid.UUID) error {
				return s.Families.SetFamilies(ctx, map[uuid.UUID]family.Member{account: {Family: of}})
			},
		}
	})
}

func (s *core) locked(fn func(*ledgerState)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(&s.ledger)
	return nil
}

// corruptions damages the state behind the store's back, one way per check.
func (s *core) corruptions() map[string]func(context.Context) error {
	damages := map[string]func(l *ledgerState){
		ledger.CheckSumUSD:    func(l *ledgerState) { entryOf(l, ledger.KindCharge).Amount += 5 },
		ledger.CheckSumCredit: func(l *ledgerState) { entryOf(l, ledger.KindMint).Amount += 5 },
		ledger.CheckTransactions: func(l *ledgerState) {
			l.transactions = append(l.transactions, ledger.Transaction{ID: uuid.New(), Kind: ledger.KindCharge})
		},
		ledger.CheckChain: func(l *ledgerState) {
			i := slices.IndexFunc(
				l.transactions, func(t ledger.Transaction) bool { return t.Kind == ledger.KindDeposit },
			)
			l.transactions[i].At = l.transactions[i].At.Add(time.Microsecond)
		},
		ledger.CheckBalances: func(l *ledgerState) { l.balances[side{ledger.Revenue, ledger.USD}]++ },
		ledger.CheckRecords:  func(l *ledgerState) { r := rangeOf(l); r.Outcomes = r.Outcomes[1:] },
		ledger.CheckChargeVerdicts: func(l *ledgerState) {
			outcomeOf(l, func(o ledger.Outcome) bool { return o.Charge > 0 }).Charge++
		},
		ledger.CheckChargeDays:   func(l *ledgerState) { raise(l.spend, 1, 0) },
		ledger.CheckChargeTotals: func(l *ledgerState) { raise(l.totals, 1, 0) },
		ledger.CheckCampaigns:    swapTotals,
		ledger.CheckChargedOK: func(l *ledgerState) {
			outcomeOf(l, func(o ledger.Outcome) bool { return o.Charge > 0 }).Verdict = ledger.VerdictPaused
		},
		ledger.CheckChargedUnique: func(l *ledgerState) { clear(l.billed) },
		ledger.CheckMinted: func(l *ledgerState) {
			outcomeOf(l, func(o ledger.Outcome) bool { return o.Minted > 0 }).Minted++
		},
		ledger.CheckMintedUnique: func(l *ledgerState) { clear(l.billed) },
		ledger.CheckMarks: func(l *ledgerState) {
			for key := range l.billed {
				if _, invalid := key.Type.Valid(); !invalid {
					delete(l.billed, key)
					return
				}
			}
		},
		ledger.CheckClawbacks: func(l *ledgerState) { l.transactions[0].Kind = ledger.KindMintClawback },
		ledger.CheckReversed: func(l *ledgerState) {
			l.publishers.taken = append(
				l.publishers.taken, ledger.Reversal{Reverses: l.transactions[0].ID, Amount: 1 << 40},
			)
		},
		ledger.CheckReopened: func(l *ledgerState) {
			for id, total := range l.totals {
				total.refunded++
				l.totals[id] = total
			}
		},
		ledger.CheckCredits: func(l *ledgerState) { lotOf(l).Amount += 1 << 30 },
		ledger.CheckCreditDays: func(l *ledgerState) {
			for _, d := range l.publishers.credits.days {
				d.Sources = nil
			}
		},
		ledger.CheckCreditLots:  func(l *ledgerState) { lotOf(l).Left-- },
		ledger.CheckDailyBudget: func(l *ledgerState) { raise(l.spend, 0, -1) },
		ledger.CheckTotalBudget: func(l *ledgerState) { raise(l.totals, 0, -1) },
		ledger.CheckPrepaid: func(l *ledgerState) {
			l.balances[side{ledger.AdvertiserCash(uuid.New()), ledger.USD}] = -1
		},
		ledger.CheckGaps: func(l *ledgerState) {
			for p, ranges := range l.applied {
				l.applied[p] = slices.Delete(ranges, 1, 2)
			}
		},
		ledger.CheckOffsets: func(l *ledgerState) { l.offsets[stream.Partition{Stream: "a1b2c3"}]++ },
		ledger.CheckArchive: func(l *ledgerState) {
			l.archive[stream.Partition{Stream: "a1b2c3"}] = progress{archived: 1 << 40}
		},
		ledger.CheckDead: func(l *ledgerState) { clear(l.dead) },
		ledger.CheckDeposits: func(*ledgerState) {
			for ref, book := range s.payments.payments {
				book.Paid++
				s.payments.payments[ref] = book
				return
			}
		},
	}
	corrupt := make(map[string]func(context.Context) error, len(damages))
	for name, damage := range damages {
		corrupt[name] = func(context.Context) error { return s.locked(damage) }
	}
	return corrupt
}

func entryOf(l *ledgerState, kind ledger.Kind) *ledger.Entry {
	i := slices.IndexFunc(l.transactions, func(t ledger.Transaction) bool { return t.Kind == kind })
	return &l.transactions[i].Entries[0]
}

func rangeOf(l *ledgerState) *ledger.AppliedRange {
	return &l.applied[stream.Partition{Stream: "a1b2c3"}][0]
}

func outcomeOf(l *ledgerState, match func(ledger.Outcome) bool) *ledger.Outcome {
	for _, ranges := range l.applied {
		for _, r := range ranges {
			if i := slices.IndexFunc(r.Outcomes, match); i >= 0 {
				return &r.Outcomes[i]
			}
		}
	}
	return nil
}

// raise changes one amount, and its budget to what was spent plus room when room is negative.
func raise[K comparable](m map[K]spent, by, room money.Micros) {
	for key, s := range m {
		s.amount += by
		if room < 0 {
			s.budget = s.amount + room
		}
		m[key] = s
		return
	}
}

// swapTotals moves a micro-dollar from one campaign's total to another's.
func swapTotals(l *ledgerState) {
	by := money.Micros(1)
	for id, s := range l.totals {
		if by < -1 {
			return
		}
		s.amount += by
		l.totals[id] = s
		by -= 2
	}
}

// lotOf is some lot of released Credits.
func lotOf(l *ledgerState) *ledger.CreditLot {
	for _, d := range l.publishers.credits.days {
		if len(d.Lots) > 0 {
			return &d.Lots[0]
		}
	}
	panic("no Credits were released")
}
