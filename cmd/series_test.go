package cmd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/internal/process/obs"
)

// labels are the names of all labels of in-memory mode. The values of each are a closed list, which
// a caller cannot extend: an account, a campaign or a key is never one.
var labels = []string{
	"answer", "bound", "cause", "event", "group", "kind", "limit", "markup", "method", "outcome", "proof", "provider",
	"reason", "result", "revision", "route", "rule", "side", "state", "status", "topic", "verdict", "version", "what",
}

var (
	labelLists = regexp.MustCompile(`(?:constLabels|variableLabels): \{([^}]*)\}`)
	labelName  = regexp.MustCompile(`(\w+)(?:="(?:[^"\\]|\\.)*")?`)
)

// TestNoLabelNamesATenant compares the labels of all metrics, also of those without a series yet,
// with the list.
func TestNoLabelNamesATenant(t *testing.T) {
	w := wire(t, nil)
	descriptions := make(chan *prometheus.Desc)
	go func() {
		w.metrics.Describe(descriptions)
		close(descriptions)
	}()
	used := map[string]bool{}
	for d := range descriptions {
		if !strings.Contains(d.String(), `fqName: "adnet_`) {
			continue // of the Go runtime
		}
		lists := labelLists.FindAllStringSubmatch(d.String(), -1)
		require.Len(t, lists, 2, d)
		for _, list := range lists {
			for _, name := range labelName.FindAllStringSubmatch(list[1], -1) {
				used[name[1]] = true
			}
		}
	}
	require.Equal(t, labels, slices.Sorted(maps.Keys(used)), "a new label needs a closed list of values")
}

// TestAProcessHasABoundedNumberOfSeries calls every endpoint with and without credentials, well and
// badly: the series of everything in one process stay below the bound, and none has an account, a
// campaign or a key.
func TestAProcessHasABoundedNumberOfSeries(t *testing.T) {
	w := wire(t, nil)
	before := series(t, w)
	for _, group := range []string{"settle", "archive", "auctions", "notices"} {
		for _, name := range []string{"records", "seconds"} {
			lag := fmt.Sprintf(`adnet_log_behind_%s{group=%q} `, name, group)
			require.True(t, slices.ContainsFunc(before, func(line string) bool { return strings.HasPrefix(line, lag) }), lag)
		}
	}
	for _, e := range w.endpoints(t) {
		w.open(t) // another endpoint may have ended the session
		for _, q := range []request{
			{},
			{scheme: e.scheme},
			{scheme: e.scheme, body: `{}`},
			{scheme: e.scheme, body: `{"x":`},
			{body: `[]`, header: map[string]string{"Authorization": "Bearer pub_invented", "If-Match": `"7"`}},
			{scheme: e.scheme, body: `{}`, header: map[string]string{"Idempotency-Key": "\x01"}},
			{scheme: e.scheme, body: `{}`, header: map[string]string{"Content-Encoding": "br"}},
			{scheme: e.scheme, body: strings.Repeat(" ", 9<<20)},
		} {
			q.method, q.path = e.method, e.path
			w.send(t, q)
		}
		for _, method := range []string{http.MethodPut, http.MethodOptions, "BREW"} {
			w.send(t, request{method: method, path: e.path})
		}
		w.send(t, request{method: e.method, path: e.path + "/" + w.campaign})
	}
	after := series(t, w)
	t.Logf("%d series, %d before the calls", len(after), len(before))
	require.Greater(t, len(after), len(before)+500, "no routes were counted: does this test see them?")
	require.Less(t, len(after), obs.MaxSeries)
	foreign := slices.Concat(
		[]string{w.user.ID.String(), w.campaign, "invented", "BREW"}, slices.Collect(maps.Values(w.bearer)),
	)
	for _, line := range after {
		for _, text := range foreign {
			require.False(t, strings.Contains(line, text), "%s names %s", line, text)
		}
	}
}

// series returns the lines of the process's series, in the text format.
func series(t *testing.T, w *wired) (lines []string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.admin.Addr()+"/metrics", nil)
	require.NoError(t, err)
	reply, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, errors.Join(err, reply.Body.Close()))
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
