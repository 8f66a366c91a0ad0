package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/suitability"
	"adnet/internal/campaign/subject"
)

// The attackers' texts prove something only while the rules refuse the crises, and nothing refuses
// the others.
func TestCrisesAreRefusedByRule(t *testing.T) {
	require.Len(t, crisis, 20)
	for _, text := range crisis {
		verdict := judged(text)
		require.Equal(t, subject.Never, verdict.Tier(), text)
		require.Equal(t, suitability.ByRule, verdict.By, text)
		require.True(t, verdict.Lasts, text)
	}
}

func TestOrdinaryTextsAreNot(t *testing.T) {
	for _, text := range append([]string{"zqcpmqz", stolenWord, "zqpageqz", "zqrepeatqz", "zqcheapqz"}, ordinary...) {
		require.Equal(t, suitability.Verdict{}, judged(text), text)
	}
}

func judged(text string) suitability.Verdict {
	var reader suitability.Reader
	reader.Read(text, suitability.User)
	return reader.Verdict()
}
