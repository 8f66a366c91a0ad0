// Package operate contains the commands that an operator runs against the live stores beside the
// roles. They check adnet's promises about money (verify, reconcile) and its servers (doctor), back
// up and restore (backup, restore), send dead letters again (dlq), remove old data (retention),
// roll a day up, and print statements and the audit log. Each command is a struct of its settings
// with a Run that ends when the work is done.
//
// # Not obvious
//
// A backup holds the archive, not settlement. ClickHouse rows have no offsets, so a copy belongs to
// a watermark only while no chunk is inserted. After a restore ClickHouse has lost its insert
// tokens; it does not need them, because nothing below the archived offset is sent again.
//
// reconcile --fix rebuilds a day of events all or nothing: beside the day, from Kafka and the
// verdicts, taken over only when it charges what the ledger says. The month is put together
// beside each table (the other days' parts are linked, not copied) and takes its place in one
// statement for each table. A crash between two tables leaves each whole, and the next run finds
// which of them still has the old day.
package operate
