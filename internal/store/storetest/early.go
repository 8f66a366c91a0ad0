package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/stream"
)

// earlyLog writes an auction's events to the log and settles them.
type earlyLog struct {
	t        *testing.T
	l        Ledger
	c        campaign.Campaign
	first    ledger.Record
	offsets  map[stream.Partition]int64
	written  time.Time
	outcomes []ledger.Outcome // final ones
	early    int              // outcomes that were not final
}

func newEarlyLog(t *testing.T, l Ledger, model campaign.BillingModel) *earlyLog {
	t.Helper()
	c := priced(t, l, AddUser(t, l.Stores), 50*money.USD, 50*money.USD)
	s := &earlyLog{
		t: t, l: l, c: c, first: eventOf(t, c, newID(t), ledger.Impression), offsets: map[stream.Partition]int64{},
		written: now,
	}
	s.first.Event.BillingModel, s.first.Event.Price = model, 20_000
	return s
}

// auction begins another auction of the campaign.
func (s *earlyLog) auction() { s.first.Event.AuctionID = newID(s.t) }

func (s *earlyLog) event(kind ledger.EventType) ledger.Record {
	r := s.first
	r.Event.Type, r.Written = kind, s.written
	return r
}

func (s *earlyLog) conversion(kind, external string) ledger.Record {
	r := s.event(ledger.Conversion)
	r.Event.Goal = &ledger.Goal{Type: kind, External: external}
	return r
}

// settle applies records of a partition as one batch and returns their verdicts.
func (s *earlyLog) settle(p stream.Partition, records ...ledger.Record) (verdicts []ledger.Verdict) {
	s.t.Helper()
	b := batchOf(p, s.offsets[p], records...)
	s.offsets[p] = b.Runs[0].Next
	effects := s.apply(b)
	for _, o := range effects.Applied[len(effects.Applied)-1].Outcomes {
		verdicts = append(verdicts, o.Verdict)
	}
	return verdicts
}

func (s *earlyLog) apply(b ledger.Batch) ledger.Effects {
	s.t.Helper()
	b.At = s.written
	effects, err := apply(s.t.Context(), s.l.Settler, b)
	require.NoError(s.t, err)
	for i := range effects.Applied {
		for _, o := range effects.Applied[i].Outcomes {
			if o.Verdict == ledger.VerdictEarly {
				s.early++
			} else {
				s.outcomes = append(s.outcomes, o)
			}
		}
	}
	return effects
}

func (s *earlyLog) books() string {
	s.t.Helper()
	var totals ledger.Totals
	totals.Add(s.outcomes)
	stored, err := s.l.Campaigns.Campaign(s.t.Context(), s.c.ID)
	require.NoError(s.t, err)
	require.Equal(s.t, stored.SpentTotal, totals.Charge)
	requireClean(s.t, s.l, ledger.VerifyOptions{})
	return fmt.Sprint(totals.Charge, totals.Minted, totals.ByVerdict)
}

func earlyEvents(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	require.Equal(t, []ledger.Verdict{ledger.VerdictEarly}, s.settle(partition(3), s.event(ledger.Click)))
	require.Equal(t, "0 0 map[]", s.books())
	require.Equal(t, []ledger.Verdict{ledger.VerdictEarly}, s.settle(partition(3), s.conversion("", "")))
	s.auction()
	require.Equal(
		t, []ledger.Verdict{ledger.OK}, s.settle(partition(3), s.event(ledger.Impression)), "of another auction",
	)
	require.Equal(t, 2, s.early)

	// A rolled back batch leaves them as they are.
	crash := l.Settler.InTx(t.Context(), func(tx ledger.Tx) error {
		require.NoError(t, tx.AdvanceOffsets(t.Context(), nil))
		early, err := tx.Early(t.Context(), func() ledger.EarlyQuery { return ledger.EarlyQuery{Stray: now, Limit: 9} })
		require.NoError(t, err)
		require.Len(t, early, 2)
		_, err = tx.Judge(t.Context(), 3, []int64{early[0].ID, early[1].ID})
		require.NoError(t, err)
		return ledger.ErrFenced
	})
	require.ErrorIs(t, crash, ledger.ErrFenced)
	offsets, err := l.Settler.Offsets(t.Context(), []stream.Partition{{Stream: ledger.EarlyStream, Number: 3}})
	require.NoError(t, err)
	require.Empty(t, offsets)
}

