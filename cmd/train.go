package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/analytics/clickhouse"
	"adnet/auction/index"
	"adnet/auction/train"
	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/consumers/learn"
	"adnet/ingress/catalog"
	"adnet/internal/campaign"
	"adnet/internal/demo"
	"adnet/internal/process/obs"
	"adnet/internal/store/postgres"
)

// trainRun is `adnet train`.
type trainRun struct {
	ClickHouse clickhouse.Config `embed:""`
	Postgres   postgres.Config   `embed:""`
	Date       string            `name:"date" help:"UTC day of evaluation, like 2026-01-31 (default: yesterday); earlier days are the training data."`
	Explain    bool              `name:"explain" help:"Change nothing; print the outcome of the last versions and the reasons for rejections."`
	Rollback   bool              `name:"rollback" help:"Restore the previous version; every node follows within 2 s."`
	JSON       bool              `name:"json" help:"Print JSON."`
}

// shownVersions is the number of versions that --explain lists.
const shownVersions = 10

// Run runs the command until it finishes or receives a stop signal.
func (c *trainRun) Run(p cli.Process) error {
	if c.Explain && c.Rollback {
		return fmt.Errorf("--explain and --rollback exclude each other")
	}
	day := time.Now().UTC().AddDate(0, 0, -1)
	if c.Date != "" {
		var err error
		if day, err = time.Parse(time.DateOnly, c.Date); err != nil {
			return fmt.Errorf("--date must be a day like 2026-01-31, not %q", c.Date)
		}
	}
	books, err := postgres.Open(p.Ctx, c.Postgres)
	if err != nil {
		return err
	}
	defer books.Close()
	deps := learn.Deps{
		Log: p.Log, Metrics: obs.NewRegistry(), Campaigns: deliverable{books.Campaigns}, Families: books.Publishers,
		Store: books.Weights,
	}
	switch {
	case c.Explain:
		return c.explain(p, books)
	case c.Rollback:
		learner, err := newLearner(learn.Config{}, deps)
		if err == nil {
			err = learner.Rollback(context.WithoutCancel(p.Ctx))
		}
		if err != nil {
			return err
		}
		return c.explain(p, books)
	}
	store, err := backends.OpenClickHouse(p.Ctx, p.Log, c.ClickHouse)
	if err != nil {
		return err
	}
	defer backends.Close(p.Log, "ClickHouse", store.Close)
	deps.Source = store
	learner, err := newLearner(learn.Config{}, deps)
	if err != nil {
		return err
	}
	done, err := learner.Turn(p.Ctx, day)
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(
			p.Stdout, map[string]any{"version": done.Number, "stage": done.Stage, "report": done.Report},
		)
	}
	fmt.Fprintf(p.Stdout, "version %d: %s\n", done.Number, done.Stage)
	for _, why := range done.Report.Why {
		fmt.Fprintf(p.Stdout, "  %s\n", why)
	}
	return nil
}

