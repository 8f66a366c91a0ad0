package obs

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"adnet/internal/process/link"
)

// leastToken is the minimum length of an admin token in bytes: shorter ones can be guessed.
const leastToken = 16

// secure checks the authentication settings, and creates the encryption. Errors name the setting. A
// listener that other machines can reach authenticates its clients and encrypts their tokens,
// unless the operator has set --insecure.
func (a *Admin) secure() error {
	c := &a.config
	switch {
	case c.Token != "" && len(c.Token) < leastToken:
		return fmt.Errorf(
			"ADNET_ADMIN_TOKEN has fewer than %d characters: make one with: openssl rand -hex 16", leastToken,
		)
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("ADNET_ADMIN_CERT and ADNET_ADMIN_KEY belong together, and one of them is not set")
	case c.CA != "" && c.Cert == "":
		return errors.New(
			"ADNET_ADMIN_CA checks the certificates of encrypted clients: set ADNET_ADMIN_CERT and ADNET_ADMIN_KEY as well",
		)
	case !link.LocalListener(c.Addr) && c.Token == "" && c.CA == "":
		return fmt.Errorf(
			"ADNET_ADMIN_ADDR %s can be reached by other machines: set ADNET_ADMIN_TOKEN (and ADNET_ADMIN_CERT, "+
				"ADNET_ADMIN_KEY), or ADNET_ADMIN_CA, or listen on 127.0.0.1", c.Addr,
		)
	case !link.LocalListener(c.Addr) && c.Cert == "" && !bool(c.Insecure):
		return fmt.Errorf(
			"ADNET_ADMIN_ADDR %s: the token would be readable on the way: set ADNET_ADMIN_CERT and ADNET_ADMIN_KEY, "+
				"or allow it with --insecure (%s=true)", c.Addr, link.EnvInsecure,
		)
	case c.Cert == "":
		return nil
	}
	pair, err := link.OpenPair(c.Cert, c.Key, a.renewed)
	if err != nil {
		return fmt.Errorf("ADNET_ADMIN_CERT, ADNET_ADMIN_KEY: %w", err)
	}
	a.tls = pair.Listen()
	a.tls.NextProtos = nil
	if c.CA == "" {
		return nil
	}
	// A client without a certificate may have the token; one with a foreign certificate is
	// rejected.
	if a.tls.ClientCAs, err = link.Authorities(c.CA); err != nil {
		return fmt.Errorf("ADNET_ADMIN_CA: %w", err)
	}
	a.tls.ClientAuth = tls.VerifyClientCertIfGiven
	return nil
}

func (a *Admin) renewed(expires time.Time, err error) {
	if err != nil {
		a.log.Error("the admin listener keeps its old certificate", "error", err)
		return
	}
	a.log.Info("the admin listener has a new certificate", "expires", expires)
}

// serve authenticates clients before showing anything. Unauthenticated probes may read liveness and
// readiness, which reveal nothing of the process.
func (a *Admin) serve(w http.ResponseWriter, r *http.Request) {
	if probe := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"; !probe && !a.known(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="adnet admin"`)
		reply(w, http.StatusUnauthorized, map[string]string{
			"code":  "missing_authorization",
			"error": "send the admin token (Authorization: Bearer …), or a client certificate",
		})
		return
	}
	a.mux.ServeHTTP(w, r)
}

// known reports whether a request may see everything: its token or its certificate is right, or the
// listener requires neither, which is allowed only on loopback.
func (a *Admin) known(r *http.Request) bool {
	if a.config.Token == "" && a.config.CA == "" {
		return true
	}
	if a.config.CA != "" && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return a.config.Token != "" && strings.EqualFold(kind, "Bearer") && sameText(token, a.config.Token)
}

// sameText compares in a time that does not reveal the position of a difference.
func sameText(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
