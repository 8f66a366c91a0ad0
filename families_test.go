package main

import (
	"os"
	"strings"
	"testing"
)

// countsFamilies lists the rules that count advertisers, publishers or accounts, the file of each,
// and a text of the line that counts families there. A rule without a text is decided in that file
// and does not count families yet.
var countsFamilies = []struct{ rule, file, by string }{
	{"first campaign that is live at once (PostgreSQL)", "internal/postgres/families.go", "familyHasCampaign"},
	{"first campaign that is live at once (memory)", "internal/memory/families.go", "of.Family == own.Family"},
	{"seats of one owner", "internal/family/group.go", "g.accounts[i].Parent"},
	{"weight of a word, advertisers that share a term", "auction/lexicon/table.go", ""},
	{"publishers whose reports pause an ad", "internal/adreport/adreport.go", ""},
	{"sums of quarantine", "internal/traffic/family.go", ""},
	{"shown ads of sold ones", "internal/traffic/shown.go", "a.family() != last"},
	{"evidence of a trial, allowance of exploration", "auction/train/gate.go", ""},
	{"unseen ads of browser keys", "ingress/limits/unseen.go", ""},
	{"claims against the further accounts of an owner", "internal/ledger/publisher.go", ""},
}

func TestRulesCountFamilies(t *testing.T) {
	for _, r := range countsFamilies {
		text, err := os.ReadFile(r.file)
		if err != nil {
			t.Errorf("%s: %v", r.rule, err)
		}
		if !strings.Contains(string(text), r.by) {
			t.Errorf("%s: %s does not have %q", r.rule, r.file, r.by)
		}
	}
}
