package limits

import (
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
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
// that parallel attempts gain nothing over sequential ones. known reports whether the account has
// logged in from the address' network before; it is called only if the result matters. The limits
// of an account and of the wide IPv6 networks apply to unknown networks only: a stranger's guesses
// must not lock out the owner. takeBack undoes what was counted, and nothing else: the password was
// not wrong. doubted is not nil if strangers have used up the limit of the account and its network
// is unknown. Then it is the reply to an attempt that proves nothing more than the password, right
// or wrong, so that guessing further is useless. Errors: errs.RateLimited.
func (l *Limits) TryLogin(
	email, address string, known func() bool,
) (takeBack func(), doubted, err error) {
	email = strings.ToLower(strings.TrimSpace(email))
	pair, now := email+"\n"+traffic.Network(address), l.deps.Now()
	taken, err := l.takeAll([]spot{
		{loginNetwork, addressKey(loginNetwork, pair)}, {loginNetworkDay, addressKey(loginNetworkDay, pair)},
	})
	if err != nil {
		return nil, nil, err
	}
	wide := func() {}
	if spots := l.wideSpots(address); len(spots) > 0 {
		switch back, err := l.takeAll(spots); {
		case err == nil:
			wide = back
		case !known():
			taken()
			return nil, nil, err
		}
	}
	takeBack = func() { taken(); wide() }
	account := addressKey(loginAccountDay, email)
	switch err := l.take(nil, loginAccountDay, account, now); {
	case err == nil:
		takeBack = func() { taken(); wide(); l.count(loginAccountDay, account, -1, now) }
	case !known():
		doubted = errs.New(
			errs.RateLimited, "too many wrong passwords for this account from networks that it does not know; request a "+
				"new password (POST /api/auth?action=forgot), or send the token of that mail as mailed_code",
		).With("retry_after", errs.Of(err).Extra["retry_after"]).With("field", "mailed_code")
	}
	return takeBack, doubted, nil
}

// wideSpots returns where wrong passwords of an IPv6 address count besides its /64: one line has
// thousands of those.
func (l *Limits) wideSpots(address string) []spot {
	if traffic.Wide(address, 56) == "" {
		return nil
	}
	return []spot{
		{badLogin56, addressKey(badLogin56, traffic.Wide(address, 56))},
		{badLogin48, addressKey(badLogin48, traffic.Wide(address, 48))},
	}
}

// spot is a class and key in which a request counts.
type spot struct {
	id  byte
	key key
}

// TryMail counts a mail for a purpose that is asked for from an address, for each network of the
// address. It is the same whether or not the e-mail has an account. takeBack undoes it. Errors:
// errs.RateLimited.
func (l *Limits) TryMail(purpose, email, address string) (takeBack func(), err error) {
	mail := purpose + "\n" + strings.ToLower(strings.TrimSpace(email)) + "\n"
	counts := []spot{{mailed, addressKey(mailed, mail+traffic.Network(address))}}
	if wide := traffic.Wide(address, 48); wide != "" {
		counts = append(
			counts, spot{mailed48, addressKey(mailed48, mail+wide)},
			spot{mailed40, addressKey(mailed40, mail+traffic.Wide(address, 40))},
		)
	}
	return l.takeAll(counts)
}

// takeAll counts a request in all of counts, or in none if one is full. takeBack undoes what it
// counted, and nothing else.
func (l *Limits) takeAll(counts []spot) (takeBack func(), err error) {
	now := l.deps.Now()
	back := func(n int) {
		for _, c := range counts[:n] {
			l.count(c.id, c.key, -1, now)
		}
	}
	for n, c := range counts {
		if err := l.take(nil, c.id, c.key, now); err != nil {
			back(n)
			return nil, err
		}
	}
	return func() { back(len(counts)) }, nil
}
