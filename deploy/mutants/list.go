package main

// The variables that internal/testenv reads.
const (
	postgres = "ADNET_TEST_POSTGRES"
)

// mutants are the protections that money and tenants rest on. A new one of their rank gets a line here.
var mutants = []mutant{
	{
		name: "dedupe-postgres", protects: "an event is applied once",
		file: "internal/postgres/ledger_marks.go",
		old:  "ON CONFLICT DO NOTHING\nRETURNING auction_day", new: "RETURNING auction_day",
		tests: []string{"./internal/postgres"}, run: "Ledger", servers: []string{postgres},
	},
	{
		name: "dedupe-decide", protects: "a repeat is a duplicate",
		file: "internal/ledger/decide.go",
		old:  "	return first\n}", new: "	return first || true\n}",
		tests: []string{"./internal/ledger"},
	},
	{
		name: "fence-postgres", protects: "a range is applied by one consumer",
		file: "internal/postgres/ledger_tx.go",
		old:  "case offset != r.First:", new: "case offset != r.First && false:",
		tests: []string{"./internal/postgres"}, run: "Ledger", servers: []string{postgres},
	},
	{
		name: "fence-postgres-new", protects: "a new partition is claimed by one consumer",
		file: "internal/postgres/ledger_tx.go",
		old:  "if tag.RowsAffected() != int64(len(ranges)) {\n		return fmt.Errorf(\"claim of", new: "if false {\n		return fmt.Errorf(\"claim of",
		tests: []string{"./internal/postgres"}, run: "Ledger", servers: []string{postgres},
	},
	{
		name: "budget-clamp", protects: "never charged above a budget",
		file: "internal/ledger/decide.go",
		old:  "amount := min(price, budget, balance)", new: "amount := min(price, balance)",
		tests: []string{"./internal/ledger"},
	},
	{
		name: "balance-clamp", protects: "never charged above a balance",
		file: "internal/ledger/decide.go",
		old:  "amount := min(price, budget, balance)", new: "amount := min(price, budget)",
		tests: []string{"./internal/ledger"},
	},
	{
		name: "pause", protects: "never charged after a pause",
		file: "internal/ledger/decide.go",
		old:  "if t.inactive(e.ReceivedAt) {", new: "if t.inactive(e.ReceivedAt) && false {",
		tests: []string{"./internal/ledger"},
	},
	{
		name: "pause-interval", protects: "a pause ends where it ended",
		file: "internal/ledger/batch.go",
		old:  "return !t.Before(i.From) && (i.To.IsZero() || t.Before(i.To))", new: "return i.To.IsZero() && !t.Before(i.From)",
		tests: []string{"./internal/ledger"},
	},
	{
		name: "chain", protects: "a changed entry is seen",
		file: "internal/ledger/chain.go",
		old:  "case !bytes.Equal(want[:], l.Hash[:]):", new: "case !bytes.Equal(want[:], want[:]):",
		tests: []string{"./internal/memory"}, run: "Ledger",
	},
	{
		name: "chain-tail", protects: "a removed end of a chain is seen",
		file: "internal/ledger/chain.go",
		old:  "end != head && end.Seq >= 0", new: "end != head && end.Seq > head.Seq",
		tests: []string{"./internal/postgres"}, run: "ChainShowsTampering", servers: []string{postgres},
	},
	{
		name: "rights", protects: "the application cannot change the ledger",
		file: "internal/postgres/rights.go",
		old:  "WHEN tab.adds THEN 'GRANT SELECT, INSERT ON", new: "WHEN tab.adds THEN 'GRANT SELECT, INSERT, UPDATE ON",
		tests: []string{"./internal/postgres"}, run: "ApplicationCannot", servers: []string{postgres},
	},
	{
		name: "closed-month", protects: "a past month's statement never changes",
		file: "internal/memory/chain.go",
		old:  "	l.closed[key] = last\n", new: "",
		tests: []string{"./internal/memory"}, run: "Ledger",
	},
	{
		name: "dispute-clamp", protects: "refunds and disputes take no more than was paid",
		file: "internal/ledger/deposit.go",
		old:  "held := min(b.Paid-refunded, b.DisputeSum)", new: "held := b.DisputeSum",
		tests: []string{"./internal/ledger"},
	},
	{
		name: "zero-sum", protects: "every movement sums to zero",
		file: "internal/ledger/totals.go",
		old:  "		if sum != 0 {", new: "		if sum != 0 && false {",
		tests: []string{"./internal/ledger"},
	},
	{
		name: "zero-sum-postgres", protects: "the database refuses a movement that does not sum to zero",
		file: "schemas/postgres/0002_ledger.sql",
		old:  "HAVING sum(amount) <> 0", new: "HAVING sum(amount) IS NULL",
		tests: []string{"./internal/postgres"}, run: "Ledger", servers: []string{postgres},
	},
	{
		name: "mac", protects: "a link that was not made here counts nowhere",
		file: "internal/token/auction.go",
		old:  "	if !genuine {", new: "	if !genuine && false {",
		tests: []string{"./internal/token"},
	},
	{
		name: "mac-purpose-content", protects: "a token of one purpose does not serve another (its content)",
		file: "internal/token/auction.go",
		old:  "if s == nil || raw[1] != byte(purpose) {", new: "if s == nil {",
		tests: []string{"./internal/token"},
	},
	{
		name: "mac-purpose-key", protects: "a token of one purpose does not serve another (its key)",
		file: "internal/token/auction.go",
		old:  "key.derive(purposeUses[purpose])", new: "key.derive(purposeUses[PurposeAuction])",
		tests: []string{"./internal/token"},
	},
	{
		name: "owner-read", protects: "a campaign is read by its owner",
		file: "internal/campaign/service.go",
		old:  "	if !caller.MayActFor(c.AdvertiserID) {\n		return Campaign{}, errForbidden", new: "	if false {\n		return Campaign{}, errForbidden",
		tests: []string{"./internal/campaign", "./ingress/manage"},
	},
	{
		name: "owner-change", protects: "a campaign is changed by its owner",
		file: "internal/campaign/service.go",
		old:  "		if !caller.MayActFor(c.AdvertiserID) {\n			return errForbidden", new: "		if false {\n			return errForbidden",
		tests: []string{"./internal/campaign", "./ingress/manage"},
	},
	{
		name: "owner-create", protects: "a campaign is created for oneself",
		file: "internal/campaign/service.go",
		old:  "if !caller.MayActFor(in.AdvertiserID) {", new: "if false {",
		tests: []string{"./internal/campaign", "./ingress/manage"},
	},
	{
		name: "owner-list", protects: "campaigns are listed for their owner",
		file: "internal/campaign/service.go",
		old:  "		f.AdvertiserID = caller.ID\n", new: "",
		tests: []string{"./internal/campaign", "./ingress/manage"},
	},
	{
		name: "owner-deposit", protects: "a deposit is confirmed by its owner",
		file: "internal/payment/payment.go",
		old:  "if !caller.MayActFor(d.AdvertiserID) {", new: "if false {",
		tests: []string{"./internal/payment"},
	},
	{
		name: "webhook-stripe", protects: "only Stripe's deliveries are believed",
		file: "internal/stripe/webhook.go",
		old:  "w.secret); err != nil {", new: "w.secret); err != nil && false {",
		tests: []string{"./internal/stripe"},
	},
	{
		name: "webhook-paypal", protects: "only PayPal's deliveries are believed",
		file: "internal/payment/paypal.go",
		old:  "	return rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature)", new: "	_ = rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature)\n	return nil",
		tests: []string{"./internal/payment"},
	},
	{
		name: "webhook-paypal-chain", protects: "a certificate that anybody made signs nothing",
		file: "internal/payment/paypal.go",
		old:  "	if _, err := leaf.Verify(options); err != nil {", new: "	if _, err := leaf.Verify(options); err != nil && false {",
		tests: []string{"./internal/payment"},
	},
	{
		name: "webhook-paypal-host", protects: "a certificate is fetched from PayPal only",
		file: "internal/payment/paypal.go",
		old:  " || !slices.Contains(payPalHosts[p.cfg.Environment], u.Host) {", new: " || slices.Contains(payPalHosts[p.cfg.Environment], \"\") {",
		tests: []string{"./internal/payment"},
	},
	{
		name: "webhook-paypal-age", protects: "an old delivery cannot be sent again",
		file: "internal/payment/paypal.go",
		old:  "age > p.cfg.Tolerance {", new: "age > p.cfg.Tolerance && false {",
		tests: []string{"./internal/payment"},
	},
	{
		name: "spool-fsync", protects: "a beacon answered 200 survives a power cut",
		file: "ingress/track/spool/segment.go",
		old:  "return int64(n), s.sync(s.file)", new: "return int64(n), nil",
		tests: []string{"./ingress/track/spool"},
	},
	{
		name: "spool-fsync-folder", protects: "so does the file's name",
		file: "ingress/track/spool/segment.go",
		old:  "errors.Join(sync(d), d.Close())", new: "errors.Join(nil, d.Close())",
		tests: []string{"./ingress/track/spool"},
	},
	{
		name: "session-role", protects: "role and state come from the store",
		file: "ingress/httpapi/auth.go",
		old:  "case user.TokenVersion != claims.Version:", new: "case user.TokenVersion != claims.Version && false:",
		tests: []string{"./ingress/httpapi"},
	},
	{
		name: "session-disabled", protects: "a disabled account is locked out",
		file: "ingress/httpapi/auth.go",
		old:  "case user.Disabled:", new: "case user.Disabled && false:",
		tests: []string{"./ingress/httpapi"},
	},
	{
		name: "error-words", protects: "a caller never reads what a server or driver said",
		file: "internal/errs/errs.go",
		old:  "return Wrap(err, Internal, \"internal error\")", new: "return Wrap(err, Internal, \"%s\", err.Error())",
		tests: []string{"./internal/app"}, run: "TestErrorsOfBrokenStores", servers: []string{postgres},
	},
	{
		name: "gzip-bomb", protects: "a small body does not open to a large one",
		file: "ingress/rtb/body.go",
		old:  "counts what comes out of it\n	return httpapi.ReadBody(c, MaxBody, use)", new: "counts what comes out of it\n	return httpapi.ReadBody(c, 1<<40, use)",
		tests: []string{"./internal/app"}, run: "TestLargeBodies",
	},
	{
		name: "bot-agent", protects: "a robot's beacon is invalid traffic",
		file: "ingress/track/traffic.go",
		old:  "case t.agents.Listed(agent[0]):", new: "case t.agents.Listed(agent[0]) && false:",
		tests: []string{"./ingress/track"}, run: "TestWhoSends",
	},
	{
		name: "click-too-fast", protects: "a click sooner than a person can is invalid traffic",
		file: "ingress/track/traffic.go",
		old:  "now.Sub(issuedAt(auction)) < t.cfg.ClickDelay", new: "now.Sub(issuedAt(auction)) < 0",
		tests: []string{"./ingress/track"}, run: "TestClickTooFast",
	},
	{
		name: "click-rate", protects: "the clicks of one network are limited over all nodes",
		file: "internal/redis/clicks.go",
		old:  "then return 0 end", new: "then return 1 end",
		tests: []string{"./internal/redis"}, run: "TestClickRates",
	},
	{
		name: "click-order", protects: "a click needs an impression before it",
		file: "internal/ledger/traffic.go",
		old:  "if _, met := before[r.Event.AuctionID]; !met {", new: "if _, met := before[r.Event.AuctionID]; !met && false {",
		tests: []string{"./internal/ledger"},
	},
	{
		name: "click-order-settle", protects: "settlement screens clicks",
		file: "consumers/settle/settle.go",
		old:  "	ledger.Screen(b, impressions)\n", new: "	_ = impressions\n",
		tests: []string{"./consumers/settle"},
	},
	{
		name: "self-served", protects: "a publisher's own campaign costs and earns nothing",
		file: "internal/ledger/decide.go",
		old:  "case e.DeveloperID != uuid.Nil && e.DeveloperID == t.book.DeveloperID:", new: "case false:",
		tests: []string{"./internal/ledger"},
	},
	{
		name: "mint-cap", protects: "a publisher mints at most its cap a day",
		file: "internal/ledger/publisher.go",
		old:  "if limited && p.book.MintedOn[day.Day]+day.Minted >= int64(limit) {", new: "if limited && p.book.MintedOn[day.Day]+day.Minted > 1<<50 {",
		tests: []string{"./internal/ledger"},
	},
	{
		name: "mint-cap-lock", protects: "the cap holds for appliers at once",
		file: "internal/postgres/publisher.go",
		old:  "ON CONFLICT (developer_id, day) DO UPDATE SET minted = p.minted\nRETURNING developer_id, day, minted", new: "ON CONFLICT (developer_id, day) DO NOTHING\nRETURNING developer_id, day, minted",
		tests: []string{"./internal/postgres"}, run: "Ledger.*/Publishers/MintCap", servers: []string{postgres},
	},
	{
		name: "quarantine-hold", protects: "a quarantined publisher's Credits cannot be spent",
		file: "internal/ledger/publisher.go",
		old:  "		return HeldCredits(p.book.Case)", new: "		return DeveloperCredits(p.id)",
		tests: []string{"./internal/ledger"},
	},
}
