package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adnet/ingress/httpapi/wire"
)

func TestMain(m *testing.M) {
	// fasthttp keeps the date header's clock for the life of the process.
	goleak.VerifyTestMain(
		m, goleak.IgnoreTopFunction("time.Sleep"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
	)
}

// serve starts ours over h and gives its address.
func serve(t *testing.T, h http.HandlerFunc) (string, *wire.Server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l.Addr().String(), serveOn(t, l, wire.Config{Handler: h})
}

// serveOn starts a server on l; cfg needs a handler only.
func serveOn(t *testing.T, l net.Listener, cfg wire.Config) *wire.Server {
	t.Helper()
	cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	cfg.Refuse = func(w http.ResponseWriter, status int, problem string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "refused: %s", problem)
	}
	s := wire.New(cfg)
	done := make(chan error, 1)
	go func() { done <- s.Serve(t.Context(), l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Millisecond)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			s.Close()
		}
		require.NoError(t, <-done)
	})
	return s
}

// standard starts net/http over h.
func standard(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return l.Addr().String()
}

// exchange sends raw bytes and reads all replies, as "status, header without date, body", until the
// server closes.
func exchange(t *testing.T, addr, raw string, replies int) (all []string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, _ = io.WriteString(conn, raw) // the server may have answered and closed before the end
	in := bufio.NewReader(conn)
	method, _, _ := strings.Cut(raw, " ")
	for range replies {
		reply, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return append(all, "closed")
		}
		if reply.StatusCode == http.StatusContinue {
			all = append(all, "100")
			reply, err = http.ReadResponse(in, &http.Request{Method: method})
			require.NoError(t, err)
		}
		body, err := io.ReadAll(reply.Body)
		require.NoError(t, err)
		require.NoError(t, reply.Body.Close())
		require.NotEmpty(t, reply.Header.Get("Date"))
		reply.Header.Del("Date")
		reply.Header.Del("Connection")
		var header bytes.Buffer
		require.NoError(t, reply.Header.Write(&header))
		all = append(all, fmt.Sprintf("%d\n%s%s", reply.StatusCode, header.String(), body))
	}
	return all
}

// echo answers with what a handler sees of a request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	header := maps.Clone(r.Header)
	delete(header, "Connection") // fasthttp adds it to an HTTP/1.0 request
	seen, _ := json.Marshal(map[string]any{
		"method": r.Method, "path": r.URL.Path, "raw_path": r.URL.EscapedPath(), "query": r.URL.RawQuery,
		"force": r.URL.ForceQuery, "target": r.RequestURI,
		"proto": r.Proto, "major": r.ProtoMajor, "minor": r.ProtoMinor, "host": r.Host, "header": header,
		"length": max(r.ContentLength, int64(len(body))),
		"body":   string(body), "error": fmt.Sprint(err),
	})
	w.Header()["Content-Type"] = []string{"application/json"}
	w.Header()["X-Several"] = []string{"a", "b"}
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(seen)
}

