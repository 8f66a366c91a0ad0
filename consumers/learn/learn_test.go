package learn

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/auction/index"
	"adnet/auction/lexicon"
	"adnet/auction/train"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/ranking"
	"adnet/internal/report"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func id(kind byte, n int) (id [16]byte) {
	id[0] = kind
	binary.BigEndian.PutUint32(id[12:], uint32(n))
	return id
}

// subjects are what ads and requests are about.
var subjects = []string{"postgres", "flights", "espresso", "bicycle", "spanish"}

// source is honest readers: they click on ads of their subject, at a rate.
type source struct {
	perDay int
	rate   float64
	trial  bool // weights are on trial, which foretell the rates exactly
	owners map[uuid.UUID]uuid.UUID
	err    error
}

func (s *source) Impressions(_ context.Context, day time.Time, most int) (list []report.Impression, err error) {
	if day.Before(noon.AddDate(0, 0, -4)) {
		return nil, s.err // the network is young
	}
	rng := rand.New(rand.NewPCG(uint64(day.Unix()), 1))
	for i := range min(most, s.perDay) {
		ad, requests := rng.IntN(len(subjects)), rng.IntN(len(subjects))
		rate := s.rate / 10
		if ad == requests {
			rate = s.rate
		}
		r := report.Impression{
			Day: day, CampaignID: id('c', ad), Advertiser: id('a', ad), DeveloperID: id('p', i%30),
			Terms:   []uint32{lexicon.TermID(terms[requests])},
			Clicked: rng.Float64() < rate, Network: int64(1 + rng.IntN(60_000)), PClick: 20_000,
		}
		if s.trial {
			r.TrialPClick = int64(rate * 1e6)
		}
		list = append(list, r)
	}
	return list, s.err
}

// Clicks are those of impressions; nothing comes of them.
func (s *source) Clicks(ctx context.Context, day time.Time, most int) (list []report.Impression, err error) {
	all, err := s.Impressions(ctx, day, most)
	for _, r := range all {
		if r.Clicked {
			list = append(list, r)
		}
	}
	return list, err
}

// Views are those of 30 publishers; 3 impressions in 10 are viewed.
func (s *source) Views(_ context.Context, day time.Time) (list []report.Seen, err error) {
	for i := range 30 {
		list = append(list, report.Seen{DeveloperID: id('p', i), Impressions: 1000, Views: 300})
	}
	return list, s.err
}

// terms are the subjects as the analyzer reads them.
var terms = []string{"postgr", "flight", "espresso", "bicycl", "spanish"}

func (s *source) Deliverable(context.Context) (list []index.Campaign, err error) {
	for i, subject := range subjects {
		list = append(
			list,
			index.Campaign{ID: id('c', i), Advertiser: id('a', i), Bid: money.USD, Vote: index.FullVote, Headline: subject + " for all"},
		)
	}
	return list, nil
}

func (s *source) FamilyOwners(context.Context) (map[uuid.UUID]uuid.UUID, error) { return s.owners, nil }

// Accounts cost nothing: those of one family are one publisher in all that is learnt, and others
// are as before.
func TestFamilyOfPublishersCountsOnce(t *testing.T) {
	s, owners := &source{perDay: 300}, map[uuid.UUID]uuid.UUID{}
	for i := 1; i < 20; i++ {
		owners[id('p', i)] = id('p', 0)
	}
	publishers := func(owners map[uuid.UUID]uuid.UUID) (sold, viewed map[index.ID]float64) {
		turn := turn{Learner: &Learner{deps: Deps{Source: s}}, day: noon, owners: owners}
		samples, err := turn.samples(t.Context(), noon, 0)
		require.NoError(t, err)
		views, err := turn.views(t.Context())
		require.NoError(t, err)
		viewed = map[index.ID]float64{}
		for _, v := range views {
			viewed[v.Publisher] += float64(v.Impressions)
		}
		return train.Weigh(samples), viewed
	}
	sold, viewed := publishers(owners)
	require.Len(t, sold, 11)
	require.Len(t, viewed, 11)
	require.Less(t, sold[id('p', 0)], sold[id('p', 25)], "the family is limited as one publisher is")
	sold, viewed = publishers(nil)
	require.Len(t, sold, 30)
	require.Len(t, viewed, 30)
}