// orders lists the orders of n things.
func orders(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, rest := range orders(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(rest), at, n-1))
		}
	}
	return all
}

// All orders of an auction's events have the same books, in one batch, in one each, from several
// partitions, and repeated.
func earlyInAnyOrder(t *testing.T, l Ledger) {
	offsets := map[stream.Partition]int64{}
	for _, model := range []campaign.BillingModel{campaign.CPM, campaign.CPC, campaign.CPA, campaign.VCPM} {
		s := newEarlyLog(t, l, model)
		s.offsets = offsets
		kinds := []func() ledger.Record{
			func() ledger.Record { return s.event(ledger.Impression) },
			func() ledger.Record { return s.event(ledger.Viewable) },
			func() ledger.Record { return s.event(ledger.Click) },
			func() ledger.Record { return s.conversion("sale", "order-1") },
		}
		want := ""
		for nr, order := range orders(len(kinds)) {
			for _, cut := range [][]int{{4}, {1, 1, 1, 1}, {2, 2}, {1, 3}} {
				s.auction()
				before := len(s.outcomes)
				var log []ledger.Record
				for _, i := range order {
					log = append(log, kinds[i]())
				}
				for i, n := range cut {
					s.settle(partition(int32((nr+i)%3)), log[:n]...)
					log = log[n:]
				}
				var got ledger.Totals
				got.Add(s.outcomes[before:])
				books := fmt.Sprint(got.Charge, got.Minted, got.ByVerdict)
				if want == "" {
					want = books
				}
				require.Equal(t, want, books, "%s: order %v, batches %v", model, order, cut)
				if len(cut) == 1 {
					for _, again := range order {
						require.Equal(t, []ledger.Verdict{ledger.Duplicate}, s.settle(partition(0), kinds[again]()))
					}
				}
			}
		}
		require.Contains(t, want, "0.02 ", model)
		s.books()
	}
}

func earlyAreFew(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	const early, refused = ledger.VerdictEarly, ledger.InvalidTraffic + "click_without_impression"
	for range ledger.MaxEarly {
		require.Equal(t, []ledger.Verdict{early}, s.settle(partition(0), s.event(ledger.Click)))
	}
	require.Equal(
		t, []ledger.Verdict{refused, ledger.Duplicate, ledger.VerdictUnverified},
		s.settle(partition(0), s.event(ledger.Click), s.event(ledger.Click), s.conversion("", "")),
	)
	first := s.first
	s.auction()
	require.Equal(t, []ledger.Verdict{early}, s.settle(partition(0), s.event(ledger.Click)), "of another auction")
	s.first = first
	require.Equal(t, []ledger.Verdict{ledger.OK}, s.settle(partition(0), s.event(ledger.Impression)))
	var totals ledger.Totals
	totals.Add(s.outcomes)
	require.EqualValues(t, 20_000, totals.Charge)
	require.EqualValues(t, ledger.MaxEarly, totals.ByVerdict[ledger.Duplicate])
	s.books()

	// Forged events have no place in the store, where they would make others wait.
	s.auction()
	for _, proof := range []ledger.Proof{ledger.Unsigned, ledger.BadSignature, ledger.Expired, ledger.UnsignedBillable} {
		r := s.event(ledger.Click)
		r.Event.Proof = proof
		require.NotEqual(t, []ledger.Verdict{early}, s.settle(partition(0), r), proof)
	}
	claim := s.conversion("", "")
	claim.Event.Proof = ledger.Unverified
	require.Equal(t, []ledger.Verdict{ledger.VerdictUnverified}, s.settle(partition(0), claim))
}

