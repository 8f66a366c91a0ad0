package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/compliance/decision"
	"adnet/internal/compliance/person"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// Families is the stores that families of accounts are found by.
type Families struct {
	family.Rulings
	Persons
}

// RunFamilies runs the suite of families. spend adds to a campaign's spend as the ledger would.
func RunFamilies(t *testing.T, newStore func(t *testing.T) (s Families, spend func(ledger.Spend) error)) {
	for name, test := range map[string]func(*testing.T, familyWorld){
		"OneMailboxHasOneFirstCampaign": oneMailbox, "NeighboursAreBound": neighbours, "CopiesAreBound": copies,
		"InstrumentsJoin": instruments, "RulingsPersist": rulings, "ErasedMailboxesAreRemembered": erasedMailbox,
		"ErasureMarksTheMailbox": markedAtErasure, "ClawbacksFollowAnErasedMailbox": erasedClawback,
		"FirstCampaignsInParallel": parallelFirst, "AccountsOfAFamilyAreListed": listFamily,
		"RejectionsOfAFamilyCountTogether": familyRecord,
	} {
		t.Run(name, func(t *testing.T) {
			s, spend := newStore(t)
			test(t, familyWorld{s, spend, new(int)})
		})
	}
}

type familyWorld struct {
	Families
	spend func(ledger.Spend) error
	n     *int
}

// add creates an account; each is an hour younger than the one before.
func (w familyWorld) add(t *testing.T, mailbox string, marks ...family.Mark) account.User {
	t.Helper()
	*w.n++
	u := account.User{
		ID: newID(t), DeveloperID: newID(t), PasswordHash: "$argon2id$x", Role: account.RoleAdvertiser, TokenVersion: 1,
		CreatedAt: time.Now().UTC().Truncate(time.Second).Add(time.Duration(*w.n) * time.Hour), Mailbox: mailbox,
	}
	u.Email = u.ID.String() + "@example.com"
	for _, m := range marks {
		m.Account = u.ID
		u.Marks = append(u.Marks, m)
	}
	require.NoError(t, w.CreateUser(t.Context(), u))
	return u
}

func mark(kind family.MarkKind, n byte) family.Mark {
	return family.Mark{Kind: kind, Hash: [16]byte{n}}
}

// create stores a campaign and reports whether it was the first of its family.
func (w familyWorld) create(t *testing.T, u account.User, link, text string) (c campaign.Campaign, first bool) {
	t.Helper()
	c = NewCampaign(t, u.ID)
	c.CTAURL, c.Headline, c.Subtext, c.StartAt = link, text, "", nil
	c, err := w.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: c, Admit: func(is bool) campaign.Status {
		if first = is; is {
			return campaign.Active
		}
		return campaign.InReview
	}})
	require.NoError(t, err)
	return c, first
}

func (w familyWorld) place(t *testing.T, u account.User) family.Member {
	t.Helper()
	all, err := w.Families.Families(t.Context())
	require.NoError(t, err)
	some, err := w.FamiliesOf(t.Context(), []uuid.UUID{u.ID})
	require.NoError(t, err)
	require.Equal(t, family.Of(all, u.ID), family.Of(some, u.ID))
	return family.Of(all, u.ID)
}

// both requires a place at once and after regrouping.
func (w familyWorld) both(t *testing.T, u account.User, want family.Member) {
	t.Helper()
	require.Equal(t, want, w.place(t, u), "at once")
	require.NoError(t, family.Regroup(t.Context(), w.Families))
	require.Equal(t, want, w.place(t, u), "regrouped")
}

func oneMailbox(t *testing.T, w familyWorld) {
	a, stranger := w.add(t, "a@gmail.com"), w.add(t, "")
	b, other := w.add(t, "a@gmail.com"), w.add(t, "")
	w.both(t, b, family.Member{Family: a.ID})
	w.both(t, other, family.Member{Family: other.ID})
	_, first := w.create(t, b, "https://b.example", "Fresh bread from our oven")
	require.True(t, first)
	_, first = w.create(t, a, "https://a.example", "Warm lamps for cold rooms")
	require.False(t, first, "the family has one")
	for i, u := range []account.User{stranger, other} {
		_, first = w.create(t, u, []string{"https://c.example", "https://d.example"}[i], "Buy now")
		require.True(t, first, "strangers")
	}
	got, err := w.User(t.Context(), b.ID)
	require.NoError(t, err)
	require.Equal(t, "a@gmail.com", got.Mailbox)
	require.Nil(t, got.Marks)
}

