package notices_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/api/notices"
	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/outbound/notice"
)

type object = ingresstest.Object

func newWorld(t *testing.T) (*ingresstest.World, notice.Marks) {
	t.Helper()
	w := ingresstest.New(t, ingresstest.Options{})
	marks := notice.Marks(w.Ring.Marks)
	notices.New(notices.Deps{
		Store: w.Store.Notices, Marks: marks, Mails: true, BaseURL: func() string { return "https://ads.example" },
		Now: w.Clock,
	}).Mount(w.HTTP)
	return w, marks
}

func TestMailsAreChosen(t *testing.T) {
	w, _ := newWorld(t)
	p := w.Login(t, account.User{})
	first := p.Get(t, "/api/account/notices").As(200)
	require.Equal(t, []any{"report.weekly"}, first["off"])
	require.Equal(t, false, first["confirmed"])
	require.Len(t, first["kinds"], len(notice.Kinds)-3)
	changed := p.Call(t, "PATCH", "/api/account/notices", object{"off": []string{"campaign.ended"}, "language": "de"}).As(200)
	require.Equal(t, []any{"campaign.ended"}, changed["off"])
	require.Equal(t, "de", changed["language"])
	changed = p.Call(t, "PATCH", "/api/account/notices", object{"language": "en"}).As(200)
	require.Equal(t, []any{"campaign.ended"}, changed["off"], "what is left out stays")
	for field, body := range map[string]object{
		"off": {"off": []string{"x"}}, "language": {"language": "fr"}, "confirmed": {"confirmed": true},
	} {
		got := p.Call(t, "PATCH", "/api/account/notices", body).Fails(400, "invalid_request")
		require.Equal(t, field, got["field"])
	}
	other := w.Login(t, account.User{})
	require.Equal(t, []any{"report.weekly"}, other.Get(t, "/api/account/notices").As(200)["off"])
	p.Get(t, "/api/admin/waiting").Fails(403, "forbidden")
	admin := w.Login(t, account.User{Role: account.RoleAdmin})
	require.Len(t, admin.Get(t, "/api/account/notices").As(200)["kinds"], len(notice.Kinds))
	require.Contains(t, admin.Get(t, "/api/admin/waiting").As(200), "appeals")
}

// send sends a request as a mail program does, without a login.
func send(w *ingresstest.World, method, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/unsubscribe/"+token, strings.NewReader("List-Unsubscribe=One-Click"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got := httptest.NewRecorder()
	w.HTTP.ServeHTTP(got, r)
	return got
}

func TestOneClickEndsOneKindOfOneAccount(t *testing.T) {
	w, marks := newWorld(t)
	a, b := uuid.New(), uuid.New()
	for _, id := range []uuid.UUID{a, b} {
		u := account.User{ID: id, DeveloperID: uuid.New(), Email: id.String() + "@example.com", Role: account.RoleAdvertiser}
		require.NoError(t, w.Store.Accounts.CreateUser(t.Context(), u))
	}
	off := func(id uuid.UUID) []string {
		of, err := w.Store.Notices.Settings(t.Context(), id)
		require.NoError(t, err)
		return of.Off
	}
	token := marks.Token(a, "campaign.ended")
	page := send(w, http.MethodGet, token)
	require.Equal(t, 200, page.Code)
	require.Contains(t, page.Body.String(), "Stop these mails")
	require.Equal(t, []string{"report.weekly"}, off(a), "programs open links: a GET changes nothing")
	for range 2 {
		done := send(w, http.MethodPost, token)
		require.Equal(t, 200, done.Code)
		require.Contains(t, done.Body.String(), "no more mails of this kind")
	}
	require.Equal(t, []string{"campaign.ended", "report.weekly"}, off(a))
	require.Equal(t, []string{"report.weekly"}, off(b))
	// A link for one account, with the hash of another.
	foreign := marks.Token(b, "campaign.ended")
	for _, forged := range []string{foreign[:22] + token[22:], "x", strings.Repeat("A", 60)} {
		require.Equal(t, 404, send(w, http.MethodPost, forged).Code)
		require.Equal(t, 404, send(w, http.MethodGet, forged).Code)
	}
	require.Equal(t, []string{"report.weekly"}, off(b))
}
