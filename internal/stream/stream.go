// Package stream names positions in an ordered log: a partition, a run of its offsets, and a plan
// of runs that are written elsewhere as one. It does not depend on the content of records.
package stream

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"adnet/internal/errs"
)

// Partition is one ordered log of events. Stream is the broker's topic id in hex, not its name: a
// topic that is deleted and re-created starts at offset 0 and must not look already applied.
type Partition struct {
	Stream string
	Number int32
}

// Compare orders partitions by stream, then number, like all code that locks or lists them.
func (p Partition) Compare(o Partition) int {
	return cmp.Or(cmp.Compare(p.Stream, o.Stream), cmp.Compare(p.Number, o.Number))
}

// Range is a run of offsets of a partition, First included, Next excluded.
type Range struct {
	Partition
	First, Next int64
}

// String returns the range's name in refs and insert tokens: "<stream>/<partition>:<first>-<next>".
func (r Range) String() string {
	return fmt.Sprintf("%s/%d:%d-%d", r.Stream, r.Number, r.First, r.Next)
}

// ParsePlace parses the position of one record, "<stream>/<partition>:<offset>", as the range of
// this offset alone. Errors carry errs.InvalidRequest.
func ParsePlace(text string) (Range, error) {
	wrong := errs.New(errs.InvalidRequest, "%q is no place of a record like 0f1e…/3:1234", text)
	id, rest, ok := strings.Cut(text, "/")
	partition, offset, both := strings.Cut(rest, ":")
	if !ok || !both || id == "" {
		return Range{}, wrong
	}
	number, err := strconv.ParseInt(partition, 10, 32)
	if err != nil {
		return Range{}, wrong
	}
	first, err := strconv.ParseInt(offset, 10, 64)
	if err != nil || first < 0 {
		return Range{}, wrong
	}
	return Range{Partition: Partition{Stream: id, Number: int32(number)}, First: first, Next: first + 1}, nil
}
