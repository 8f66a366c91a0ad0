package manage_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign/subject"
	"adnet/internal/report"
)

// refused creates n requests of a publisher that ended with a reason.
func refused(who *person, at time.Time, reason, about string, n int) []report.Auction {
	list := make([]report.Auction, n)
	for i := range list {
		list[i] = report.Auction{
			AuctionID: uuid.Must(uuid.NewV7()), At: at, DeveloperID: who.DeveloperID, Reason: reason,
			Suitability: about,
		}
	}
	return list
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	me, other, boss := w.advertiser(t), w.advertiser(t), w.admin(t)
	list := append(refused(me, w.Now, "", "", 30), refused(me, w.Now, report.Unsuitable, "suicide", 12)...)
	list = append(list, refused(me, w.Now, report.Sensitive, "health", 9)...)
	list = append(list, refused(me, w.Now.AddDate(0, 0, -2), report.Sensitive, "health", 210)...)
	list[0].AgeAdult, list[35].AgeAdult = true, true // the second was refused
	require.NoError(t, w.Reports.InsertAuctions(t.Context(), "a", list))
	got := me.Get(t, "/api/stats/suitability?since=2026-03-08").As(200)
	require.Equal(t, []any{
		object{"date": "2026-03-08", "requests": 0.0, "age_adult": 0.0, "never": "<10", "sensitive": 210.0},
		object{"date": "2026-03-09", "requests": 0.0, "age_adult": 0.0, "never": "<10", "sensitive": "<10"},
		object{"date": "2026-03-10", "requests": 30.0, "age_adult": 1.0, "never": 12.0, "sensitive": "<10"},
	}, got["daily"])
	require.Equal(t, []any{
		object{"tier": "never", "reason": "unsuitable", "requests": 12.0, "days_below_10": 2.0, "rate": 12.0 / 252},
		object{
			"tier": "sensitive", "reason": "sensitive", "requests": 210.0, "days_below_10": 2.0, "rate": 210.0 / 252,
		},
	}, got["refused"])
	require.Equal(t, []any{30.0, 1.0}, []any{got["requests"], got["age_adult"]})
	require.Len(t, got["subjects"], len(subject.Names(subject.Sensitive)))
	require.Equal(t, object{"id": "health", "last_7_days": 200.0, "last_30_days": 200.0}, at(got, "subjects", 0))
	require.Equal(
		t, object{"id": "mental_health", "last_7_days": "<100", "last_30_days": "<100"}, at(got, "subjects", 1),
	)
	require.Equal(t, "day,requests,age_adult,never,sensitive\n2026-03-08,0,0,<10,210\n2026-03-09,0,0,<10,<10\n2026-03-10,30,1,12,<10\n",
		me.Get(t, "/api/stats/suitability?since=2026-03-08&format=csv").Text)

	of := "/api/stats/suitability?developer_id=" + me.DeveloperID.String()
	other.Get(t, of).Fails(403, "forbidden")
	require.Equal(t, got, boss.Get(t, of+"&since=2026-03-08").As(200), "administrators see no more")
	w.nobody().Get(t, of).Fails(401, "invalid_token")
	me.Get(t, "/api/stats/suitability?since=x").Fails(400, "invalid_request")
	require.Empty(
		t, me.Get(t, "/api/stats/suitability?since=2026-04-01&until=2026-04-02").As(200)["daily"], "days to come",
	)

	all := boss.Get(t, "/api/admin/suitability?since=2026-03-08").As(200)
	require.Equal(t, []any{object{
		"developer_id": me.DeveloperID.String(), "requests": 30.0, "age_adult": 1.0, "refused": got["refused"],
		"jumped": true,
	}}, all["publishers"])
	require.Equal(t, "developer_id,requests,age_adult,never,never_days_below_10,sensitive,sensitive_days_below_10,jumped\n"+
		me.DeveloperID.String()+",30,1,12,2,210,2,true\n",
		boss.Get(t, "/api/admin/suitability?since=2026-03-08&format=csv").Text)
	me.Get(t, "/api/admin/suitability").Fails(403, "forbidden")
	boss.Get(t, "/api/admin/suitability?since=2026-01-01").Fails(400, "invalid_request")
}

