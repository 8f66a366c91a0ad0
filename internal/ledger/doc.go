// Package ledger contains the money of adnet: the cost of every event, its payer, and the
// double-entry rows that record it.
//
// The package decides and never does I/O. [Decide] is a pure function from events, first-time marks
// and books to effects. A store applies them in one transaction (see [Tx]). The entries of every
// transaction sum to zero per asset. Rows are only ever appended.
//
// # Not obvious
//
// The day of a mark is the day inside the auction's UUIDv7, so that an auction always uses the same
// partition of the unique index, whenever its events arrive.
//
// A conversion is deduplicated by its auction, as the specification requires, not by type or order.
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
