// Package postgres is the relational schema as numbered migrations. A file NNNN_name.sql runs in
// one transaction, in order of its name, and is never edited after a release: the migrator refuses
// a database whose applied files differ from these.
package postgres

import "embed"

// Migrations holds the numbered .sql files.
//
//go:embed *.sql
var Migrations embed.FS
