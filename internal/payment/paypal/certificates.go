package paypal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"adnet/internal/payment"
)

const (
	fetchFor        = 5 * time.Second
	fetchEvery      = time.Second // minimum time between two fetches
	maxCertificates = 64 << 10    // bytes
	keepFor         = time.Hour
	staleFor        = 24 * time.Hour // an answer stays valid this long while refetching fails
	failedFor       = 10 * time.Minute
	keepAtMost      = 16
	failedAtMost    = 256
)

// Fetcher fetches certificates over HTTPS and caches them for an hour, failures for ten minutes. It
// fetches at most once a second, whatever addresses strangers send: PayPal repeats deliveries that
// were rejected meanwhile. For a doubted delivery ([payment.Doubted]) it fetches nothing. It
// follows no redirect, because only the first host was checked. Safe for concurrent use.
type Fetcher struct {
	client *http.Client
	now    func() time.Time

	turn   sync.Mutex           // held while fetching: one at a time
	failed map[string]time.Time // guarded by turn: addresses without certificates, by time
	last   time.Time            // guarded by turn: start of the last fetch

	mu     sync.Mutex         // never held while fetching, so that cached answers are always available
	cached map[string]fetched // guarded by mu
}

type fetched struct {
	text []byte
	at   time.Time
}

var (
	_ CertificateSource = (*Fetcher)(nil)

	errDoubted = errors.New("the address sent too many unsigned deliveries")

	errOften  = errors.New("certificates were fetched a moment ago")
	errFailed = errors.New("the address had no certificates a moment ago")
)

// NewFetcher returns a Fetcher that sends through transport; nil is the default one.
func NewFetcher(transport http.RoundTripper, now func() time.Time) *Fetcher {
	return &Fetcher{
		client: &http.Client{Transport: transport, Timeout: fetchFor, CheckRedirect: func(
			*http.Request, []*http.Request,
		) error {
			return http.ErrUseLastResponse
		}},
		now: now, cached: make(map[string]fetched), failed: make(map[string]time.Time),
	}
}

// Certificates implements [CertificateSource].
func (f *Fetcher) Certificates(ctx context.Context, url string) ([]byte, error) {
	if text, ok := f.known(url, keepFor); ok {
		return text, nil
	}
	if payment.IsDoubted(ctx) { // its address would use up the turns of PayPal's
		if text, ok := f.known(url, staleFor); ok {
			return text, nil
		}
		return nil, errDoubted
	}
	f.turn.Lock()
	defer f.turn.Unlock()
	if text, ok := f.known(url, keepFor); ok { // fetched meanwhile
		return text, nil
	}
	text, err := f.fetchOnce(ctx, url, f.now())
	if err != nil {
		if text, ok := f.known(url, staleFor); ok {
			return text, nil // strangers' addresses must not crowd out one that PayPal uses
		}
	}
	return text, err
}

// known returns a cached answer younger than age.
func (f *Fetcher) known(url string, age time.Duration) ([]byte, bool) {
	now := f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.cached[url]
	return known.text, ok && now.Sub(known.at) < age
}

// fetchOnce fetches unless the address failed before, or it is too early. The caller holds turn.
func (f *Fetcher) fetchOnce(ctx context.Context, url string, now time.Time) ([]byte, error) {
	if since, ok := f.failed[url]; ok && now.Sub(since) < failedFor {
		return nil, errFailed
	}
	if !f.last.IsZero() && now.Sub(f.last) < fetchEvery {
		return nil, errOften
	}
	f.last = now
	text, err := f.fetch(ctx, url)
	if err != nil {
		if len(f.failed) >= failedAtMost {
			clear(f.failed)
		}
		f.failed[url] = now
		return nil, err
	}
	f.keep(url, fetched{text, now})
	delete(f.failed, url)
	return text, nil
}

// keep caches an answer, replacing the oldest when there are many: PayPal uses one or two at a
// time.
func (f *Fetcher) keep(url string, answer fetched) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.cached[url]; !known && len(f.cached) >= keepAtMost {
		oldest := ""
		for other, cached := range f.cached {
			if oldest == "" || cached.at.Before(f.cached[oldest].at) {
				oldest = other
			}
		}
		delete(f.cached, oldest)
	}
	f.cached[url] = answer
}

func (f *Fetcher) fetch(ctx context.Context, url string) ([]byte, error) {
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
	return text, nil
}
