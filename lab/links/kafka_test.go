package links_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/internal/kafka"
	"adnet/internal/process/link"
	"adnet/internal/process/obs"
	"adnet/lab/links"
	"adnet/schemas/event"
)

// kafkaPassword is the one of lab/stack/tls.go.
const kafkaPassword = "stack-secret"

// bearer is a token that Kafka's unsecured validator takes: it is unsigned.
func bearer(t *testing.T, subject string, life time.Duration) string {
	t.Helper()
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	now := time.Now()
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, subject, now.Add(-time.Minute).Unix(), now.Add(life).Unix())
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(part(`{"alg":"none"}`)+"."+part(claims)+".\n"), 0o600))
	return file
}

// scramUsers makes the user adnet for SCRAM.
func scramUsers(t *testing.T, s *links.Servers) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Elsewhere("kafka")))
	require.NoError(t, err)
	defer client.Close()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		reply, err := kadm.NewClient(client).AlterUserSCRAMs(t.Context(), nil,
			[]kadm.UpsertSCRAM{{User: "adnet", Mechanism: mechanism, Iterations: 4096, Password: kafkaPassword}})
		require.NoError(t, err)
		require.NoError(t, reply.Error())
	}
}

func TestKafka(t *testing.T) {
	s := real(t)
	scramUsers(t, s)
	secure := func(port string) kafka.Config {
		return kafka.Config{Brokers: []string{s.At(port)}, Link: kafka.Link{TLS: true, CA: s.CA.CA()}}
	}
	for name, c := range map[string]struct {
		port   string
		change func(*kafka.Config)
		says   string // of the error; empty: it works
	}{
		"authority that signed": {"kafka-tls", func(*kafka.Config) {}, ""},
		"client certificate": {
			"kafka-tls", func(c *kafka.Config) { c.Cert, c.Key = s.CA.File("client.pem"), s.CA.File("client.key") }, "",
		},
		"certificate of another": {
			"kafka-tls",
			func(c *kafka.Config) { c.Cert, c.Key = s.Other.File("client.pem"), s.Other.File("client.key") },
			"ADNET_KAFKA_CERT",
		},
		"another authority":        {"kafka-tls", func(c *kafka.Config) { c.CA = s.Other.CA() }, "ADNET_KAFKA_CA"},
		"the system's authorities": {"kafka-tls", func(c *kafka.Config) { c.CA = "" }, "ADNET_KAFKA_CA"},
		"another name": {
			"kafka-tls", func(c *kafka.Config) { c.Brokers = []string{s.Elsewhere("kafka-tls")} },
			"ADNET_KAFKA_BROKERS",
		},
		"expired certificate":  {"kafka-expired", func(*kafka.Config) {}, "renew it"},
		"a server without TLS": {"kafka", func(*kafka.Config) {}, "may not speak TLS"},
		"plain text to a TLS port": {
			"kafka-tls", func(c *kafka.Config) { c.Link = kafka.Link{} }, "ADNET_KAFKA_TLS",
		},
		"no login where one is asked": {"kafka-login", func(*kafka.Config) {}, "ADNET_KAFKA_SASL_MECHANISM"},
		"PLAIN":                       {"kafka-login", login("PLAIN", kafkaPassword), ""},
		"PLAIN, wrong password":       {"kafka-login", login("PLAIN", "wrong"), "ADNET_KAFKA_PASSWORD"},
		"SCRAM-SHA-256":               {"kafka-login", login("SCRAM-SHA-256", kafkaPassword), ""},
		"SCRAM-SHA-512":               {"kafka-login", login("scram-sha-512", kafkaPassword), ""},
		"SCRAM, wrong password":       {"kafka-login", login("SCRAM-SHA-512", "wrong"), "ADNET_KAFKA_PASSWORD"},
		"a login where none is taken": {"kafka-tls", login("PLAIN", kafkaPassword), "ADNET_KAFKA_SASL_MECHANISM"},
		"OAUTHBEARER": {
			"kafka-login",
			func(c *kafka.Config) { c.Mechanism, c.TokenFile = "OAUTHBEARER", bearer(t, "adnet", time.Hour) }, "",
		},
		"OAUTHBEARER, expired token": {
			"kafka-login",
			func(c *kafka.Config) { c.Mechanism, c.TokenFile = "OAUTHBEARER", bearer(t, "adnet", -time.Second) },
			"ADNET_KAFKA_TOKEN_FILE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := secure(c.port)
			c.change(&cfg)
			checkKafka(t, cfg, c.says)
		})
	}
}

func login(mechanism, password string) func(*kafka.Config) {
	return func(c *kafka.Config) { c.Mechanism, c.Username, c.Password = mechanism, "adnet", password }
}

// checkKafka expects that a link works, or that the error says what to look at. An error that
// waiting does not cure ends a start.
func checkKafka(t *testing.T, cfg kafka.Config, says string) {
	t.Helper()
	err := kafka.Check(t.Context(), cfg, kafka.Deps{})
	if says != "" {
		require.ErrorContains(t, err, says)
		return
	}
	require.NoError(t, err)
	cfg.TopicPrefix, cfg.Partitions = "link.", 1
	require.NoError(t, kafka.EnsureTopics(t.Context(), cfg, kafka.Deps{}))
	producer, err := kafka.NewProducer(cfg, kafka.Deps{Metrics: obs.NewRegistry()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- producer.Run(ctx) }()
	done := make(chan error, 1)
	producer.Produce(event.TopicEvents, nil, []byte(t.Name()), func(err error) { done <- err })
	require.NoError(t, <-done)
	cancel()
	require.NoError(t, <-ended)
	spans, err := kafka.Spans(t.Context(), cfg, event.TopicEvents, kafka.Deps{})
	require.NoError(t, err)
	last := ""
	require.NoError(t, kafka.Read(t.Context(), cfg, event.TopicEvents, spans, kafka.Deps{}, func(r event.Record) error {
		last = string(r.Value)
		return nil
	}))
	require.Equal(t, t.Name(), last)
}

// What no repeat cures ends the start of a role at once, and EnsureTopics does not wait for it.
func TestKafkaRefusesForGood(t *testing.T) {
	s := real(t)
	cfg := kafka.Config{Brokers: []string{s.At("kafka-tls")}, Link: kafka.Link{TLS: true, CA: s.Other.CA()}}
	began := time.Now()
	err := kafka.EnsureTopics(t.Context(), cfg, kafka.Deps{})
	require.True(t, link.Permanent(err), "%v", err)
	require.Less(t, time.Since(began), 10*time.Second)
}

// A token that was renewed on the disk counts at the next login.
func TestKafkaReadsTheTokenAgain(t *testing.T) {
	s := real(t)
	file := bearer(t, "adnet", -time.Second)
	cfg := kafka.Config{
		Brokers: []string{s.At("kafka-login")},
		Link:    kafka.Link{TLS: true, CA: s.CA.CA(), Mechanism: "OAUTHBEARER", TokenFile: file},
	}
	require.Error(t, kafka.Check(t.Context(), cfg, kafka.Deps{}))
	fresh, err := os.ReadFile(bearer(t, "adnet", time.Hour))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, fresh, 0o600))
	require.NoError(t, kafka.Check(t.Context(), cfg, kafka.Deps{}))
}
