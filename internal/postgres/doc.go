// Package postgres stores the data that must never be lost: accounts, keys, campaigns and the
// ledger.
//
// Contract: a method that returns nil has committed; one that fails has changed nothing, unless the
// connection broke during the commit, which answers errs.Unavailable: the caller reads back before
// it repeats. Functions that a caller hands in (edit, Admit) run while rows are locked: they must
// be quick and must not call the store. Locks are always taken in the order user, campaign,
// balances, config head; the head is last because every change of a campaign waits for it.
//
// # Not obvious
//
// Config versions start at 1 and are handed out under one row lock, so they are gap-free in commit
// order. Version 0 means that no catalog exists.
//
// campaign_total is locked before the campaign in settlement. The other order delayed pauses
// under load tenfold.
//
// A new day of deduplication marks looks empty to the planner until autovacuum comes by, a
// minute or more after midnight. Look-ups are written so that no plan reads the day (seenSQL);
// settlement used to slow down to a crawl for that minute.
//
// The application cannot make tables. A day's partition of the deduplication marks comes from
// billed_event_add_day, which runs as the owner. adnet migrate repeats all grants at its end: a
// table with an …append_only trigger gets SELECT and INSERT only, all others are the
// application's.
//
// An entry's hash needs that of its predecessor, so balances are locked before the entries are
// written: two round trips for a batch, not three.
//
// The lock on a payment and the read of its deposit are two statements. Joined, the second would
// read from before the wait for the first.
//
// Marks are asked for first and copied then. Both together cost half of INSERT … ON CONFLICT. A
// key that another transaction marks in between fails the copy as a whole, and a savepoint leads
// to the slow way. Settlement's locks and reads are one round trip, its writes two.
package postgres