func earlyExpire(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	const refused = ledger.InvalidTraffic + "click_without_impression"
	counts := func() map[ledger.Verdict]int64 {
		var totals ledger.Totals
		totals.Add(s.outcomes)
		return totals.ByVerdict
	}
	s.settle(partition(0), s.event(ledger.Click))
	s.settle(partition(0), s.conversion("", ""))
	s.auction()
	s.settle(partition(1), s.event(ledger.Click))
	s.auction()
	other := func() ledger.Record { r := s.event(ledger.Close); r.Event.AuctionID = newID(t); return r }

	// Time passes with the records of the event's own partition.
	s.written = now.Add(ledger.EarlyFor - time.Second)
	s.settle(partition(0), other())
	s.written = now.Add(ledger.EarlyFor)
	s.settle(partition(2), other())
	require.Zero(t, counts()[refused])
	s.settle(partition(0), other())
	require.EqualValues(t, 1, counts()[refused])
	require.EqualValues(t, 1, counts()[ledger.VerdictUnverified], "a conversion without its click")

	// Without records the clock decides, for partitions that the settler has.
	s.apply(ledger.Batch{Idle: []stream.Partition{partition(0), partition(2)}})
	require.EqualValues(t, 1, counts()[refused])
	s.apply(ledger.Batch{Idle: []stream.Partition{partition(1)}})
	require.EqualValues(t, 2, counts()[refused])
	s.apply(ledger.Batch{Idle: []stream.Partition{partition(1)}})
	require.EqualValues(t, 2, counts()[refused], "judged once")

	// Events of a partition without a reader are judged as well.
	s.settle(partition(7), s.event(ledger.Click))
	s.written = s.written.Add(ledger.EarlyFor + 59*time.Minute)
	s.apply(ledger.Batch{})
	require.EqualValues(t, 2, counts()[refused])
	s.written = s.written.Add(time.Minute)
	s.apply(ledger.Batch{})
	require.EqualValues(t, 3, counts()[refused])

	// An impression that came in the batch of the end, or unnoticed before it, still permits.
	s.auction()
	s.settle(partition(0), s.event(ledger.Click))
	s.written = s.written.Add(ledger.EarlyFor)
	s.settle(partition(0), s.event(ledger.Impression))
	require.EqualValues(t, 3, counts()[refused])
	var totals ledger.Totals
	totals.Add(s.outcomes)
	require.EqualValues(t, 20_000, totals.Charge)
	s.books()
}

// Several settlers at once judge an early event once.
func earlyAtOnce(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	var auctions []uuid.UUID
	for range 8 {
		s.auction()
		auctions = append(auctions, s.first.Event.AuctionID)
		s.settle(partition(0), s.event(ledger.Click))
	}
	later := now.Add(ledger.EarlyFor)
	var all [4][]ledger.Outcome
	together(len(all), func(i int) {
		b := ledger.Batch{Idle: []stream.Partition{partition(0)}}
		if i > 0 {
			var records []ledger.Record
			for _, id := range auctions {
				r := s.event(ledger.Impression)
				r.Event.AuctionID = id
				records = append(records, r)
			}
			b = batchOf(partition(int32(i)), 0, records...)
		}
		b.At = later
		effects, err := apply(t.Context(), l.Settler, b)
		if err != nil {
			t.Error(err)
		}
		for _, a := range effects.Applied {
			if a.Stream == ledger.EarlyStream {
				all[i] = append(all[i], a.Outcomes...)
			}
		}
	})
	var totals ledger.Totals
	for _, outcomes := range all {
		totals.Add(outcomes)
	}
	require.EqualValues(t, len(auctions), totals.Rows)
	requireClean(t, l, ledger.VerifyOptions{})
}

