package cmd

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction/lexicon"
	"adnet/internal/campaign"
)

// recording is one auction's recorded terms and the campaign that won it.
type recording struct {
	auction  uuid.UUID
	terms    []uint32
	campaign campaign.Campaign
}

func (k recording) RecordedTerms(_ context.Context, auction uuid.UUID, _ time.Time) ([]uint32, error) {
	if auction != k.auction {
		return nil, nil
	}
	return k.terms, nil
}

func (k recording) Campaign(_ context.Context, id uuid.UUID) (campaign.Campaign, error) {
	if id != k.campaign.ID {
		return campaign.Campaign{}, errors.New("asked for another campaign")
	}
	return k.campaign, nil
}

// A receipt's words are those of the campaign that were recorded of its auction.
func TestSharedWords(t *testing.T) {
	k := recording{
		auction: uuid.New(), terms: []uint32{lexicon.TermID("chess"), lexicon.TermID("boat"), lexicon.TermID("quokka")},
	}
	slices.Sort(k.terms)
	k.campaign.ID, k.campaign.Headline, k.campaign.IntentTokens, k.campaign.Keywords = uuid.New(), "Quokka guides",
		[]string{"chess openings"}, []string{"boats"}
	words, err := sharedWords{k, k}.Matched(t.Context(), k.auction, k.campaign.ID, time.Now())
	require.NoError(t, err)
	require.Equal(t, []string{"chess", "boats", "quokka"}, words)
	words, err = sharedWords{k, k}.Matched(t.Context(), uuid.New(), uuid.New(), time.Now())
	require.NoError(t, err)
	require.Empty(t, words, "of an auction that is not recorded the campaign is not even read")
}