// familyRecord: a further account does not leave its family's rejections behind. A stranger who
// copies the campaign changes nothing.
func familyRecord(t *testing.T, w familyWorld) {
	a, b, copier := w.add(t, "a@gmail.com"), w.add(t, "a@gmail.com"), w.add(t, "")
	ofA, _ := w.create(t, a, "https://a.example", "Warm lamps for cold rooms")
	ofB, _ := w.create(t, b, "https://b.example", "Fresh bread from our oven")
	ofCopier, _ := w.create(t, copier, "https://a.example", "Warm lamps for cold rooms")
	require.NoError(t, family.Regroup(t.Context(), w.Families))
	for _, r := range []struct {
		id       uuid.UUID
		decision string
	}{{ofA.ID, "approved"}, {ofB.ID, "rejected"}, {ofCopier.ID, "approved"}, {ofCopier.ID, "rejected"}} {
		_, err := w.UpdateCampaign(t.Context(), r.id, func(c *campaign.Campaign) error {
			at := keyTime
			if r.id == ofCopier.ID {
				at = keyTime.Add(time.Hour)
			}
			c.Review = &campaign.Review{Decision: r.decision, ReviewerID: a.ID, At: at, Creative: "digest"}
			return nil
		})
		require.NoError(t, err)
	}
	for _, c := range []campaign.Campaign{ofA, ofB} {
		record, err := w.Record(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, campaign.Record{
			Approved: map[uuid.UUID]int{ofA.ID: 1}[c.ID], Refused: keyTime, Since: c.CreatedAt,
			Targeting: c.TargetingSize(),
		}, record)
	}
	record, err := w.Record(t.Context(), ofCopier.ID)
	require.NoError(t, err)
	require.Equal(t, 1, record.Approved)
	require.Equal(t, keyTime.Add(time.Hour), record.Refused)
}

func neighbours(t *testing.T, w familyWorld) {
	network := mark(family.MarkNetwork, 1)
	a := w.add(t, "", network)
	b := w.add(t, "", network)
	c := w.add(t, "", mark(family.MarkNetwork, 2))
	w.both(t, b, family.Member{Family: b.ID, BoundTo: a.ID})
	w.both(t, c, family.Member{Family: c.ID})
	w.both(t, a, family.Member{Family: a.ID})
	_, first := w.create(t, b, "https://b.example", "Fresh bread from our oven")
	require.True(t, first, "the older account has none yet")
	_, first = w.create(t, a, "https://a.example", "Warm lamps for cold rooms")
	require.True(t, first, "a newer account changes nothing for an older one")
	*w.n += 24
	d := w.add(t, "", network)
	w.both(t, d, family.Member{Family: d.ID})
	e := w.add(t, "", network)
	w.both(t, e, family.Member{Family: e.ID, BoundTo: d.ID})
	_, first = w.create(t, d, "https://d.example", "Oak tables for small kitchens")
	require.True(t, first)
	_, first = w.create(t, e, "https://e.example", "Garden tools that last for ever")
	require.False(t, first)
}

func copies(t *testing.T, w familyWorld) {
	const text = "Hand made oak tables for small kitchens"
	old, payer, thief, late := w.add(t, ""), w.add(t, ""), w.add(t, ""), w.add(t, "")
	c, first := w.create(t, payer, "https://www.oak.example/a", text)
	require.True(t, first)
	require.NoError(t, w.spend(ledger.Spend{CampaignID: c.ID, Amount: money.USD}))
	_, first = w.create(t, thief, "https://thief.example", text+"!")
	require.False(t, first, "a near copy of the text")
	_, first = w.create(t, late, "https://shop.oak.example", "Something that nobody else wrote")
	require.False(t, first, "the same domain")
	_, first = w.create(t, old, "https://oak.example", text)
	require.True(t, first, "an older account")
	require.NoError(t, family.Regroup(t.Context(), w.Families))
	require.Equal(t, family.Member{Family: payer.ID}, w.place(t, payer))
	require.Equal(t, family.Member{Family: old.ID}, w.place(t, old))
	require.Equal(t, old.ID, w.place(t, thief).BoundTo)
	require.Equal(t, old.ID, w.place(t, late).BoundTo)

	copied, err := w.Campaign(t.Context(), c.ID)
	require.NoError(t, err)
	_, err = w.UpdateCampaign(t.Context(), copied.ID, func(c *campaign.Campaign) error {
		c.CTAURL, c.Headline = "https://new.example", "Garden tools that last for ever"
		return nil
	})
	require.NoError(t, err)
	next := w.add(t, "")
	_, first = w.create(t, next, "https://new.example", "Anything at all that nobody wrote")
	require.False(t, first, "an edit is compared, too")
}

