package accounts

import (
	"context"
	"slices"
	"time"

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

// Families stores families of related accounts.
type Families struct{ *pg.Core }

const (
	// lockFamilies puts registrations, and first campaigns of accounts, in one order: two accounts
	// of one mailbox are never both the first.
	lockFamilies = `SELECT pg_advisory_xact_lock(hashtext('adnet account_family'))`

	insertMark = `INSERT INTO account_mark (account_id, kind, hash, created_at, ends_at) VALUES ($1, $2, $3, $4, $5)`

	setBeside = `UPDATE app_user SET beside = $2 WHERE id = $1`

	// placeOf is the place of account u with the row f.
	placeOf = `coalesce(f.family_id, u.id), f.bound_to FROM app_user u LEFT JOIN account_family f ON f.account_id = u.id`

	placeOfAccount = `SELECT ` + placeOf + ` WHERE u.id = $1`

	placeOfMailbox = `SELECT ` + placeOf + ` WHERE u.id <> $1
		AND (u.mailbox = $2 AND $2 <> '' OR u.id IN (SELECT account_id FROM account_mark
			WHERE kind = 'mailbox' AND hash = ANY($3)))
		AND NOT EXISTS (SELECT FROM family_ruling r WHERE r.account_id = u.id)
		ORDER BY u.created_at, u.id LIMIT 1`

	neighbour = `SELECT account_id FROM account_mark WHERE kind = 'network' AND hash = ANY($2) AND account_id <> $1
		AND created_at > $3 AND created_at <= $4 ORDER BY created_at, account_id LIMIT 1`

	setFamily = `INSERT INTO account_family (account_id, family_id, bound_to) VALUES ($1, $2, $3)
		ON CONFLICT (account_id) DO UPDATE SET family_id = EXCLUDED.family_id, bound_to = EXCLUDED.bound_to`

	// A bound account shares the use of the family that it is bound to, and of all others bound to
	// it.
	familyHasCampaign = `WITH mine AS (SELECT u.id, coalesce(f.family_id, u.id) AS family, f.bound_to
			FROM app_user u LEFT JOIN account_family f ON f.account_id = u.id WHERE u.id = $1),
		members AS (SELECT family AS id FROM mine UNION SELECT bound_to FROM mine
			UNION SELECT f.account_id FROM mine JOIN account_family f ON f.family_id = mine.family
			UNION SELECT f.account_id FROM mine JOIN account_family f ON f.family_id = mine.bound_to
			UNION SELECT f.account_id FROM mine JOIN account_family f ON f.bound_to = mine.bound_to)
		SELECT EXISTS (SELECT FROM members m JOIN campaign c ON c.advertiser_id = m.id)`

	// likeOlder lists ads of older accounts that may be like an ad. An account about which an
	// operator decided is compared with none.
	likeOlder = `SELECT l.advertiser_id, l.landing, l.words FROM campaign_likeness l
		JOIN app_user u ON u.id = l.advertiser_id
		WHERE (l.landing = $2 AND $2 <> '' OR l.bands && $3)
		AND (u.created_at, u.id) < (SELECT created_at, id FROM app_user WHERE id = $1)
		AND NOT EXISTS (SELECT FROM family_ruling WHERE account_id = $1)
		ORDER BY u.created_at, u.id LIMIT 500`

	setLikeness = `INSERT INTO campaign_likeness (campaign_id, advertiser_id, landing, words, bands)
		VALUES ($1, $2, $3, coalesce($4::bigint[], '{}'), coalesce($5::bigint[], '{}'))
		ON CONFLICT (campaign_id) DO UPDATE SET landing = EXCLUDED.landing, words = EXCLUDED.words,
			bands = EXCLUDED.bands
		WHERE campaign_likeness.landing <> EXCLUDED.landing OR campaign_likeness.words <> EXCLUDED.words`

	forgetMarks = `DELETE FROM account_mark WHERE ends_at < $1`

	familyAccounts = `SELECT u.id, u.parent_id, u.beside, u.created_at, u.mailbox, p.advertiser_id IS NOT NULL
		FROM app_user u LEFT JOIN (SELECT DISTINCT c.advertiser_id FROM campaign_total t
			JOIN campaign c ON c.id = t.campaign_id WHERE t.spent > t.refunded) p ON p.advertiser_id = u.id`

	familyMarks = `SELECT account_id, kind, hash FROM account_mark WHERE kind <> 'network'
		UNION SELECT d.advertiser_id, 'instrument', m.hash FROM payment_mark m
			JOIN payment p USING (provider, payment_id) JOIN deposit d ON d.id = p.deposit_id`

	familyAds      = `SELECT advertiser_id, landing, words FROM campaign_likeness`
	familyRulings  = `SELECT account_id, with_id FROM family_ruling`
	selectFamilies = `SELECT account_id, family_id, bound_to FROM account_family`
	deleteFamilies = `DELETE FROM account_family WHERE account_id = ANY($1)`

	selectRuling = `SELECT with_id FROM family_ruling WHERE account_id = $1`
	deleteRuling = `DELETE FROM family_ruling WHERE account_id = $1`
	setRuling    = `INSERT INTO family_ruling (account_id, with_id, decided_by, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account_id) DO UPDATE SET with_id = EXCLUDED.with_id, decided_by = EXCLUDED.decided_by,
			at = EXCLUDED.at`
)

var _ family.Rulings = (*Families)(nil)

// placeNew stores the marks of a new account and its place in a family, under lockFamilies.
func placeNew(ctx context.Context, tx pgx.Tx, u *account.User) error {
	batch := &pgx.Batch{}
	for i := range u.Marks {
		m := &u.Marks[i]
		var ends *time.Time
		if m.Kind == family.MarkNetwork {
			at := u.CreatedAt.Add(family.NetworkAge)
			ends = &at
		}
		batch.Queue(insertMark, u.ID, m.Kind, m.Hash[:], u.CreatedAt, ends)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	place, joined, err := readPlace(ctx, tx, placeOfMailbox, u.ID, u.Mailbox, hashesOf(u.Marks, family.MarkMailbox))
	if u.ParentID != uuid.Nil {
		place, joined, err = readPlace(ctx, tx, placeOfAccount, u.ParentID)
	}
	if err != nil {
		return err
	}
	beside, err := placeBeside(ctx, tx, u, hashesOf(u.Marks, family.MarkNetwork))
	if err != nil {
		return err
	}
	switch {
	case joined:
	case beside != uuid.Nil:
		of, _, err := readPlace(ctx, tx, placeOfAccount, beside)
		if err != nil {
			return err
		}
		place = family.Member{Family: u.ID, BoundTo: of.Pool()}
	default:
		return nil
	}
	_, err = tx.Exec(ctx, setFamily, u.ID, place.Family, pg.NullID(place.BoundTo))
	return err
}

// hashesOf returns the hashes of the marks of a kind.
func hashesOf(marks []family.Mark, kind family.MarkKind) (hashes [][]byte) {
	for i := range marks {
		if marks[i].Kind == kind {
			hashes = append(hashes, marks[i].Hash[:])
		}
	}
	return hashes
}

// placeBeside records and returns the oldest account that registered from the same network before.
func placeBeside(ctx context.Context, tx pgx.Tx, u *account.User, network [][]byte) (beside uuid.UUID, err error) {
	if len(network) == 0 {
		return beside, nil
	}
	rows, err := tx.Query(ctx, neighbour, u.ID, network, u.CreatedAt.Add(-family.NetworkAge), u.CreatedAt)
	if err != nil {
		return beside, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(found) == 0 {
		return beside, err
	}
	_, err = tx.Exec(ctx, setBeside, u.ID, found[0])
	return found[0], err
}

func readPlace(ctx context.Context, q pg.Querier, sql string, args ...any) (m family.Member, found bool, err error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return m, false, err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m family.Member, err error) {
		var bound *uuid.UUID
		err = row.Scan(&m.Family, &bound)
		m.BoundTo = idOrZero(bound)
		return m, err
	})
	if err != nil || len(list) == 0 {
		return m, false, err
	}
	return list[0], true, nil
}

func idOrZero(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return *id
}

// FirstOfFamily reports whether an account without a campaign may have the first one of its family:
// no account of the family, and none that the account is bound to, has one.
func FirstOfFamily(ctx context.Context, tx pgx.Tx, ad *family.Ad) (bool, error) {
	if _, err := tx.Exec(ctx, lockFamilies); err != nil {
		return false, err
	}
	var has bool
	if err := tx.QueryRow(ctx, familyHasCampaign, ad.Account).Scan(&has); err != nil || has {
		return false, err
	}
	rows, err := tx.Query(ctx, likeOlder, ad.Account, ad.Landing, family.Bands(ad.Words))
	if err != nil {
		return false, err
	}
	others, err := pgx.CollectRows(rows, scanAd)
	return !slices.ContainsFunc(others, func(other family.Ad) bool { return ad.Like(&other) }), err
}

// AdOf returns what decides whether a campaign repeats another's ad.
func AdOf(c *campaign.Campaign) family.Ad {
	return family.AdOf(c.AdvertiserID, c.CTAURL, c.Headline, c.Subtext)
}

func scanAd(row pgx.CollectableRow) (ad family.Ad, err error) {
	err = row.Scan(&ad.Account, &ad.Landing, &ad.Words)
	return ad, err
}

// QueueLikeness adds to batch what is compared of a campaign. A draft has nothing to compare.
func QueueLikeness(batch *pgx.Batch, c *campaign.Campaign) {
	if c.Status == campaign.Draft {
		return
	}
	ad := AdOf(c)
	batch.Queue(setLikeness, c.ID, c.AdvertiserID, ad.Landing, ad.Words, family.Bands(ad.Words))
}

// FamilyFacts implements family.Store.
func (s *Families) FamilyFacts(ctx context.Context) (f family.Facts, err error) {
	if _, err := s.Pool.Exec(ctx, forgetMarks, time.Now()); err != nil {
		return f, pg.Failure("forget marks", err)
	}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.Pool, snapshot, func(tx pgx.Tx) error {
		if f.Accounts, err = pg.Collect(ctx, tx, familyAccounts, scanAccount); err != nil {
			return err
		}
		if f.Marks, err = pg.Collect(ctx, tx, familyMarks, scanMark); err != nil {
			return err
		}
		if f.Ads, err = pg.Collect(ctx, tx, familyAds, scanAd); err != nil {
			return err
		}
		f.Rulings, err = pg.Collect(ctx, tx, familyRulings, scanRuling)
		return err
	})
	return f, pg.Failure("read the facts of families", err)
}

