package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// With ADNET_STACK_TLS every server of a stack also listens for encrypted connections: PostgreSQL
// on its only port, the others on further ports of stack.json. The folder holds, in PEM:
//
//	ca.pem                     the authority of the servers and of clients' certificates
//	server.pem, server.key     the certificate of the servers
//	expired.pem, expired.key   the certificate of an additional Kafka listener (optional)
//
// Kafka has two listeners with TLS: one takes anonymous clients and certificates, the other logins
// by SASL. The user adnet, a certificate with that name, and anonymous clients have all
// permissions, and other users none. Tokens are checked by Kafka's own unsecured validator.
// ClickHouse as a library has no encrypted listener, so the front terminates TLS.
const (
	portRedisTLS      = "redis-tls"
	portClickHouseTLS = "clickhouse-tls"
	portKafkaTLS      = "kafka-tls"
	portKafkaLogin    = "kafka-login"
	portKafkaExpired  = "kafka-expired"

	// kafkaPassword is the password of the users adnet and guest of SASL PLAIN.
	kafkaPassword = "stack-secret"
)

func (s *stack) tlsFile(name string) string { return filepath.Join(s.cfg.TLS, name) }

// expiredToo reports whether Kafka has the additional listener.
func (s *stack) expiredToo() bool {
	_, err := os.Stat(s.tlsFile("expired.pem"))
	return s.cfg.TLS != "" && err == nil
}

// withTLS adds the ports of encrypted listeners to those of a server.
func (s *stack) withTLS(ports []string, more ...string) []string {
	if s.cfg.TLS == "" {
		return ports
	}
	return append(ports, more...)
}

func (s *stack) kafkaTLSPorts() []string {
	ports := []string{portKafkaTLS, portKafkaLogin}
	if s.expiredToo() {
		ports = append(ports, portKafkaExpired)
	}
	return ports
}

// kafkaTLSListeners returns the names, protocols and ports of Kafka's encrypted listeners.
func (s *stack) kafkaTLSListeners() (listeners, protocols string) {
	if s.cfg.TLS == "" {
		return "", ""
	}
	address := func(port string) string { return "localhost:" + strconv.Itoa(s.port(port)) }
	listeners = ",TLS://" + address(portKafkaTLS) + ",LOGIN://" + address(portKafkaLogin)
	protocols = ",TLS:SSL,LOGIN:SASL_SSL"
	if s.expiredToo() {
		listeners += ",EXPIRED://" + address(portKafkaExpired)
		protocols += ",EXPIRED:SSL"
	}
	return listeners, protocols
}

// kafkaTLSProperties returns the other settings of those listeners.
func (s *stack) kafkaTLSProperties() string {
	if s.cfg.TLS == "" {
		return ""
	}
	const module = "org.apache.kafka.common.security."
	lines := []string{
		"ssl.keystore.type=PEM", "ssl.keystore.location=" + filepath.Join(s.cfg.Dir, "kafka-server.pem"),
		"ssl.truststore.type=PEM", "ssl.truststore.location=" + s.tlsFile("ca.pem"),
		"listener.name.tls.ssl.client.auth=requested",
		"sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
		"listener.name.login.plain.sasl.jaas.config=" + module + `plain.PlainLoginModule required user_adnet="` +
			kafkaPassword + `" user_guest="` + kafkaPassword + `";`,
		"listener.name.login.scram-sha-256.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
		"listener.name.login.scram-sha-512.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
		"listener.name.login.oauthbearer.sasl.jaas.config=" + module +
			`oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="adnet";`,
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS;User:adnet;User:CN=adnet",
	}
	if s.expiredToo() {
		lines = append(
			lines, "listener.name.expired.ssl.keystore.location="+filepath.Join(s.cfg.Dir, "kafka-expired.pem"),
		)
	}
	return strings.Join(lines, "\n") + "\n"
}

// kafkaTLSFiles writes key and certificate into one file, as Kafka requires.
func (s *stack) kafkaTLSFiles() error {
	if s.cfg.TLS == "" {
		return nil
	}
	names := []string{"server"}
	if s.expiredToo() {
		names = append(names, "expired")
	}
	for _, name := range names {
		key, keyErr := os.ReadFile(s.tlsFile(name + ".key"))
		cert, certErr := os.ReadFile(s.tlsFile(name + ".pem"))
		if err := errors.Join(keyErr, certErr); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(s.cfg.Dir, "kafka-"+name+".pem"), append(key, cert...), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// redisTLS returns the arguments of the encrypted listener of Redis.
func (s *stack) redisTLS() []string {
	if s.cfg.TLS == "" {
		return nil
	}
	return []string{
		"--tls-port", strconv.Itoa(s.port(portRedisTLS)), "--tls-auth-clients", "optional", "--tls-ca-cert-file",
		s.tlsFile("ca.pem"),
		"--tls-cert-file", s.tlsFile("server.pem"), "--tls-key-file", s.tlsFile("server.key"),
	}
}

// postgresTLS copies the files to a folder readable by PostgreSQL's user, and returns its settings.
func (s *stack) postgresTLS(data string) (settings []string, err error) {
	if s.cfg.TLS == "" {
		return nil, nil
	}
	dir := filepath.Join(data, "tls")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{"ca.pem", "server.pem", "server.key"} {
		text, err := os.ReadFile(s.tlsFile(name))
		if err == nil {
			err = writeFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	account, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	return []string{
		"ssl=on", "ssl_ca_file=" + file("ca.pem"), "ssl_cert_file=" + file("server.pem"),
		"ssl_key_file=" + file("server.key"),
	}, chownTree(dir, account)
}

// encryptWith makes a front present the current certificate of the folder and verify clients'
// certificates.
func encryptWith(dir string) func(net.Conn) net.Conn {
	return func(client net.Conn) net.Conn {
		return tls.Server(client,
			&tls.Config{MinVersion: tls.VersionTLS12,
				GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
					certificate, err := tls.LoadX509KeyPair(
						filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"),
					)
					if err != nil {
						return nil, err
					}
					authority, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
					if err != nil {
						return nil, err
					}
					pool := x509.NewCertPool()
					pool.AppendCertsFromPEM(authority)
					return &tls.Config{
						MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, ClientCAs: pool,
						ClientAuth: tls.VerifyClientCertIfGiven,
					}, nil
				}})
	}
}
