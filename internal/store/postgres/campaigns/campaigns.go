// Package campaigns stores campaigns, their rooms and reports, and learned weights.
package campaigns

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/store/postgres/accounts"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/postgres/pg"
)

// Campaigns stores campaigns, their goals and standings, and the rooms that the projection reads.
type Campaigns struct{ *pg.Core }

const (
	// sponsorOfUser joins account u to the account named in u's ads: for a seat its owner, by the
	// rule of account.User.SeatSponsor.
	sponsorOfUser = `a.id = coalesce(u.parent_id, u.id) AND (u.parent_id IS NULL OR a.role <> 'admin')`

	// joinBalance joins the cash of a campaign's advertiser, [ledger.AdvertiserCash].
	joinBalance = `
		LEFT JOIN balance b ON b.account = 'advertiser:' || c.advertiser_id::text AND b.asset = 'USD'`

	// Spend comes from the ledger's rows; today is the UTC day of the database's clock.
	fromCampaigns = `, c.settings_version, c.family_id, c.vote, c.click_rate, c.convert_rate, c.ceiling, c.bound,
		coalesce(d.amount - d.refunded, 0), coalesce(t.spent - t.refunded, 0), coalesce(a.approved_name, ''),
			coalesce(a.name_verified, false), coalesce(b.amount, 0)
		FROM campaign c
		LEFT JOIN app_user u ON u.id = c.advertiser_id
		LEFT JOIN app_user a ON ` + sponsorOfUser + `
		LEFT JOIN campaign_spend d ON d.campaign_id = c.id AND d.day = floor(extract(epoch FROM now()) / 86400)::int
		LEFT JOIN campaign_total t ON t.campaign_id = c.id` + joinBalance

	// OrderNewestFirst is the order of lists.
	OrderNewestFirst = ` ORDER BY c.created_at DESC, c.id DESC LIMIT $1 OFFSET $2`
	countCampaigns   = `SELECT count(*) FROM campaign c`

	// A page of the review queue; the order is that of [campaign.Store].
	selectQueue = `SELECT q.id, q.queued FROM (SELECT c.id, c.created_at, ` + queued + ` AS queued,
			CASE WHEN c.credit_funded THEN greatest(0, c.total_budget - coalesce(t.spent - t.refunded, 0))
				ELSE greatest(0, coalesce(b.amount, 0)) END AS money
		FROM campaign c LEFT JOIN campaign_total t ON t.campaign_id = c.id` + joinBalance
	orderQueue = `) q ORDER BY q.queued = 'pending' DESC, q.money > 0 DESC, q.queued = 'bound' DESC, q.money DESC,
		q.created_at DESC, q.id DESC LIMIT $1 OFFSET $2`

	selectHead = `SELECT version FROM config_head`

	// RETURNING is computed under the row lock, so versions and times have the same order. The
	// advertiser's name and balance are read again here. A change of the name also locks the
	// campaigns before the head, so this statement sees it.
	nextVersion = `UPDATE config_head SET version = version + 1 RETURNING version, clock_timestamp(),
		coalesce((SELECT a.approved_name FROM app_user u JOIN app_user a ON ` + sponsorOfUser + ` WHERE u.id = $1), ''),
		coalesce((SELECT a.name_verified FROM app_user u JOIN app_user a
			ON ` + sponsorOfUser + ` WHERE u.id = $1), false),
		coalesce((SELECT amount FROM balance WHERE account = 'advertiser:' || $1::uuid::text AND asset = 'USD'), 0)`

	// The account's row is the advertiser's lock: campaigns of one advertiser are created one at a
	// time.
	lockAdvertiser = `SELECT developer_id, disabled FROM app_user WHERE id = $1 FOR NO KEY UPDATE`
	// HasCampaign reports whether an advertiser has campaigns.
	HasCampaign = `SELECT EXISTS (SELECT FROM campaign WHERE advertiser_id = $1)`

	// countOwned counts an advertiser's campaigns and the bytes of their targeting.
	countOwned = `SELECT count(*), coalesce(sum(coalesce(t.targeting_size, ` + targetingSize + `)), 0)::bigint
		FROM campaign t WHERE t.advertiser_id = $1`

	// waiting is [campaign.Campaign.Waits]; campaign_waiting indexes the second half.
	// An administrator's pause, as [campaign.Campaign.Stopped] finds it.
	stopping = `$[*] ? (@.rule == "` + campaign.RuleStopped + `" || @.rule == "` + campaign.RuleBarred + `")`

	waiting = `(c.status = 'in_review' OR c.status IN ('active', 'paused') AND c.policy_violations @? '$[*] ? (!(@.holds == true))')`

	// Waiting is the condition that a campaign c waits for a reviewer.
	Waiting = waiting

	// unreviewed is [campaign.Campaign.Unreviewed]; campaign_unreviewed indexes it.
	unreviewed = `(c.status IN ('active', 'paused') AND NOT c.reviewed)`

	// queued is [campaign.Campaign.QueuedFor] with reports of readers.
	queued = `CASE WHEN ` + waiting + ` OR ` + reported + ` THEN 'pending'
		WHEN ` + unreviewed + ` AND c.bound <> '' THEN 'bound' WHEN ` + unreviewed + ` THEN 'unreviewed' ELSE '' END`

	// targetingSize is [campaign.Campaign.TargetingSize] for rows not yet written by this build.
	targetingSize = `(SELECT coalesce(sum(octet_length(v) + 1), 0)
		FROM unnest(t.target_intent_tokens || t.target_keywords || t.target_active_tools ||
		t.target_host_apps || t.target_surfaces || t.target_integration_methods || t.target_regions || t.target_languages || t.deal_ids) v)`

	selectRecord = `WITH own AS (SELECT u.id AS advertiser, coalesce(f.family_id, u.parent_id, u.id) AS family
			FROM campaign c JOIN app_user u ON u.id = c.advertiser_id
			LEFT JOIN account_family f ON f.account_id = coalesce(u.parent_id, u.id) WHERE c.id = $1),
		head AS (SELECT family AS id FROM own
			UNION SELECT f.account_id FROM own JOIN account_family f ON f.family_id = own.family),
		member AS (SELECT id FROM head UNION SELECT s.id FROM head JOIN app_user s ON s.parent_id = head.id)
		SELECT count(DISTINCT c.id) FILTER (WHERE r.decision = 'approved' AND c.advertiser_id = own.advertiser),
		greatest(max(r.at) FILTER (WHERE r.decision = 'rejected'),
			max(c.updated_at) FILTER (WHERE c.policy_violations @? '` + stopping + `')),
		min(c.created_at) FILTER (WHERE c.advertiser_id = own.advertiser),
		(SELECT coalesce(sum(coalesce(t.targeting_size, ` + targetingSize + `)), 0)::bigint FROM campaign t
			WHERE t.advertiser_id = (SELECT advertiser_id FROM campaign WHERE id = $1))
		FROM own CROSS JOIN campaign c LEFT JOIN campaign_review r ON r.campaign_id = c.id
		WHERE c.advertiser_id IN (SELECT id FROM member)`

	insertReview = `INSERT INTO campaign_review (campaign_id, decision, notes, reviewer_id, at) VALUES ($1, $2, $3, $4, $5)`

	openInactive = `INSERT INTO campaign_inactive (campaign_id, from_at) VALUES ($1, $2)`
	// greatest: after the clock was set back, an interval must not end before it begins.
	closeInactive = `UPDATE campaign_inactive SET to_at = greatest(from_at, $2) WHERE campaign_id = $1 AND to_at IS NULL`
)

