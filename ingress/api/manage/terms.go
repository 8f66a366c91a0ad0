package manage

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"adnet/auction/lexicon"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/report"
)

// mostTexts is the maximum number of an advertiser's campaigns, the newest, whose words are shown.
const mostTexts = 500

// terms counts q's events by the words of their requests. Only terms are shown that enough people
// used (outcome_terms and known_terms); an advertiser sees those which its own campaigns state, so
// that it learns nothing of a request but what its receipts state. A request counts for each of its
// words; the events without a shown word are one group.
func (a *API) terms(
	ctx context.Context, caller *account.User, kind report.Type, q report.Query,
) (result report.Result, err error) {
	totals := q
	totals.Breakdown = ""
	if result, err = a.deps.Stats.Stats(ctx, totals); err != nil {
		return result, err
	}
	counted, err := a.deps.Stats.Terms(ctx, q)
	if err != nil {
		return result, err
	}
	ids := make([]uint32, len(counted))
	for i := range counted {
		ids[i] = counted[i].Term
	}
	slices.Sort(ids)
	words, err := a.wordsOf(ctx, caller, kind, q.CampaignID, ids)
	if err != nil {
		return result, err
	}
	shown := slices.DeleteFunc(ids, func(id uint32) bool { return words[id] == "" })
	within, err := a.deps.Stats.WithTerms(ctx, q, shown)
	if err != nil {
		return result, err
	}
	result.TermGroups(counted, words, within)
	return result, nil
}

// wordsOf returns the words of terms that caller may read, by id. ids are ascending.
func (a *API) wordsOf(
	ctx context.Context, caller *account.User, kind report.Type, id uuid.UUID, ids []uint32,
) (map[uint32]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if kind != report.Campaign && caller.IsAdmin() {
		return vocabulary(a.deps.Vocabulary(), ids), nil
	}
	var own []campaign.Campaign
	if kind == report.Campaign {
		c, err := a.deps.Campaigns.Get(ctx, *caller, id)
		if err != nil {
			return nil, err
		}
		own = append(own, c)
	} else {
		var err error
		own, _, err = a.deps.Campaigns.List(ctx, *caller, campaign.Filter{AdvertiserID: caller.ID, Limit: mostTexts})
		if err != nil {
			return nil, err
		}
	}
	var texts []string
	for i := range own {
		texts = slices.Concat(texts, own[i].IntentTokens, own[i].Keywords, []string{own[i].Headline, own[i].Subtext})
	}
	return lexicon.Named(ids, texts), nil
}

// vocabulary returns the words of terms in a table, by id.
func vocabulary(t *lexicon.Table, ids []uint32) map[uint32]string {
	found := map[uint32]string{}
	for _, id := range ids {
		for _, of := range []uint32{id, lexicon.LikeID(id)} {
			if at := t.ByTermID(of); at != lexicon.None {
				found[id] = t.Term(at)
				break
			}
		}
	}
	return found
}
