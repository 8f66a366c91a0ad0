package httpapi

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/process/link"
	"adnet/internal/process/obs"
)

// certificate returns the TLS settings of the public listener, nil for plain text. A certificate
// that is renewed on disk is used from then on. If the new one is unusable, the failure is logged
// and counted, and the old certificate stays in use.
func (s *Server) certificate() (*tls.Config, error) {
	if s.cfg.TLSCert == "" && s.cfg.TLSKey == "" {
		return nil, nil
	}
	if s.cfg.TLSCert == "" || s.cfg.TLSKey == "" {
		return nil, errors.New("ADNET_TLS_CERT and ADNET_TLS_KEY must be set together; one of them is not set")
	}
	failures := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_http_certificate_failures_total",
		Help: "Changed certificate files that could not be used; the old certificate stays.",
	})
	pair, err := link.OpenPair(s.cfg.TLSCert, s.cfg.TLSKey, func(expires time.Time, err error) {
		if err != nil {
			failures.Inc()
			s.deps.Log.Error("the public listener keeps its old certificate", "error", err)
			return
		}
		s.deps.Log.Info("the public listener has a new certificate", "expires", expires)
	})
	if err != nil {
		return nil, fmt.Errorf("ADNET_TLS_CERT, ADNET_TLS_KEY: %w", err)
	}
	obs.Register(s.deps.Metrics, failures)
	obs.Register(s.deps.Metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_http_certificate_expires_timestamp_seconds",
		Help: "When the certificate of the public listener expires.",
	}, func() float64 { return float64(pair.Expires().Unix()) }))
	return pair.Listen(), nil
}

// scheme returns the URL scheme of this listener.
func (s *Server) scheme() string {
	if s.cfg.TLSCert != "" {
		return "https://"
	}
	return "http://"
}

// proxied returns a function that reports whether a peer uses the PROXY protocol; nil if none does.
func (s *Server) proxied() func(netip.Addr) bool {
	if len(s.speaks) == 0 {
		return nil
	}
	return func(addr netip.Addr) bool { return s.speaks.Contain(addr) }
}
