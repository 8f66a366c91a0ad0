package standing

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/owed"
	"adnet/internal/ledger/standing"
	"adnet/internal/money"
	"adnet/internal/report"
)

// TestTheDemoTeachesItself: what is judged about the campaigns of others is the same with and
// without the demo, and events between the two count for neither.
func TestTheDemoTeachesItself(t *testing.T) {
	w, s := newWorld(t)
	owner, publisher := w.user(uuid.Nil), w.user(uuid.Nil)
	shown, chat := w.user(uuid.Nil), w.user(uuid.Nil)
	w.demo = []uuid.UUID{shown.ID, chat.ID}
	cpc := func(c *campaign.Campaign) { c.BillingModel = campaign.CPC }
	mine, theirs := w.campaign(owner.ID, cpc), w.campaign(shown.ID, nil)
	today := day.Of(w.now)
	at := report.Counts{Events: counted(1000, 10, 0), Billed: 10, Spend: 10 * money.USD}
	w.place(today, mine, publisher, at)
	w.place(today, mine, chat, report.Counts{Events: counted(5000, 400, 0), Billed: 400, Spend: 400 * money.USD})
	w.place(today, theirs, chat, report.Counts{Events: counted(9000, 90, 0), Billed: 9000, Spend: 90 * money.USD})
	w.place(today, theirs, publisher, report.Counts{Events: counted(70, 7, 0), Billed: 70, Spend: 7 * money.USD})
	w.charge(owner.ID, publisher.ID, standing.Price)
	w.charge(shown.ID, chat.ID, standing.Price)
	w.charge(shown.ID, publisher.ID, standing.Price)
	w.turn(s)

	require.Len(t, w.inputs, 2)
	others, demo := w.inputs[0], w.inputs[1]
	require.Len(t, others.Campaigns, 1)
	require.Equal(t, mine.ID, others.Campaigns[0].ID)
	require.EqualValues(t, 1000, others.Campaigns[0].Impressions)
	require.EqualValues(t, 10, others.Campaigns[0].Clicks)
	require.Equal(t, standing.MedianPrice([]standing.Delivered{{Impressions: 1000, Charged: 10 * money.USD}}), others.Median)
	require.Equal(t, map[uuid.UUID]owed.Family{owner.ID: others.Families[owner.ID]}, others.Families)
	require.Len(t, demo.Campaigns, 1)
	require.EqualValues(t, 9000, demo.Campaigns[0].Impressions)

	votes, err := w.PublisherVotes(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]int64{publisher.DeveloperID: campaign.FullVote, chat.DeveloperID: campaign.FullVote}, votes)
	require.EqualValues(t, campaign.FullVote, w.standing(mine).Vote)
}
