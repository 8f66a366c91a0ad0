package visitor

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// client returns a client of a server that answers the n-th call, from 1, by answer.
func client(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *Client {
	t.Helper()
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		answer(n, w, r)
	}))
	t.Cleanup(server.Close)
	return &Client{Base: Of(server.URL), HTTP: NewHTTP(10 * time.Second)}
}

func TestCallSendsWhatItIsGiven(t *testing.T) {
	c := client(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		require.Equal(t, "POST /api/auth?action=register", r.Method+" "+r.RequestURI)
		require.JSONEq(t, `{"email":"a@b.example","password":"secret"}`, string(body))
		require.Equal(t, "12.1.2.3", r.Header.Get("X-Forwarded-For"))
		require.Equal(t, Browser, r.Header.Get("User-Agent"))
		require.NotContains(t, r.Header, "Authorization")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"token":"t","user":{"id":"i","developer_id":"d"}}`)
	})
	account, err := c.Register(t.Context(), "a@b.example", "secret", "12.1.2.3")
	require.NoError(t, err)
	require.Equal(t, Account{ID: "i", Developer: "d", Bearer: "t"}, account)
}

func TestCallExpectsAStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		statuses    []int // of the answers, in turn
		tries, want int
		err         string
	}{
		"any":                      {statuses: []int{500}},
		"the expected one":         {statuses: []int{201}, want: 201},
		"another":                  {statuses: []int{200}, want: 201, err: "GET /x: 200 {}"},
		"success":                  {statuses: []int{302}, want: Success},
		"no success":               {statuses: []int{400}, tries: 3, want: Success, err: "GET /x: 400 {}"},
		"a node that is restarted": {statuses: []int{503, 200}, tries: 3, want: 200},
		"tries are bounded":        {statuses: []int{503, 503}, tries: 2, want: 200, err: "GET /x: 503 {}"},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, func(n int, w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(tc.statuses[n-1])
				_, _ = io.WriteString(w, "{}")
			})
			c.Tries = tc.tries
			_, err := c.Call(t.Context(), Request{Method: http.MethodGet, Path: "/x", Want: tc.want})
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.err)
		})
	}
}
