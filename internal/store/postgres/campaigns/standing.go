package campaigns

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/standing"
	"adnet/internal/store/postgres/pg"
)

const (
	selectVoters = `SELECT u.id, coalesce(u.parent_id, '00000000-0000-0000-0000-000000000000'),
		u.developer_id, u.created_at,
		coalesce(b.amount, 0) > 0
		FROM app_user u LEFT JOIN balance b ON b.account = 'advertiser:' || u.id::text AND b.asset = 'USD' ORDER BY u.id`

	selectCharges = `SELECT s.advertiser_id, u.id, sum(greatest(0, s.charged - s.refunded - s.unbacked))::bigint
		FROM credit_source s JOIN app_user u ON u.developer_id = s.developer_id
		WHERE s.day BETWEEN $1 AND $2 GROUP BY 1, 2
		HAVING sum(greatest(0, s.charged - s.refunded - s.unbacked)) > 0 ORDER BY 1, 2`

	// A new campaign begins with the newest ceiling of others, as the first run of
	// consumers/standing may be a minute away.
	firstCeiling = `UPDATE campaign SET ceiling = coalesce((SELECT ceiling FROM campaign WHERE ceiling > 0
ORDER BY config_version DESC LIMIT 1), 0) WHERE id = $1 RETURNING ceiling`

	// In the order of ids, so that processes that write the same standings cannot deadlock.
	lockStandings = `SELECT c.id FROM campaign c JOIN unnest($1::uuid[], $2::bigint[]) AS w (id, seen)
		ON c.id = w.id AND c.config_version = w.seen ORDER BY c.id FOR UPDATE OF c`
	nextVersions  = `UPDATE config_head SET version = version + $1 RETURNING version`
	keepStandings = `UPDATE campaign SET family_id = w.family_id, vote = w.vote, click_rate = w.click_rate,
		convert_rate = w.convert_rate, ceiling = w.ceiling, bound = w.bound, config_version = $8 + w.at
		FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
		WITH ORDINALITY AS w (id, family_id, vote, click_rate, convert_rate, ceiling, bound, at)
		WHERE campaign.id = w.id`

	// In the order of ids, so that processes that write the same votes cannot deadlock.
	endPublisherVotes = `DELETE FROM publisher_vote WHERE developer_id IN (
		SELECT developer_id FROM publisher_vote WHERE NOT developer_id = ANY($1::uuid[]) ORDER BY 1 FOR UPDATE)`
	keepPublisherVotes = `INSERT INTO publisher_vote AS v (developer_id, vote)
		SELECT u.developer_id, w.vote FROM unnest($1::uuid[], $2::bigint[]) AS w (id, vote) JOIN app_user u USING (id)
		ORDER BY 1
		ON CONFLICT (developer_id) DO UPDATE SET vote = EXCLUDED.vote WHERE v.vote <> EXCLUDED.vote`
	selectPublisherVotes = `SELECT developer_id, vote FROM publisher_vote`
)

// Voters lists all accounts with what their votes need, by id.
func (s *Campaigns) Voters(ctx context.Context) ([]standing.Account, error) {
	rows, err := s.Pool.Query(ctx, selectVoters)
	if err != nil {
		return nil, pg.Failure("read voters", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a standing.Account, err error) {
		err = row.Scan(&a.ID, &a.Parent, &a.Developer, &a.Created, &a.Funded)
		a.Created = a.Created.UTC()
		return a, err
	})
	return list, pg.Failure("read voters", err)
}

// BackedCharges lists the sums of the charges that were received on the days from since to until,
// by payer and publisher.
func (s *Campaigns) BackedCharges(ctx context.Context, since, until day.Day) ([]standing.Charge, error) {
	rows, err := s.Pool.Query(ctx, selectCharges, int32(since), int32(until))
	if err != nil {
		return nil, pg.Failure("read charges", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c standing.Charge, err error) {
		err = row.Scan(&c.Payer, &c.Publisher, &c.Amount)
		return c, err
	})
	return list, pg.Failure("read charges", err)
}

