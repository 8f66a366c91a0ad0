package classifier_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign/subject"
	"adnet/internal/classifier"
)

const secret = "SECRET words of a conversation"

// world is a client of a server that answers as a test says.
type world struct {
	*classifier.Client
	log      bytes.Buffer
	metrics  *prometheus.Registry
	requests atomic.Int64
	now      time.Time
}

func newWorld(t *testing.T, answer http.HandlerFunc) *world {
	t.Helper()
	w := &world{metrics: prometheus.NewRegistry(), now: time.Now()}
	server := httptest.NewServer(http.HandlerFunc(func(reply http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		body, _ := io.ReadAll(r.Body) // so that the server notices who hangs up
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(reply, r)
	}))
	t.Cleanup(server.Close)
	var err error
	w.Client, err = classifier.New(classifier.Config{URL: server.URL + "/v1/moderations"}, classifier.Deps{
		Log: slog.New(slog.NewTextHandler(&w.log, nil)), Metrics: w.metrics, Now: func() time.Time { return w.now },
	})
	require.NoError(t, err)
	return w
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestRequestAndReply(t *testing.T) {
	var got, path, kind string
	w := newWorld(t, func(reply http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, path, kind = string(text), r.Method+" "+r.URL.Path, r.Header.Get("Content-Type")
		says(
			`{"id":"m-1","results":[{"flagged":true,"categories":{"violence":false,"self-harm/intent":true,"hate":true,"sexual":null},"category_scores":{"hate":0.9}},{"categories":{"sexual":true}}]}`,
		)(reply, r)
	})
	found, other, err := w.Classify(t.Context(), "a \"b\"\n\xff")
	require.NoError(t, err)
	require.Equal(t, subject.SetOf(subject.SelfHarm, subject.Hate), found)
	require.False(t, other)
	require.Equal(t, `{"input":"a \"b\"\n`+"\ufffd"+`"}`, got)
	require.Equal(t, "POST /v1/moderations", path)
	require.Equal(t, "application/json", kind)

	for text, want := range map[string]struct {
		found subject.Set
		other bool
	}{
		`{"results":[{"categories":{}}]}`:                     {},
		`{"results":[{"categories":{"sexual/minors":true}}]}`: {found: subject.SetOf(subject.Minors)},
		`{"results":[{"categories":{"health":true}}]}`:        {found: subject.SetOf(subject.Health)},
		`{"results":[{"categories":{"new thing":true}}]}`:     {other: true},
		`{"results":[{"categories":{"new thing":false}}]}`:    {},
	} {
		found, other, err := newWorld(t, says(text)).Classify(t.Context(), "x")
		require.NoError(t, err)
		require.Equal(t, want.found, found, text)
		require.Equal(t, want.other, other, text)
	}
}

// Whatever a classifier does costs 50 ms and an error, and no text gets into it or into the log.
func TestBadClassifiers(t *testing.T) {
	forever := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	elsewhere := httptest.NewServer(says(`{"results":[{"categories":{"hate":true}}]}`))
	defer elsewhere.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"slow": forever,
		"slow body": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"results":[`)
			w.(http.Flusher).Flush()
			forever(w, r)
		},
		"redirecting": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"an error": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, secret, http.StatusInternalServerError)
		},
		"huge": says(`{"results":[{"categories":{"hate":true}}],"x":"` + strings.Repeat("x", 64<<10) + `"}`),
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for _, err := w.Write(make([]byte, 1<<16)); err == nil; _, err = w.Write(make([]byte, 1<<16)) {
			}
		},
		"empty":          says(``),
		"not JSON":       says(secret),
		"another type":   says(`{"results":[{"categories":{"` + secret + `":"yes"}}]}`),
		"no results":     says(`{"results":[]}`),
		"no categories":  says(`{"results":[{}]}`),
		"an array":       says(`[]`),
		"deep":           says(strings.Repeat(`[`, 60_000)),
		"the same twice": says(`{"results":[{"categories":{"hate":true,"hate":false}}]}`),
		"cut":            says(`{"results":[{"categories":{"hate":tr`),
		"hanging up":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, answer)
			begun := time.Now()
			found, other, err := w.Classify(t.Context(), secret)
			require.Error(t, err)
			require.Zero(t, found)
			require.False(t, other)
			require.Less(t, time.Since(begun), 5*classifier.Wait, "with what a busy machine adds")
			require.NotContains(t, err.Error()+w.log.String(), "SECRET")
			require.Contains(t, w.log.String(), "ADNET_SUITABILITY_URL")
			require.Equal(t, 1, w.count(t, "failed"))
		})
	}
}

// After five failures nothing is asked for five seconds, then once, until it answers.
func TestBreaker(t *testing.T) {
	var well atomic.Bool
	w := newWorld(t, func(reply http.ResponseWriter, r *http.Request) {
		if !well.Load() {
			http.Error(reply, "", http.StatusBadGateway)
			return
		}
		says(`{"results":[{"categories":{}}]}`)(reply, r)
	})
	ask := func() error { _, _, err := w.Classify(t.Context(), "x"); return err }
	for range 20 {
		require.Error(t, ask())
	}
	require.EqualValues(t, 5, w.requests.Load())
	require.Equal(t, 15, w.count(t, "rests"))
	w.now = w.now.Add(5 * time.Second)
	for range 20 {
		require.Error(t, ask())
	}
	require.EqualValues(t, 6, w.requests.Load(), "one finds out")
	well.Store(true)
	w.now = w.now.Add(5 * time.Second)
	for range 20 {
		require.NoError(t, ask())
	}
	require.EqualValues(t, 26, w.requests.Load())
}

// A caller that does not wait says nothing about the classifier.
func TestCanceledCallIsNotAFailure(t *testing.T) {
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, _, err := w.Classify(ctx, "x")
		require.Error(t, err)
		cancel()
	}
	require.Zero(t, w.count(t, "rests"))
}

func TestAddresses(t *testing.T) {
	c, err := classifier.New(classifier.Config{}, classifier.Deps{})
	require.NoError(t, err)
	require.Nil(t, c)
	for _, bad := range []string{
		"moderation.example", "ftp://moderation.example", "http://203.0.113.7/v1/moderations", "http://[2001:db8::1]/",
		"https://", "http://%zz",
	} {
		_, err := classifier.New(classifier.Config{URL: bad}, classifier.Deps{})
		require.ErrorContains(t, err, "ADNET_SUITABILITY_URL", bad)
	}
	for _, good := range []string{
		"https://moderation.example/v1/moderations", "http://10.1.2.3:8080/v1/moderations", "http://[::1]/",
		"http://classifier:8080/", "http://localhost/",
	} {
		_, err := classifier.New(classifier.Config{URL: good}, classifier.Deps{Metrics: prometheus.NewRegistry()})
		require.NoError(t, err, good)
	}
}

// Over plain HTTP a name may lead to private addresses only.
func TestNamesLeadToPrivateAddresses(t *testing.T) {
	w := newWorld(t, says(`{"results":[{"categories":{}}]}`))
	_, _, err := w.Classify(t.Context(), "x")
	require.NoError(t, err, "loopback")
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "10.0.0.1:80": true, "192.168.3.4:80": true, "[fd00::1]:80": true,
		"[::ffff:10.0.0.1]:80": true,
		"169.254.169.254:80":   false, "203.0.113.1:80": false, "[2001:db8::1]:80": false, "0.0.0.0:80": false,
		"x": false,
	} {
		require.Equal(t, want, classifier.PrivateOnly("tcp", address, nil) == nil, address)
	}
}

func (w *world) count(t *testing.T, result string) int {
	t.Helper()
	families, err := w.metrics.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "adnet_suitability_classifier_total" && m.GetLabel()[0].GetValue() == result {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	return 0
}
