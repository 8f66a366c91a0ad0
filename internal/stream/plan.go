package stream

import (
	"crypto/sha256"
	"fmt"
)

// Plan is a planned insert into another store: a range of each of some partitions, ordered by
// [Partition.Compare], written as one block under one token. It is stored before the first try, so
// that a retry after a crash, by any later owner of the partitions, builds the same block.
type Plan []Range

// Token returns the insert-deduplication token: it depends on the ranges alone, never on their
// records.
func (p Plan) Token() string {
	if len(p) == 1 {
		return p[0].String()
	}
	h := sha256.New()
	for _, r := range p {
		fmt.Fprintln(h, r)
	}
	return fmt.Sprintf("%d:%x", len(p), h.Sum(nil)[:16])
}

// Rows returns the number of rows in the block: one for each offset.
func (p Plan) Rows() (n int) {
	for _, r := range p {
		n += int(r.Next - r.First)
	}
	return n
}