// The statements name the columns of [campaign.Table], settings_version and targeting_size.
var (
	SelectCampaigns = `SELECT c.` + strings.Join(columns(stored), `, c.`) + fromCampaigns
	selectCampaign  = SelectCampaigns + ` WHERE c.id = $1`
	// Only the campaign's row is locked: the ledger's rows belong to settlement.
	lockCampaign  = selectCampaign + ` FOR UPDATE OF c`
	SelectChanged = SelectCampaigns + ` WHERE c.config_version > $1 ORDER BY c.config_version LIMIT $2`
	selectQueued  = SelectCampaigns + ` WHERE c.id = ANY($1) ORDER BY array_position($1, c.id)`

	insertCampaign = `INSERT INTO campaign (` + strings.Join(columns(stored), `, `) + `, settings_version, targeting_size)
		VALUES (@` + strings.Join(columns(stored), `, @`) + `, @config_version, @targeting_size)`
	updateCampaign = `UPDATE campaign SET ` + assignments(columns(editable)) + `settings_version = @config_version,
		targeting_size = @targeting_size WHERE id = @id`
)

func stored(f campaign.Field) bool   { return f.Column != "" }
func editable(f campaign.Field) bool { return stored(f) && f.By != campaign.OnCreation }

// columns returns the columns of the fields that match.
func columns(match func(campaign.Field) bool) (names []string) {
	for _, f := range campaign.Table {
		if match(f) {
			names = append(names, f.Column)
		}
	}
	return names
}

