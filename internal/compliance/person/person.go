// Package person serves the two rights of an account's owner: access to the data, and erasure.
// [Export] collects the data, and [Erase] replaces personal data.
//
// Contract. Books are never changed: rows of the ledger, payments and statements name only the
// account's id, so adnet verify stays clean. An erased account cannot log in, its keys are revoked,
// its campaigns archived. Both may run again; the next run completes an interrupted erasure. Times
// are UTC.
package person

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/compliance/decision"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// Store is the stores of all this data.
type Store struct {
	Accounts  Accounts
	Campaigns Campaigns
	Ledger    Ledger
	Audit     Audit
	Cases     Cases
	// Marks hashes the mailbox of an account before its erasure: see token.Keyring.Marks. nil leaves
	// only the marks of the registration.
	Marks func(kind, text string) [][16]byte
}

// Accounts is the store of accounts with their keys and settings.
type Accounts interface {
	account.UserStore
	account.KeyStore
	account.BlockStore
	account.PublishingStore
	// Forget removes the personal data of a disabled account whose e-mail is [account.ErasedEmail]:
	// networks, sessions, names of keys, return addresses, and in the audit log names, networks and
	// e-mails. It may run again. Marks of the mailbox end after [family.ErasedAge], those of the
	// network of the registration at their own time.
	Forget(ctx context.Context, id uuid.UUID) error
	// MarkMailbox stores marks of the mailbox of an account that end at a time. A mark that the
	// account already has stays as it is.
	MarkMailbox(ctx context.Context, id uuid.UUID, hashes [][16]byte, at, ends time.Time) error
}

// Campaigns is the store of campaigns.
type Campaigns interface {
	Campaigns(ctx context.Context, f campaign.Filter) ([]campaign.Campaign, int, error)
	UpdateCampaign(ctx context.Context, id uuid.UUID, edit func(*campaign.Campaign) error) (campaign.Campaign, error)
}

// Ledger reads an account's money.
type Ledger interface {
	AdvertiserBalance(ctx context.Context, id uuid.UUID) (money.Micros, error)
	CreditBalance(ctx context.Context, developer uuid.UUID) (ledger.CreditBalance, error)
	History(ctx context.Context, q ledger.HistoryQuery) ([]ledger.Line, error)
	// DisputeOpen reports whether a payment of the account has a dispute that is not decided.
	DisputeOpen(ctx context.Context, advertiser uuid.UUID) (bool, error)
}

// Cases is the store of quarantine cases.
type Cases interface {
	Quarantines(ctx context.Context, q ledger.QuarantineQuery) ([]ledger.Quarantine, error)
}

// Audit is the store of the audit log and of decisions.
type Audit interface {
	AuditLog(ctx context.Context, q auditlog.Query) ([]auditlog.Entry, error)
	RecordAudit(ctx context.Context, e auditlog.Entry) error
	Decisions(ctx context.Context, q decision.Query) ([]decision.Statement, int, error)
}

// page is the number of rows per read.
const page = 500

// Find finds an account by its id or e-mail. Errors: errs.NotFound.
func Find(ctx context.Context, s account.UserStore, who string) (account.User, error) {
	if id, err := uuid.Parse(who); err == nil {
		return s.User(ctx, id)
	}
	return s.UserByEmail(ctx, who)
}

// Erased is the result of an erasure.
type Erased struct {
	Again     bool // the account was erased before
	Keys      int  // revoked now
	Campaigns int  // archived now
	Loss           // stays in the books and can no longer be spent
}

// Loss is an account's loss by its erasure.
type Loss struct {
	Balance money.Micros
	Credits money.Credits // spendable; pending and held ones are lost as well
}

// LossOf returns the current loss of an account.
func LossOf(ctx context.Context, s Store, u account.User) (l Loss, err error) {
	if l.Balance, err = s.Ledger.AdvertiserBalance(ctx, u.ID); err != nil {
		return l, err
	}
	credits, err := s.Ledger.CreditBalance(ctx, u.DeveloperID)
	l.Credits = max(0, credits.Spendable)
	return l, err
}

