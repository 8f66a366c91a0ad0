// Package accounts stores accounts, their keys, logins and families.
package accounts

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
)

// Accounts stores accounts, their keys, and what publishers set for themselves.
type Accounts struct{ *pg.Core }

const (
	userColumns = `id, developer_id, email, password_hash, role, disabled, token_version, created_at, parent_id, display_name, company, approved_name, name_verified, mailbox, side`

	insertUser = `INSERT INTO app_user (` + userColumns +
		`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`

	// The ids of all seats are in one list: for each seat its own id, then its developer id.
	seatsOfUser = `ARRAY(SELECT pair.id FROM app_user s, unnest(ARRAY[s.id,
		s.developer_id]) WITH ORDINALITY AS pair (id, n)
		WHERE s.parent_id = u.id ORDER BY s.created_at, s.id, pair.n)`

	selectUser = `SELECT ` + userColumns + `, ` + seatsOfUser + ` FROM app_user u WHERE id = $1`
	// SelectUserByEmail reads an account by its lower-case e-mail.
	SelectUserByEmail = `SELECT ` + userColumns + `, ` + seatsOfUser + ` FROM app_user u WHERE lower(email) = lower($1)`

	// NO KEY: inserts that reference the account need not wait for the edit.
	lockUser = selectUser + ` FOR NO KEY UPDATE OF u`

	updateUser = `UPDATE app_user SET email = $2, password_hash = $3, role = $4, disabled = $5, token_version = $6,
		display_name = $7, company = $8,
		approved_name = $9, name_verified = $10, mailbox = $11, side = $12
		WHERE id = $1`

	// These locks protect the check for the last administrator: if two administrators suspend each
	// other, the second transaction sees the first one's change.
	lockAdmins = `SELECT id FROM app_user WHERE role = 'admin' AND NOT disabled ORDER BY id FOR NO KEY UPDATE`

	lockOwned = `SELECT id FROM campaign WHERE advertiser_id = ANY($1::uuid[]) AND status <> 'archived' ORDER BY id FOR UPDATE`

	nextVersions = `UPDATE config_head SET version = version + $1 RETURNING version, clock_timestamp()`

	// The highest version is the head, which no other transaction raises meanwhile.
	holdOwned = `UPDATE campaign c SET config_version = $2::bigint - cardinality($1::uuid[]) + o.n,
		settings_version = $2::bigint - cardinality($1::uuid[]) + o.n, updated_at = $3,
		policy_violations = coalesce((SELECT jsonb_agg(v) FROM jsonb_array_elements(c.policy_violations) v
			WHERE v->>'rule' <> $4), '[]') || $5::jsonb
		FROM unnest($1::uuid[]) WITH ORDINALITY AS o (id, n) WHERE c.id = o.id`

	renameOwned = `UPDATE campaign c SET config_version = $2::bigint - cardinality($1::uuid[]) + o.n
		FROM unnest($1::uuid[]) WITH ORDINALITY AS o (id, n) WHERE c.id = o.id`

	// usersSelected is account.UserFilter.Selects.
	usersSelected = ` FROM app_user u
		WHERE ($1 = '' AND u.role <> 'seat' OR u.role = $1) AND ($2::boolean IS NULL OR u.disabled = $2)
		AND (NOT $4 OR coalesce(nullif(u.company, ''), u.display_name) NOT IN ('', u.approved_name))
		AND ($3 = '' OR position($3 IN lower(u.email)) > 0 OR u.id::text = $3 OR u.developer_id::text = $3)
		AND ($5::uuid IS NULL OR u.id = $5 OR u.id IN (
			SELECT account_id FROM account_family WHERE family_id = $5 OR bound_to = $5))`
	selectUsers = `SELECT ` + userColumns + `, ` + seatsOfUser + usersSelected +
		` ORDER BY u.created_at DESC, u.id DESC LIMIT $6 OFFSET $7`
	countUsers = `SELECT count(*)` + usersSelected

	forgetNetworks = `DELETE FROM login_network WHERE user_id = $1 AND good_at < $2`
	noteNetwork    = `INSERT INTO login_network (user_id, network, good_at) VALUES ($1, $2, $3)
		ON CONFLICT (user_id, network) DO UPDATE SET good_at = EXCLUDED.good_at`
	knowsNetwork = `SELECT EXISTS (SELECT FROM login_network WHERE user_id = $1 AND network = $2 AND good_at >= $3)`
)

var _ account.UserStore = (*Accounts)(nil)

