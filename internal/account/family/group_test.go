package family_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account/family"
)

// id returns the id of account n; accounts of a world register in the order of n, an hour apart.
func id(n int) uuid.UUID { return uuid.UUID{0: 1, 14: byte(n >> 8), 15: byte(n)} }

var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// world returns n accounts without anything in common.
func world(n int) family.Facts {
	f := family.Facts{}
	for i := range n {
		f.Accounts = append(f.Accounts, family.Account{
			ID: id(i), Created: epoch.Add(time.Duration(i) * time.Hour), Mailbox: fmt.Sprintf("@shop%d.example", i),
		})
	}
	return f
}

func ad(account int, landing string, texts ...string) family.Ad {
	return family.Ad{Account: id(account), Landing: landing, Words: family.Words(texts...)}
}

func joined(n int) family.Member    { return family.Member{Family: id(n)} }
func bound(n, to int) family.Member { return family.Member{Family: id(n), BoundTo: id(to)} }

func TestAccountsWithNothingInCommonAreFamiliesOfTheirOwn(t *testing.T) {
	f := world(5)
	f.Ads = []family.Ad{
		ad(0, "a.example", "Warm lamps for cold rooms"), ad(1, "b.example", "Fresh bread from our oven"),
		ad(2, "", "Hi"), ad(3, "", "Hi"),
	}
	require.Empty(t, f.Group())
	require.Equal(t, joined(3), family.Of(f.Group(), id(3)))
}

func TestMailboxesAndInstrumentsJoinBothWays(t *testing.T) {
	f := world(6)
	f.Accounts[4].Mailbox = f.Accounts[1].Mailbox
	f.Accounts[4].Charged = true
	f.Marks = []family.Mark{
		{Account: id(3), Kind: family.MarkInstrument, Hash: [16]byte{1}},
		{Account: id(4), Kind: family.MarkInstrument, Hash: [16]byte{1}},
		{Account: id(5), Kind: family.MarkMailbox, Hash: [16]byte{1}}, // another kind of fact
		{Account: id(0), Kind: family.MarkNetwork, Hash: [16]byte{1}},
	}
	require.Equal(t, map[uuid.UUID]family.Member{id(3): joined(1), id(4): joined(1)}, f.Group())
}

func TestAnErasedAccountKeepsItsFamilyByTheMarkOfItsMailbox(t *testing.T) {
	f := world(2)
	f.Accounts[0].Mailbox = ""
	for _, account := range []int{0, 1} {
		f.Marks = append(f.Marks, family.Mark{Account: id(account), Kind: family.MarkMailbox, Hash: [16]byte{7}})
	}
	require.Equal(t, joined(0), family.Of(f.Group(), id(1)))
}

func TestSeatsBelongToTheirOwner(t *testing.T) {
	f := world(4)
	f.Accounts[2].Parent, f.Accounts[2].Mailbox = id(1), ""
	f.Rulings = []family.Ruling{{Account: id(1), With: id(0)}}
	require.Equal(t, map[uuid.UUID]family.Member{id(1): joined(0), id(2): joined(0)}, f.Group())
}

func TestCopiesBindOnlyTheNewerAccountThatWasNeverCharged(t *testing.T) {
	const text = "Hand made oak tables for small kitchens"
	f := world(5)
	f.Accounts[1].Charged, f.Accounts[3].Charged = true, true
	f.Ads = []family.Ad{
		ad(0, "lamps.example", "Warm lamps for cold rooms"),
		ad(1, "oak.example", text), ad(2, "copy.example", text+"!"), ad(3, "paid.example", text),
		ad(4, "oak.example", "Something else that nobody wrote"),
	}
	require.Equal(t, map[uuid.UUID]family.Member{id(2): bound(2, 1), id(4): bound(4, 1)}, f.Group())
}

func TestStrangersWhoCopyAPayingCampaignChangeNothingForIt(t *testing.T) {
	const text = "Hand made oak tables for small kitchens"
	f := world(60)
	f.Accounts[20].Charged = true
	f.Ads = []family.Ad{ad(20, "oak.example", text)}
	before := family.Of(f.Group(), id(20))
	for i := range f.Accounts { // older ones and newer ones
		f.Ads = append(f.Ads, ad(i, "oak.example", text))
		f.Accounts[i].Beside = id((i + 7) % 60)
	}
	require.Equal(t, before, family.Of(f.Group(), id(20)))
	require.Equal(t, joined(0), family.Of(f.Group(), id(0)), "the oldest account is bound to nobody")
	f.Accounts[55].Charged = true
	require.Equal(t, joined(55), family.Of(f.Group(), id(55)), "a charge ends a bind")
}

