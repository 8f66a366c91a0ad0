package corpus

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCorpusIsLargeAndDistinct(t *testing.T) {
	all := make(map[string]string)
	for _, table := range []struct {
		agents          []Agent
		agentsOf, class int
	}{{People(), 400, 25}, {Robots(), 200, 10}} {
		classes := make(map[string]bool)
		for _, agent := range table.agents {
			require.Empty(t, all[agent.Text], "twice: %s", agent.Text)
			require.NotContains(t, agent.Text, "|", agent.Text)
			all[agent.Text] = agent.Class
			classes[agent.Class] = true
		}
		require.GreaterOrEqual(t, len(table.agents), table.agentsOf)
		require.GreaterOrEqual(t, len(classes), table.class)
	}
}

func TestFormYieldsItsLongestList(t *testing.T) {
	require.Equal(t, []Agent{{"c", "x 1 a"}, {"c", "x 2 b"}, {"c", "x 1 "}}, compose("[c]\n$p = {1|2}\nx ${p} {a|b|}\n"))
	require.Panics(t, func() { compose("${missing}") })
	require.Panics(t, func() { compose("{open") })
}