func scanAccount(row pgx.CollectableRow) (a family.Account, err error) {
	var parent, beside *uuid.UUID
	err = row.Scan(&a.ID, &parent, &beside, &a.Created, &a.Mailbox, &a.Charged)
	a.Parent, a.Beside = idOrZero(parent), idOrZero(beside)
	return a, err
}

func scanMark(row pgx.CollectableRow) (m family.Mark, err error) {
	var hash []byte
	err = row.Scan(&m.Account, &m.Kind, &hash)
	copy(m.Hash[:], hash)
	return m, err
}

func scanRuling(row pgx.CollectableRow) (r family.Ruling, err error) {
	var with *uuid.UUID
	err = row.Scan(&r.Account, &with)
	r.With = idOrZero(with)
	return r, err
}

// Families implements family.Store.
func (s *Families) Families(ctx context.Context) (map[uuid.UUID]family.Member, error) {
	return s.families(ctx, selectFamilies)
}

// FamiliesOf implements family.Rulings.
func (s *Families) FamiliesOf(ctx context.Context, accounts []uuid.UUID) (map[uuid.UUID]family.Member, error) {
	return s.families(ctx, selectFamilies+` WHERE account_id = ANY($1)`, accounts)
}

func (s *Families) families(ctx context.Context, sql string, args ...any) (map[uuid.UUID]family.Member, error) {
	rows, err := s.Pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, pg.Failure("read families", err)
	}
	members := make(map[uuid.UUID]family.Member)
	var id, of uuid.UUID
	var bound *uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&id, &of, &bound}, func() error {
		members[id] = family.Member{Family: of, BoundTo: idOrZero(bound)}
		return nil
	})
	return members, pg.Failure("read families", err)
}