// Both servers give a handler the same request, and a client the same reply.
func TestAsNetHTTP(t *testing.T) {
	t.Parallel()
	ours, _ := serve(t, echo)
	theirs := standard(t, echo)
	const h = "Host: ads.example\r\n"
	for name, raw := range map[string]string{
		"get":           "GET /a/b?x=1&y=%20z HTTP/1.1\r\n" + h + "\r\n",
		"root":          "GET / HTTP/1.1\r\n" + h + "\r\n",
		"empty query":   "GET /a? HTTP/1.1\r\n" + h + "\r\n",
		"two questions": "GET /a?b?c HTTP/1.1\r\n" + h + "\r\n",
		"escaped path":  "GET /a%2Fb%20c/d HTTP/1.1\r\n" + h + "\r\n",
		"dots":          "GET /a/../b/./c//d HTTP/1.1\r\n" + h + "\r\n",
		"two slashes":   "GET //other.example/x HTTP/1.1\r\n" + h + "\r\n",
		"fragment":      "GET /a#b HTTP/1.1\r\n" + h + "\r\n",
		"absolute":      "GET http://elsewhere.example/p?q=1 HTTP/1.1\r\n" + h + "\r\n",
		"other method":  "PURGE /x HTTP/1.1\r\n" + h + "\r\n",
		"header names": "GET / HTTP/1.1\r\n" + h +
			"x-lower-case: 1\r\nX_UNDER: 2\r\nETAG: 3\r\nuser-agent: me\r\naccept: */*\r\n\r\n",
		"header twice": "GET / HTTP/1.1\r\n" + h +
			"X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\nAccept: a\r\nAccept: b\r\nAccept: c\r\n\r\n",
		"padded value": "GET / HTTP/1.1\r\n" + h + "X-A:   b c  \r\nX-Empty:\r\n\r\n",
		"latin value":  "GET / HTTP/1.1\r\n" + h + "X-A: \xe4\r\n\r\n",
		"cookies":      "GET / HTTP/1.1\r\n" + h + "Cookie: a=1; b=2\r\n\r\n",
		"post":         "POST /p HTTP/1.1\r\n" + h + "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
		"multipart": "POST /p HTTP/1.1\r\n" + h +
			"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 8\r\n\r\n--x--\r\n\r",
		"chunked": "POST /p HTTP/1.1\r\n" + h +
			"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n\r\n",
		"get with a body":   "GET /p HTTP/1.1\r\n" + h + "Content-Length: 2\r\n\r\n{}",
		"delete with body":  "DELETE /p HTTP/1.1\r\n" + h + "Content-Length: 2\r\n\r\n{}",
		"continue":          "POST /p HTTP/1.1\r\n" + h + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
		"version 1.0":       "GET / HTTP/1.0\r\n\r\n",
		"1.0 kept alive":    "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		"close":             "GET / HTTP/1.1\r\n" + h + "Connection: close\r\n\r\n",
		"close in capitals": "GET / HTTP/1.1\r\n" + h + "Connection: Close\r\n\r\nGET /2 HTTP/1.1\r\n" + h + "\r\n",
		"close in a list": "GET / HTTP/1.1\r\n" + h + "Connection: keep-alive, CLOSE\r\n\r\nGET /2 HTTP/1.1\r\n" + h +
			"\r\n",
		"trailer": "POST /p HTTP/1.1\r\n" + h +
			"Trailer: X-Request-Id\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Request-Id: " +
			"t\r\nX-Late: 1\r\n\r\nGET /2 HTTP/1.1\r\n" + h + "\r\n",
		"head":              "HEAD /x HTTP/1.1\r\n" + h + "\r\n",
		"two of one stream": "GET /1 HTTP/1.1\r\n" + h + "X-First: 1\r\n\r\nGET /2 HTTP/1.1\r\n" + h + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replies := 1 + strings.Count(raw, "GET /2")
			want := exchange(t, theirs, raw, replies)
			require.GreaterOrEqual(t, len(want), replies, "a 100 counts")
			require.Equal(t, want, exchange(t, ours, raw, replies))
		})
	}
}

// Forms that RFC 9112 recommends to read. Nothing behind a request with LF alone is read, since a
// proxy may have seen one request in it.
func TestLenientForms(t *testing.T) {
	t.Parallel()
	ours, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %q %s %v", r.Method, r.URL.Path, r.Header.Get("X-A"), body, err)
	})
	const next = "GET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, tc := range map[string]struct {
		raw string
		all []string
	}{
		"empty line before": {"\r\nGET /1 HTTP/1.1\r\nHost: x\r\n\r\n" + next, []string{`GET /1 ""`, `GET /2 ""`}},
		"empty line behind a body": {
			"POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}\r\n\r\n" + next,
			[]string{`POST /1 "" {}`, `GET /2 ""`},
		},
		"padded value": {"GET /1 HTTP/1.1\r\nHost: x\r\nX-A:\t b \t\r\n\r\n" + next, []string{`GET /1 "b"`, `GET /2 ""`}},
		"absolute form": {
			"GET http://x/1?a HTTP/1.1\r\nHost: y\r\n\r\n" + next, []string{`GET /1 ""`, `GET /2 ""`},
		},
		"LF alone": {"GET /1 HTTP/1.1\nHost: x\nX-A: b\n\n" + next, []string{`GET /1 "b"`, "closed"}},
		"LF alone and a body": {
			"\nPOST /1 HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}" + next, []string{`POST /1 "" {}`, "closed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := exchange(t, ours, tc.raw, len(tc.all))
			require.Len(t, all, len(tc.all))
			for i, want := range tc.all {
				require.Contains(t, all[i], want)
			}
		})
	}
}

