package campaign_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/campaign/subject"
	"adnet/internal/money"
)

// ruled is a judge of few words.
func ruled(text string) subject.ID {
	switch {
	case strings.Contains(text, "kill myself"):
		return subject.Suicide
	case strings.Contains(text, "pipe bomb"):
		return subject.Weapons
	case strings.Contains(text, "diabetes"):
		return subject.Health // sensitive: no reason to wait
	}
	return subject.None
}

func newJudging() fixture {
	f := newFixture()
	f.service = campaign.NewService(campaign.Deps{
		Store: f.store.Campaigns, Announcer: f.reported, Now: func() time.Time { return *f.now },
		CreditValue: money.USD,
		Judge:       ruled,
	})
	return f
}

// judging is one advertiser, with one campaign of given fields, and an administrator.
type judging struct {
	fixture
	t           *testing.T
	owner, boss account.User
	id          uuid.UUID
}

func begun(t *testing.T, edit func(*campaign.Fields)) (j judging, created campaign.Created) {
	f := newJudging()
	j = judging{fixture: f, t: t, owner: f.user(t, account.RoleAdvertiser), boss: f.user(t, account.RoleAdmin)}
	in := fields(clean)
	edit(&in)
	created, err := f.service.Create(t.Context(), j.owner, campaign.Create{Fields: in, AdvertiserID: j.owner.ID})
	require.NoError(t, err)
	j.id = created.Campaign.ID
	return j, created
}

func (j judging) update(edit func(*campaign.Fields)) *campaign.Campaign {
	j.t.Helper()
	var in campaign.Edit
	edit(&in.Fields)
	changed, err := j.service.Update(j.t.Context(), j.owner, j.id, in)
	require.NoError(j.t, err)
	return &changed.Campaign
}

func (j judging) approve() {
	j.t.Helper()
	changed, err := j.service.Decide(j.t.Context(), j.boss, j.id, campaign.Decision{Decision: "approved"})
	require.NoError(j.t, err)
	require.True(j.t, changed.Campaign.Delivers())
}

// Even the first and clean campaign of an account waits for a person where it is of a restricted
// trade, and each change of its trades does again.
func TestARestrictedTradeWaitsForAPerson(t *testing.T) {
	j, created := begun(t, func(in *campaign.Fields) { in.Trades = []string{"alcohol"} })
	require.False(t, created.AutoApproved)
	require.Equal(t, campaign.InReview, created.Campaign.Status)
	require.Equal(t, []string{"restricted_trade"}, rulesOf(&created.Campaign))
	require.Contains(t, created.Campaign.PolicyViolations[0].Message, "alcohol")
	j.approve()

	daily := 20 * money.USD
	require.True(
		t, j.update(func(in *campaign.Fields) { in.DailyBudget = &daily }).Delivers(), "what was approved goes on",
	)
	require.True(
		t, j.update(func(in *campaign.Fields) { in.Keywords = []string{"cheese"} }).Delivers(),
		"other words are the owner's to change",
	)
	more := j.update(func(in *campaign.Fields) { in.Trades = []string{"alcohol", "tobacco"} })
	require.False(t, more.Delivers(), "another trade was not approved")
	require.True(t, more.Waits())
	require.True(
		t, j.update(func(in *campaign.Fields) { in.Trades = []string{"alcohol"} }).Delivers(), "that was approved",
	)
	require.False(t, j.update(func(in *campaign.Fields) { in.Trades = []string{} }).Delivers(), "no trade was not")
	j.approve()
	require.False(t, j.update(func(in *campaign.Fields) { in.Trades = []string{"alcohol"} }).Delivers())
}

// A trade that is found holds a campaign until it is declared or a person has looked, in a
// targeting word as in a text.
func TestAnUndeclaredTradeWaits(t *testing.T) {
	j, created := begun(t, func(in *campaign.Fields) { in.Keywords = []string{"sports betting"} })
	require.Equal(t, []string{"trade_undeclared"}, rulesOf(&created.Campaign))
	require.Equal(t, "target_keywords", created.Campaign.PolicyViolations[0].Field)
	require.Contains(t, created.Campaign.PolicyViolations[0].Message, `"gambling"`)
	require.False(t, created.AutoApproved)
	j.approve()
	require.False(
		t, j.update(func(in *campaign.Fields) { in.Keywords = []string{"sports betting", "free bets"} }).Delivers(),
		"a further word was not seen",
	)
	require.True(
		t, j.update(func(in *campaign.Fields) { in.Keywords = []string{"sports betting", "football"} }).Delivers(),
	)
	require.Equal(
		t, []string{"restricted_trade", "unreviewed_change"},
		rulesOf(j.update(func(in *campaign.Fields) { in.Trades = []string{"gambling"} })),
	)
}

// Targeting words that are never by a rule wait for a person, whose approval is of exactly them.
func TestNeverWordsWaitForAPerson(t *testing.T) {
	j, created := begun(t, func(in *campaign.Fields) {
		in.Keywords, in.IntentTokens = []string{"diabetes", "I want to kill myself"}, []string{"helpline"}
	})
	require.False(t, created.AutoApproved)
	require.Equal(t, []string{"never_words"}, rulesOf(&created.Campaign))
	found := created.Campaign.PolicyViolations[0]
	require.Equal(t, "target_keywords", found.Field)
	require.Contains(t, found.Message, `"I want to kill myself" (suicide)`)
	require.NotContains(t, found.Message, "diabetes")
	j.approve()
	require.True(
		t,
		j.update(
			func(in *campaign.Fields) { in.IntentTokens = []string{"helpline", "somebody to talk to"} },
		).Delivers(),
	)
	require.False(
		t, j.update(func(in *campaign.Fields) { in.IntentTokens = []string{"pipe bomb"} }).Delivers(),
		"another word was not approved",
	)
	require.True(t, j.update(func(in *campaign.Fields) { in.IntentTokens = []string{} }).Delivers(), "these were")
	require.False(
		t, j.update(func(in *campaign.Fields) { in.Keywords = []string{"kill myself"} }).Delivers(),
		"a word, not its subject",
	)
	require.True(
		t, j.update(func(in *campaign.Fields) { in.Keywords = []string{} }).Delivers(), "nothing is left to look at",
	)

	check, err := j.service.Check(campaign.Fields{
		Headline: new("Pest control"), CTAURL: new("https://example.com"), Keywords: []string{"pipe bomb"},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"never_words"}, rulesOf(&check))
}

// What waits for a reviewer for another reason goes on waiting when a word changes.
func TestChangedWordsDoNotReleaseCampaign(t *testing.T) {
	j, created := begun(t, func(*campaign.Fields) {})
	require.True(t, created.AutoApproved)
	require.NoError(t, j.service.HoldReported(context.Background(), j.id))
	after := j.update(func(in *campaign.Fields) { in.Keywords = []string{"databases"} })
	require.Equal(t, []string{campaign.RuleReported}, rulesOf(after))
}
