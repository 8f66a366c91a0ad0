// Package ledger contains the money of adnet: the cost of every event, its payer, and the
// double-entry rows that record it.
//
// The package decides and does I/O only through a [Tx]. [Decide] is a pure function from events,
// first-time marks and books to effects. [Settle] applies them in one transaction. The entries of
// every transaction sum to zero per asset. Rows are only ever appended.
//
// # Not obvious
//
// The day of a mark is the day inside the auction's UUIDv7, so that an auction always uses the same
// partition of the unique index, whenever its events arrive.
//
// A conversion is deduplicated by auction, type and external id, although the specification names
// the auction alone: two goals of one click are two events. At most one of a click is charged.
//
// An event that overtakes its own impression or click is early: it waits in the store, so neither a
// restart nor another settler loses it. Its place in the log has the verdict "early". When it is
// judged it gets a place in [EarlyStream], in the transaction that judges it, with its final
// verdict. An act of a campaign with an open case waits in the same way, as held, until the case is
// decided or [ActsFor] is over.
//
// A month is closed when its statement is first requested: the number of its last entry is stored.
// Events settled later belong to the next open month.
//
// Held Credits have an account for each quarantine case (held:<case>). A claw-back takes back many
// rows: Reverses in its row is the first, and ledger_reversal has each with its amount; verify adds
// them up. A claw-back names every row that it takes back, none of them twice. An amount refunded
// by a claw-back counts as not spent (refunded beside spent, which still holds the charges, as in
// the verdicts and ClickHouse), so the total budget and the budget of the charged day can be spent
// again. Credits that funded a campaign are not given back: the house's funding account is. A
// claw-back locks in the order of settlement, totals before the case, and begins again if a further
// campaign was charged meanwhile.
package ledger
