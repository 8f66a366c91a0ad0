package ledger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/day"
	"adnet/internal/errs"
	. "adnet/internal/ledger"
	"adnet/internal/money"
)

const week = 7 * 24 * time.Hour

// creditRules are the defaults of production.
var creditRules = CreditRules{Value: 5_000, Hold: week, LongHold: 4 * week, Now: noon}

// paidBy is a day on which each of the advertisers was charged an amount.
func paidBy(minted int64, amounts ...money.Micros) CreditDay {
	d := CreditDay{DeveloperID: publisher, Day: day.Of(noon), Minted: minted}
	for i, amount := range amounts {
		d.Sources = append(d.Sources, CreditSource{AdvertiserID: uuid.UUID{15: byte(i + 1)}, Charged: amount})
	}
	return d
}

// lots are the amounts of a day: held normally, held longer, spendable.
func lots(d CreditDay) (normal, long, spendable int64) {
	for _, l := range d.Lots {
		switch {
		case l.Until.IsZero():
			spendable += l.Left
		case l.Long:
			long += l.Left
		default:
			normal += l.Left
		}
	}
	return normal, long, spendable
}

func TestChargesReleasePendingCredits(t *testing.T) {
	for name, c := range map[string]struct {
		day          CreditDay
		normal, long int64
	}{
		"nothing was charged":       {paidBy(500), 0, 0},
		"four advertisers alike":    {paidBy(500, 100_000, 100_000, 100_000, 100_000), 80, 0},
		"charges for more":          {paidBy(10, 100_000, 100_000, 100_000, 100_000), 10, 0},
		"one advertiser":            {paidBy(500, 400_000), 20, 60},
		"one of five":               {paidBy(500, 400_000, 100_000, 100_000, 100_000, 100_000), 120, 40},
		"not a whole Credit":        {paidBy(500, 4_999), 0, 0},
		"the rest of a Credit":      {paidBy(500, 4_999, 4_999, 4_999, 4_999), 3, 0},
		"more than a day's charges": {paidBy(1, 1<<50, 1<<50, 1<<50, 1<<50), 1, 0},
	} {
		moved := creditRules.Move(c.day)
		normal, long, spendable := lots(moved.CreditDay)
		require.Equal(t, []int64{c.normal, c.long, 0}, []int64{normal, long, spendable}, name)
		require.LessOrEqual(t, moved.Worth(), moved.Cover(), name)
		require.Equal(t, c.day.Minted-normal-long, moved.Pending(), name)
		again := creditRules.Move(moved.CreditDay)
		require.Empty(t, again.Written, "%s: the second run finds nothing to do", name)
		for i := range moved.Written {
			require.NoError(t, moved.Written[i].Balanced(), name)
		}
	}
}

// Half of a day's charges are by one advertiser, whatever it pays in Credits and in cash.
func TestCashAndCreditsCountAsOneAdvertiser(t *testing.T) {
	d := paidBy(500, 100_000, 100_000)
	d.Sources[1].AdvertiserID, d.Sources[1].ByCredits = d.Sources[0].AdvertiserID, true
	normal, long, _ := lots(creditRules.Move(d).CreditDay)
	require.Equal(t, []int64{10, 30}, []int64{normal, long})
}

func TestHoldsEnd(t *testing.T) {
	d := creditRules.Move(paidBy(500, 400_000)).CreditDay
	at := func(after time.Duration) (normal, long, spendable int64) {
		r := creditRules
		r.Now = noon.Add(after)
		return lots(r.Move(d).CreditDay)
	}
	for after, want := range map[time.Duration][3]int64{
		0: {20, 60, 0}, week: {20, 60, 0}, week + time.Hour: {0, 60, 20}, 4 * week: {0, 60, 20},
		4*week + 4*time.Hour: {0, 0, 80},
	} {
		normal, long, spendable := at(after)
		require.Equal(t, want, [3]int64{normal, long, spendable}, "%s", after)
	}
	// Without a hold Credits are spendable at once, also where one advertiser pays for all.
	now := CreditRules{Value: 5_000, Now: noon}.Move(paidBy(500, 400_000))
	_, _, spendable := lots(now.CreditDay)
	require.EqualValues(t, 80, spendable)
	require.Len(t, now.Written, 1)
	// The long hold counts also where the other is 0.
	normal, long, spendable := lots(
		CreditRules{Value: 5_000, LongHold: week, Now: noon}.Move(paidBy(500, 400_000)).CreditDay,
	)
	require.Equal(t, [3]int64{0, 60, 20}, [3]int64{normal, long, spendable})
}