// standingsAtOnce is the number of standings in one transaction. It holds config_head for the last
// two statements, so that the changes of owners wait for milliseconds only.
const standingsAtOnce = 500

// KeepStandings stores the standings of campaigns that did not change meanwhile: an owner's change
// takes precedence, and the next minute's run starts from it.
func (s *Campaigns) KeepStandings(ctx context.Context, changes []campaign.StandingChange) error {
	for some := range slices.Chunk(changes, standingsAtOnce) {
		if err := s.Transact(
			ctx, "keep standings", func(tx pgx.Tx) error { return stand(ctx, tx, some) },
		); err != nil {
			return err
		}
	}
	return nil
}

func stand(ctx context.Context, tx pgx.Tx, changes []campaign.StandingChange) error {
	wanted, seen := make([]uuid.UUID, len(changes)), make([]int64, len(changes))
	of := make(map[uuid.UUID]*campaign.Standing, len(changes))
	for i := range changes {
		k := &changes[i]
		wanted[i], seen[i], of[k.CampaignID] = k.CampaignID, k.Seen, &k.Standing
	}
	rows, err := tx.Query(ctx, lockStandings, wanted, seen)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(ids) == 0 {
		return err
	}
	var head int64
	if err := tx.QueryRow(ctx, nextVersions, len(ids)).Scan(&head); err != nil {
		return err
	}
	var k standingColumns
	for _, id := range ids {
		k.add(of[id])
	}
	_, err = tx.Exec(
		ctx, keepStandings, ids, k.families, k.votes, k.clickRates, k.convertRates, k.ceilings, k.bounds,
		head-int64(len(ids)),
	)
	return err
}

// standingColumns holds standings by column.
type standingColumns struct {
	families                                  []uuid.UUID
	votes, clickRates, convertRates, ceilings []int64
	bounds                                    []string
}

func (c *standingColumns) add(k *campaign.Standing) {
	c.families, c.votes = append(c.families, k.Family), append(c.votes, k.Vote)
	c.clickRates, c.convertRates = append(c.clickRates, k.ClickRate), append(c.convertRates, k.ConvertRate)
	c.ceilings, c.bounds = append(c.ceilings, int64(k.Ceiling)), append(c.bounds, string(k.Bound))
}

// KeepPublisherVotes replaces the votes of publishers. The keys are accounts; one that is missing
// has no vote.
func (s *Campaigns) KeepPublisherVotes(ctx context.Context, votes map[uuid.UUID]int64) error {
	accounts, of := make([]uuid.UUID, 0, len(votes)), make([]int64, 0, len(votes))
	for id, vote := range votes {
		accounts, of = append(accounts, id), append(of, vote)
	}
	return s.Transact(ctx, "keep the votes of publishers", func(tx pgx.Tx) error {
		var developers []uuid.UUID
		if err := tx.QueryRow(
			ctx, `SELECT coalesce(array_agg(developer_id), '{}') FROM app_user WHERE id = ANY($1)`, accounts,
		).Scan(&developers); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, endPublisherVotes, developers); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, keepPublisherVotes, accounts, of)
		return err
	})
}

// PublisherVotes returns the votes of publishers by developer id; a missing one has none.
func (s *Campaigns) PublisherVotes(ctx context.Context) (map[uuid.UUID]int64, error) {
	rows, err := s.Pool.Query(ctx, selectPublisherVotes)
	if err != nil {
		return nil, pg.Failure("read the votes of publishers", err)
	}
	votes := map[uuid.UUID]int64{}
	var id uuid.UUID
	var vote int64
	_, err = pgx.ForEachRow(rows, []any{&id, &vote}, func() error {
		votes[id] = vote
		return nil
	})
	return votes, pg.Failure("read the votes of publishers", err)
}