// A request that a proxy before us could read differently is refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	ours, _ := serve(t, echo)
	const h = "Host: x\r\n"
	for name, tc := range map[string]struct {
		raw    string
		status string
	}{
		"no http":                {"hello\r\n\r\n", "400"},
		"no host":                {"GET / HTTP/1.1\r\n\r\n", "400"},
		"two hosts":              {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
		"space before the colon": {"POST / HTTP/1.1\r\n" + h + "Content-Length : 5\r\n\r\nhello", "400"},
		"space in a name":        {"GET / HTTP/1.1\r\n" + h + "X A: 1\r\n\r\n", "400"},
		"name that is none":      {"GET / HTTP/1.1\r\n" + h + "X(A): 1\r\n\r\n", "400"},
		"control character":      {"GET / HTTP/1.1\r\n" + h + "X-A: a\x00b\r\n\r\n", "400"},
		"two lengths": {
			"POST / HTTP/1.1\r\n" + h + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "400",
		},
		"length and chunked": {
			"POST / HTTP/1.1\r\n" + h + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400",
		},
		"chunked and length": {
			"POST / HTTP/1.1\r\n" + h + "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n", "400",
		},
		"chunked in 1.0": {"POST / HTTP/1.0\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"chunked twice": {
			"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"400",
		},
		"other transfer encoding": {
			"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400",
		},
		"signed length":   {"POST / HTTP/1.1\r\n" + h + "Content-Length: +5\r\n\r\nhello", "400"},
		"negative length": {"POST / HTTP/1.1\r\n" + h + "Content-Length: -5\r\n\r\nhello", "400"},
		"bad chunk": {
			"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n", "400",
		},
		"version 2":   {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"},
		"version 1.2": {"GET / HTTP/1.2\r\n" + h + "\r\n", "505"},
		"trailer that is none": {
			"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n0\r\nX Y: 1\r\n\r\n", "400",
		},
		"trailer too large": {
			"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat(
				"X-A: "+strings.Repeat("a", 500)+"\r\n", 10,
			) + "\r\n", "400",
		},
		"bare LF at first":    {"GET / HTTP/1.1\n" + "Host: x\r\n\r\n", "400"},
		"bare LF in a header": {"GET / HTTP/1.1\r\nHost: x\nX-A: 1\r\n\r\n", "400"},
		"bare LF at the end":  {"GET / HTTP/1.1\r\n" + h + "\n", "400"},
		"bare LF in a chunk": {
			"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", "400",
		},
		"bare LF in a trailer": {
			"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: 1\n\r\n", "400",
		},
		"folded line":         {"GET / HTTP/1.1\r\n" + h + "X-A: 1\r\n 2\r\n\r\n", "400"},
		"folded length":       {"POST / HTTP/1.1\r\n" + h + "Content-Length:\r\n 5\r\n\r\nhello", "400"},
		"empty lines before":  {"\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n" + h + "\r\n", "400"},
		"CR alone":            {"GET / HTTP/1.1\rHost: x\r\r", "400"},
		"CR in a value":       {"GET / HTTP/1.1\r\n" + h + "X-A: a\rX-B: b\r\n\r\n", "400"},
		"identity":            {"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: identity\r\n\r\n", "400"},
		"huge length":         {"POST / HTTP/1.1\r\n" + h + "Content-Length: 99999999999999999999\r\n\r\nhello", "400"},
		"escape cut short":    {"GET /%2 HTTP/1.1\r\n" + h + "\r\n", "400"},
		"space in the target": {"GET /a b HTTP/1.1\r\n" + h + "\r\n", "400"},
		"header too large": {
			"GET / HTTP/1.1\r\n" + h + "X-A: " + strings.Repeat("a", wire.MaxHeader) + "\r\n\r\n", "431",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := exchange(t, ours, tc.raw+"GET /smuggled HTTP/1.1\r\n"+h+"\r\n", 2)
			require.Len(t, all, 2)
			require.True(t, strings.HasPrefix(all[0], tc.status+"\n"), all[0])
			require.Contains(t, all[0], "refused: ")
			require.Equal(t, "closed", all[1], "nothing behind a refused request is read")
		})
	}
}

func TestLongBody(t *testing.T) {
	t.Parallel()
	ours, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %d %v", r.Method, r.URL.Path, len(body), err)
	})
	long := func(n int) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", n, strings.Repeat("a", n))
	}
	require.Contains(t, exchange(t, ours, long(wire.MaxBody), 1)[0], fmt.Sprint(wire.MaxBody, " <nil>"))
	// The handler answers a longer one in its own form, and the client gets to read that although
	// it still sends.
	require.Contains(t, exchange(t, ours, long(wire.MaxBody+1), 1)[0], "0 http: request body too large")
	require.Contains(t, exchange(t, ours, long(3*wire.MaxBody), 1)[0], "0 http: request body too large")
	chunks := "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat(
		"8000\r\n"+strings.Repeat("a", 0x8000)+"\r\n", 17,
	) + "0\r\n\r\n"
	require.Contains(t, exchange(t, ours, chunks, 1)[0], "POST /a 0 http: request body too large")
}

