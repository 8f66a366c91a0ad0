package limits

import (
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/traffic"
)

// Spend counts a request of a logged-in account against its limits: a change of something, or a
// look at stats. Errors: errs.RateLimited.
func (l *Limits) Spend(c *gin.Context, account uuid.UUID, what httpapi.Work) error {
	id := writes
	if what == httpapi.WorkStats {
		id = stats
	}
	k := key(account)
	k[0] = id
	return l.take(c.Writer.Header(), id, k, l.deps.Now())
}

// TryLogin counts a try to log in to the account of an e-mail before its password is looked at, so
// that many at once are not more tries than one after the other; [Limits.LoggedIn] takes it back.
// known says whether the account was logged in to from the address' network before; it is asked
// only when that matters. The limit of an account holds for other networks: a stranger's guesses
// keep strangers out and not its owner. Errors: errs.RateLimited.
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

// LoggedIn takes back what [Limits.TryLogin] has counted: the password was right.
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