// explain prints the last versions with the findings about each.
func (c *trainRun) explain(p cli.Process, books *postgres.Stores) error {
	versions, err := books.Weights.WeightVersions(p.Ctx, shownVersions)
	if err != nil {
		return err
	}
	type summary struct {
		Version int64        `json:"version"`
		Stage   string       `json:"stage"`
		Since   time.Time    `json:"since"`
		MadeAt  time.Time    `json:"made_at"`
		Report  train.Report `json:"report"`
	}
	list := make([]summary, len(versions))
	for i, v := range versions {
		list[i] = summary{Version: v.Number, Stage: string(v.Stage), Since: v.StageAt.UTC(), MadeAt: v.MadeAt.UTC()}
		if err := json.Unmarshal(v.Report, &list[i].Report); err != nil {
			return fmt.Errorf("version %d: %w", v.Number, err)
		}
	}
	if c.JSON {
		return cli.PrintJSON(p.Stdout, map[string]any{"versions": list})
	}
	if len(list) == 0 {
		fmt.Fprintln(p.Stdout, "nothing has been learnt yet: auctions are decided by the texts of campaigns")
	}
	for _, v := range list {
		r := &v.Report
		fmt.Fprintf(p.Stdout, "version %d: %s since %s\n", v.Version, v.Stage, v.Since.Format(time.RFC3339))
		fmt.Fprintf(
			p.Stdout, "  %d impressions, %.0f clicks; log loss %.6f, in force %.6f; predicted ÷ observed %.3f\n",
			r.Impressions, r.Clicks, r.LogLoss, r.Incumbent, r.Ratio,
		)
		if c := r.Conversions; c != nil {
			fmt.Fprintf(
				p.Stdout, "  %d conversions of %d clicks; log loss %.3f, in force %.3f%s\n", c.Conversions, c.Clicks,
				c.LogLoss, c.Incumbent, unchanged(c.Reason),
			)
		}
		if s := r.Views; s != nil {
			fmt.Fprintf(
				p.Stdout, "  %d views of %d impressions: p(view) %.3f; log loss %.3f, in force %.3f%s\n", s.Views,
				s.Impressions, s.PView, s.LogLoss, s.Incumbent, unchanged(s.Reason),
			)
		}
		fmt.Fprintf(
			p.Stdout, "  demo requests right %d of %d, attacks taken %d of %d\n", r.Exam.Right, r.Exam.Of, r.Exam.Taken,
			r.Exam.Attacks,
		)
		for _, why := range r.Why {
			fmt.Fprintf(p.Stdout, "  refused: %s\n", why)
		}
	}
	return nil
}

// unchanged returns the note that the rates in force stay, with the reason.
func unchanged(why string) string {
	if why == "" {
		return ""
	}
	return "; rates in force kept: " + why
}

// newLearner builds a learner that is evaluated on the demo world.
func newLearner(cfg learn.Config, deps learn.Deps) (*learn.Learner, error) {
	var err error
	if deps.World, err = demoWorld(); err != nil {
		return nil, err
	}
	return learn.New(cfg, deps)
}

// demoWorld returns the labelled requests of the demo.
func demoWorld() (world train.World, err error) {
	campaigns, err := demo.Campaigns()
	if err != nil {
		return world, err
	}
	requests, err := demo.Requests()
	if err != nil {
		return world, err
	}
	named := map[string]index.ID{}
	for i := range campaigns {
		f := &campaigns[i]
		// Ids and owners that exist in no network.
		owner, _, _ := strings.Cut(*f.Name, "-")
		k := campaign.Campaign{
			ID: uuid.NewSHA1(uuid.Nil, []byte(*f.Name)), AdvertiserID: uuid.NewSHA1(uuid.Nil, []byte(owner)),
			Creative:     campaign.Creative{Format: campaign.Native, Headline: *f.Headline, Subtext: *f.Subtext},
			BillingModel: campaign.CPM,
			Targeting: campaign.Targeting{
				Mode: campaign.Broad, IntentTokens: f.IntentTokens, Keywords: f.Keywords, Languages: f.Languages,
			},
		}
		entry := catalog.Entry(&k)
		named[*f.Name] = entry.ID
		world.Campaigns = append(world.Campaigns, entry)
	}
	for _, r := range requests {
		if len(r.Label) == 0 {
			continue
		}
		q := train.Question{Context: r.Context, Language: r.UserLanguage}
		for _, label := range r.Label {
			q.Right = append(q.Right, named[label])
		}
		world.Questions = append(world.Questions, q)
	}
	return world, nil
}

// deliverable reads the campaigns that auctions may select.
type deliverable struct{ source campaign.Changes }

// Deliverable implements learn.Campaigns.
func (d deliverable) Deliverable(ctx context.Context) (list []index.Campaign, err error) {
	const page = 5000
	since := int64(0)
	for {
		changed, _, err := d.source.ChangedCampaigns(ctx, since, page)
		if err != nil {
			return nil, err
		}
		for i := range changed {
			if changed[i].Delivers() {
				list = append(list, catalog.Entry(&changed[i]))
			}
			since = max(since, changed[i].ConfigVersion)
		}
		if len(changed) < page {
			return slices.Clip(list), nil
		}
	}
}
