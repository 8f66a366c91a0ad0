package subject_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/campaign/subject"
)

func TestFlagsOfModerationServices(t *testing.T) {
	for name, want := range map[string]subject.Set{
		"self-harm/intent": subject.SetOf(subject.SelfHarm), "SelfHarm": subject.SetOf(subject.SelfHarm),
		"self_harm":     subject.SetOf(subject.SelfHarm),
		"sexual/minors": subject.SetOf(subject.Minors), "HARM_CATEGORY_HATE_SPEECH": subject.SetOf(subject.Hate),
		"harm category hate speech": subject.SetOf(subject.Hate),
		"S11":                       subject.SetOf(subject.Suicide, subject.SelfHarm),
		"s4":                        subject.SetOf(subject.Minors), "health": subject.SetOf(subject.Health), "PII": 0,
		"pregnancy loss": 0, "Death, Harm & Tragedy": subject.SetOf(subject.Distress),
	} {
		got, known := subject.Flag(name)
		require.Equal(t, want, got, name)
		require.Equal(t, name != "pregnancy loss", known, name)
	}
	for _, name := range []string{
		"", "/", "S15", "selfharm!", "ｓｅｌｆｈａｒｍ", strings.Repeat("-", 61) + "hate", "HARM_CATEGORY_UNSPECIFIED", "none",
	} {
		_, known := subject.Flag(name)
		require.False(t, known, name)
	}
}

// Whatever a name means to one service, the publisher that sends it may use another: it means the
// subjects of both. Every subject is a flag, and every category has subjects of the list.
func TestEveryFlagIsUnderstood(t *testing.T) {
	for i := range subject.Services {
		for _, flag := range subject.Services[i].Flags {
			got, known := subject.Flag(flag.Name)
			require.True(t, known, flag.Name)
			require.Equal(t, flag.Subjects, got&flag.Subjects, flag.Name)
		}
	}
	for i := range subject.All {
		got, known := subject.Flag(subject.All[i].Name)
		require.True(t, known)
		require.Equal(t, subject.SetOf(subject.All[i].ID), got, subject.All[i].Name)
	}
}

// The manual names every service whose categories are understood.
func TestTheManualNamesTheServices(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/integrating.md")
	require.NoError(t, err)
	for i := range subject.Services {
		require.Contains(t, string(manual), subject.Services[i].Name)
	}
}

func TestCategoriesOfTheIAB(t *testing.T) {
	set := subject.SetOf
	for _, c := range []struct {
		tax  int
		code string
		want subject.Set
	}{
		{0, "IAB25-3", set(subject.Sexual)}, {1, " iab25-3", set(subject.Sexual)}, {1, "IAB26-4", set(subject.Crime)},
		{1, "IAB7-28", set(subject.Abuse)},
		{1, "IAB25", set(subject.Violence, subject.Hate, subject.Sexual)}, {1, "IAB25-1", 0},
		{1, "IAB7-20", set(subject.Health)}, {1, "IAB7-1", 0},
		{1, "IAB7-18", set(subject.MentalHealth)}, {1, "IAB11-2", set(subject.Legal)},
		{1, "IAB11", set(subject.Politics, subject.Legal)}, {1, "IAB23-7", set(subject.Religion)},
		{1, "IAB19", 0}, {1, "IAB2600", 0}, {1, "", 0}, {1, "-", 0}, {1, "317", 0},
		{2, "317", set(subject.Health)}, {5, "286", set(subject.Health)}, {6, "301", set(subject.MentalHealth)},
		{6, "305", 0}, {6, "308", set(subject.Sexuality)},
		{6, "387", set(subject.Politics)}, {6, "462", set(subject.Religion)}, {6, "464", 0},
		{2, "IAB25-3", set(subject.Sexual)}, {2, "IAB19", 0}, {6, "Rm3SiT", set(subject.Sexual)},
		{7, "8FD8nI", set(subject.Extremism)}, {9, "389", set(subject.Disasters)},
		{9, "pg0WhF", set(subject.Alcohol, subject.Tobacco, subject.Drugs)}, {9, "MQ2XML", set(subject.Sexual)},
		{3, "286", 0}, {8, "286", 0}, {-1, "IAB25-3", 0}, {500, "IAB25-3", 0},
	} {
		require.Equal(t, c.want.Names(), subject.OfCategory(c.tax, c.code).Names(), "%d %s", c.tax, c.code)
	}
	for _, tax := range []int{6, 9} {
		require.Equal(t, subject.Weapons, subject.OfCategory(tax, "v9i3On").First(), "a parent stands for all below it")
	}
}

// What [subject.All] says of categories and what a request's category means are one list.
func TestCategoriesBothWays(t *testing.T) {
	for i := range subject.All {
		s := &subject.All[i]
		for tax, codes := range map[int][]string{1: s.Content.V1, 6: s.Content.V2, 9: s.Content.V3} {
			for _, code := range codes {
				require.True(t, subject.OfCategory(tax, code).Has(s.ID), "%s: %d %s", s.Name, tax, code)
			}
		}
	}
}
