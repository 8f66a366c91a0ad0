package person

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/compliance/decision"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// Held is all data held about an account. Amounts of USD are in micro-USD. It excludes the
// password, which is stored as a hash, and the hashes of login networks.
type Held struct {
	Profile   Profile             `json:"profile"`
	Balance   money.Micros        `json:"balance_usd"`
	Keys      []Key               `json:"keys"`
	Campaigns []campaign.Campaign `json:"campaigns"`
	Ledger    []Line              `json:"ledger"` // newest first
	AuditLog  []auditlog.Entry    `json:"audit_log"`
	Blocks    account.Blocks      `json:"blocks"`
	Asks      account.Publishing  `json:"publishing"` // of the ads on its keys and seats
	// Decisions against the account, each with its appeals, newest first.
	Decisions []decision.Statement `json:"decisions"`
	Credits   Credits              `json:"credits"`
}

// Credits holds the account's Credits by state.
type Credits struct {
	Spendable   money.Credits `json:"spendable"`
	Pending     money.Credits `json:"pending"`
	Held        money.Credits `json:"held"`
	Quarantined money.Credits `json:"quarantined"`
}

// Profile is the account itself.
type Profile struct {
	Identity
	Disabled  bool      `json:"disabled"`
	CreatedAt time.Time `json:"created_at"`
}

// Account is what the owner and administrators see of an account.
type Account struct {
	ID          uuid.UUID         `json:"id"`
	DeveloperID uuid.UUID         `json:"developer_id"`
	Email       string            `json:"email"`
	Role        account.Role      `json:"role"`
	Side        account.Side      `json:"side"`
	NameState   account.NameState `json:"name_state"` // whether ads show the name
	Verified    bool              `json:"name_verified"`
}

// AccountOf returns what the owner and administrators see of u.
func AccountOf(u *account.User) Account {
	return Account{u.ID, u.DeveloperID, u.Email, u.Role, u.Sides(), u.NameState(), u.Approved.Verified}
}

// Identity is the account's identity for its owner.
type Identity struct {
	Account
	DisplayName string `json:"display_name"`
	Company     string `json:"company"`
}

// IdentityOf returns the identity of u.
func IdentityOf(u *account.User) Identity { return Identity{AccountOf(u), u.DisplayName, u.Company} }

// Key describes a key. Its text is never stored.
type Key struct {
	ID         uuid.UUID       `json:"id"`
	Kind       account.KeyKind `json:"kind"`
	Name       string          `json:"name"`
	Prefix     string          `json:"prefix"`
	CampaignID uuid.UUID       `json:"campaign_id,omitzero"`
	CreatedAt  time.Time       `json:"created_at"`
	RevokedAt  time.Time       `json:"revoked_at,omitzero"`
}

// Line is a row of the ledger.
type Line struct {
	Seq         int64          `json:"seq"`
	Transaction uuid.UUID      `json:"transaction"`
	At          time.Time      `json:"at"`
	Kind        ledger.Kind    `json:"kind"`
	Ref         string         `json:"ref"`
	Subject     uuid.UUID      `json:"subject"`
	Account     ledger.Account `json:"account"`
	Asset       ledger.Asset   `json:"asset"`
	Amount      int64          `json:"amount"`        // micro-USD or Credits
	Balance     int64          `json:"balance_after"` // of the account
}

// Export collects the data held about an account. It is not a snapshot: rows written meanwhile may
// be missing.
func Export(ctx context.Context, s Store, u account.User) (h Held, err error) {
	h.Profile = Profile{IdentityOf(&u), u.Disabled, u.CreatedAt}
	if h.Balance, err = s.Ledger.AdvertiserBalance(ctx, u.ID); err != nil {
		return h, err
	}
	if h.Blocks, err = s.Accounts.Blocks(ctx, u.ID); err != nil {
		return h, err
	}
	if h.Asks, err = s.Accounts.Publishing(ctx, u.ID); err != nil {
		return h, err
	}
	if h.Decisions, err = statements(ctx, s.Audit, u.ID); err != nil {
		return h, err
	}
	credits, err := s.Ledger.CreditBalance(ctx, u.DeveloperID)
	if err != nil {
		return h, err
	}
	h.Credits = Credits(credits)
	keys, err := s.Accounts.Keys(ctx, u.ID)
	if err != nil {
		return h, err
	}
	h.Keys = make([]Key, len(keys))
	for i, k := range keys {
		h.Keys[i] = Key{k.ID, k.Kind, k.Name, k.Prefix, k.CampaignID, k.CreatedAt, k.RevokedAt}
	}
	if h.Campaigns, err = campaigns(ctx, s.Campaigns, u.ID); err != nil {
		return h, err
	}
	for i := range h.Campaigns {
		h.Campaigns[i] = h.Campaigns[i].For(u)
	}
	if h.Ledger, err = lines(ctx, s.Ledger, u); err != nil {
		return h, err
	}
	h.AuditLog, err = entries(ctx, s.Audit, u.ID)
	return h, err
}

func statements(ctx context.Context, s Audit, owner uuid.UUID) ([]decision.Statement, error) {
	return all(func(offset int) ([]decision.Statement, int, error) {
		return s.Decisions(ctx, decision.Query{OwnerID: owner, Limit: page, Offset: offset})
	})
}

func lines(ctx context.Context, s Ledger, u account.User) (all []Line, err error) {
	q := ledger.HistoryQuery{Advertiser: u.ID, Developer: u.DeveloperID, Limit: page}
	for {
		some, err := s.History(ctx, q)
		if err != nil || len(some) == 0 {
			return all, err
		}
		for _, l := range some {
			all = append(
				all,
				Line{l.Seq, l.Transaction, l.At, l.Kind, l.Ref, l.Subject, l.Account, l.Asset, l.Amount, l.Balance},
			)
			q.Before = l.Seq
		}
	}
}

// entries returns the changes of the account's property, and the account's changes elsewhere.
func entries(ctx context.Context, s Audit, id uuid.UUID) (all []auditlog.Entry, err error) {
	for _, q := range []auditlog.Query{{OwnerID: id, Limit: page}, {ActorID: id, Limit: page}} {
		own := q.OwnerID == id
		for {
			some, err := s.AuditLog(ctx, q)
			if err != nil {
				return nil, err
			}
			if len(some) == 0 {
				break
			}
			for _, e := range some {
				if own || e.OwnerID != id {
					all = append(all, e.ForOwner(id))
				}
				q.Before = e.Seq
			}
		}
	}
	return all, nil
}