// Erase erases the owner of an account. An administrator must lose the role first. forfeit is the
// loss that the owner has confirmed. Errors: errs.Conflict where the account owes money,
// administers, has matters that are not closed ([Waits]), or would lose a different amount: a
// payment received meanwhile is not lost unnoticed.
func Erase(ctx context.Context, s Store, u account.User, forfeit Loss, now time.Time) (done Erased, err error) {
	if done.Loss, err = LossOf(ctx, s, u); err != nil {
		return done, err
	}
	done.Again = u.Erased()
	if err = mayErase(ctx, s, u, done.Loss, now); err != nil {
		return done, err
	}
	if !done.Again && done.Loss != forfeit {
		return done, errs.New(errs.Conflict,
			"the account has %s USD and %d Credits, which would be lost, and so are Credits that are pending or held: "+
				"spend them, ask the operator for a refund, or confirm with forfeit_usd and forfeit_credits",
			done.Balance, int64(done.Credits)).With("balance_usd", done.Balance).With("credits", done.Credits)
	}
	if done.Keys, err = revoke(ctx, s.Accounts, u.ID, now); err != nil {
		return done, err
	}
	if done.Campaigns, err = archive(ctx, s.Campaigns, u.ID); err != nil {
		return done, err
	}
	if !done.Again {
		// A registration with the same mailbox joins the family of this account: erasing does not make
		// a family new.
		if err = s.markMailbox(ctx, u, now); err != nil {
			return done, err
		}
		if _, err = s.Accounts.UpdateUser(ctx, u.ID, (*account.User).Erase); err != nil {
			return done, err
		}
	}
	// The account's own rows of the audit log had the e-mail until now, including the row of the
	// change above.
	if err := s.Accounts.Forget(ctx, u.ID); err != nil || done.Again {
		return done, err
	}
	return done, s.Audit.RecordAudit(ctx, auditlog.Entry{
		TargetKind: auditlog.TargetUser, TargetID: u.ID.String(), OwnerID: u.ID,
		Changes: map[string]auditlog.Change{"erased": {Before: false, After: true}},
	})
}

// mayErase returns errs.Conflict if an account may not be erased now.
func mayErase(ctx context.Context, s Store, u account.User, l Loss, now time.Time) error {
	switch {
	case u.IsAdmin():
		return errs.New(
			errs.Conflict, "the account administers; take the role first: adnet user promote %s --role advertiser",
			u.Email,
		)
	case l.Balance < 0:
		return errs.New(errs.Conflict, "the account owes %s USD; it can be erased once that is paid", -l.Balance)
	case u.Erased(): // an interrupted erasure is completed
		return nil
	}
	return waiting(ctx, s, u, now)
}

// markMailbox stores the marks of the mailbox under the present keys: those of the registration may
// be of keys that have ended, and accounts of the command line have none.
func (s Store) markMailbox(ctx context.Context, u account.User, now time.Time) error {
	if s.Marks == nil {
		return nil
	}
	hashes := s.Marks(string(family.MarkMailbox), u.Mailbox)
	if len(hashes) == 0 {
		return nil
	}
	return s.Accounts.MarkMailbox(ctx, u.ID, hashes, now, now.Add(family.ErasedAge))
}

func revoke(ctx context.Context, s account.KeyStore, owner uuid.UUID, now time.Time) (n int, err error) {
	keys, err := s.Keys(ctx, owner)
	for _, k := range keys {
		if k.Revoked() {
			continue
		}
		if err := s.RevokeKey(ctx, owner, k.ID, now); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}

// archive stops every campaign for good and removes its name. Texts and links of ads stay: receipts
// and explanations of past ads need them.
func archive(ctx context.Context, s Campaigns, advertiser uuid.UUID) (n int, err error) {
	list, err := campaigns(ctx, s, advertiser)
	for i := range list {
		stopped := list[i].Status == campaign.Archived
		if stopped && list[i].Name == "" {
			continue
		}
		_, err := s.UpdateCampaign(ctx, list[i].ID, func(c *campaign.Campaign) error {
			c.Status, c.Name = campaign.Archived, ""
			return nil
		})
		if err != nil {
			return n, err
		}
		if !stopped {
			n++
		}
	}
	return n, err
}

func campaigns(ctx context.Context, s Campaigns, advertiser uuid.UUID) ([]campaign.Campaign, error) {
	return all(func(offset int) ([]campaign.Campaign, int, error) {
		return s.Campaigns(ctx, campaign.Filter{AdvertiserID: advertiser, Limit: page, Offset: offset})
	})
}

// all reads a list page by page. read returns the rows from an offset, and how many there are.
func all[T any](read func(offset int) (some []T, total int, err error)) (list []T, err error) {
	for {
		some, total, err := read(len(list))
		if err != nil {
			return nil, err
		}
		if list = append(list, some...); len(some) == 0 || len(list) >= total {
			return list, nil
		}
	}
}