// An attacker reads everything that counts requests, by every range and breakdown, before and after
// nine refusals of each tier. Only times may differ.
func TestFewRefusalsCannotBeFound(t *testing.T) {
	replies := func(never, sensitive int) (all []string) {
		w := newWorld(t)
		me, quiet, boss := w.advertiser(t), w.advertiser(t), w.admin(t)
		list := append(refused(me, w.Now, "", "", 20), refused(me, w.Now, "no_match", "", 5)...)
		list = append(list, refused(me, w.Now.AddDate(0, 0, -1), report.Unsuitable, "suicide", 40)...)
		for i := range list {
			list[i].AgeAdult, list[i].Surface, list[i].HostApp, list[i].Format, list[i].IntegrationMethod = true,
				"chat", "app", "card", "rest"
		}
		hidden := append(
			refused(me, w.Now.Add(time.Minute), report.Unsuitable, "suicide", never),
			refused(me, w.Now.Add(time.Minute), report.Sensitive, "health", sensitive)...,
		)
		hidden = append(hidden, refused(quiet, w.Now, report.Unsuitable, "", never)...)
		for i := range hidden {
			hidden[i].AgeAdult, hidden[i].Surface, hidden[i].HostApp, hidden[i].Format,
				hidden[i].IntegrationMethod = true, "welcome", "app", "card", "rest"
		}
		require.NoError(t, w.Reports.InsertAuctions(t.Context(), "a", append(list, hidden...)))
		w.Clock()
		var paths []string
		for _, days := range []string{
			"", "&since=2026-03-10", "&since=2026-03-09", "&since=2026-03-09&until=2026-03-09",
		} {
			for _, format := range []string{"", "&format=csv"} {
				paths = append(
					paths, "/api/stats/suitability?x"+days+format, "/api/admin/suitability?x"+days+format,
					"/api/admin/requests?x"+days+format,
				)
				for _, by := range append([]string{""}, report.DemandBreakdowns...) {
					path := "/api/stats/requests?x" + days + format
					if by != "" {
						path += "&breakdown=" + by
					}
					paths = append(paths, path)
				}
				for _, by := range []string{"", "&breakdown=hour", "&breakdown=surface", "&breakdown=publisher"} {
					paths = append(paths, "/api/stats?type=developer"+days+format+by)
				}
			}
		}
		for _, path := range paths {
			path = strings.Replace(path, "?x&", "?", 1)
			path = strings.TrimSuffix(path, "?x")
			for _, who := range []*person{me, quiet, boss} {
				if !strings.Contains(path, "/admin/") || who == boss {
					asks := path
					if who == boss && !strings.Contains(path, "/admin/") {
						asks += map[bool]string{true: "&",
							false: "?"}[strings.Contains(path, "?")] + "developer_id=" + me.DeveloperID.String()
					}
					reply := who.Get(t, asks)
					require.Equal(t, 200, reply.Code, reply.Text)
					text := strings.ReplaceAll(
						strings.ReplaceAll(reply.Text, me.DeveloperID.String(), "me"), quiet.DeveloperID.String(),
						"quiet",
					)
					text = strings.NewReplacer(me.Email, "me", quiet.Email, "quiet").Replace(text)
					all = append(
						all,
						fmt.Sprintln(
							strings.ReplaceAll(asks, me.DeveloperID.String(), "me"),
							regexp.MustCompile(`"as_of":"[^"]*"`).ReplaceAllString(text, ""),
						),
					)
				}
			}
		}
		return all
	}
	require.Equal(t, replies(0, 0), replies(9, 9))
	require.Equal(t, replies(0, 0), replies(1, 8))
	require.NotEqual(t, replies(0, 0), replies(10, 0))
}

// The list is the program's, and public.
func TestSubjects(t *testing.T) {
	w := newWorld(t)
	got := w.nobody().Get(t, "/api/suitability/subjects").As(200)
	require.Len(t, got["subjects"], len(subject.All))
	require.Len(t, got["trades"], len(subject.Trades))
	require.Equal(t, []any{"suicide", "never", subject.All[0].Title, subject.All[0].Means, subject.All[0].Example},
		[]any{
			at(got, "subjects", 0, "id"), at(got, "subjects", 0, "tier"), at(got, "subjects", 0, "title"),
			at(got, "subjects", 0, "definition"), at(got, "subjects", 0, "example"),
		})
	require.Equal(
		t, "Suizid", at(w.nobody().Get(t, "/api/suitability/subjects?language=de").As(200), "subjects", 0, "title"),
	)
	w.nobody().Get(t, "/api/suitability/subjects?language=xx").Fails(400, "invalid_request")
}

func TestSensitiveSubjectsOfAPublisher(t *testing.T) {
	w := newWorld(t)
	me := w.advertiser(t)
	for _, wrong := range [][]string{{"suicide"}, {"health", "child"}, {"wealth"}, make([]string, 16)} {
		require.Equal(
			t, "sensitive_contexts",
			me.Call(
				t, "PUT", "/api/account/publishing", object{"sensitive_contexts": wrong},
			).Fails(400, "invalid_request")["field"],
		)
	}
	stored := me.Call(
		t, "PUT", "/api/account/publishing",
		object{"sensitive_contexts": []string{"health", "debt"}, "remember": false},
	).As(200)
	require.Equal(t, []any{[]any{"health", "debt"}, false}, []any{stored["sensitive_contexts"], stored["remember"]})
	require.Equal(t, stored, me.Get(t, "/api/account/publishing").As(200))
}
