// Package clickhouse embeds the analytics schema as numbered DDL files.
//
// Files are applied once, in the order of their numbers, and never edited after a release.
// ClickHouse has no transactional DDL, so every statement is safe to repeat (IF NOT EXISTS).
package clickhouse

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed *.sql
var files embed.FS

// Migration is one numbered file.
type Migration struct {
	Version    uint32 // number at the start of the name, from 1 without gaps
	Name       string // file name
	Sum        string // SHA-256 of the file in hex
	Statements []string
}

// Migrations returns the files in order. It fails if the numbers have a gap or a repetition.
func Migrations() ([]Migration, error) { return read(files) }

func read(dir fs.FS) ([]Migration, error) {
	names, err := fs.Glob(dir, "*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]Migration, 0, len(names))
	for _, name := range names { // Glob sorts
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseUint(number, 10, 32)
		if err != nil || len(number) != 4 || version != uint64(len(list)+1) {
			return nil, fmt.Errorf("%s: expected the number %04d", name, len(list)+1)
		}
		sum := sha256.Sum256(text)
		list = append(list, Migration{
			Version: uint32(version), Name: name, Sum: hex.EncodeToString(sum[:]), Statements: split(string(text)),
		})
	}
	return list, nil
}

// split splits a file into statements. A statement ends with a semicolon at the end of a line.
// Lines that start with -- are comments.
func split(text string) []string {
	var statements []string
	var current strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "--") {
			continue
		}
		body, ends := strings.CutSuffix(strings.TrimRight(line, " \t\r\n"), ";")
		current.WriteString(body)
		current.WriteByte('\n')
		if ends {
			statements = append(statements, strings.TrimSpace(current.String()))
			current.Reset()
		}
	}
	if rest := strings.TrimSpace(current.String()); rest != "" {
		statements = append(statements, rest)
	}
	return statements
}
