package postgres

import (
	"bytes"
	"errors"
	"regexp"
)

// Concurrently is the first line of a migration that builds an index on a table with rows. The file
// then holds one CREATE INDEX CONCURRENTLY IF NOT EXISTS, which PostgreSQL refuses in a transaction.
const Concurrently = "-- concurrently"

// build is the statement of such a file; its group is the name of the index.
var build = regexp.MustCompile(
	`\A-- concurrently\n(?:--[^\n]*\n)*CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS (\w+)\s[^;]*;\s*\z`,
)

// Concurrent returns the name of the index that a migration builds beside writers, and false for a
// migration that runs in a transaction. A file that has the first line and another form is an error.
func Concurrent(sql []byte) (index string, alone bool, err error) {
	if !bytes.HasPrefix(sql, []byte(Concurrently+"\n")) {
		return "", false, nil
	}
	match := build.FindSubmatch(sql)
	if match == nil {
		return "", false, errors.New(
			"after \"" + Concurrently + "\" there must be one CREATE INDEX CONCURRENTLY IF NOT EXISTS, ended by a semicolon",
		)
	}
	return string(match[1]), true, nil
}