// A turn counts the families of publishers that the store names.
func TestTurnsReadFamilies(t *testing.T) {
	s, stored, now := &source{perDay: 8000, rate: 0.6}, &shelf{}, noon
	first, err := night(t, s, stored, &now).nightly(t.Context(), now.AddDate(0, 0, -1))
	require.NoError(t, err)
	s.owners, stored = map[uuid.UUID]uuid.UUID{}, &shelf{}
	for i := range 15 {
		s.owners[id('p', i)] = id('p', 15)
	}
	other, err := night(t, s, stored, &now).nightly(t.Context(), now.AddDate(0, 0, -1))
	require.NoError(t, err)
	require.NotEqual(t, first.Report.LogLoss, other.Report.LogLoss)
}

// shelf is a store of weights in memory: internal/store/storetest holds the real ones to their promises.
type shelf struct{ versions []ranking.Version }

func (s *shelf) WeightVersions(_ context.Context, limit int) (list []ranking.Version, err error) {
	for i := range s.versions {
		list = append(list, s.versions[len(s.versions)-1-i])
	}
	return list[:min(limit, len(list))], nil
}

func (s *shelf) WeightData(_ context.Context, number int64) ([]byte, error) {
	return s.versions[number-1].Data, nil
}

func (s *shelf) AddWeights(
	_ context.Context, at time.Time, report []byte, encode func(int64) ([]byte, error),
) (int64, error) {
	number := int64(len(s.versions) + 1)
	data, err := encode(number)
	s.versions = append(
		s.versions,
		ranking.Version{Number: number, Stage: ranking.Refused, MadeAt: at, StageAt: at, Report: report, Data: data},
	)
	return number, err
}

func (s *shelf) MoveWeights(
	_ context.Context, at time.Time, decide func([]ranking.Version) ([]ranking.Move, error),
) error {
	moves, err := decide(s.versions)
	for _, m := range moves {
		v := &s.versions[m.Number-1]
		v.Stage, v.StageAt = m.To, at
		if m.Report != nil {
			v.Report = m.Report
		}
	}
	return err
}

// night is a learner at a time.
func night(t *testing.T, s *source, stored *shelf, now *time.Time) *Learner {
	l, err := New(Config{At: time.Hour}, Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: s, Campaigns: s, Families: s, Store: stored,
		World: train.World{},
		Now:   func() time.Time { return *now },
	})
	require.NoError(t, err)
	return l
}

func TestWeightsComeToDecide(t *testing.T) {
	s, stored, now := &source{perDay: 8000, rate: 0.6}, &shelf{}, noon
	l := night(t, s, stored, &now)
	next := func() Done {
		done, err := l.nightly(t.Context(), now.AddDate(0, 0, -1))
		require.NoError(t, err)
		now = now.AddDate(0, 0, 1)
		return done
	}
	first := next()
	require.Empty(t, first.Report.Why)
	require.Equal(t, ranking.State{Trial: 1, Stage: ranking.Shadow}, ranking.StateOf(stored.versions))
	weights, err := train.Decode(stored.versions[0].Data)
	require.NoError(t, err)
	require.EqualValues(t, 333_333, weights.View, "a step from a half on the way to 3 in 10")
	require.EqualValues(t, 210_000, reportOf(stored.versions[0]).Views.Impressions)

	s.trial = true
	for range 2 { // nor the day that has judged it
		done, err := l.Turn(t.Context(), noon.AddDate(0, 0, -1))
		require.NoError(t, err)
		require.Equal(t, ranking.Shadow, done.Stage, "a day before the shadow cannot judge it")
	}
	s.trial = false
	require.Equal(t, ranking.Shadow, next().Stage, "nor can a day on which nodes foretold nothing")
	require.Contains(t, reportOf(stored.versions[0]).Why[0], "0 clicks")
	s.trial = true
	require.Equal(t, ranking.Part, next().Stage)
	now = now.AddDate(0, 0, -1)
	require.Equal(t, ranking.Part, next().Stage, "of two processes one has the night")
	require.Equal(t, ranking.All, next().Stage)
	require.Equal(t, ranking.State{Trial: 1, Stage: ranking.All}, ranking.StateOf(stored.versions))

	require.EqualValues(t, 2, next().Number, "the next one is trained")
	require.NoError(t, l.Rollback(t.Context()))
	require.NotEqual(t, ranking.State{Trial: 1, Stage: ranking.All}, ranking.StateOf(stored.versions))
}

