package storetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/stream"
)

var verifyCases = []ledgerCase{
	{"CleanWhenEmpty", func(t *testing.T, l Ledger) { requireClean(t, l, ledger.VerifyOptions{Prepaid: true}) }},
	{"CleanAfterRandomHistory1", randomHistory(1)},
	{"CleanAfterRandomHistory2", randomHistory(2)},
	{"CleanAfterRandomHistory3", randomHistory(3)},
	{"CleanAfterBudgetWasLowered", budgetLowered},
}

// history plays a random life of a small market: campaigns of every billing model with tight
// budgets, two publishers including an advertiser, batches over several partitions, repeats,
// poison, replays, crashes, pauses, deposits, archiving.
type history struct {
	t          *testing.T
	l          Ledger
	rng        *rand.Rand
	prepaid    bool
	campaigns  []campaign.Campaign
	developers []uuid.UUID
	sent       []ledger.Record
	next       [3]int64
	totals     ledger.Totals // of the applied events
}

func newHistory(t *testing.T, l Ledger, seed uint64, prepaid bool) *history {
	h := &history{t: t, l: l, rng: rand.New(rand.NewPCG(seed, 7)), prepaid: prepaid}
	for range 2 {
		owner := AddUser(t, l.Stores)
		if prepaid {
			require.NoError(t, l.Deposit(t.Context(), owner.ID, money.USD/2))
		}
		h.developers = append(h.developers, newID(t))
		for _, model := range []campaign.BillingModel{campaign.CPM, campaign.CPC, campaign.CPA} {
			c := NewCampaign(t, owner.ID)
			c.BillingModel, c.BidAmount, c.DailyBudget, c.TotalBudget = model, 30_000, 400_000, 600_000
			if model == campaign.CPM {
				c.BidAmount = 9_500_000
			}
			c, err := l.Campaigns.CreateCampaign(
				t.Context(),
				campaign.NewCampaign{Campaign: c, Admit: func(bool) campaign.Status { return campaign.Active }},
			)
			require.NoError(t, err)
			h.campaigns = append(h.campaigns, c)
		}
		h.developers = append(h.developers, owner.DeveloperID)
	}
	return h
}

func (h *history) record() ledger.Record {
	switch h.rng.IntN(12) {
	case 0:
		return ledger.Record{Problem: "cut", Raw: []byte("raw")}
	case 1, 2:
		if len(h.sent) > 0 { // the same auction again: a repeat, or its click or conversion
			r := h.sent[h.rng.IntN(len(h.sent))]
			r.Event.Type = []ledger.EventType{r.Event.Type, ledger.Click, ledger.Conversion}[h.rng.IntN(3)]
			return r
		}
	}
	c := h.campaigns[h.rng.IntN(len(h.campaigns))]
	r := eventOf(
		h.t, c, h.developers[h.rng.IntN(len(h.developers))],
		[]ledger.EventType{ledger.Impression, ledger.Impression, ledger.Click, ledger.Conversion}[h.rng.IntN(4)],
	)
	// Around now, because pauses happen at the store's clock.
	r.Event.ReceivedAt = time.Now().UTC().Add(time.Duration(h.rng.IntN(3)-1) * 24 * time.Hour)
	switch h.rng.IntN(12) {
	case 0:
		r.Event.Proof = ledger.Expired
	case 1:
		r.Event.Proof = ledger.BadSignature
	case 2:
		r.Event.Proof = ledger.Unsigned
	case 3:
		r.Event.Proof, r.Event.AuctionID = ledger.UnsignedBillable, uuid.NewSHA1(
			uuid.NameSpaceURL, []byte{byte(h.rng.IntN(256))},
		)
	case 4:
		r.Event.InvalidTraffic = "bot"
	case 5:
		r.Event.Sandbox = true
	case 6:
		r.Event.CampaignID = newID(h.t)
	case 7:
		r.Event.DeveloperID = uuid.Nil
	case 8:
		if r.Event.Type == ledger.Conversion {
			r.Event.Proof = ledger.Unverified
		}
	}
	h.sent = append(h.sent, r)
	return r
}

func (h *history) batch() ledger.Batch {
	b := ledger.Batch{At: now, Prepaid: h.prepaid}
	for p := range h.next {
		if h.rng.IntN(3) == 0 {
			continue
		}
		var records []ledger.Record
		for range 1 + h.rng.IntN(12) {
			records = append(records, h.record())
		}
		b.Runs = append(b.Runs, batchOf(partition(int32(p)), h.next[p], records...).Runs...)
	}
	return b
}

