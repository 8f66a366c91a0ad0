package main

import "adnet/lab/product"

// breaks lists the protections that a build can omit.
var breaks = product.Cures{
	"conversion": {Breach: "conversions that the advertiser never reported", Without: []product.Replacement{{
		File: "ingress/track/post.go",
		Old:  "return r.User != nil && r.User.ID == auction.AdvertiserID, nil", New: "return true, nil",
	}}},
	"preview": {Breach: "clicks of link previews", Without: []product.Replacement{{
		File: "ingress/track/traffic.go",
		Old:  "case kind == agents.Robot || kind == agents.Tool && !server:",
		New:  "case (kind == agents.Robot || kind == agents.Tool && !server) && !o.link:",
	}}},
	"review": {Breach: "an unapproved page", Without: []product.Replacement{{
		File: "internal/campaign/service.go",
		Old:  "len(waiting) > 0 || !trusted && !was.sameFace(is):", New: "len(waiting) > 0 && was.sameFace(is):",
	}}},
	"credits": {Breach: "a thief has", Without: []product.Replacement{{
		File: "internal/ledger/credits.go",
		Old:  "n := min(m.day.Pending(), int64((m.day.Cover()-m.day.Worth())/r.Value))", New: "n := m.day.Pending()",
	}}},
	"unproven": {Breach: "rows of unverified events", Without: []product.Replacement{
		{File: "ingress/track/batch.go", Old: "		if !countable {", New: "		if !countable && i < 0 {"},
		{File: "ingress/track/beacon.go", Old: "	if !countable {", New: "	if !countable && now.IsZero() {"},
	}},
	"stolen": {Breach: "a stolen browser key holds", Without: []product.Replacement{{
		File: "ingress/limits/unseen.go",
		Old:  "held > 0 && held+u.Amount > most {", New: "held > mostUnseen && held+u.Amount > most {",
	}}},
	"marks": {Breach: "sessions of its publisher's other keys", Without: []product.Replacement{{
		File: "ingress/offer/refuse.go",
		Old:  "Key: p.Key, ID: p.Session}", New: "Key: p.Developer, ID: p.Session}",
	}}},
	"bodies": {Breach: "memory grew", Without: []product.Replacement{{
		File: "ingress/httpapi/wire/conn.go",
		Old:  "		c.move(len(c.in) + len(c.in)/2 + 64)\n",
		New:  "		c.move(len(c.in) + int(c.framing.size))\n		clear(c.in[len(c.in):cap(c.in)])\n",
	}}},
	"bound": {Breach: "an advertiser that was never charged won", Without: []product.Replacement{{
		File: "internal/ledger/owed/owed.go",
		Old:  "case t.unproven && (", New: "case t.unproven && c.Impressions < 0 && (",
	}}},
	"votes": {Breach: "payers lost", Without: []product.Replacement{{
		File: "consumers/standing/standing.go",
		Old:  "Vote: standing.Rounded(votes[of]), ClickRate", New: "Vote: campaign.FullVote, ClickRate",
	}}},
	"hold": {Breach: "an honest publisher gets", Without: []product.Replacement{{
		File: "ingress/limits/unseen.go",
		Old:  "!l.holdPublisher(u, daily, now) {", New: "!l.holdPublisher(u, daily, now) && u.Page {",
	}}},
	"turns": {Breach: "good logins passed", Without: []product.Replacement{{
		File: "internal/account/queue.go",
		Old:  "	a := askerOf(ctx)\n	if t.take", New: "	a := Asker{}\n	if t.take",
	}}},
	"keys": {Breach: "rows of idempotency keys", Without: []product.Replacement{{
		File: "ingress/idempotency/idempotency.go",
		Old:  "return status >= http.StatusOK && status < http.StatusMultipleChoices", New: "return status < 500",
	}}},
	"mails": {Breach: "beside a mail bomber", Without: []product.Replacement{{
		File: "internal/process/mail/queue.go",
		Old:  "case o.running, busy[o.domain] >= domainSenders, networks[o.Network]:", New: "case o.running:",
	}}},
	"repeats": {Breach: "changed statistics", Without: []product.Replacement{{
		File: "consumers/archive/repeats.go",
		Old:  "if _, repeated := seen[sum]; repeated {", New: "if _, repeated := seen[sum]; repeated && at.IsZero() {",
	}}},
}
