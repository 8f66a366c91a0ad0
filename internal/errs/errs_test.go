package errs_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
)

func TestOf(t *testing.T) {
	own := errs.New(errs.Conflict, "taken by %s", "b")
	for name, tc := range map[string]struct {
		err     error
		code    errs.Code
		message string
	}{
		"own":              {own, errs.Conflict, "taken by b"},
		"wrapped outside":  {fmt.Errorf("store: %w", own), errs.Conflict, "taken by b"},
		"with cause":       {errs.Wrap(io.EOF, errs.Unavailable, "later"), errs.Unavailable, "later"},
		"the outer counts": {errs.Wrap(own, errs.UpstreamError, "no fill"), errs.UpstreamError, "no fill"},
		"foreign":          {errors.New("dial db-17"), errs.Internal, "internal error"},
	} {
		t.Run(name, func(t *testing.T) {
			got := errs.Of(tc.err)
			require.Equal(t, tc.code, got.Code)
			require.Equal(t, tc.message, got.Message)
			require.True(t, errs.Is(tc.err, tc.code))
			require.ErrorIs(t, got, got)
		})
	}
	require.False(t, errs.Is(nil, errs.Internal))
}

func TestCauseIsForLogsOnly(t *testing.T) {
	err := errs.Wrap(io.EOF, errs.Unavailable, "later").With("retry_after", 2)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "unavailable: later: EOF", err.Error())
	require.Equal(t, "later", err.Message)
	require.Equal(t, map[string]any{"retry_after": 2}, err.Extra)
	require.Equal(t, "conflict: taken", errs.New(errs.Conflict, "taken").Error())
}