func assignments(columns []string) string {
	var list strings.Builder
	for _, column := range columns {
		list.WriteString(column + ` = @` + column + `, `)
	}
	return list.String()
}

var (
	_ campaign.Store   = (*Campaigns)(nil)
	_ campaign.Changes = (*Campaigns)(nil)
)

// CreateCampaign stores a new campaign with the status that Admit chooses, and deducts its Credits,
// all or nothing. CreditFunded is set from CreditValue. Zero times become the database's time.
// Errors: errs.NotFound when the advertiser has no account, errs.InsufficientCredit, errs.Conflict
// when the id exists.
func (s *Campaigns) CreateCampaign(ctx context.Context, n campaign.NewCampaign) (campaign.Campaign, error) {
	c := n.Campaign.Clone()
	err := s.Transact(ctx, "create campaign", func(tx pgx.Tx) error {
		developer, first, err := lockForCreation(ctx, tx, &c)
		if err != nil {
			return err
		}
		if err := checkRoom(ctx, tx, &n); err != nil {
			return err
		}
		if n.Admit != nil {
			c.Status = n.Admit(first)
		}
		if n.CreditValue < 0 {
			return errs.New(errs.InvalidRequest, "the value of a Credit cannot be negative")
		}
		c.CreditFunded = n.CreditValue > 0
		if c.CreditFunded {
			f := books.Funding{Campaign: c.ID, Developer: developer, Budget: c.TotalBudget, Value: n.CreditValue}
			if err := books.FundWithCredits(ctx, tx, f); err != nil {
				return err
			}
		}
		if err := stampVersion(ctx, tx, &c); err != nil {
			return err
		}
		at := c.UpdatedAt
		if c.CreatedAt.IsZero() {
			c.CreatedAt = at
		}
		c.SpentToday, c.SpentTotal, c.Pursuit, c.Standing = 0, 0, campaign.Pursuit{}, campaign.Standing{}
		c.Normalize()
		if err := writeCampaign(
			ctx, tx,
			change{sql: insertCampaign, before: &campaign.Campaign{Status: campaign.Active}, after: &c, at: at},
		); err != nil || !c.PaysPerAct() {
			return err
		}
		return tx.QueryRow(ctx, firstCeiling, c.ID).Scan(&c.Standing.Ceiling)
	})
	if err != nil {
		return campaign.Campaign{}, err
	}
	return c, nil
}

