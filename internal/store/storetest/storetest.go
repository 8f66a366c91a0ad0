// Package storetest is the conformance suite of adnet's stores, which internal/store/postgres and
// internal/store/memory must both pass. Each of them runs it on a fresh, empty store per case, so that
// the in-memory mode is a product mode and not a mock.
//
// Only tests import this package.
package storetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/adreport"
	"adnet/internal/compliance/decision"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/money/share"
	"adnet/internal/payment"
)

// FirstHead is the config version of an empty store. It is not 0, which means "no complete catalog"
// to readers of the projection.
const FirstHead int64 = 1

// Now is the time of the suite's payments.
var Now = now

// Stores is the implementation under test, empty.
type Stores struct {
	Users     Users
	Keys      account.KeyStore
	Blocks    account.BlockStore
	Publish   account.PublishingStore
	Logins    Logins
	Campaigns Campaigns
	Changes   campaign.Changes
	Goals     Goals
	Standings Standings
	Books     Books
	Payments  payment.Store

	Publishers Publishers
	Audit      Audit
	AdReports  adreport.Store
	Unproven   Unproven
	Journal    pages
	Retention  Retention

	Inside Inside
	// Credits is nil where Credits cannot fund campaigns: creation must then return errs.DemoMode.
	Credits Credits
}

// Users holds the store methods of accounts and their names.
type Users interface {
	account.UserStore
	account.NameStore
}

// Campaigns holds the store methods of campaigns and their names.
type Campaigns interface {
	campaign.Store
	campaign.TitleStore
}

// Logins holds the store methods of logins.
type Logins interface {
	account.NetworkStore
	account.SessionStore
	account.FactorStore
	account.LinkStore
}

// Audit holds the methods for the audit log and for decisions.
type Audit interface {
	AuditLog
	decision.Store
}

// Books holds the methods of the ledger besides settlement.
type Books interface {
	Accounts
	Statements
	Releaser
	Searched
	Verifications
}

// Inside exposes state that the interfaces of the domain do not, and sets spend like the ledger.
type Inside interface {
	// Inactive lists a campaign's inactive intervals, oldest first.
	Inactive(ctx context.Context, campaignID uuid.UUID) ([]ledger.Interval, error)
	// Reviews returns a campaign's review history, oldest first.
	Reviews(ctx context.Context, campaignID uuid.UUID) ([]campaign.Review, error)
	// HighestBids lists the highest bid of each campaign and billing model.
	HighestBids(ctx context.Context) ([]ledger.HighestBid, error)
	// Spend adds to a campaign's spend as the ledger would.
	Spend(ctx context.Context, s ledger.Spend) error
}

// Credits is the Credits side of the ledger.
type Credits interface {
	// Grant gives a publisher spendable Credits of a high value, without any charge.
	Grant(ctx context.Context, developer uuid.UUID, n money.Credits) error
	// Balance returns the sum of an account's entries; it fails when the balance row differs from
	// it.
	Balance(ctx context.Context, a ledger.Account) (money.Credits, error)
	// Transactions lists the transactions of a kind with their entries.
	Transactions(ctx context.Context, kind ledger.Kind) ([]ledger.Transaction, error)
}

// Run runs every case. newStore opens an empty store that is closed by the test's own clean-up.
func Run(t *testing.T, newStore func(t *testing.T) Stores) {
	t.Run("Users", func(t *testing.T) { runCases(t, newStore, userCases) })
	t.Run("Sessions", func(t *testing.T) { runCases(t, newStore, sessionCases) })
	t.Run("Keys", func(t *testing.T) { runCases(t, newStore, keyCases) })
	t.Run("Blocks", func(t *testing.T) { runCases(t, newStore, blockCases) })
	t.Run("Seats", func(t *testing.T) { runCases(t, newStore, seatCases) })
	t.Run("Campaigns", func(t *testing.T) { runCases(t, newStore, campaignCases) })
	t.Run("Changes", func(t *testing.T) { runCases(t, newStore, changeCases) })
	t.Run("Credits", func(t *testing.T) { runCases(t, newStore, creditCases) })
}

