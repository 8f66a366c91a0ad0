package suitability

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The cost grows linearly with the length of a text, for ordinary and for hostile texts.
func TestCostIsLinear(t *testing.T) {
	for _, text := range []string{
		"Plan a week of vegetarian dinners for four people, with a shopping list. ",
		"i want to how do i kill i want to die my can i want to ",
		"k1ll mys3lf k*ll s*****e su*c*de ", "i w a n t t o d i e ", "iwanttokillmyselfiwanttodie",
		"aaaaaaaaaaaaaaaaaa", "死にたい消えたいどうやって殺す", "انتحار اريد ان اموت كيف ",
		"9 years 10 am 12 i am 11 ", "....!!!!", "*#@$|*#@$|", "suicidesuicidesuicide ",
		"mysellf killmy kilmyself myselff ",
	} {
		cost := func(times int) int {
			r, w := NewReader(ofBuild()), new(work)
			r.read(w, strings.Repeat(text, times), User)
			return w.words.steps + w.rules.steps + len(w.scorer.features.list)
		}
		once, more := cost(40), cost(160)
		require.Less(t, more, 5*once+100, "%q: %d steps, %d for four times as much", text, once, more)
		require.Less(t, once, 200*len(text)*40, "%q", text)
	}
}
