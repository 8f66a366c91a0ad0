package stream_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/stream"
)

func at(id string, number int32, first, next int64) stream.Range {
	return stream.Range{Partition: stream.Partition{Stream: id, Number: number}, First: first, Next: next}
}

func TestPartitionsAreOrderedByStreamThenNumber(t *testing.T) {
	list := []stream.Partition{{Stream: "b", Number: 0}, {Stream: "a", Number: 10}, {Stream: "a", Number: 9}}
	slices.SortFunc(list, stream.Partition.Compare)
	require.Equal(
		t, []stream.Partition{{Stream: "a", Number: 9}, {Stream: "a", Number: 10}, {Stream: "b", Number: 0}}, list,
	)
}

func TestParsePlace(t *testing.T) {
	got, err := stream.ParsePlace("0f1e/3:1234")
	require.NoError(t, err)
	require.Equal(t, at("0f1e", 3, 1234, 1235), got)
	require.Equal(t, "0f1e/3:1234-1235", got.String())
	for _, wrong := range []string{
		"", "0f1e", "0f1e/3", "/3:1", "0f1e/x:1", "0f1e/3:x", "0f1e/3:-1", "0f1e/2147483648:1",
	} {
		_, err := stream.ParsePlace(wrong)
		require.True(t, errs.Is(err, errs.InvalidRequest), wrong)
	}
}

// Stored plans are carried out under their token after an upgrade, too: it must never change.
func TestTokenOfAPlan(t *testing.T) {
	first, two := at("a1", 0, 5, 9), at("a1", 1, 0, 3)
	require.Equal(t, "a1/0:5-9", stream.Plan{first}.Token())
	require.Equal(t, "2:ea436814cb216f734d5830ca0f81e2ef", stream.Plan{first, two}.Token())
	require.NotEqual(t, stream.Plan{first, two}.Token(), stream.Plan{first, at("a1", 1, 0, 4)}.Token())
	require.Equal(t, 7, stream.Plan{first, two}.Rows())
	require.Zero(t, stream.Plan{}.Rows())
}