func instruments(t *testing.T, w familyWorld) {
	a, b, c := w.add(t, ""), w.add(t, ""), w.add(t, "")
	pays := func(id string, u account.User) {
		_, err := w.Payments.ApplyNotice(t.Context(), ledger.Notice{
			Provider: ledger.Stripe, EventID: "evt_" + id, Kind: ledger.NoticePaid, PaymentID: id, Amount: money.USD,
			Names: []uuid.UUID{u.ID}, At: now,
		})
		require.NoError(t, err)
	}
	card := [][16]byte{{1}, {2}}
	require.NoError(t, w.Payments.MarkPayment(t.Context(), ledger.Stripe, "pi_a", card), "before the payment")
	pays("pi_a", a)
	pays("pi_b", b)
	pays("pi_c", c)
	for range 2 {
		require.NoError(t, w.Payments.MarkPayment(t.Context(), ledger.Stripe, "pi_b", card[1:]))
	}
	require.NoError(t, w.Payments.MarkPayment(t.Context(), ledger.Stripe, "pi_c", [][16]byte{{3}}))
	require.NoError(t, w.Payments.MarkPayment(t.Context(), ledger.Stripe, "pi_unknown", card))
	require.NoError(t, family.Regroup(t.Context(), w.Families))
	require.Equal(t, family.Member{Family: a.ID}, w.place(t, b))
	require.Equal(t, family.Member{Family: c.ID}, w.place(t, c))
}

func rulings(t *testing.T, w familyWorld) {
	a, b, c := w.add(t, "a@gmail.com"), w.add(t, "a@gmail.com"), w.add(t, "")
	rule := func(d family.Decision) {
		d.By, d.At, d.Reason = a.ID, now, "two shops of one market hall"
		require.NoError(t, w.RuleFamily(t.Context(), d))
		require.NoError(t, family.Regroup(t.Context(), w.Families))
	}
	rule(family.Decision{Ruling: family.Ruling{Account: b.ID}})
	require.Equal(t, family.Member{Family: b.ID}, w.place(t, b))
	rule(family.Decision{Ruling: family.Ruling{Account: c.ID, With: b.ID}})
	require.Equal(t, family.Member{Family: b.ID}, w.place(t, c))
	next := w.add(t, "a@gmail.com")
	w.both(t, next, family.Member{Family: a.ID})
	rule(family.Decision{Ruling: family.Ruling{Account: b.ID}, Automatic: true})
	require.Equal(t, family.Member{Family: a.ID}, w.place(t, b))
	require.Equal(t, family.Member{Family: a.ID}, w.place(t, c))
	for _, unknown := range []family.Ruling{{Account: newID(t)}, {Account: b.ID, With: newID(t)}} {
		requireCode(t, w.RuleFamily(t.Context(), family.Decision{Ruling: unknown, By: a.ID, At: now}), errs.NotFound)
	}
	entries, err := w.AuditLog(t.Context(), auditlog.Query{
		TargetKind: auditlog.TargetUser, TargetID: b.ID.String(), Limit: 9,
	})
	require.NoError(t, err)
	require.Equal(t, auditlog.Change{Before: "split", After: "automatic"}, entries[0].Changes["family"])
	require.Equal(t, "two shops of one market hall", entries[0].Changes[auditlog.Reason].After)
	require.Equal(t, auditlog.Change{Before: "automatic", After: "split"}, entries[1].Changes["family"])
	require.Equal(t, uuid.Nil, entries[0].OwnerID, "owners do not read the accounts of others")
}

// erasedMailbox: erasing does not make a family new.
func erasedMailbox(t *testing.T, w familyWorld) {
	box, network := mark(family.MarkMailbox, 1), mark(family.MarkNetwork, 1)
	a := w.add(t, "a@gmail.com", box, network)
	w.create(t, a, "https://a.example", "Warm lamps for cold rooms")
	_, err := person.Erase(t.Context(), w.store(), a, person.Loss{}, time.Now())
	require.NoError(t, err)
	b := w.add(t, "a@gmail.com", box)
	w.both(t, b, family.Member{Family: a.ID})
	_, first := w.create(t, b, "https://b.example", "Fresh bread from our oven")
	require.False(t, first)
	c := w.add(t, "c@gmail.com", mark(family.MarkMailbox, 2), network)
	w.both(t, c, family.Member{Family: c.ID, BoundTo: a.ID})
	facts, err := w.FamilyFacts(t.Context())
	require.NoError(t, err)
	for _, account := range facts.Accounts {
		if account.ID == a.ID {
			require.Empty(t, account.Mailbox)
		}
	}
}

