package subject_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/campaign/subject"
)

// Every subject has its texts in German, too, and nothing else differs.
func TestSubjectsInGerman(t *testing.T) {
	for i, s := range subject.In("de") {
		english := subject.All[i]
		require.NotEmpty(t, s.Title)
		require.NotEmpty(t, s.Example)
		require.NotEqual(t, english.Means, s.Means, english.Name)
		s.Title, s.Means, s.Example = english.Title, english.Means, english.Example
		require.Equal(t, english, s)
	}
	require.Equal(t, subject.All[:], subject.In("en"))
}
