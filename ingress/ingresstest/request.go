package ingresstest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/token"
)

// Send sends a request. It checks the reply against the document, unless the reply is packed, a
// picture, a page or a script.
func (w *World) Send(t testing.TB, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	reply := httptest.NewRecorder()
	w.HTTP.ServeHTTP(reply, r)
	kind := reply.Header().Get("Content-Type")
	if w.Contract != nil && reply.Header().Get("Content-Encoding") == "" && kind != "image/gif" &&
		!strings.HasPrefix(kind, "text/html") && !strings.HasPrefix(kind, "text/javascript") {
		w.Contract.Check(t, r, reply)
	}
	return reply
}

// Do sends a request with pairs of header fields.
func (w *World) Do(method, target, body string, header ...string) *httptest.ResponseRecorder {
	w.T.Helper()
	return w.Send(w.T, Request(method, target, body, header...))
}

// Request returns a request with pairs of header fields.
func Request(method, target, body string, header ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// RequireError checks that a reply is the error envelope with this status, code and field.
func RequireError(t testing.TB, w *httptest.ResponseRecorder, status int, code, field string) {
	t.Helper()
	var envelope struct{ Error, Code, Field string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &envelope, json.MatchCaseInsensitiveNames(true)), w.Body)
	require.Equal(t, status, w.Code, envelope)
	require.Equal(t, code, envelope.Code)
	require.NotEmpty(t, envelope.Error)
	require.Equal(t, field, envelope.Field, envelope.Error)
}

// Person is a caller of the API: logged in, or anonymous if Token is empty.
type Person struct {
	account.User
	Token string
	World *World
}

// Login creates an account and logs it in. It fills in missing fields, except for a password, which
// is slow to hash.
func (w *World) Login(t testing.TB, u account.User) *Person {
	t.Helper()
	if u.ID == uuid.Nil {
		u.ID = uuid.New()
	}
	if u.DeveloperID == uuid.Nil {
		u.DeveloperID = uuid.New()
	}
	if u.Email == "" {
		u.Email = u.ID.String() + "@example.com"
	}
	if u.Role == "" {
		u.Role = account.RoleAdvertiser
	}
	u.TokenVersion, u.CreatedAt = 1, w.Clock()
	require.NoError(t, w.Store.Accounts.CreateUser(t.Context(), u))
	return &Person{User: u, Token: w.Open(t, u), World: w}
}

// Open returns the token of a new session of u.
func (w *World) Open(t testing.TB, u account.User) string {
	t.Helper()
	s := account.Session{
		ID: uuid.New(), UserID: u.ID, Version: u.TokenVersion, CreatedAt: w.Clock(),
		ExpiresAt: w.Clock().Add(token.SessionLife),
	}
	require.NoError(t, w.Store.Logins.CreateSession(t.Context(), s))
	text, _, err := w.Sessions.Issue(token.Claims{
		UserID: u.ID, SessionID: s.ID, Role: string(u.Role), Email: u.Email, Version: u.TokenVersion,
	}, w.Clock())
	require.NoError(t, err)
	return text
}

// Caller returns a caller that sends token unchecked; "" sends none.
func (w *World) Caller(token string) *Person { return &Person{Token: token, World: w} }

// Call sends a request as p. body is an object, a text that is sent unchanged, or nil. A body that
// the service accepts must be valid by the document.
func (p *Person) Call(t testing.TB, method, path string, body any) Reply {
	t.Helper()
	text, raw := body.(string)
	if !raw && body != nil {
		b, err := json.Marshal(body)
		require.NoError(t, err)
		text = string(b)
	}
	r := Request(method, path, text)
	if p.Token != "" {
		r.Header.Set("Authorization", "Bearer "+p.Token)
	}
	reply := p.World.Send(t, r)
	if reply.Code < 300 {
		p.World.Contract.Accepts(t, r, text)
	}
	return Answer(t, reply)
}

// Get sends a GET request as p.
func (p *Person) Get(t testing.TB, path string) Reply { t.Helper(); return p.Call(t, "GET", path, nil) }

// Post posts body as p.
func (p *Person) Post(t testing.TB, path string, body any) Reply {
	t.Helper()
	return p.Call(t, "POST", path, body)
}

// Object is a JSON object.
type Object = map[string]any

// Reply is a reply with its body read.
type Reply struct {
	T      testing.TB
	Code   int
	Header http.Header
	Text   string
}

// Answer converts a recorded reply.
func Answer(t testing.TB, w *httptest.ResponseRecorder) Reply {
	return Reply{T: t, Code: w.Code, Header: w.Header(), Text: w.Body.String()}
}

// As requires a status and decodes the object.
func (r Reply) As(status int) Object {
	r.T.Helper()
	require.Equal(r.T, status, r.Code, r.Text)
	var body Object
	require.NoError(r.T, json.Unmarshal([]byte(r.Text), &body), r.Text)
	return body
}

// Fails requires an error.
func (r Reply) Fails(status int, code string) Object {
	r.T.Helper()
	body := r.As(status)
	require.Equal(r.T, code, body["code"], r.Text)
	require.NotEmpty(r.T, body["error"])
	return body
}

// Writer is a response writer without cost, for benchmarks.
type Writer struct {
	Fields http.Header // empty, not nil
	Status int
	Body   []byte // of the last Write
}

// NewWriter returns a writer.
func NewWriter() *Writer { return &Writer{Fields: http.Header{}} }

// Header implements http.ResponseWriter.
func (w *Writer) Header() http.Header { return w.Fields }

// WriteHeader implements http.ResponseWriter.
func (w *Writer) WriteHeader(status int) { w.Status = status }

// Write implements http.ResponseWriter.
func (w *Writer) Write(b []byte) (int, error) {
	w.Body = append(w.Body[:0], b...)
	return len(b), nil
}
