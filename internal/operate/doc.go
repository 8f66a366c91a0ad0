// Package operate is the commands that an operator runs against the live stores beside the roles: they check what adnet
// promises about money (verify, reconcile), copy and bring back (backup, restore), send dead letters again (dlq), remove
// what is too old (retention), roll a day up, and print statements and the audit log. Each command is a struct of its
// settings with a Run that ends when the work is done.
//
// # Not obvious
//
// A backup holds the archive, not settlement. ClickHouse rows have no offsets, so a copy belongs
// to a watermark only while no chunk is inserted. After a restore ClickHouse has forgotten its
// insert tokens; nothing below the archived offset is sent again, so it does not need them.
//
// reconcile --fix rebuilds a day of events all or nothing: beside the day, from Kafka and the
// verdicts, taken over only when it charges what the ledger says. The month is put together
// beside each table (the other days' parts are linked, not copied) and takes its place in one
// statement for each table. A crash between two tables leaves each whole, and the next run finds
// which of them still has the old day.
package operate