// Bodies that come in many pieces, and the requests behind them, arrive whole.
func TestPieces(t *testing.T) {
	t.Parallel()
	ours, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %x %v", r.URL.Path, sha256.Sum256(body), err)
	})
	body := strings.Repeat("0123456789", 7000)
	var chunks strings.Builder
	for rest := body; rest != ""; {
		n := min(len(rest), 1+len(rest)%3000)
		fmt.Fprintf(&chunks, "%x;a=b\r\n%s\r\n", n, rest[:n])
		rest = rest[n:]
	}
	raw := fmt.Sprintf("POST /sized HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body) +
		"POST /chunked HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks.String() +
		"0\r\nX-A: 1\r\n\r\n" +
		"GET /last HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, piece := range []int{1 << 20, 16 << 10, 1111} {
		conn, err := net.Dial("tcp", ours)
		require.NoError(t, err)
		go func() {
			for rest := raw; rest != ""; {
				n := min(piece, len(rest))
				_, _ = io.WriteString(conn, rest[:n])
				rest = rest[n:]
				if len(rest)%7 == 0 {
					time.Sleep(60 * time.Millisecond) // the connection leaves its goroutine
				}
			}
		}()
		in := bufio.NewReader(conn)
		for _, path := range []string{"/sized", "/chunked", "/last"} {
			reply, err := http.ReadResponse(in, nil)
			require.NoError(t, err, path)
			got, err := io.ReadAll(reply.Body)
			require.NoError(t, err)
			want := sha256.Sum256([]byte(body))
			if path == "/last" {
				want = sha256.Sum256(nil)
			}
			require.Equal(t, fmt.Sprintf("%s %x <nil>", path, want), string(got))
		}
		require.NoError(t, conn.Close())
	}
}

// A request is used again for the next one; what a handler has kept of its text stays.
func TestTextIsKept(t *testing.T) {
	t.Parallel()
	var stored []string
	ours, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		stored = append(
			stored,
			r.URL.Path+r.URL.RawQuery+r.Host+r.Header.Get("User-Agent")+r.Header.Get("X-Only-First")+r.RemoteAddr[:9],
		)
	})
	exchange(
		t, ours,
		"GET /one?first HTTP/1.1\r\nHost: a\r\nUser-Agent: alpha\r\nX-Only-First: 1\r\n\r\nGET /two?other "+
			"HTTP/1.1\r\nHost: b\r\nUser-Agent: gamma\r\n\r\n", 2,
	)
	require.Equal(t, []string{"/onefirstaalpha1127.0.0.1", "/twootherbgamma127.0.0.1"}, stored)
}

// What a handler has a request parse is not part of the next one.
func TestFormsAreOfOneRequest(t *testing.T) {
	t.Parallel()
	var forms []string
	ours, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		r.Pattern, r.Method = r.Pattern+"x", "GET"
		forms = append(forms, r.FormValue("of")+r.Pattern)
	})
	const h = " HTTP/1.1\r\nHost: a\r\n\r\n"
	exchange(t, ours, "GET /?of=one"+h+"GET /?of=two"+h+"GET /"+h, 3)
	require.Equal(t, []string{"onex", "twox", "x"}, forms)
}

// The base of all requests ends with the server, and each has it.
func TestRequestsHaveTheServersContext(t *testing.T) {
	t.Parallel()
	var ended []error
	var last context.Context
	ours, server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		last = r.Context()
		ended = append(ended, last.Err())
	})
	const h = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	exchange(t, ours, h+h, 2)
	require.Equal(t, []error{nil, nil}, ended)
	server.Close()
	require.ErrorIs(t, last.Err(), context.Canceled)
}

func TestReplies(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sniffed":
			_, _ = io.WriteString(w, "<!doctype html><p>hello")
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/unchanged":
			w.WriteHeader(http.StatusNotModified)
		case "/silent":
		case "/twice":
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK)
		case "/redirect":
			http.Redirect(w, r, "https://shop.example/?a=b", http.StatusFound)
		case "/cookies":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
			http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		case "/split":
			w.Header().Set("X-A", "a\r\nSet-Cookie: x=1")
		}
	}
	ours, _ := serve(t, answer)
	theirs := standard(t, answer)
	for _, path := range []string{
		"/sniffed", "/none", "/unchanged", "/silent", "/redirect", "/cookies", "/split", "/twice",
	} {
		raw := "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"
		require.Equal(t, exchange(t, theirs, raw, 1), exchange(t, ours, raw, 1), path)
	}
}

func TestPanicEndsOneRequest(t *testing.T) {
	t.Parallel()
	ours, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half a reply")
		panic("secret")
	})
	for range 2 {
		all := exchange(t, ours, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 2)
		require.True(t, strings.HasPrefix(all[0], "500\n"), all[0])
		require.NotContains(t, all[0], "half")
		require.NotContains(t, all[0], "secret")
		require.Equal(t, "closed", all[1])
	}
}

// Close ends what a drain did not wait for.
func TestClose(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	ours, s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	})
	replied := make(chan []string, 1)
	go func() { replied <- exchange(t, ours, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1) }()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Shutdown(ctx), context.DeadlineExceeded)
	s.Close()
	require.Equal(t, []string{"closed"}, <-replied)
}
