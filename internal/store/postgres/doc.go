// Package postgres stores the data that must never be lost: accounts, keys, campaigns and the
// ledger.
//
// Contract: a method that returns nil has committed. A method that fails has changed nothing,
// unless the connection broke during the commit. It then returns errs.Unavailable, and the caller
// reads back before it retries. Functions passed in by a caller (edit, Admit) run while rows are
// locked: they must be quick and must not call the store. Locks are always taken in the order user,
// campaign, balances, config head; the head is last because every change of a campaign waits for
// it.
//
// # Not obvious
//
// Config versions start at 1 and are assigned under one row lock, so they are gap-free in commit
// order. Version 0 means that no catalog exists.
//
// Settlement locks campaign_total before the campaign. The other order made pauses ten times slower
// under load.
//
// The planner takes a new day of deduplication marks for empty until autovacuum has analyzed it, a
// minute or more after midnight. Lookups are written so that no plan scans the day: see
// [books.SeenSQL]. Before that, settlement almost stopped for that minute.
//
// The application cannot create tables. billed_event_add_day, which runs as the owner, creates a
// day's partition of the deduplication marks. adnet migrate repeats all grants at its end: on a
// table with an …append_only trigger the application gets SELECT and INSERT only, on all others
// full access.
//
// An entry's hash needs its predecessor's hash, so balances are locked before the entries are
// written: two round trips for a batch, not three.
//
// The lock on a payment and the read of its deposit are two statements. Joined in one, the read
// would use a snapshot from before the wait for the lock.
//
// Marks are read first and copied then, which costs half as much as INSERT … ON CONFLICT. A key
// that another transaction marks in between fails the whole copy; a savepoint then leads to the
// slow path. Settlement's locks and reads are one round trip, its writes two.
package postgres