// CreateUser stores a new account, with its e-mail in lower case. Errors: errs.Conflict.
func (s *Accounts) CreateUser(ctx context.Context, u account.User) error {
	u.Email = strings.ToLower(u.Email)
	return s.Transact(ctx, "create user", func(tx pgx.Tx) error {
		return createUser(ctx, tx, u)
	})
}

func createUser(ctx context.Context, tx pgx.Tx, u account.User) error {
	if _, err := tx.Exec(ctx, lockFamilies); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, insertUser, u.ID, u.DeveloperID, u.Email, u.PasswordHash, u.Role, u.Disabled, u.TokenVersion,
		u.CreatedAt, pg.NullID(u.ParentID), u.DisplayName, u.Company,
		u.Approved.Name, u.Approved.Verified, u.Mailbox, u.Side)
	if err != nil {
		return emailTaken(pg.Failure("create user", err))
	}
	if err := placeNew(ctx, tx, &u); err != nil {
		return err
	}
	if err := audit.Record(ctx, tx, auditlog.OfUser(nil, &u)); err != nil || len(u.Marks) == 0 {
		return err
	}
	return inherit(ctx, tx, u, casesOfErased, hashesOf(u.Marks, family.MarkMailbox))
}

// User finds an account by id. Errors: errs.NotFound.
func (s *Accounts) User(ctx context.Context, id uuid.UUID) (account.User, error) {
	return readUser(ctx, s.Pool, selectUser, id)
}

// UserByEmail finds an account by e-mail, ignoring case. Errors: errs.NotFound.
func (s *Accounts) UserByEmail(ctx context.Context, email string) (account.User, error) {
	return readUser(ctx, s.Pool, SelectUserByEmail, strings.ToLower(email))
}

// UpdateUser runs edit on the locked row and stores the result, except for changes of the ids and
// the creation time. Errors: errs.NotFound, errs.Conflict when the new e-mail is taken, and the
// errors of edit.
func (s *Accounts) UpdateUser(ctx context.Context, id uuid.UUID, edit func(*account.User) error) (account.User, error) {
	return s.RuleUser(ctx, account.Ruling{UserID: id, Edit: edit})
}

// RuleUser implements account.UserStore.
func (s *Accounts) RuleUser(ctx context.Context, r account.Ruling) (account.User, error) {
	var stored account.User
	err := s.Transact(ctx, "update user", func(tx pgx.Tx) (err error) {
		stored, err = ruleUser(ctx, tx, r)
		return err
	})
	if err != nil {
		return account.User{}, err
	}
	return stored, nil
}

func ruleUser(ctx context.Context, tx pgx.Tx, r account.Ruling) (account.User, error) {
	var admins []uuid.UUID
	if r.KeepAdmin { // before the account's own row, so that such rulings lock in one order
		rows, err := tx.Query(ctx, lockAdmins)
		if err != nil {
			return account.User{}, err
		}
		if admins, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
			return account.User{}, err
		}
	}
	before, err := readUser(ctx, tx, lockUser, r.UserID)
	if err != nil {
		return account.User{}, err
	}
	u, err := before.Edited(r.Edit)
	if err != nil {
		return account.User{}, err
	}
	if r.KeepAdmin && before.IsAdmin() && !before.Disabled && (!u.IsAdmin() || u.Disabled) &&
		!slices.ContainsFunc(admins, func(id uuid.UUID) bool { return id != u.ID }) {
		return account.User{}, account.ErrLastAdmin
	}
	if _, err = tx.Exec(ctx, updateUser, u.ID, u.Email, u.PasswordHash, u.Role, u.Disabled, u.TokenVersion,
		u.DisplayName, u.Company,
		u.Approved.Name, u.Approved.Verified, u.Mailbox, u.Side); err != nil {
		return account.User{}, emailTaken(pg.Failure("update user", err))
	}
	held := 0
	if before.Disabled != u.Disabled {
		if held, err = holdCampaigns(ctx, tx, &u); err != nil {
			return account.User{}, err
		}
	}
	if renamed := u.Renamed(&before); held == 0 && len(renamed) > 0 {
		if err := renameCampaigns(ctx, tx, renamed); err != nil {
			return account.User{}, err
		}
	}
	return u, audit.Record(ctx, tx, auditlog.OfRuling(&before, &u, r.Reason, held))
}

// holdCampaigns stops or resumes the campaigns of an account and of the seats whose keys share its
// state, and returns their number.
func holdCampaigns(ctx context.Context, tx pgx.Tx, u *account.User) (int, error) {
	owners := []uuid.UUID{u.ID}
	if !u.IsAdmin() {
		for _, seat := range u.Seats {
			owners = append(owners, seat.ID)
		}
	}
	owned, head, at, err := versionsFor(ctx, tx, owners)
	if err != nil || len(owned) == 0 {
		return 0, err
	}
	why := []campaign.Violation{}
	if u.Disabled {
		why = append(why, campaign.Suspended())
	}
	text, err := json.Marshal(why)
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, holdOwned, owned, head, at, campaign.RuleSuspended, text)
	return len(owned), err
}