// Credits of the long hold get the normal one when others pay for the day, too.
func TestFurtherAdvertisersShortenTheHold(t *testing.T) {
	d := creditRules.Move(paidBy(500, 100_000)).CreditDay
	more := paidBy(500, 100_000, 100_000, 100_000, 100_000)
	d.Sources = more.Sources
	normal, long, _ := lots(creditRules.Move(d).CreditDay)
	require.Equal(t, []int64{80, 0}, []int64{normal, long})
}

func TestPendingCreditsExpire(t *testing.T) {
	d := paidBy(500, 400_000)
	r := creditRules
	r.Now = day.Of(noon).Time().Add(29*24*time.Hour - time.Second)
	early := r.Move(d)
	require.EqualValues(t, 420, early.Pending())
	r.Now = r.Now.Add(time.Second)
	moved := r.Move(d)
	require.Zero(t, moved.Pending())
	require.EqualValues(t, 420, moved.Gone)
	require.Contains(t, moved.Written[1].Entries, Entry{Mint, Credit, 420})
}

func TestTakeBackPrefersHeldCredits(t *testing.T) {
	d := creditRules.Move(paidBy(500, 400_000)).CreditDay
	r := creditRules
	r.Now = noon.Add(week + time.Hour)
	d = r.Move(d).CreditDay // 60 held, 20 spendable
	spend(d.Lots, 15)
	d.Sources[0].Unbacked = 300_000
	d = r.Move(d).CreditDay
	normal, long, spendable := lots(d)
	require.Equal(t, [3]int64{0, 0, 5}, [3]int64{normal, long, spendable}, "60 of the held ones")
	d.Sources[0].Unbacked = 390_000
	d.Frozen = true
	d = r.Move(d).CreditDay
	_, _, spendable = lots(d)
	require.EqualValues(t, -13, spendable, "what was spent leaves a debt, also in a quarantine")
	require.EqualValues(t, 13*5_000, CreditDebt(d.Lots))
	require.Equal(t, d.Worth(), d.Cover())
	d.Frozen, d.Sources[0].Unbacked = false, 0 // the dispute was won
	d = r.Move(d).CreditDay
	normal, long, spendable = lots(d)
	require.Equal(t, [3]int64{18, 60, -13}, [3]int64{normal, long, spendable})
}

func spend(lots []CreditLot, n int64) {
	for i := range lots {
		if lots[i].Until.IsZero() {
			lots[i].Left -= n
		}
	}
}

// A quarantined publisher's Credits stay where they are.
func TestNothingIsReleasedInQuarantine(t *testing.T) {
	d := paidBy(500, 400_000)
	d.Frozen = true
	require.Empty(t, creditRules.Move(d).Written)
	d.Frozen, d.InCase = false, 490
	normal, long, _ := lots(creditRules.Move(d).CreditDay)
	require.EqualValues(t, 10, normal+long, "those of the case are not pending")
}

// A changed value counts for what is released from then on.
func TestCreditKeepsTheValueOfItsRelease(t *testing.T) {
	d := creditRules.Move(paidBy(500, 100_000, 100_000, 100_000, 100_000)).CreditDay
	r := creditRules
	r.Value = money.USD
	require.Empty(t, r.Move(d).Written, "no Credit is taken back, none more is covered")
	r.Value = 1_000
	d.Sources[0].Charged += 10_000
	moved := r.Move(d)
	require.LessOrEqual(t, moved.Worth(), moved.Cover())
	require.EqualValues(t, 500-90, moved.Pending())
}

