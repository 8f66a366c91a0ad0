package postgres

import (
	"crypto/tls"
	"net"
	neturl "net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"adnet/internal/process/link"
)

// allow applies the rule of package link to a configuration. It checks what the driver would do,
// whatever the form of the URL and the variables: for one server the driver may make several
// attempts, the last of them in plain text.
func allow(insecure link.Insecure, config *pgx.ConnConfig, setting string) error {
	const cure = "add sslmode=verify-full (and sslrootcert=FILE)"
	tries := map[link.Security][]string{}
	add := func(host string, port uint16, config *tls.Config) {
		security := securityOf(config)
		tries[security] = append(tries[security], address(host, port))
	}
	add(config.Host, config.Port, config.TLSConfig)
	for _, other := range config.Fallbacks {
		add(other.Host, other.Port, other.TLSConfig)
	}
	for _, security := range []link.Security{link.PlainText, link.Unverified} {
		if err := insecure.Allow(security, tries[security], setting, cure); err != nil {
			return err
		}
	}
	return nil
}

// securityOf returns the security of a link with this configuration. verify-ca checks the
// certificate with a function of its own; require and lower modes check nothing.
func securityOf(config *tls.Config) link.Security {
	switch {
	case config == nil:
		return link.PlainText
	case config.InsecureSkipVerify && config.VerifyPeerCertificate == nil:
		return link.Unverified
	}
	return link.Verified
}

func address(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// servers lists the servers of a configuration in order, without duplicates.
func servers(config *pgx.ConnConfig) []string {
	all := []string{address(config.Host, config.Port)}
	for _, other := range config.Fallbacks {
		if a := address(other.Host, other.Port); !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all
}

// listen calls seen with the state of every handshake.
func listen(config *pgx.ConnConfig, seen func(tls.ConnectionState)) {
	if seen == nil {
		return
	}
	configs := []*tls.Config{config.TLSConfig}
	for _, other := range config.Fallbacks {
		configs = append(configs, other.TLSConfig)
	}
	for _, secure := range configs {
		if secure != nil {
			secure.VerifyConnection = func(state tls.ConnectionState) error { seen(state); return nil }
		}
	}
}

// explain adds the remedy to a connection error that waiting does not fix.
func explain(err error) error {
	switch {
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return link.Refuse(err, "the server does not speak TLS: enable it there (ssl = on)")
	case strings.Contains(err.Error(), "no encryption"): // of pg_hba.conf
		return link.Refuse(err, "the server requires an encrypted link: add sslmode=verify-full")
	case isWrongPassword(err):
		return link.Refuse(
			err,
			"the server refuses the login: check user and password, and whether `adnet migrate` has created the role",
		)
	}
	names := link.Names{Address: EnvURL, CA: "sslrootcert of " + EnvURL, Cert: "sslcert and sslkey of " + EnvURL}
	return link.Closed(link.Explain(err, names), names)
}

// programEnv returns the variables by which PostgreSQL's own programs find the server of a URL,
// with the same encryption. The password is passed in the environment, which no process list shows.
func programEnv(url string, config *pgx.ConnConfig) []string {
	var hosts, ports []string
	for _, server := range servers(config) {
		host, port, err := net.SplitHostPort(server)
		if err != nil { // the path of a socket
			host, port = server, strconv.Itoa(int(config.Port))
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	env := []string{
		"PGHOST=" + strings.Join(hosts, ","), "PGPORT=" + strings.Join(ports, ","), "PGUSER=" + config.User,
		"PGPASSWORD=" + config.Password, "PGDATABASE=" + config.Database, "PGTZ=UTC",
	}
	for setting, variable := range map[string]string{
		"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY",
		"target_session_attrs": "PGTARGETSESSIONATTRS",
	} {
		if value := parameter(url, setting); value != "" {
			env = append(env, variable+"="+value)
		}
	}
	if parameter(url, "sslmode") == "verify-full" && parameter(url, "sslrootcert") == "" &&
		os.Getenv("PGSSLROOTCERT") == "" {
		// The driver uses the system's authorities; the programs would look for a file in the home
		// directory.
		env = append(env, "PGSSLROOTCERT=system")
	}
	return env
}

var keyword = regexp.MustCompile(`(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s']*)`)

// parameter returns the value of a setting in a connection string: a URL, or words of the form
// name=value.
func parameter(text, name string) string {
	if strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") {
		parsed, err := neturl.Parse(text)
		if err != nil {
			return "" // the driver has read it, so this does not happen
		}
		return parsed.Query().Get(name)
	}
	for _, match := range keyword.FindAllStringSubmatch(text, -1) {
		if match[1] == name {
			return strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(strings.Trim(match[2], "'"))
		}
	}
	return ""
}
