package redis

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"adnet/internal/process/link"
)

const (
	envAddr = "ADNET_REDIS_ADDR"

	// A request waits for Redis, so a connection, with its handshake, must be ready soon.
	dialTimeout = time.Second
)

// target is the parsed address setting with the settings of the link.
type target struct {
	addrs              []string
	username, password string
	db                 int
	dialer             link.Dialer
}

// target parses the settings. Errors name the wrong setting and never hold a password.
func (c Config) target() (target, error) {
	secure, rest, err := scheme(c.Addr)
	if err != nil {
		return target{}, err
	}
	t := target{username: c.Username, password: c.Password, db: c.DB}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := t.logIn(rest[:at]); err != nil {
			return target{}, err
		}
		rest = rest[at+1:]
	}
	rest, number, numbered := strings.Cut(rest, "/")
	if numbered && number != "" {
		db, err := strconv.Atoi(number)
		if err != nil || db < 0 || c.DB != 0 && c.DB != db {
			return target{}, fmt.Errorf(
				"%s: the database behind the slash must be a number, and the one of ADNET_REDIS_DB if that is set",
				envAddr,
			)
		}
		t.db = db
	}
	for _, addr := range strings.Split(rest, ",") {
		if addr = strings.TrimSpace(addr); addr == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			addr = net.JoinHostPort(strings.Trim(addr, "[]"), "6379")
		}
		t.addrs = append(t.addrs, addr)
	}
	if len(t.addrs) == 0 {
		return target{}, errors.New(envAddr + " names no Redis")
	}
	return t, t.secure(c, secure)
}

// scheme splits the scheme off a URL.
func scheme(addr string) (secure bool, rest string, err error) {
	name, rest, is := strings.Cut(addr, "://")
	switch {
	case !is:
		return false, addr, nil
	case strings.Contains(rest, "://"):
		return false, "", errors.New(envAddr + ": write the scheme only once, before the first host")
	case name == "redis" || name == "rediss":
		return name == "rediss", rest, nil
	}
	return false, "", errors.New(envAddr + " must be host:port, redis://… or rediss://…")
}

// logIn applies the login of a URL.
func (t *target) logIn(text string) error {
	if t.username != "" || t.password != "" {
		return errors.New(
			envAddr + " has a login, and so have ADNET_REDIS_USERNAME and ADNET_REDIS_PASSWORD: set it in one place",
		)
	}
	name, password, _ := strings.Cut(text, ":")
	var bad [2]error
	t.username, bad[0] = url.PathUnescape(name)
	t.password, bad[1] = url.PathUnescape(password)
	if errors.Join(bad[:]...) != nil { // its text would hold a part of the password
		return errors.New(envAddr + ": the login must be written as in a URL, with %XX for other characters")
	}
	return nil
}

// secure creates the dialer of the link.
func (t *target) secure(c Config, secure bool) error {
	const cure = "write it as rediss://…"
	names := link.NamesOf("ADNET_REDIS", envAddr)
	t.dialer = link.Dialer{Insecure: c.Insecure, Timeout: dialTimeout, Names: names, Cure: cure}
	files := link.Files{CA: c.CA, Cert: c.Cert, Key: c.Key}
	if secure {
		var err error
		t.dialer.TLS, err = files.Client(names)
		return err
	}
	if files.Any() {
		return errors.New(
			"ADNET_REDIS_CA, ADNET_REDIS_CERT and ADNET_REDIS_KEY are for encrypted links: " + cure + " in " + envAddr,
		)
	}
	return c.Insecure.Allow(link.PlainText, t.addrs, envAddr, cure)
}

// explain adds advice for an operator to a failure that waiting does not cure.
func (t target) explain(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "NOAUTH"), strings.Contains(
		text, "AUTH <password> called without any password",
	):
		return link.Refuse(err, "the server refuses the login: check ADNET_REDIS_USERNAME and ADNET_REDIS_PASSWORD")
	case strings.Contains(text, "NOPERM"):
		return link.Refuse(err, "the user of Redis may not do this: `adnet doctor` names the rights that it needs")
	case link.HungUp(err) && t.dialer.TLS == nil:
		return fmt.Errorf("the server closes the connection: its port may want TLS (rediss:// in %s): %w", envAddr, err)
	}
	return link.Closed(link.Explain(err, t.dialer.Names), t.dialer.Names)
}