// checkRoom checks the advertiser's room. The caller holds the advertiser's lock, so the statement
// sees the campaigns of all earlier creations.
func checkRoom(ctx context.Context, tx pgx.Tx, n *campaign.NewCampaign) error {
	if n.Room == (campaign.Room{}) {
		return nil
	}
	var campaigns, targeting int
	if err := tx.QueryRow(ctx, countOwned, n.Campaign.AdvertiserID).Scan(&campaigns, &targeting); err != nil {
		return err
	}
	return n.Room.Check(campaigns, targeting, n.Campaign.TargetingSize())
}

// lockForCreation takes the advertiser's lock, then checks whether the advertiser or its family has
// a campaign. The check is a statement of its own, so it sees everything that the previous holder
// committed.
func lockForCreation(
	ctx context.Context, tx pgx.Tx, c *campaign.Campaign,
) (developer uuid.UUID, first bool, err error) {
	var suspended bool
	err = tx.QueryRow(ctx, lockAdvertiser, c.AdvertiserID).Scan(&developer, &suspended)
	if errors.Is(err, pgx.ErrNoRows) {
		return developer, false, errs.New(errs.NotFound, "no such advertiser")
	}
	if err != nil {
		return developer, false, err
	}
	if suspended {
		return developer, false, campaign.ErrSuspended
	}
	var has bool
	err = tx.QueryRow(ctx, HasCampaign, c.AdvertiserID).Scan(&has)
	if err != nil || has {
		return developer, false, err
	}
	ad := accounts.AdOf(c)
	first, err = accounts.FirstOfFamily(ctx, tx, &ad)
	return developer, first, err
}

// Campaign finds a campaign by id. Errors: errs.NotFound.
func (s *Campaigns) Campaign(ctx context.Context, id uuid.UUID) (campaign.Campaign, error) {
	return readCampaign(ctx, s.Pool, selectCampaign, id)
}

// Campaigns returns a page with the count of all matches.
func (s *Campaigns) Campaigns(ctx context.Context, f campaign.Filter) ([]campaign.Campaign, int, error) {
	limit, offset := f.Page()
	if f.Waiting {
		if err := (&AdReports{Core: s.Core}).markCounted(ctx); err != nil {
			return nil, 0, err
		}
	}
	total := 0
	where, args := Conditions(f, nil)
	if err := s.Pool.QueryRow(ctx, countCampaigns+where, args...).Scan(&total); err != nil {
		return nil, 0, pg.Failure("count campaigns", err)
	}
	where, args = Conditions(f, []any{limit, offset})
	if f.Waiting {
		page, err := s.queue(ctx, selectQueue+where+orderQueue, args)
		return page, total, err
	}
	page, err := readCampaigns(ctx, s.Pool, SelectCampaigns+where+OrderNewestFirst, args...)
	return page, total, err
}

// queue returns a page of the review queue.
func (s *Campaigns) queue(ctx context.Context, sql string, args []any) ([]campaign.Campaign, error) {
	rows, err := s.Pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, pg.Failure("read the review queue", err)
	}
	var ids []uuid.UUID
	reasons := map[uuid.UUID]campaign.Queued{}
	var id uuid.UUID
	var reason campaign.Queued
	if _, err := pgx.ForEachRow(rows, []any{&id, &reason}, func() error {
		ids, reasons[id] = append(ids, id), reason
		return nil
	}); err != nil {
		return nil, pg.Failure("read the review queue", err)
	}
	page, err := readCampaigns(ctx, s.Pool, selectQueued, ids)
	for i := range page {
		page[i].Queued = reasons[page[i].ID]
	}
	return page, err
}

// Conditions returns the WHERE clause of f, and args with its values appended. Only set fields
// appear, so that the planner finds the index of each combination.
func Conditions(f campaign.Filter, args []any) (string, []any) {
	var parts []string
	if f.AdvertiserID != uuid.Nil {
		args = append(args, f.AdvertiserID)
		parts = append(parts, fmt.Sprintf("c.advertiser_id = $%d", len(args)))
	}
	if f.Status != "" {
		args = append(args, f.Status)
		parts = append(parts, fmt.Sprintf("c.status = $%d", len(args)))
	}
	if f.Waiting {
		parts = append(parts, "("+waiting+" OR "+reported+" OR "+unreviewed+")")
	}
	if f.Waiting && f.Queued != "" {
		args = append(args, f.Queued)
		parts = append(parts, fmt.Sprintf("%s = $%d", queued, len(args)))
	}
	if len(parts) == 0 {
		return "", args
	}
	return " WHERE " + strings.Join(parts, " AND "), args
}

