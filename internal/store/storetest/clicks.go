package storetest

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

const overRate = ledger.InvalidTraffic + traffic.RuleClickRate

// visited returns the impression and an act of an auction of a campaign that pays per act, by a
// reader of a network.
func visited(t *testing.T, c campaign.Campaign, mark int32, kinds ...ledger.EventType) (records []ledger.Record) {
	t.Helper()
	first := eventOf(t, c, uuid.Nil, ledger.Impression)
	first.Event.BillingModel, first.Event.Price = campaign.CPC, money.USD
	for _, kind := range append([]ledger.EventType{ledger.Impression}, kinds...) {
		r := first
		if r.Event.Type = kind; kind == ledger.Click {
			r.Event.NetworkMark = mark
		}
		records = append(records, r)
	}
	return records
}

// clickSettler settles batches of one partition with a limit of two clicks of a network.
func clickSettler(t *testing.T, l Ledger) func(records ...[]ledger.Record) []ledger.Verdict {
	next := int64(0)
	return func(records ...[]ledger.Record) (verdicts []ledger.Verdict) {
		t.Helper()
		b := batchOf(partition(0), next, slices.Concat(records...)...)
		b.NetworkClicks, next = 2, b.Runs[0].Next
		effects, err := apply(t.Context(), l.Settler, b)
		require.NoError(t, err)
		for i, o := range effects.Applied[0].Outcomes {
			e := &b.Runs[0].Records[i].Event
			if e.Type != ledger.Impression {
				verdicts = append(verdicts, o.Verdict)
				require.Equal(t, o.Verdict == ledger.OK && e.Type == ledger.Click && e.BillingModel == campaign.CPC,
					o.Charge > 0, "%s of %s", o.Verdict, e.Type)
			}
		}
		return verdicts
	}
}

// networkClicks are charged up to the limit of their network, campaign and day, whatever ingress
// and Redis counted, whatever the cut of the log; repeats use up nothing.
func networkClicks(t *testing.T, l Ledger) {
	owner := AddUser(t, l.Stores)
	c := priced(t, l, owner, 50*money.USD, 50*money.USD)
	other := priced(t, l, owner, 50*money.USD, 50*money.USD)
	settle := clickSettler(t, l)
	click := func(mark int32) []ledger.Record { return visited(t, c, mark, ledger.Click) }
	first := click(7)
	require.Equal(t, []ledger.Verdict{ledger.OK, ledger.Duplicate}, settle(first, first[1:]))
	require.Equal(t, []ledger.Verdict{ledger.Duplicate, ledger.OK, overRate, overRate},
		settle(first[1:], click(7), click(7), click(7)))
	third := click(7)
	require.Equal(t, []ledger.Verdict{overRate, ledger.Duplicate}, settle(third, first[1:]))

	// Others have counts of their own, and servers report for many.
	tomorrow, reported, sandbox := click(7), click(7), click(7)
	for i := range tomorrow {
		tomorrow[i].Event.ReceivedAt = now.AddDate(0, 0, 1)
	}
	reported[1].Event.Reported, sandbox[0].Event.Sandbox, sandbox[1].Event.Sandbox = true, true, true
	require.Equal(
		t, []ledger.Verdict{ledger.OK, ledger.OK, ledger.OK, ledger.OK, ledger.VerdictSandbox},
		settle(click(8), visited(t, other, 7, ledger.Click), tomorrow, reported, sandbox),
	)

	// A refused click used up no key: the reader's own click from elsewhere counts.
	elsewhere := slices.Clone(third[1:])
	elsewhere[0].Event.NetworkMark = 9
	require.Equal(t, []ledger.Verdict{ledger.OK}, settle(elsewhere))
	requireClean(t, l, ledger.VerifyOptions{})
}

// networkConversions need a click that the click rule counts.
func networkConversions(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), 50*money.USD, 50*money.USD)
	settle := clickSettler(t, l)
	sale := func() []ledger.Record {
		records := visited(t, c, 7, ledger.Click, ledger.Conversion)
		for i := range records {
			records[i].Event.BillingModel = campaign.CPA
		}
		return records
	}
	require.Equal(t, []ledger.Verdict{ledger.OK}, settle(sale()[:2]))
	require.Equal(t, []ledger.Verdict{ledger.OK}, settle(sale()[:2]))
	require.Equal(t, []ledger.Verdict{overRate, ledger.VerdictEarly}, settle(sale()), "it waits for a click that counts")
	requireClean(t, l, ledger.VerifyOptions{})
}

// networkClicksAtOnce are clicks of one network in several partitions: settlers count them in turns.
func networkClicksAtOnce(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), 50*money.USD, 50*money.USD)
	batches := make([]ledger.Batch, 6)
	for i := range batches {
		batches[i] = batchOf(partition(int32(i)), 0, visited(t, c, 7, ledger.Click)...)
		batches[i].NetworkClicks = 2
	}
	charged := make([]money.Micros, len(batches))
	together(len(batches), func(i int) {
		effects, err := apply(t.Context(), l.Settler, batches[i])
		if err != nil {
			t.Error(err)
			return
		}
		charged[i] = effects.Applied[0].Outcomes[1].Charge
	})
	var sum money.Micros
	for _, amount := range charged {
		sum += amount
	}
	require.Equal(t, 2*money.USD, sum)
	requireClean(t, l, ledger.VerifyOptions{})
}

// networkClicksExpire: counts of past days are removed.
func networkClicksExpire(t *testing.T, l Ledger, r Retention) {
	c := priced(t, l, AddUser(t, l.Stores), 50*money.USD, 50*money.USD)
	of := ledger.NetworkDay{CampaignID: c.ID, Day: 100, Mark: 7}
	later := of
	later.Day++
	count := func() (got map[ledger.NetworkDay]int64) {
		require.NoError(t, l.Settler.InTx(t.Context(), func(tx ledger.Tx) (err error) {
			got, err = tx.CountClicks(t.Context(), []ledger.NetworkClicks{{NetworkDay: of, Clicks: 2}, {NetworkDay: later, Clicks: 3}})
			return err
		}))
		return got
	}
	require.Equal(t, map[ledger.NetworkDay]int64{of: 2, later: 3}, count())
	require.Equal(t, map[ledger.NetworkDay]int64{of: 4, later: 6}, count())
	_, err := r.Retain(t.Context(), ledger.Cutoffs{Clicks: later.Day}, true)
	require.NoError(t, err)
	require.Equal(t, map[ledger.NetworkDay]int64{of: 6, later: 9}, count(), "a dry run removes nothing")
	_, err = r.Retain(t.Context(), ledger.Cutoffs{Clicks: later.Day}, false)
	require.NoError(t, err)
	require.Equal(t, map[ledger.NetworkDay]int64{of: 2, later: 12}, count())
}