func TestBindsEndAtTheOldestFamilyOfAChain(t *testing.T) {
	f := world(6)
	f.Accounts[1].Beside, f.Accounts[2].Beside, f.Accounts[3].Beside = id(0), id(1), id(2)
	f.Accounts[0].Beside = id(3) // facts in a circle
	require.Equal(t, map[uuid.UUID]family.Member{id(1): bound(1, 0), id(2): bound(2, 0), id(3): bound(3, 0)}, f.Group())
	f.Accounts[1].Charged = true
	require.Equal(t, map[uuid.UUID]family.Member{id(2): bound(2, 1), id(3): bound(3, 1)}, f.Group())
}

func TestAFamilyIsBoundAsAWhole(t *testing.T) {
	f := world(5)
	f.Accounts[3].Mailbox = f.Accounts[2].Mailbox
	f.Accounts[3].Beside = id(1)
	require.Equal(t, map[uuid.UUID]family.Member{id(2): bound(2, 1), id(3): bound(2, 1)}, f.Group())
	f.Accounts[2].Charged = true
	require.Equal(t, map[uuid.UUID]family.Member{id(3): joined(2)}, f.Group())
}

func TestDecisionsOfOperatorsReplaceJoinsAndBinds(t *testing.T) {
	f := world(5)
	f.Accounts[1].Mailbox, f.Accounts[2].Mailbox = f.Accounts[0].Mailbox, f.Accounts[0].Mailbox
	f.Accounts[2].Beside, f.Accounts[4].Beside = id(3), id(3)
	f.Rulings = []family.Ruling{{Account: id(2)}, {Account: id(4), With: id(1)}, {Account: id(3), With: uuid.Max}}
	require.Equal(t, map[uuid.UUID]family.Member{id(1): joined(0), id(4): joined(0)}, f.Group())
}

// The order of facts in a store says nothing.
func TestFamiliesDoNotDependOnTheOrderOfFacts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"Warm lamps for cold rooms", "Fresh bread from our oven", "Oak tables for small kitchens"}
	for range 200 {
		f := world(12)
		for i := range f.Accounts {
			f.Accounts[i].Mailbox = fmt.Sprintf("@shop%d.example", random.IntN(20))
			f.Accounts[i].Charged = random.IntN(4) == 0
			f.Accounts[i].Beside = id(random.IntN(30))
			f.Marks = append(f.Marks, family.Mark{
				Account: id(i), Kind: family.MarkInstrument, Hash: [16]byte{byte(random.IntN(20))},
			})
			f.Ads = append(f.Ads, ad(i, fmt.Sprintf("d%d.example", random.IntN(20)), texts[random.IntN(3)]))
		}
		want := f.Group()
		for i, m := range want {
			require.NotEqual(t, uuid.Nil, m.Family, "account %s", i)
			if m.BoundTo != uuid.Nil {
				require.Negative(t, compare(m.BoundTo, m.Family), "a bind leads to an older family")
			}
		}
		random.Shuffle(12, func(i, j int) { f.Accounts[i], f.Accounts[j] = f.Accounts[j], f.Accounts[i] })
		random.Shuffle(12, func(i, j int) { f.Marks[i], f.Marks[j] = f.Marks[j], f.Marks[i] })
		random.Shuffle(12, func(i, j int) { f.Ads[i], f.Ads[j] = f.Ads[j], f.Ads[i] })
		require.True(t, maps.Equal(want, f.Group()))
	}
}

func compare(a, b uuid.UUID) int { return int(a[15]) - int(b[15]) }

// A turn of the consumer of standing groups all accounts.
func TestGroupsAHundredThousandAccountsInSeconds(t *testing.T) {
	const n = 100_000
	f := family.Facts{}
	copied, random := family.Words("Hand made oak tables for small kitchens"), rand.New(rand.NewPCG(3, 4))
	for i := range n {
		account := uuid.UUID{0: 1, 12: byte(i >> 24), 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
		f.Accounts = append(f.Accounts, family.Account{
			ID: account, Created: epoch.Add(time.Duration(i) * time.Minute), Mailbox: fmt.Sprintf("u%d@gmail.com", i/2),
		})
		words := copied
		if i%2 == 0 {
			words = nil
			for range 15 {
				words = append(words, int64(random.Uint64()>>1))
			}
		}
		f.Ads = append(f.Ads, family.Ad{Account: account, Landing: fmt.Sprintf("d%d.example", i/3), Words: words})
	}
	start := time.Now()
	require.NotEmpty(t, f.Group())
	require.Less(t, time.Since(start), 10*time.Second) // about 0.5 s; the bound finds quadratic work
}