// Record returns the history of a campaign's advertiser over its campaigns, and the refusals of
// its family's.
func (s *Campaigns) Record(ctx context.Context, campaignID uuid.UUID) (record campaign.Record, err error) {
	var refused, since *time.Time
	if err := s.Pool.QueryRow(ctx, selectRecord, campaignID).Scan(
		&record.Approved, &refused, &since, &record.Targeting,
	); err != nil {
		return record, pg.Failure("read the record of an advertiser", err)
	}
	if refused != nil {
		record.Refused = refused.UTC()
	}
	if since != nil {
		record.Since = since.UTC()
	}
	return record, nil
}

// UpdateCampaign runs edit on a copy of the locked campaign and stores the result. Fields that
// [campaign.Keep] restores cannot be edited, and an edit without a change does not raise the
// version. Errors: errs.NotFound and the errors of edit.
//
// The time of a change of state is read from the database's clock after the campaign's row is
// locked. Settlement holds the row FOR SHARE from before it reads the inactive intervals until it
// commits. So an impression is either settled before the pause or falls into the interval; none is
// charged between the two.
func (s *Campaigns) UpdateCampaign(
	ctx context.Context, id uuid.UUID, edit func(*campaign.Campaign) error,
) (campaign.Campaign, error) {
	var stored campaign.Campaign
	err := s.Transact(ctx, "update campaign", func(tx pgx.Tx) error {
		before, err := readCampaign(ctx, tx, lockCampaign, id)
		if err != nil {
			return err
		}
		draft := before.Clone()
		if err := edit(&draft); err != nil {
			return err
		}
		stored = draft.Clone() // edit may still hold the draft
		if !campaign.Keep(&before, &stored) {
			return nil
		}
		if err := stampVersion(ctx, tx, &stored); err != nil {
			return err
		}
		return writeCampaign(ctx, tx, change{sql: updateCampaign, before: &before, after: &stored, at: stored.UpdatedAt})
	})
	if err != nil {
		return campaign.Campaign{}, err
	}
	return stored, nil
}

// stampVersion gives c the next config version and its time. Every other campaign change waits from
// here until the transaction ends.
func stampVersion(ctx context.Context, tx pgx.Tx, c *campaign.Campaign) error {
	err := tx.QueryRow(ctx, nextVersion, c.AdvertiserID).Scan(
		&c.ConfigVersion, &c.UpdatedAt, &c.Advertiser.Name, &c.Advertiser.Verified, &c.Balance,
	)
	c.SettingsVersion = c.ConfigVersion
	return err
}

// change is a campaign to be written by sql; at is the time of its change of state.
type change struct {
	sql           string
	before, after *campaign.Campaign
	at            time.Time
}

