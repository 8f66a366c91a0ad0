// Package postgres is the relational schema as numbered migrations. A file NNNN_name.sql runs in
// one transaction, in order of its name, and is never edited after a release: the migrator refuses
// a database whose applied files differ from these.
//
// Guarantee: a database that an earlier release filled passes adnet verify after an upgrade, and
// settlement continues on it. TestFilledDatabaseUpgrades in internal/postgres holds this.
package postgres

import "embed"

// Migrations holds the numbered .sql files.
//
//go:embed *.sql
var Migrations embed.FS