// testCase is one promise, checked on its own store.
type testCase struct {
	name string
	run  func(t *testing.T, s Stores)
}

func runCases(t *testing.T, newStore func(t *testing.T) Stores, cases []testCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, newStore(t)) })
	}
}

// AddUser creates an account with its own address and returns it.
func AddUser(t *testing.T, s Stores) account.User {
	t.Helper()
	id := newID(t)
	u := account.User{
		ID: id, DeveloperID: newID(t), Email: fmt.Sprintf("%s@example.com", id), PasswordHash: "$argon2id$x",
		DisplayName: "Ada", Company: "Example Ltd",
		Role: account.RoleAdvertiser, Side: account.Publish, TokenVersion: 1,
		CreatedAt: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC),
	}
	require.NoError(t, s.Users.CreateUser(t.Context(), u))
	return u
}

// NewCampaign returns a campaign with every stored field set; it is not stored yet. The fields that
// cases depend on have values of their own, all others come from the table of fields.
func NewCampaign(t *testing.T, advertiser uuid.UUID) campaign.Campaign {
	t.Helper()
	c := campaign.Campaign{
		ID: newID(t), AdvertiserID: advertiser, Status: campaign.InReview,
		BillingModel: campaign.CPC, BillingEvent: campaign.OnImpression, BidAmount: 1_250_000,
		DailyBudget: 50 * money.USD, TotalBudget: 1000 * money.USD, TargetCPA: 12 * money.USD,
		Goal: campaign.GoalTargetCPA, ConversionType: "signup",
		Targeting:  campaign.Targeting{IntegrationMethods: []string{"mcp"}},
		Pursuit:    campaign.Pursuit{GoalStatus: campaign.GoalOff, GoalMultiplier: money.USD},
		Categories: []string{"IAB19"}, ExcludeContexts: []string{"disasters"},
		SensitiveContexts: []string{"health", "debt"}, Trades: []string{"credit"},
		PolicyViolations: []campaign.Violation{{Rule: "caps", Field: "headline", Message: "too loud"}},
	}
	for i := range campaign.Table {
		f := &campaign.Table[i]
		if f.By == campaign.ByOwner && reflect.ValueOf(f.At(&c)).Elem().IsZero() {
			change(t, f, &c)
		}
	}
	return c
}

// change gives a field of c another value.
func change(t *testing.T, f *campaign.Field, c *campaign.Campaign) {
	t.Helper()
	switch at := f.At(c).(type) {
	case *string:
		switch {
		case f.Kind == campaign.Choice:
			others := slices.DeleteFunc(slices.Clone(f.Values), func(value string) bool {
				return value == *at || *at == "" && value == f.Absent
			})
			*at = others[len(others)-1]
		case f.Kind == campaign.Link && *at == "":
			*at = "https://example.com/" + f.Name
		default:
			*at += f.Name + "ü"
		}
	case *int:
		*at++
	case *money.Micros:
		*at++
	case *share.Share:
		*at++
	case **money.Micros:
		next := money.Micros(3_500_000)
		if *at != nil {
			next = **at + 1
		}
		*at = &next
	case **time.Time:
		next := time.Date(2027, 5, 1, 8, 0, 1, 0, time.UTC)
		if f.Name == "start_at" {
			next = time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
		}
		if *at != nil {
			next = (*at).Add(time.Hour)
		}
		*at = &next
	case *[]string:
		*at = append(slices.Clone(*at), f.Name, "Ü")
	default:
		t.Fatalf("the field %s has a type that this suite does not know", f.Name)
	}
}

// AddCampaign stores a campaign of the advertiser with the status, and returns it as stored.
func AddCampaign(t *testing.T, s Stores, advertiser uuid.UUID, status campaign.Status) campaign.Campaign {
	t.Helper()
	c, err := s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{
		Campaign: NewCampaign(t, advertiser), Admit: func(bool) campaign.Status { return status },
	})
	require.NoError(t, err)
	return c
}

func newID(t *testing.T) uuid.UUID {
	t.Helper()
	id, err := uuid.NewV7()
	require.NoError(t, err)
	return id
}

// together runs fn n times concurrently and waits for all.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	wg.Wait()
}