// step settles one batch, perhaps with a crash before and a replay after it.
func (h *history) step() {
	b := h.batch()
	if len(b.Runs) == 0 {
		return
	}
	if h.rng.IntN(5) == 0 {
		err := h.l.Settler.InTx(h.t.Context(), func(tx ledger.Tx) error {
			_, err := tx.MarkFirst(h.t.Context(), ledger.Candidates(b))
			require.NoError(h.t, err)
			return ledger.ErrFenced
		})
		require.ErrorIs(h.t, err, ledger.ErrFenced)
	}
	effects, err := apply(h.t.Context(), h.l.Settler, b)
	require.NoError(h.t, err)
	for _, a := range effects.Applied {
		if a.Stream != ledger.EarlyStream {
			h.next[a.Number] = a.Next
		}
		h.totals.Add(a.Outcomes)
	}
	if h.rng.IntN(4) == 0 {
		_, err := apply(h.t.Context(), h.l.Settler, b)
		require.ErrorIs(h.t, err, ledger.ErrFenced)
	}
	switch h.rng.IntN(7) {
	case 6:
		release(h.t, h.l, ledger.CreditRules{Value: 700, Now: time.Now()})
	case 0:
		moveTo(h.t, h.l, h.campaigns[h.rng.IntN(len(h.campaigns))].ID, campaign.Paused)
	case 1:
		moveTo(h.t, h.l, h.campaigns[h.rng.IntN(len(h.campaigns))].ID, campaign.Active)
	case 2:
		require.NoError(h.t, h.l.Deposit(h.t.Context(), h.campaigns[0].AdvertiserID, 1_000))
	case 3:
		h.archive(partition(int32(h.rng.IntN(len(h.next)))), 10)
	}
}

func (h *history) archive(p stream.Partition, maxRows int) bool {
	plan, err := h.l.Archive.NextPlan(h.t.Context(), everything(p), maxRows)
	require.NoError(h.t, err)
	if len(plan) > 0 {
		require.NoError(h.t, h.l.Archive.MarkArchived(h.t.Context(), plan.Plan()))
	}
	return len(plan) > 0
}

// archiveAll archives everything, also the early events that were judged.
func (h *history) archiveAll() {
	for p := range h.next {
		for _, p := range []stream.Partition{partition(int32(p)), {Stream: ledger.EarlyStream, Number: int32(p)}} {
			for h.archive(p, 50) {
			}
		}
	}
}

func randomHistory(seed uint64) func(t *testing.T, l Ledger) {
	return func(t *testing.T, l Ledger) {
		prepaid := seed%2 == 0
		h := newHistory(t, l, seed, prepaid)
		for range 30 {
			h.step()
		}
		requireClean(t, l, ledger.VerifyOptions{Prepaid: prepaid})
		require.Positive(t, h.totals.Charge, "a history without charges proves nothing")
		h.archiveAll()
		got, err := l.Archive.ArchivedTotals(t.Context())
		require.NoError(t, err)
		require.Positive(t, h.totals.ByVerdict[ledger.VerdictEarly])
		require.Equal(t, h.totals.WithoutEarly(), got)
		requireClean(t, l, ledger.VerifyOptions{Prepaid: prepaid})
	}
}

// budgetLowered shows that lowering a budget below the spent amount breaks no promise.
func budgetLowered(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), money.USD, money.USD)
	_, err := apply(t.Context(), l.Settler, batchOf(partition(0), 0, eventOf(t, c, newID(t), ledger.Impression)))
	require.NoError(t, err)
	_, err = l.Campaigns.UpdateCampaign(t.Context(), c.ID, func(c *campaign.Campaign) error {
		c.DailyBudget, c.TotalBudget = 1, 1
		return nil
	})
	require.NoError(t, err)
	effects, err := apply(t.Context(), l.Settler, batchOf(partition(0), 1, eventOf(t, c, newID(t), ledger.Impression)))
	require.NoError(t, err)
	require.Equal(t, ledger.OverBudget, effects.Applied[0].Outcomes[0].Verdict)
	requireClean(t, l, ledger.VerifyOptions{})
}

// verifyFindsDamage breaks every promise once. A check without its damage is also an error: a check
// that cannot fail proves nothing.
func verifyFindsDamage(t *testing.T, newLedger func(t *testing.T) Ledger) {
	options := ledger.VerifyOptions{Prepaid: true}
	checks, err := newLedger(t).Accounts.Verify(t.Context(), options)
	require.NoError(t, err)
	for _, check := range checks {
		t.Run(check.Name, func(t *testing.T) {
			l := newLedger(t)
			h := newHistory(t, l, 11, true)
			for range 12 {
				h.step()
			}
			require.Positive(t, h.totals.ByVerdict[ledger.Poison])
			release(t, l, ledger.CreditRules{Value: 700, Now: time.Now()})
			requireClean(t, l, options)
			damage := l.Corrupt[check.Name]
			require.NotNil(t, damage, "no damage is known for this check")
			require.NoError(t, damage(t.Context()))
			after, err := l.Accounts.Verify(t.Context(), options)
			require.NoError(t, err)
			for _, c := range after {
				if c.Name == check.Name {
					require.False(t, c.OK(), "want %d, got %d", c.Want, c.Got)
				}
			}
		})
	}
}