// markedAtErasure: an account without marks of its registration, or with those of a key that has
// ended, is known by the marks that its erasure stores.
func markedAtErasure(t *testing.T, w familyWorld) {
	store := w.store()
	store.Marks = func(kind, text string) [][16]byte {
		require.Equal(t, string(family.MarkMailbox), kind)
		require.Equal(t, "a@gmail.com", text)
		return [][16]byte{{1}, {2}}
	}
	a, other := w.add(t, "a@gmail.com", mark(family.MarkMailbox, 2)), w.add(t, "", mark(family.MarkMailbox, 3))
	_, err := person.Erase(t.Context(), store, a, person.Loss{}, time.Now())
	require.NoError(t, err)
	w.both(t, w.add(t, "a@gmail.com", mark(family.MarkMailbox, 1)), family.Member{Family: a.ID})
	w.both(t, other, family.Member{Family: other.ID})
	long := w.add(t, "b@gmail.com")
	store.Marks = func(string, string) [][16]byte { return [][16]byte{{4}} }
	_, err = person.Erase(t.Context(), store, long, person.Loss{}, time.Now().Add(-family.ErasedAge-time.Minute))
	require.NoError(t, err)
	require.NoError(t, family.Regroup(t.Context(), w.Families))
	next := w.add(t, "b@gmail.com", mark(family.MarkMailbox, 4))
	w.both(t, next, family.Member{Family: next.ID})
}

// erasedClawback: a claw-back follows the owner of an erased account to the next account of the
// mailbox, as it follows an owner to new seats.
func erasedClawback(t *testing.T, w familyWorld) {
	box := mark(family.MarkMailbox, 1)
	a := w.add(t, "a@gmail.com", box)
	at := a.CreatedAt
	end := func(c ledger.Quarantine, d ledger.QuarantineDecision) {
		opened, err := w.Publishers.OpenQuarantine(t.Context(), c)
		require.NoError(t, err)
		require.True(t, opened)
		_, err = w.Publishers.EndQuarantine(
			t.Context(), ledger.QuarantineVerdict{Case: c.ID, Decision: d, By: newID(t), Note: "robots", At: at},
		)
		require.NoError(t, err)
	}
	end(ledger.Quarantine{ID: newID(t), DeveloperID: a.DeveloperID, OpenedAt: at}, ledger.QuarantineClawback)
	acts := ledger.Quarantine{ID: newID(t), DeveloperID: a.DeveloperID, OpenedAt: at.Add(time.Hour)}
	acts.Evidence.Campaign = newID(t)
	end(acts, ledger.QuarantineClawback) // is about one campaign, and does not hide the other
	cases := func(u account.User) []ledger.Quarantine {
		list, err := w.Publishers.Quarantines(
			t.Context(), ledger.QuarantineQuery{Developer: u.DeveloperID, Open: true, Limit: 9},
		)
		require.NoError(t, err)
		return list
	}
	require.Empty(t, cases(w.add(t, "a@gmail.com", box)), "families of accounts that exist are judged by their traffic")
	// Decisions carry the time of the store, so the erasure has to be after their appeals.
	_, err := person.Erase(t.Context(), w.store(), a, person.Loss{}, time.Now().Add(decision.AppealTime+time.Minute))
	require.NoError(t, err)
	follower := cases(w.add(t, "a@gmail.com", box))
	require.Len(t, follower, 1)
	require.Equal(t, traffic.QuarantineOwner, follower[0].Evidence.Rule)
	require.Empty(t, cases(w.add(t, "b@gmail.com", mark(family.MarkMailbox, 2))), "a stranger")
	*w.n += int(ledger.SeatHistory / time.Hour)
	require.Empty(t, cases(w.add(t, "a@gmail.com", box)), "after the time of claw-backs")
}

func parallelFirst(t *testing.T, w familyWorld) {
	var users []account.User
	for i := range 8 {
		users = append(users, w.add(t, []string{"", "a@gmail.com"}[i%2]))
	}
	var firsts atomic.Int32
	together(len(users), func(i int) {
		c := NewCampaign(t, users[i].ID)
		c.CTAURL = "https://oak.example"
		_, err := w.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: c, Admit: func(is bool) campaign.Status {
			if is {
				firsts.Add(1)
			}
			return campaign.InReview
		}})
		if err != nil {
			panic(err)
		}
	})
	// Those of one mailbox have one first campaign, the others are only bound to older ones.
	require.LessOrEqual(t, firsts.Load(), int32(5))
}

func listFamily(t *testing.T, w familyWorld) {
	network := mark(family.MarkNetwork, 1)
	a, b, bound := w.add(t, "a@gmail.com", network), w.add(t, "a@gmail.com"), w.add(t, "", network)
	w.add(t, "")
	users, total, err := w.Users(t.Context(), account.UserFilter{Family: a.ID, Limit: 9})
	require.NoError(t, err)
	require.Equal(t, 3, total)
	require.Equal(t, []uuid.UUID{bound.ID, b.ID, a.ID}, []uuid.UUID{users[0].ID, users[1].ID, users[2].ID})
}