func TestATrialThatForetellsBadlyEnds(t *testing.T) {
	s, stored, now := &source{perDay: 8000, rate: 0.6}, &shelf{}, noon
	l := night(t, s, stored, &now)
	_, err := l.Turn(t.Context(), now.AddDate(0, 0, -1))
	require.NoError(t, err)
	s.trial, now = true, now.AddDate(0, 0, 1)
	worse := &exaggerating{s}
	l.deps.Source = worse
	done, err := l.Turn(t.Context(), now.AddDate(0, 0, -1))
	require.NoError(t, err)
	require.Equal(t, ranking.Refused, done.Stage)
	require.NotEmpty(t, done.Report.Why)
	require.Equal(t, ranking.State{}, ranking.StateOf(stored.versions))
}

// exaggerating is a source whose trial foretells half as many clicks again.
type exaggerating struct{ *source }

func (s *exaggerating) Impressions(ctx context.Context, day time.Time, most int) ([]report.Impression, error) {
	list, err := s.source.Impressions(ctx, day, most)
	for i := range list {
		list[i].TrialPClick += list[i].TrialPClick / 2
	}
	return list, err
}

func TestFewClicksPromoteNothing(t *testing.T) {
	s, stored, now := &source{perDay: 500, rate: 0.6}, &shelf{}, noon
	l := night(t, s, stored, &now)
	done, err := l.Turn(t.Context(), now.AddDate(0, 0, -1))
	require.NoError(t, err)
	require.Equal(t, ranking.Refused, done.Stage)
	require.Contains(t, done.Report.Why[0], "at least 1000")
	require.Equal(t, "2026-03-03", reportOf(stored.versions[0]).Day)
	require.Equal(t, ranking.State{}, ranking.StateOf(stored.versions))
}

func TestWhatChangedMeanwhileStays(t *testing.T) {
	s, stored, now := &source{perDay: 8000, rate: 0.6, trial: true}, &shelf{}, noon
	l := night(t, s, stored, &now)
	_, err := l.Turn(t.Context(), now.AddDate(0, 0, -1))
	require.NoError(t, err)
	now = now.AddDate(0, 0, 1)
	l.deps.Campaigns = meddling{s, func() { require.NoError(t, l.Rollback(t.Context())) }}
	_, err = l.Turn(t.Context(), now.AddDate(0, 0, -1))
	require.True(t, errs.Is(err, errs.Conflict), err)
	require.Equal(t, ranking.State{}, ranking.StateOf(stored.versions))
}

// meddling does something while a turn runs.
type meddling struct {
	*source
	meddle func()
}

func (m meddling) Deliverable(ctx context.Context) ([]index.Campaign, error) {
	m.meddle()
	return m.source.Deliverable(ctx)
}

func TestFailuresAreTold(t *testing.T) {
	broken := errors.New("away")
	s, now := &source{err: broken}, noon
	_, err := night(t, s, &shelf{}, &now).Turn(t.Context(), now)
	require.ErrorIs(t, err, broken)
	_, err = New(Config{At: 24 * time.Hour}, Deps{})
	require.True(t, errs.Is(err, errs.InvalidRequest))
}
