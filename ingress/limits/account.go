package limits

import (
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/traffic"
)

// Spend counts a request of a logged-in account against its limit for changes, reads or stats.
// Errors: errs.RateLimited.
func (l *Limits) Spend(c *gin.Context, account uuid.UUID, work httpapi.Work) error {
	id := writes
	switch work {
	case httpapi.WorkReads:
		id = reads
	case httpapi.WorkStats:
		id = stats
	}
	k := key(account)
	k[0] = id
	return l.take(c.Writer.Header(), id, k, l.deps.Now())
}

// TryLogin counts a login attempt for the account of an e-mail before its password is checked, so
// that parallel attempts gain nothing over sequential ones. [Limits.LoggedIn] takes it back. known
// reports whether the account has logged in from the address' network before; it is called only if
// the result matters. The limit of an account applies to unknown networks only: a stranger's
// guesses must not lock out the owner. Errors: errs.RateLimited.
func (l *Limits) TryLogin(email, address string, known func() bool) error {
	now := l.deps.Now()
	counts := loginCounts(email, address)
	for n, count := range counts {
		err := l.take(nil, count.id, count.key, now)
		if err != nil && count.ofAccount && known() {
			continue
		}
		if err != nil {
			for _, taken := range counts[:n] {
				l.count(taken.id, taken.key, -1, now)
			}
			return err
		}
	}
	return nil
}

// LoggedIn takes back the attempt that [Limits.TryLogin] has counted: the password was correct.
func (l *Limits) LoggedIn(email, address string) {
	for _, count := range loginCounts(email, address) {
		l.count(count.id, count.key, -1, l.deps.Now())
	}
}

type loginCount struct {
	id        byte
	key       key
	ofAccount bool
}

func loginCounts(email, address string) []loginCount {
	email = strings.ToLower(strings.TrimSpace(email))
	pair := email + "\n" + traffic.Network(address)
	return []loginCount{
		{loginNetwork, addressKey(loginNetwork, pair), false},
		{loginNetworkDay, addressKey(loginNetworkDay, pair), false},
		{loginAccount, addressKey(loginAccount, email), true},
		{loginAccountDay, addressKey(loginAccountDay, email), true},
	}
}
