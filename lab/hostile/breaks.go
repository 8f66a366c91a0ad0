package main

import (
	"slices"
	"strings"

	"adnet/lab/product"
)

// cure is a protection that a build can omit, to verify that the suite fails.
type cure struct {
	without []product.Replacement
	breach  string // text of the breach that the run must report
}

// noticed reports whether the breaches include the one of the missing cure. Breaches of a slow
// machine do not count.
func (c cure) noticed(breaches []string) bool {
	return slices.ContainsFunc(breaches, func(b string) bool { return strings.Contains(b, c.breach) })
}

var breaks = map[string]cure{
	"conversion": {breach: "conversions that the advertiser never reported", without: []product.Replacement{{
		File: "ingress/track/post.go",
		Old:  "return r.User != nil && r.User.ID == auction.AdvertiserID, nil", New: "return true, nil",
	}}},
	"preview": {breach: "clicks of link previews", without: []product.Replacement{{
		File: "ingress/track/traffic.go",
		Old:  "case kind == agents.Robot || kind == agents.Tool && !server:",
		New:  "case (kind == agents.Robot || kind == agents.Tool && !server) && !o.link:",
	}}},
	"review": {breach: "an unapproved page", without: []product.Replacement{{
		File: "internal/campaign/service.go",
		Old:  "len(waiting) > 0 || !trusted && !was.sameFace(is):", New: "len(waiting) > 0 && was.sameFace(is):",
	}}},
	"credits": {breach: "a thief has", without: []product.Replacement{{
		File: "internal/ledger/credits.go",
		Old:  "n := min(m.day.Pending(), int64((m.day.Cover()-m.day.Worth())/r.Value))", New: "n := m.day.Pending()",
	}}},
	"unproven": {breach: "rows of unverified events", without: []product.Replacement{
		{File: "ingress/track/batch.go", Old: "		if !countable {", New: "		if !countable && i < 0 {"},
		{File: "ingress/track/beacon.go", Old: "	if !countable {", New: "	if !countable && now.IsZero() {"},
	}},
	"stolen": {breach: "a stolen browser key holds", without: []product.Replacement{{
		File: "ingress/limits/unseen.go",
		Old:  "held > 0 && held+u.Amount > most {", New: "held > mostUnseen && held+u.Amount > most {",
	}}},
	"marks": {breach: "sessions of its publisher's other keys", without: []product.Replacement{{
		File: "ingress/offer/refuse.go",
		Old:  "Key: p.Key, ID: p.Session}", New: "Key: p.Developer, ID: p.Session}",
	}}},
	"bodies": {breach: "memory grew", without: []product.Replacement{{
		File: "ingress/httpapi/wire/conn.go",
		Old:  "		c.move(len(c.in) + len(c.in)/2 + 64)\n",
		New:  "		c.move(len(c.in) + int(c.framing.size))\n		clear(c.in[len(c.in):cap(c.in)])\n",
	}}},
	"bound": {breach: "an advertiser that was never charged won", without: []product.Replacement{{
		File: "internal/owed/owed.go",
		Old:  "case t.unproven && (", New: "case t.unproven && c.Impressions < 0 && (",
	}}},
	"votes": {breach: "payers lost", without: []product.Replacement{{
		File: "consumers/standing/standing.go",
		Old:  "Vote: standing.Rounded(votes[of]), ClickRate", New: "Vote: campaign.FullVote, ClickRate",
	}}},
	"hold": {breach: "an honest publisher gets", without: []product.Replacement{{
		File: "ingress/limits/unseen.go",
		Old:  "!l.holdPublisher(u, daily, now) {", New: "!l.holdPublisher(u, daily, now) && u.Page {",
	}}},
}
