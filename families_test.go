package main

import (
	"os"
	"strings"
	"testing"
)

// countsFamilies lists the rules that count advertisers, publishers or accounts: the file in which
// each counts families, a text of that line, and the file and name of a test in which two accounts
// of one family count once.
var countsFamilies = []struct{ rule, file, by, tests, test string }{
	{
		"first campaign that is live at once (PostgreSQL)", "internal/store/postgres/accounts/families.go", "familyHasCampaign",
		"internal/store/storetest/families.go", "oneMailbox",
	},
	{
		"first campaign that is live at once (memory)", "internal/store/memory/families.go", "of.Family == own.Family",
		"internal/store/storetest/families.go", "oneMailbox",
	},
	{
		"seats of one owner", "internal/account/family/group.go", "g.accounts[i].Parent",
		"internal/account/family/group_test.go", "TestSeats",
	},
	{
		"votes by charges", "internal/ledger/standing/votes.go", "b.familyOf(c.Payer), b.familyOf(c.Publisher)",
		"internal/ledger/standing/votes_test.go", "TestChargesOfAFamilyAreOneVote",
	},
	{
		"weight of a word, advertisers that share a term", "auction/index/segment.go",
		"lexicon.Share(campaigns[slot].Vote, of)", "auction/votes_test.go", "TestAFamilyVotesOnce",
	},
	{
		"ties between equal ads", "auction/index/search.go", "tie{advertiser: mixed(seed, c.family())",
		"auction/families_test.go", "TestCopiesOfAFamilyWinNoMoreTies",
	},
	{
		"publishers whose reports pause an ad (PostgreSQL)", "internal/store/postgres/campaigns/adreports.go",
		"WHERE p.family = m.family", "internal/store/storetest/adreports.go", "Reporters(",
	},
	{
		"publishers whose reports pause an ad (memory)", "internal/store/memory/adreports.go",
		"of := s.publisherFamily(r.DeveloperID)", "internal/store/storetest/adreports.go", "Reporters(",
	},
	{
		"publishers of reports, without rivals", "internal/compliance/adreport/adreport.go", "range families",
		"internal/compliance/adreport/adreport_test.go", "rivals",
	},
	{
		"sums of quarantine, the network's click rate", "internal/traffic/compare.go",
		"days[n].Family() == days[0].Family()", "internal/store/storetest/publisher.go", "familyDays",
	},
	{
		"publishers without readers", "internal/traffic/compare.go", "sums[n].Family() == sums[0].Family()",
		"internal/store/storetest/publisher.go", "readers",
	},
	{
		"shown ads of sold ones", "internal/traffic/shown.go", "a.family() != last",
		"consumers/quarantine/quarantine_test.go", "A family that shows nothing",
	},
	{
		"evidence of a trial: weight and suspicion of publishers", "consumers/learn/learn.go", "t.owners[developer]",
		"consumers/learn/learn_test.go", "TestFamilyOfPublishersCountsOnce",
	},
	{
		"allowance of exploration: impressions", "auction/train/explore.go", "families.of(s.Advertiser)",
		"auction/train/families_test.go", "TestNewCampaignsOfAFamilyShareTheirExploration",
	},
	{
		"allowance of exploration: auctions", "auction/explore.go", "learnt.Advertisers[c.Owner()]",
		"auction/families_test.go", "TestAFamilyExploresOnce",
	},
	{
		"the network's conversion rate", "auction/train/convert.go", "own[f.family]",
		"auction/train/families_test.go", "TestAFamilyHasOneConversionRate",
	},
	{
		"ads without charged acts", "internal/ledger/owed/family.go", "j.family(c.Family)",
		"internal/ledger/owed/owed_test.go", "TestFamilyIsUnprovenAfterThreeExpectedActs",
	},
	{
		"room of campaigns without charged acts", "internal/store/postgres/campaigns/rooms.go",
		"SELECT account_id FROM account_family WHERE family_id", "internal/store/storetest/archive.go", "roomsUnproven",
	},
	{
		"unseen ads of publishers and browser keys", "ingress/offer/unseen.go", "return p.Family",
		"ingress/offer/families_test.go", "TestAccountsOfAFamilyHoldTogether",
	},
	{
		"advertisers that pay for a publisher's day", "internal/ledger/credits.go",
		"cmp.Or(s.Family, s.AdvertiserID)", "internal/store/storetest/release.go", "oneFamilyIsHeldLonger",
	},
	{
		"rejections that end the trust of an advertiser (PostgreSQL)", "internal/store/postgres/campaigns/campaigns.go",
		"c.advertiser_id IN (SELECT id FROM member)", "internal/store/storetest/families.go", "familyRecord",
	},
	{
		"rejections that end the trust of an advertiser (memory)", "internal/store/memory/campaigns.go",
		"s.ofFamily(of.AdvertiserID)", "internal/store/storetest/families.go", "familyRecord",
	},
}

func TestRulesCountFamilies(t *testing.T) {
	for _, r := range countsFamilies {
		for _, place := range [][2]string{{r.file, r.by}, {r.tests, r.test}} {
			text, err := os.ReadFile(place[0])
			switch {
			case err != nil:
				t.Errorf("%s: %v", r.rule, err)
			case place[1] == "":
				t.Errorf("%s: the list has no text of %s that counts families", r.rule, place[0])
			case !strings.Contains(string(text), place[1]):
				t.Errorf("%s: %s does not have %q", r.rule, place[0], place[1])
			}
		}
	}
}
