package notice

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/outbound/webhook"
)

// marksOf returns the hashes of keys.
func marksOf(keys ...string) Marks {
	return func(kind, text string) (all [][16]byte) {
		for _, key := range keys {
			sum := sha256.Sum256([]byte(key + "\x00" + kind + "\x00" + text))
			all = append(all, [16]byte(sum[:16]))
		}
		return all
	}
}

func TestTokensServeOneAccountAndKind(t *testing.T) {
	a, b := uuid.New(), uuid.New()
	marks := marksOf("new", "old")
	token := marks.Token(a, "campaign.ended")
	account, kind, err := marks.Verify(token)
	require.NoError(t, err)
	require.Equal(t, a, account)
	require.Equal(t, "campaign.ended", kind)
	_, _, err = marks.Verify(marksOf("old").Token(a, "campaign.ended"))
	require.NoError(t, err, "links of the key before still work")
	_, _, err = marks.Verify(marksOf("other").Token(a, "campaign.ended"))
	require.Equal(t, errs.NotFound, errs.Of(err).Code)
	// The hash of one account or kind proves no other.
	foreign := marks.Token(b, "campaign.ended")
	for _, forged := range []string{
		"", "x", token[:22] + foreign[22:], foreign[:21] + token[21:], marks.Token(a, "balance.low")[:43] + token[43:],
		token + "A", strings.Repeat("A", 200), token[:43],
	} {
		_, _, err := marks.Verify(forged)
		require.Error(t, err, forged)
	}
}

// Every kind has its texts in both languages, with the same values.
func TestEveryKindHasTexts(t *testing.T) {
	for _, f := range []*frame{&english, &german} {
		require.Len(t, f.kinds, len(Kinds))
		for _, kind := range Kinds {
			w := f.kinds[kind]
			require.NotEmpty(t, w.subject, kind)
			require.NotEmpty(t, w.act, kind)
			require.NotContains(t, w.subject, "{", "a subject has nothing that an account wrote")
			require.Equal(t, names(english.kinds[kind].line), names(w.line), kind)
			require.Equal(t, english.kinds[kind].path, w.path)
			fact := Fact{Name: "N", Line: Line{CampaignID: uuid.New(), Decision: "release", Date: "2026-03-04", Since: "2026-03-04"}}
			l, err := Compose(Mail{Kind: kind, Language: f.lang, Base: "https://ads.example", Facts: []Fact{fact}})
			require.NoError(t, err)
			require.NotContains(t, l.Text, "{")
			require.Contains(t, l.Text, "https://ads.example/console")
		}
		require.Len(t, f.decisions, 2)
	}
	for _, e := range webhook.Events {
		require.Equal(t, e != string(webhook.DepositCredited), Mailed(webhook.Event(e)), e)
	}
	_, err := Compose(Mail{Kind: "x"})
	require.Error(t, err)
}

// names returns how often a line names each value.
func names(line string) map[string]int {
	found := map[string]int{}
	for part := range strings.SplitSeq(line, "{") {
		if name, _, is := strings.Cut(part, "}"); is {
			found[name]++
		}
	}
	return found
}

func TestAMailEscapesWhatAccountsWrote(t *testing.T) {
	id := uuid.New()
	hostile := "<img src=x onerror=alert(1)>\r\nBcc: a@b.example"
	l, err := Compose(Mail{
		Account: id, To: "a@b.example", Kind: "campaign.rejected", Language: English, Base: "https://ads.example", Token: "tok",
		Facts: []Fact{{Name: hostile, Line: Line{CampaignID: id, Notes: "<b>no</b> {name}"}}},
	})
	require.NoError(t, err)
	require.NotContains(t, l.HTML, "<img")
	require.NotContains(t, l.HTML, "<b>no")
	require.Contains(t, l.HTML, "&lt;img")
	require.NotContains(t, l.Text, "\r\nBcc")
	require.Contains(t, l.Text, "{name}", "a note is no template")
	require.Equal(t, "A campaign was rejected", l.Subject)
	require.Equal(t, "https://ads.example/unsubscribe/tok", l.Unsubscribe)
	for _, body := range []string{l.Text, l.HTML} {
		require.Contains(t, body, "https://ads.example/console/campaigns/"+id.String())
		require.Contains(t, body, "https://ads.example/unsubscribe/tok")
	}
	many, err := Compose(Mail{Kind: "campaign.ended", Language: German, Facts: make([]Fact, 25)})
	require.NoError(t, err)
	require.Contains(t, many.Text, "5 weitere stehen in der Konsole")
	require.Equal(t, 20, strings.Count(many.Text, "Eine Kampagne ohne Namen"))
}

func TestFindReportsWhatHolds(t *testing.T) {
	at := Times{Now: time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC), Daily: true}
	c := Charged{CampaignID: uuid.New(), AdvertiserID: uuid.New(), Billing: campaign.CPM, Bid: 5 * money.USD, Total: money.USD}
	require.True(t, at.Weekly())
	c.Spent = money.USD - 6_000
	require.False(t, c.spent(), "there is room for an impression")
	c.Spent = money.USD - 4_000
	require.True(t, c.spent())
	c.Total = 0
	require.False(t, c.spent(), "there is no total budget")
	low := func(cash money.Micros) bool { _, is := (&Balance{Cash: cash, Spent: 7 * money.USD}).low(); return is }
	require.True(t, low(-1))
	require.True(t, low(3*money.USD-1))
	require.False(t, low(3*money.USD))
	days, _ := (&Balance{Cash: 2_500_000, Spent: 7 * money.USD}).low()
	require.Equal(t, int64(2), days)
	_, is := (&Balance{}).low()
	require.False(t, is, "without spend nothing is needed")
	for back, want := range map[int32]bool{13: false, 14: true, 28: true, 29: false} {
		require.Equal(t, want, at.Silent(at.Today()-day.Day(back)), back)
	}
	o := Observed{Admins: []uuid.UUID{uuid.New()}, Waiting: Waiting{Reports: 2}}
	list := o.Find(at)
	require.Len(t, list, 1)
	require.Equal(t, ReportsWait, list[0].Event)
	require.Equal(t, "2026-03-09", list[0].Once)
}

func TestChoices(t *testing.T) {
	s := Unset(uuid.New())
	require.False(t, s.Wants("campaign.ended", "a@b.example"), "the address is not confirmed")
	require.NoError(t, Confirm("a@b.example", "de")(&s))
	require.Equal(t, German, s.Language)
	require.True(t, s.Wants("campaign.ended", "A@b.example"))
	require.False(t, s.Wants("campaign.ended", "c@b.example"), "the address has changed since")
	require.False(t, s.Wants("report.weekly", "a@b.example"), "by choice")
	require.NoError(t, Confirm("a@b.example", "en")(&s))
	require.Equal(t, German, s.Language, "a choice stays")
	s.Off = []string{"campaign.ended", "balance.low", "campaign.ended"}
	require.NoError(t, s.Normalize())
	require.Equal(t, []string{"balance.low", "campaign.ended"}, s.Off)
	s.Off = []string{"x"}
	require.Equal(t, "off", errs.Of(s.Normalize()).Extra["field"])
	s.Off, s.Language = nil, "fr"
	require.Equal(t, "language", errs.Of(s.Normalize()).Extra["field"])
	require.Len(t, KindsOf(false), len(Kinds)-3)
	require.Empty(t, Lines([]byte("x\n\n{\"count\":\"y\"}\n")))
}
