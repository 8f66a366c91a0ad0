// Package operate contains the operator's commands for the live stores, beside the roles. They
// check adnet's promises about money (verify, reconcile) and its servers (doctor), back up and
// restore (backup, restore), replay dead letters (dlq), remove old data (retention), roll up a day,
// and print statements and the audit log. Each command is a struct of its settings with a Run that
// ends when the work is done.
//
// # Not obvious
//
// A backup pauses the archive, not settlement. ClickHouse rows have no offsets, so a copy matches a
// watermark only while no chunk is inserted. After a restore ClickHouse has lost its insert tokens.
// It does not need them, because nothing below the archived offset is sent again.
//
// reconcile --fix rebuilds a day of events all or nothing: beside the day, from Kafka and the
// verdicts, and only takes over a result whose charges equal the ledger. The month is assembled
// beside each table (the other days' parts are linked, not copied) and replaces it in one statement
// per table. A crash between two tables leaves each complete, and the next run finds the tables
// with the old day.
package operate