// renameCampaigns gives the campaigns of accounts new versions, so that nodes load their new names.
func renameCampaigns(ctx context.Context, tx pgx.Tx, owners []uuid.UUID) error {
	owned, head, _, err := versionsFor(ctx, tx, owners)
	if err != nil || len(owned) == 0 {
		return err
	}
	_, err = tx.Exec(ctx, renameOwned, owned, head)
	return err
}

// versionsFor locks the campaigns of owners that may serve again and assigns a version to each; the
// last is head. Campaigns are locked before the head, as in every change of a campaign.
func versionsFor(
	ctx context.Context, tx pgx.Tx, owners []uuid.UUID,
) (owned []uuid.UUID, head int64, at time.Time, err error) {
	rows, err := tx.Query(ctx, lockOwned, owners)
	if err != nil {
		return nil, 0, at, err
	}
	if owned, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil || len(owned) == 0 {
		return nil, 0, at, err
	}
	err = tx.QueryRow(ctx, nextVersions, len(owned)).Scan(&head, &at)
	return owned, head, at, err
}

// Users implements account.UserStore.
func (s *Accounts) Users(ctx context.Context, f account.UserFilter) ([]account.User, int, error) {
	args := []any{string(f.Role), f.Suspended, strings.ToLower(f.Text), f.NameWaits, pg.NullID(f.Family)}
	var total int
	if err := s.Pool.QueryRow(ctx, countUsers, args...).Scan(&total); err != nil {
		return nil, 0, pg.Failure("count users", err)
	}
	rows, err := s.Pool.Query(ctx, selectUsers, append(args, min(max(f.Limit, 1), 500), f.Offset)...)
	if err != nil {
		return nil, 0, pg.Failure("list users", err)
	}
	list, err := pgx.CollectRows(rows, scanUser)
	return list, total, pg.Failure("list users", err)
}

func readUser(ctx context.Context, q pg.Querier, sql string, arg any) (account.User, error) {
	rows, err := q.Query(ctx, sql, arg)
	if err != nil {
		return account.User{}, pg.Failure("read user", err)
	}
	u, err := pgx.CollectExactlyOneRow(rows, scanUser)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.User{}, errs.New(errs.NotFound, "no such account")
	}
	return u, pg.Failure("read user", err)
}

func scanUser(row pgx.CollectableRow) (u account.User, err error) {
	var parent *uuid.UUID
	var seats [][16]byte
	err = row.Scan(&u.ID, &u.DeveloperID, &u.Email, &u.PasswordHash, &u.Role, &u.Disabled, &u.TokenVersion,
		&u.CreatedAt, &parent, &u.DisplayName, &u.Company,
		&u.Approved.Name, &u.Approved.Verified, &u.Mailbox, &u.Side, &seats)
	if parent != nil {
		u.ParentID = *parent
	}
	for pair := range slices.Chunk(seats, 2) {
		u.Seats = append(u.Seats, account.Seat{ID: pair[0], DeveloperID: pair[1]})
	}
	return u, err
}

// emailTaken rewords a conflict: the e-mail is the only value that a caller can choose.
func emailTaken(err error) error {
	if errs.Is(err, errs.Conflict) {
		return errs.Wrap(err, errs.Conflict, "an account with this e-mail exists")
	}
	return err
}

// NoteNetwork implements account.NetworkStore. It stores a hash of account and network, which the
// service has keyed.
func (s *Logins) NoteNetwork(ctx context.Context, user uuid.UUID, network string, at, forget time.Time) error {
	if _, err := s.Pool.Exec(ctx, forgetNetworks, user, forget); err != nil {
		return pg.Failure("forget networks", err)
	}
	_, err := s.Pool.Exec(ctx, noteNetwork, user, networkHash(user, network), at)
	return pg.Failure("note network", err)
}

// KnowsNetwork implements account.NetworkStore.
func (s *Logins) KnowsNetwork(
	ctx context.Context, user uuid.UUID, network string, since time.Time,
) (known bool, err error) {
	err = s.Pool.QueryRow(ctx, knowsNetwork, user, networkHash(user, network), since).Scan(&known)
	return known, pg.Failure("know network", err)
}

func networkHash(user uuid.UUID, network string) []byte {
	sum := sha256.Sum256(append(user[:], network...))
	return sum[:16]
}
