// Package visitor calls adnet as accounts, publishers and readers do: `adnet load` and the suites of
// the laboratory share its client.
package visitor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Browser is the User-Agent of a reader.
const Browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36"

// Success stands in Request.Want for every status below 400.
const Success = -1

// Request is one call. A path that starts with a slash belongs to the service; links of ads are
// complete.
type Request struct {
	Method, Path string
	Bearer       string
	From         string       // address of the client behind a trusted proxy; "" for none
	Agent        string       // User-Agent; "" for the client's
	Client       *http.Client // nil for the client's
	Header       http.Header
	JSON         any // body as JSON; nil for Body
	Body         []byte
	Want         int // expected status, or Success; 0 for any
}

// New returns the HTTP request to a service at a base URL.
func (r *Request) New(ctx context.Context, base string) (*http.Request, error) {
	if r.JSON != nil {
		var err error
		if r.Body, err = json.Marshal(r.JSON, jsontext.AllowInvalidUTF8(true)); err != nil {
			return nil, err
		}
	}
	target := r.Path
	if strings.HasPrefix(target, "/") {
		target = base + target
	}
	created, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	if r.Header != nil {
		created.Header = r.Header.Clone()
	}
	if r.Body != nil && created.Header.Get("Content-Type") == "" {
		created.Header.Set("Content-Type", "application/json")
	}
	for name, value := range map[string]string{
		"User-Agent": r.Agent, "Authorization": "Bearer " + r.Bearer, "X-Forwarded-For": r.From,
	} {
		if value != "" && value != "Bearer " {
			created.Header.Set(name, value)
		}
	}
	return created, nil
}

// Reply is an answer that was read to its end.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Client calls one installation.
type Client struct {
	Base  func() string // base URL of the next call: a node
	HTTP  *http.Client
	Agent string // "" for Browser
	Tries int    // of Call while no node answers or one answers 5xx; 0 for one
}

// Of returns the base of an installation with one node.
func Of(base string) func() string { return func() string { return base } }

// NewHTTP returns an HTTP client that follows no redirect, because landing pages belong to others.
func NewHTTP(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 20 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Send makes one request. Errors: those of the network.
func (c *Client) Send(ctx context.Context, r Request) (Reply, error) {
	if r.Agent == "" {
		if r.Agent = c.Agent; r.Agent == "" {
			r.Agent = Browser
		}
	}
	request, err := r.New(ctx, c.Base())
	if err != nil {
		return Reply{}, err
	}
	by := c.HTTP
	if r.Client != nil {
		by = r.Client
	}
	reply, err := by.Do(request)
	if err != nil {
		return Reply{}, err
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	return Reply{Status: reply.StatusCode, Header: reply.Header, Body: text}, err
}

// retryPause is the pause between two tries of a call.
const retryPause = 300 * time.Millisecond

// Do makes a request, repeats it as Tries permits, and decodes a reply in JSON into out unless that
// is nil. Names of members match in any case. Errors: those of the network, and a status other than
// Want with the text of the reply.
func (c *Client) Do(ctx context.Context, r Request, out any) error {
	for try := 1; ; try++ {
		reply, err := c.Send(ctx, r)
		if err == nil && r.Want != 0 && reply.Status != r.Want && (r.Want != Success || reply.Status >= 400) {
			err = fmt.Errorf("%s %s: %d %s", r.Method, r.Path, reply.Status, reply.Body)
			if reply.Status < 500 {
				return err
			}
		}
		if err == nil {
			if out == nil || !strings.Contains(reply.Header.Get("Content-Type"), "json") {
				return nil
			}
			return json.Unmarshal(reply.Body, out, json.MatchCaseInsensitiveNames(true))
		}
		if try >= c.Tries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryPause):
		}
	}
}

// Call makes a request and returns the object of its reply.
func (c *Client) Call(ctx context.Context, r Request) (out Object, err error) {
	return out, c.Do(ctx, r, &out)
}

// Object is a JSON object. Its methods return the zero value for a member that it lacks.
type Object map[string]any

// Text returns a member that is a string.
func (o Object) Text(name string) string { s, _ := o[name].(string); return s }

// Number returns a member that is a number.
func (o Object) Number(name string) float64 { n, _ := o[name].(float64); return n }

// Object returns a member that is an object.
func (o Object) Object(name string) Object { m, _ := o[name].(map[string]any); return m }

// Account is a registered account with its login.
type Account struct{ ID, Developer, Bearer string }

// Register creates an account from an address.
func (c *Client) Register(ctx context.Context, email, password, from string) (Account, error) {
	reply, err := c.Call(ctx, Request{
		Method: http.MethodPost, Path: "/api/auth?action=register", From: from, Want: http.StatusCreated,
		JSON: Object{"email": email, "password": password},
	})
	user := reply.Object("user")
	return Account{ID: user.Text("id"), Developer: user.Text("developer_id"), Bearer: reply.Text("token")}, err
}

// Login returns the bearer of an account.
func (c *Client) Login(ctx context.Context, email, password string) (string, error) {
	reply, err := c.Call(ctx, Request{
		Method: http.MethodPost, Path: "/api/auth", Want: http.StatusOK,
		JSON: Object{"email": email, "password": password},
	})
	return reply.Text("token"), err
}

// Key creates a key with the given fields.
func (c *Client) Key(ctx context.Context, bearer string, fields Object) (string, error) {
	reply, err := c.Call(ctx, Request{
		Method: http.MethodPost, Path: "/api/keys", Bearer: bearer, JSON: fields, Want: http.StatusCreated,
	})
	return reply.Text("key"), err
}

// Address returns a public address derived from a number.
func Address(n uint32) string {
	return net.IPv4(byte(11+n%80), byte(n>>8), byte(n>>16), byte(1+n>>24%254)).String()
}
