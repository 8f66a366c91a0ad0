package books

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/traffic"
)

const (
	// What waits no longer: see ledger.ActsBook. Another applier judges the rows that it has
	// locked.
	heldDueSQL = earlyColumns + `held AND (written_at <= $1
	OR NOT EXISTS (SELECT FROM quarantine q WHERE q.campaign_id = h.campaign_id AND q.decision IS NULL)
	OR EXISTS (SELECT FROM quarantine q WHERE q.campaign_id = h.campaign_id AND q.developer_id = h.developer_id
		AND q.decided_at + interval '1 minute' >= h.written_at))
ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED`

	// The rows are locked.
	markHeldSQL = `UPDATE early_event SET held = true WHERE id = ANY($1::bigint[])`

	// familyOldestSQL joins the oldest account o of the family of the account s.
	familyOldestSQL = `
LEFT JOIN account_family f ON f.account_id = coalesce(s.parent_id, s.id)
LEFT JOIN app_user o ON o.id = coalesce(f.family_id, s.parent_id, s.id)`

	actsSQL = `
SELECT want.campaign_id, want.developer_id, coalesce(o.created_at, s.created_at),
	EXISTS (SELECT FROM quarantine q WHERE q.campaign_id = want.campaign_id AND q.developer_id = want.developer_id
		AND q.decision IS NULL),
	EXISTS (SELECT FROM quarantine q WHERE q.campaign_id = want.campaign_id AND q.decision IS NULL),
	(SELECT count(*) FROM early_event h WHERE h.held AND h.judged_offset IS NULL AND h.campaign_id = want.campaign_id
		AND h.developer_id = want.developer_id)
FROM unnest($1::uuid[], $2::uuid[]) AS want (campaign_id, developer_id)
LEFT JOIN app_user s ON s.developer_id = want.developer_id` + familyOldestSQL

	actsDecidedSQL = `
SELECT q.campaign_id, q.developer_id, q.decided_at, q.decision FROM quarantine q
JOIN unnest($1::uuid[], $2::uuid[]) AS want (campaign_id, developer_id) USING (campaign_id, developer_id)
WHERE q.decision IS NOT NULL ORDER BY q.decided_at`

	heldActsSQL = `
SELECT campaign_id, developer_id, count(DISTINCT auction_id) FROM early_event WHERE held AND judged_offset IS NULL
GROUP BY 1, 2`

	youngPublishersSQL = `
SELECT s.developer_id, coalesce(o.developer_id, s.developer_id) FROM app_user s` + familyOldestSQL + `
WHERE coalesce(o.created_at, s.created_at) > $1
	AND EXISTS (SELECT FROM publisher_day d WHERE d.developer_id = s.developer_id AND d.day >= $2)`

	openActCasesSQL = `SELECT campaign_id, developer_id FROM quarantine WHERE campaign_id IS NOT NULL AND decision IS NULL`

	perActSQL = `SELECT id, billing_model FROM campaign WHERE billing_model IN ('cpc', 'cpa')`
)

// Acts reads the cases about acts without a lock: an act that settlement holds beside a decision is
// settled by it with the next batch.
func (b *batchTx) Acts(
	ctx context.Context, held bool, which func() []ledger.Acts,
) (map[ledger.Acts]*ledger.ActsBook, error) {
	if !b.anyActs && !held {
		return nil, nil
	}
	list := which()
	if len(list) == 0 {
		return nil, nil
	}
	campaigns, developers := make([][16]byte, len(list)), make([][16]byte, len(list))
	for i, acts := range list {
		campaigns[i], developers[i] = acts.CampaignID, acts.DeveloperID
	}
	books := make(map[ledger.Acts]*ledger.ActsBook, len(list))
	var batch pgx.Batch
	batch.Queue(actsSQL, campaigns, developers).Query(func(rows pgx.Rows) error {
		var acts ledger.Acts
		var book ledger.ActsBook
		var registered *time.Time
		fields := []any{&acts.CampaignID, &acts.DeveloperID, &registered, &book.Open, &book.Campaign, &book.Waiting}
		_, err := pgx.ForEachRow(rows, fields, func() error {
			stored := book
			if registered != nil {
				stored.Registered = registered.UTC()
			}
			books[acts] = &stored
			return nil
		})
		return err
	})
	batch.Queue(actsDecidedSQL, campaigns, developers).Query(func(rows pgx.Rows) error {
		var acts ledger.Acts
		var d ledger.ActsDecision
		fields := []any{&acts.CampaignID, &acts.DeveloperID, &d.At, &d.Decision}
		_, err := pgx.ForEachRow(rows, fields, func() error {
			d.At = d.At.UTC()
			books[acts].Decided = append(books[acts].Decided, d)
			return nil
		})
		return err
	})
	if err := b.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("read cases about acts: %w", err)
	}
	return books, nil
}

// Hold notes that early events wait for a decision about acts.
func (b *batchTx) Hold(ctx context.Context, ids []int64) error {
	_, err := b.tx.Exec(ctx, markHeldSQL, ids)
	return err
}

// HeldActs counts the acts that wait for a decision.
func (s *Publishers) HeldActs(ctx context.Context) (map[ledger.Acts]int64, error) {
	rows, err := s.Pool.Query(ctx, heldActsSQL)
	if err != nil {
		return nil, pg.Failure("count held acts", err)
	}
	held := make(map[ledger.Acts]int64)
	var acts ledger.Acts
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&acts.CampaignID, &acts.DeveloperID, &n}, func() error {
		held[acts] = n
		return nil
	})
	return held, pg.Failure("count held acts", err)
}

// YoungPublishers maps the publishers with events within [traffic.ActDays] whose families are young
// to the developer id of the family's oldest account.
func (s *Publishers) YoungPublishers(ctx context.Context, now time.Time) (map[uuid.UUID]uuid.UUID, error) {
	since := now.AddDate(0, 0, -traffic.ActDays)
	rows, err := s.Pool.Query(ctx, youngPublishersSQL, since, int32(day.Of(now)-traffic.ActDays+1))
	if err != nil {
		return nil, pg.Failure("read young publishers", err)
	}
	young := make(map[uuid.UUID]uuid.UUID)
	var developer, owner uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&developer, &owner}, func() error { young[developer] = owner; return nil })
	return young, pg.Failure("read young publishers", err)
}

// PerActCampaigns returns the models of the campaigns that pay per click or conversion.
func (s *Publishers) PerActCampaigns(ctx context.Context) (map[uuid.UUID]campaign.BillingModel, error) {
	rows, err := s.Pool.Query(ctx, perActSQL)
	if err != nil {
		return nil, pg.Failure("read campaigns that pay per act", err)
	}
	models := make(map[uuid.UUID]campaign.BillingModel)
	var id uuid.UUID
	var model campaign.BillingModel
	_, err = pgx.ForEachRow(rows, []any{&id, &model}, func() error { models[id] = model; return nil })
	return models, pg.Failure("read campaigns that pay per act", err)
}

// OpenActCases lists the publishers with open cases about acts, by campaign.
func (s *Publishers) OpenActCases(ctx context.Context) (map[uuid.UUID][]uuid.UUID, error) {
	rows, err := s.Pool.Query(ctx, openActCasesSQL)
	if err != nil {
		return nil, pg.Failure("list cases about acts", err)
	}
	open := make(map[uuid.UUID][]uuid.UUID)
	var of, developer uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&of, &developer}, func() error {
		open[of] = append(open[of], developer)
		return nil
	})
	return open, pg.Failure("list cases about acts", err)
}