// SetFamilies implements family.Store.
func (s *Families) SetFamilies(ctx context.Context, changed map[uuid.UUID]family.Member) error {
	return s.Transact(ctx, "set families", func(tx pgx.Tx) error {
		batch, alone := &pgx.Batch{}, []uuid.UUID{}
		ids := make([]uuid.UUID, 0, len(changed))
		for id := range changed {
			ids = append(ids, id)
		}
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }) // one order of locks
		for _, id := range ids {
			if m := changed[id]; m != (family.Member{}) {
				batch.Queue(setFamily, id, m.Family, pg.NullID(m.BoundTo))
			} else {
				alone = append(alone, id)
			}
		}
		batch.Queue(deleteFamilies, alone)
		return tx.SendBatch(ctx, batch).Close()
	})
}

// RuleFamily implements family.Rulings.
func (s *Families) RuleFamily(ctx context.Context, d family.Decision) error {
	return s.Transact(ctx, "rule family", func(tx pgx.Tx) error {
		if _, err := readUser(ctx, tx, lockUser, d.Account); err != nil {
			return err
		}
		if d.With != uuid.Nil {
			if _, err := readUser(ctx, tx, selectUser, d.With); err != nil {
				return errs.Wrap(err, errs.NotFound, "there is no account to join")
			}
		}
		before := family.Decision{Automatic: true}
		rulings, err := pg.Collect(ctx, tx, selectRuling, pgx.RowTo[*uuid.UUID], d.Account)
		if err != nil {
			return err
		}
		if len(rulings) > 0 {
			before = family.Decision{Ruling: family.Ruling{With: idOrZero(rulings[0])}}
		}
		if d.Automatic {
			_, err = tx.Exec(ctx, deleteRuling, d.Account)
		} else {
			_, err = tx.Exec(ctx, setRuling, d.Account, pg.NullID(d.With), d.By, d.At)
		}
		if err != nil {
			return err
		}
		return audit.Record(ctx, tx, auditlog.OfFamily(before, d))
	})
}