// writeCampaign writes the row, the new review and the inactive interval in one round trip.
func writeCampaign(ctx context.Context, tx pgx.Tx, ch change) error {
	args, err := campaignArgs(ch.after)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(ch.sql, args)
	accounts.QueueLikeness(batch, ch.after)
	if r := campaign.NewDecision(ch.before, ch.after); r != nil {
		batch.Queue(insertReview, ch.after.ID, r.Decision, r.Notes, r.ReviewerID, r.At)
	}
	was, is := ch.before.Status == campaign.Active, ch.after.Status == campaign.Active
	switch {
	case was && !is:
		batch.Queue(openInactive, ch.after.ID, ch.at)
	case !was && is:
		batch.Queue(closeInactive, ch.after.ID, ch.at)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if ch.sql == insertCampaign {
		return audit.Record(ctx, tx, auditlog.OfCampaign(nil, ch.after))
	}
	return audit.Record(ctx, tx, auditlog.OfCampaign(ch.before, ch.after))
}

func campaignArgs(c *campaign.Campaign) (pgx.NamedArgs, error) {
	args := pgx.NamedArgs{"targeting_size": c.TargetingSize()}
	for i := range campaign.Table {
		f := &campaign.Table[i]
		if f.Column == "" {
			continue
		}
		value := reflect.ValueOf(f.At(c)).Elem()
		args[f.Column] = value.Interface()
		if f.Kind != campaign.Object {
			continue
		}
		if value.Kind() == reflect.Pointer && value.IsNil() {
			args[f.Column] = nil
			continue
		}
		text, err := json.Marshal(value.Interface())
		if err != nil {
			return nil, err
		}
		args[f.Column] = text
	}
	return args, nil
}

// ChangedCampaigns lists the campaigns with a config version above since, in version order. All
// versions up to head are included: versions commit in order, so a reader that sees one sees all
// earlier ones.
func (s *Campaigns) ChangedCampaigns(ctx context.Context, since int64, limit int) ([]campaign.Campaign, int64, error) {
	limit = max(1, limit)
	var head int64
	if err := s.Pool.QueryRow(ctx, selectHead).Scan(&head); err != nil {
		return nil, 0, pg.Failure("read config head", err)
	}
	if head <= since { // the usual answer to a poll, one row
		return nil, head, nil
	}
	changed, err := readCampaigns(ctx, s.Pool, SelectChanged, since, limit)
	if err != nil {
		return nil, 0, err
	}
	if n := len(changed); n > 0 {
		last := changed[n-1].ConfigVersion
		if n >= limit || last > head { // a full page, or changes committed since the head was read
			head = last
		}
	}
	return changed, head, nil
}

func readCampaign(ctx context.Context, q pg.Querier, sql string, id uuid.UUID) (campaign.Campaign, error) {
	rows, err := q.Query(ctx, sql, id)
	if err != nil {
		return campaign.Campaign{}, pg.Failure("read campaign", err)
	}
	c, err := pgx.CollectExactlyOneRow(rows, scanCampaign)
	if errors.Is(err, pgx.ErrNoRows) {
		return campaign.Campaign{}, errs.New(errs.NotFound, "no such campaign")
	}
	return c, pg.Failure("read campaign", err)
}

func readCampaigns(ctx context.Context, q pg.Querier, sql string, args ...any) ([]campaign.Campaign, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, pg.Failure("read campaigns", err)
	}
	list, err := pgx.CollectRows(rows, scanCampaign)
	return list, pg.Failure("read campaigns", err)
}

// scanCampaign reads a row of selectCampaigns.
func scanCampaign(row pgx.CollectableRow) (c campaign.Campaign, err error) {
	var to []any
	objects := map[*campaign.Field]*[]byte{}
	for i := range campaign.Table {
		switch f := &campaign.Table[i]; {
		case f.Column == "":
		case f.Kind == campaign.Object:
			objects[f] = new([]byte)
			to = append(to, objects[f])
		default:
			to = append(to, f.At(&c))
		}
	}
	to = append(to, &c.SettingsVersion, &c.Standing.Family, &c.Standing.Vote, &c.Standing.ClickRate,
		&c.Standing.ConvertRate, &c.Standing.Ceiling, &c.Standing.Bound, &c.SpentToday, &c.SpentTotal,
		&c.Advertiser.Name, &c.Advertiser.Verified, &c.Balance)
	if err := row.Scan(to...); err != nil {
		return c, err
	}
	for f, text := range objects {
		if *text == nil {
			continue
		}
		if err := json.Unmarshal(*text, f.At(&c)); err != nil {
			return c, fmt.Errorf("campaign %s: %s: %w", c.ID, f.Column, err)
		}
	}
	c.Normalize()
	return c, nil
}
