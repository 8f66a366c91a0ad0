package browser_test

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"adnet/schemas/event"
)

// deadLetters has an administrator find a record that nobody could decode, read what it holds,
// whatever a stranger wrote into it, and send it again: once, which the audit log keeps.
func deadLetters(t *testing.T, w *world, admin person, log *kgo.Client, topic string) {
	auction := uuid.Must(uuid.NewV7())
	const text = `<img src=x onerror=alert(1)>`
	raw, err := proto.Marshal(&event.Event{AuctionId: auction[:], Placement: &event.Placement{HostApp: text}})
	require.NoError(t, err)
	require.NoError(t, log.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Key: auction[:], Value: raw}).FirstErr())
	letters := func(state string) (list []any) {
		list, _ = w.ask(t, admin, "/api/admin/dead_letters?state="+state)["dead_letters"].([]any)
		return list
	}
	require.Eventually(
		t, func() bool { return len(letters("open")) == 1 }, time.Minute, 200*time.Millisecond,
		"settlement puts it aside",
	)
	id := letters("open")[0].(map[string]any)["id"].(string)

	tab, row := admin.tab, `tr[data-id="`+id+`"]`
	require.NoError(t, tab.Open(w.base+"/console/letters"))
	by := keys{t, w, tab}
	by.enter(row + ` [data-act=read]`)
	require.NoError(t, tab.Await(`!!document.querySelector('[data-act=replay]')`))
	var link string
	require.NoError(t, tab.Do(chromedp.Evaluate(`document.querySelector('main').innerText`, &link)))
	require.Contains(t, link, text, "what it holds is text")
	require.Contains(
		t, strings.ReplaceAll(strings.ReplaceAll(link, "\n", ""), " ", ""), hex.EncodeToString(auction[:]),
		"its bytes",
	)
	for _, v := range walks()[0].views {
		require.NoError(t, tab.Look(v.View))
		w.misfit(t, tab, "a dead letter")
		if v.axe {
			w.examine(t, tab, v.View)
		}
	}
	require.NoError(t, tab.Look(desk))
	by.enter(`[data-act=replay]`)
	require.NoError(t, tab.Await(`document.querySelector('main').innerText.includes('It is in the log again.')`))
	require.NoError(t, tab.Await(`!document.querySelector('`+row+`')`), "it waits no more")
	by.at(`[data-act=replay]`)
	require.Eventually(
		t, func() bool { return len(letters("all")) == 2 && len(letters("open")) == 1 }, time.Minute,
		200*time.Millisecond, "it came again, and is as unreadable",
	)
	require.NotEqual(t, id, letters("open")[0].(map[string]any)["id"])

	require.NoError(t, tab.Open(w.base+"/console/letters?state=all"))
	require.NoError(t, tab.Await(`/Replayed/.test(document.querySelector('`+row+`')?.innerText)`))
	entries := w.ask(t, admin, "/api/audit?target_kind=dead_letter&limit=9")["entries"].([]any)
	require.Len(t, entries, 1)
	require.Equal(t, admin.id, entries[0].(map[string]any)["actor"].(map[string]any)["account_id"])
	target := entries[0].(map[string]any)["target_id"].(string)
	require.NoError(t, tab.Open(w.base+"/console/audit?kind=dead_letter"))
	require.NoError(
		t,
		tab.Await(
			`document.querySelector('main table')?.innerText.includes('`+target+
				`') && document.querySelector('main table').innerText.includes('replays')`,
		),
	)
}