func earlyArchived(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	s.settle(partition(2), s.event(ledger.Click))
	judged, err := l.Archive.Judged(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, judged)
	s.settle(partition(2), s.event(ledger.Impression))
	judged, err = l.Archive.Judged(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, judged, 1)
	place := stream.Range{Partition: stream.Partition{Stream: ledger.EarlyStream, Number: 2}, First: 0, Next: 1}
	require.Equal(t, place.Partition, judged[0].Partition)
	require.Zero(t, judged[0].Offset)
	require.Equal(t, now, judged[0].Written)
	require.Equal(t, s.event(ledger.Click).Event, decoded(judged[0].Value, now).Event)
	within, err := l.Archive.JudgedWithin(t.Context(), place)
	require.NoError(t, err)
	require.Equal(t, judged, within)

	plan, err := l.Archive.NextPlan(t.Context(), []stream.Range{place}, 10)
	require.NoError(t, err)
	require.Equal(t, stream.Plan{place}, plan.Plan())
	require.Equal(t, []ledger.Outcome{{Verdict: ledger.OK, Charge: 20_000}}, plan[0].Outcomes)
	require.NoError(t, l.Archive.MarkArchived(t.Context(), plan.Plan()))
	judged, err = l.Archive.Judged(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, judged, "archived records are dropped")

	plan, err = l.Archive.NextPlan(t.Context(), everything(partition(2)), 10)
	require.NoError(t, err)
	require.Equal(t, []ledger.Verdict{ledger.VerdictEarly, ledger.OK}, []ledger.Verdict{
		plan[0].Outcomes[0].Verdict, plan[0].Outcomes[1].Verdict,
	})
	require.NoError(t, l.Archive.MarkArchived(t.Context(), plan.Plan()))
	totals, err := l.Archive.ArchivedTotals(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, totals.Rows, "one row for each event")
	require.Equal(t, map[ledger.Verdict]int64{ledger.OK: 2}, totals.ByVerdict)
	s.books()
}

// Each goal of a click counts; the campaign pays for one at most.
func conversionsOfOneClick(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPA)
	named := func(kind string) {
		_, err := l.Campaigns.UpdateCampaign(t.Context(), s.c.ID, func(c *campaign.Campaign) error {
			c.ConversionType = kind
			return nil
		})
		require.NoError(t, err)
	}
	begin := func() {
		s.auction()
		s.settle(partition(0), s.event(ledger.Impression), s.event(ledger.Click))
		s.outcomes = nil
	}
	charges := func() (all []money.Micros) {
		for _, o := range s.outcomes {
			require.Contains(t, []ledger.Verdict{ledger.OK, ledger.Duplicate}, o.Verdict)
			all = append(all, o.Charge)
		}
		s.outcomes = nil
		return all
	}
	begin()
	ok, repeat := []ledger.Verdict{ledger.OK}, []ledger.Verdict{ledger.Duplicate}
	require.Equal(t, ok, s.settle(partition(0), s.conversion("signup", "")))
	require.Equal(t, ok, s.settle(partition(0), s.conversion("purchase", "order-1")))
	require.Equal(t, ok, s.settle(partition(0), s.conversion("purchase", "order-2")))
	require.Equal(t, repeat, s.settle(partition(0), s.conversion("purchase", "order-1")))
	require.Equal(t, repeat, s.settle(partition(0), s.conversion("ＰURCHASE ", "order-1")))
	require.Equal(t, repeat, s.settle(partition(0), s.conversion("signup", "")))
	require.Equal(t, ok, s.settle(partition(0), s.event(ledger.Conversion)))
	require.Equal(t, []money.Micros{20_000, 0, 0, 0, 0, 0, 0}, charges(), "the first")

	named("Purchase")
	require.Equal(t, ok, s.settle(partition(0), s.conversion("purchase", "order-3")))
	require.Equal(t, []money.Micros{0}, charges(), "the click is paid for")
	begin()
	s.settle(partition(0), s.conversion("signup", ""), s.event(ledger.Conversion), s.conversion("purchase", "1"))
	s.settle(partition(0), s.conversion("purchase", "2"))
	require.Equal(t, []money.Micros{0, 0, 20_000, 0}, charges(), "of the type that the campaign names")
	named("")
	begin()
	s.settle(partition(0), s.conversion("signup", ""), s.conversion("purchase", "1"))
	require.Equal(t, []money.Micros{20_000, 0}, charges(), "in one batch")
	requireClean(t, l, ledger.VerifyOptions{})
}
