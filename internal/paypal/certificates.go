package paypal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	fetchFor        = 5 * time.Second
	maxCertificates = 64 << 10 // bytes
	keepFor         = time.Hour
	keepAtMost      = 16
)

// Fetcher gets certificates over HTTPS and remembers them for an hour. It follows no redirect: the
// host was checked, where it points was not. Safe for concurrent use.
type Fetcher struct {
	client *http.Client
	now    func() time.Time
	mu     sync.Mutex
	kept   map[string]fetched // guarded by mu
}

type fetched struct {
	text []byte
	at   time.Time
}

var _ CertificateSource = (*Fetcher)(nil)

// NewFetcher makes a Fetcher that sends through transport; nil is the default one.
func NewFetcher(transport http.RoundTripper, now func() time.Time) *Fetcher {
	return &Fetcher{
		client: &http.Client{Transport: transport, Timeout: fetchFor, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		now: now, kept: make(map[string]fetched),
	}
}

// Certificates implements [CertificateSource].
func (f *Fetcher) Certificates(ctx context.Context, url string) ([]byte, error) {
	f.mu.Lock()
	known, ok := f.kept[url]
	f.mu.Unlock()
	if ok && f.now().Sub(known.at) < keepFor {
		return known.text, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	reply, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answered %d", reply.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxCertificates+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxCertificates {
		return nil, errors.New("the certificates are too large")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.kept) >= keepAtMost { // PayPal uses one or two at a time
		clear(f.kept)
	}
	f.kept[url] = fetched{text, f.now()}
	return text, nil
}