func TestFundTakesCreditsAtTheirValue(t *testing.T) {
	for name, c := range map[string]struct {
		budget, value money.Micros
		lots          []FundingLot
		take          []int64
		enough        bool
	}{
		"whole":            {1_000_000, 5_000, []FundingLot{{1, 5_000, 300}}, []int64{200}, true},
		"rounded up":       {1_000_001, 5_000, []FundingLot{{1, 5_000, 300}}, []int64{201}, true},
		"oldest first":     {1_000_000, 5_000, []FundingLot{{1, 5_000, 150}, {2, 5_000, 150}}, []int64{150, 50}, true},
		"a dearer setting": {1_000_000, money.USD, []FundingLot{{1, 5_000, 300}}, []int64{200}, true},
		"dearer and not enough": {
			1_000_000, money.USD, []FundingLot{{1, 5_000, 199}}, []int64{199}, false},
		"a cheaper setting": {1_000_000, 2_500, []FundingLot{{1, 5_000, 500}}, []int64{400}, true},
		"a debt is paid first": {
			1_000_000, 5_000, []FundingLot{{1, 5_000, -100}, {2, 5_000, 299}}, []int64{0, 199}, false,
		},
		"beyond the debt": {1_000_000, 5_000, []FundingLot{{1, 5_000, -100}, {2, 5_000, 300}}, []int64{0, 200}, true},
		"worth nothing":   {1_000_000, 5_000, []FundingLot{{0, 0, 1_000}}, []int64{0}, false},
		"none":            {1_000_000, 5_000, nil, []int64{}, false},
	} {
		take, sum, enough := Fund(c.budget, c.value, c.lots)
		require.Equal(t, c.take, take, name)
		require.Equal(t, c.enough, enough, name)
		total := int64(0)
		for _, n := range take {
			total += n
		}
		require.Equal(t, total, sum, name)
	}
	err := InsufficientCredits(1_000_001, 5_000, []FundingLot{{1, 5_000, -3}})
	require.Equal(t, map[string]any{"available": int64(0), "requested": int64(201)}, errs.Of(err).Extra)
}

func TestDebtIsAssignedToTheNewestCharges(t *testing.T) {
	newest := []PaidDay{{publisher, 9, 50, 0}, {publisher, 8, 50, 20}, {publisher, 7, 50, 50}}
	changed, spread := Debt(60, newest)
	require.Equal(t, []PaidDay{{publisher, 9, 50, 50}, {publisher, 8, 50, 10}, {publisher, 7, 50, 0}}, changed)
	require.EqualValues(t, 60, spread)
	changed, spread = Debt(1_000, changed)
	require.Len(t, changed, 2)
	require.EqualValues(t, 150, spread, "no more than was charged")
	require.True(t, slices.IsSortedFunc(newest, PaidDay.CompareNewest))
}

// Whatever happens to a day, in whatever order: the value of what was released is covered, no
// Credit appears or vanishes, and lots say what the accounts do.
func TestPropertyReleasedCreditsAreCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := CreditDay{DeveloperID: publisher, Day: day.Of(noon)}
		balances, spent := map[Account]int64{}, int64(0)
		r := creditRules
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "step") {
			case 0, 1:
				d.Minted += rapid.Int64Range(0, 50).Draw(t, "minted")
			case 2, 3:
				payer := uuid.UUID{15: byte(rapid.IntRange(1, 6).Draw(t, "payer"))}
				amount := money.Micros(rapid.Int64Range(1, 60_000).Draw(t, "charge"))
				at := slices.IndexFunc(d.Sources, func(s CreditSource) bool { return s.AdvertiserID == payer })
				if at < 0 {
					at, d.Sources = len(d.Sources), append(d.Sources, CreditSource{AdvertiserID: payer})
				}
				d.Sources[at].Charged += amount
			case 4:
				for i := range d.Sources {
					d.Sources[i].Unbacked = money.Micros(
						rapid.Int64Range(0, int64(d.Sources[i].Charged)).Draw(t, "unbacked"),
					)
				}
			case 5:
				r.Value = money.Micros(rapid.SampledFrom([]int64{1, 700, 5_000, 1_000_000}).Draw(t, "value"))
			case 6:
				r.Now = r.Now.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "days")) * 24 * time.Hour)
			case 7:
				for i := range d.Lots {
					if l := &d.Lots[i]; l.Until.IsZero() && l.Left > 0 {
						n := rapid.Int64Range(0, l.Left).Draw(t, "spent")
						l.Left, spent = l.Left-n, spent+n
						balances[DeveloperCredits(publisher)] -= n
					}
				}
			}
			d.Frozen = rapid.IntRange(0, 9).Draw(t, "frozen") == 0
			moved := r.Move(d)
			for _, w := range moved.Written {
				require.NoError(t, w.Balanced())
				for _, e := range w.Entries {
					balances[e.Account] += e.Amount
				}
			}
			d = moved.CreditDay
			require.LessOrEqual(t, d.Worth(), d.Cover())
			require.GreaterOrEqual(t, d.Pending(), int64(0))
			normal, long, spendable := lots(d)
			require.Equal(t, balances[WaitingCredits(publisher)], normal+long)
			require.Equal(t, balances[DeveloperCredits(publisher)], spendable)
			require.Equal(t, balances[Mint], d.Gone)
			require.Equal(t, -balances[PendingCredits(publisher)], d.Minted-d.Pending())
		}
	})
}
