package links_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/analytics/clickhouse"
	"adnet/internal/kafka"
	"adnet/internal/process/link"
	"adnet/internal/store/postgres"
	"adnet/internal/store/redis"
)

// missing are the rights that a report says are not there.
func missing(r link.Report) (names []string) {
	for _, right := range r.Rights {
		if !right.OK {
			names = append(names, right.Name)
		}
	}
	return names
}

// TestExamine looks at each server through its encrypted link: what `adnet doctor` says of it.
func TestExamine(t *testing.T) {
	s := real(t)
	rights := []string{"~adnet:*", "&adnet:*", "+@all", "-@admin", "-@dangerous", "+info"}
	redisDo(t, s, append([]string{"ACL", "SETUSER", "adnet", "on", ">stack secret"}, rights...)...)
	full := kafka.Config{Brokers: []string{s.At("kafka-login")}, Link: kafka.Link{
		TLS: true, CA: s.CA.CA(), Mechanism: "PLAIN", Username: "adnet", Password: kafkaPassword},
		TopicPrefix: "examine.", Partitions: 1}
	require.NoError(t, kafka.EnsureTopics(t.Context(), full, kafka.Deps{}))
	for name, report := range map[string]link.Report{
		"Redis": redis.Examine(
			t.Context(),
			redis.Config{
				Addr: "rediss://" + s.At("redis-tls"), CA: s.CA.CA(), Username: "adnet", Password: "stack secret",
			}, redis.Deps{},
		),
		"Kafka": kafka.Examine(t.Context(), full, kafka.Deps{}),
		"PostgreSQL": postgres.Examine(
			t.Context(),
			postgres.Config{URL: postgresURL(t, s, s.At("postgres"), "sslmode=verify-full&sslrootcert="+s.CA.CA())},
		),
		"ClickHouse": clickhouse.Examine(
			t.Context(),
			clickhouse.Config{URL: "clickhouse://" + s.At("clickhouse-tls") + "/adnet?secure=true", CA: s.CA.CA()},
		),
	} {
		require.True(t, report.Reached, "%s: %+v", name, report)
		require.NotEmpty(t, report.Version, name)
		require.Positive(t, report.Latency, name)
		require.NotNil(t, report.ClockAhead, name)
		require.Contains(t, report.Encryption, "TLS 1.3, certificate until ", name)
		require.NotContains(t, report.Encryption, "not checked", name)
		require.Empty(t, missing(report), name)
	}
}

// A user without rights is told which are missing, and what to do.
func TestExamineNamesMissingRights(t *testing.T) {
	s := real(t)
	redisDo(t, s, "ACL", "SETUSER", "poor", "on", ">stack secret", "~adnet:*", "resetchannels", "+@all", "-@scripting")
	poor := redis.Examine(
		t.Context(),
		redis.Config{Addr: "rediss://" + s.At("redis-tls"), CA: s.CA.CA(), Username: "poor", Password: "stack secret"},
		redis.Deps{},
	)
	require.Equal(t, []string{"run scripts on its keys", "publish changes", "listen to changes"}, missing(poor))
	require.False(t, poor.OK())

	admin := kafka.Config{
		Brokers: []string{s.At("kafka-tls")}, Link: kafka.Link{TLS: true, CA: s.CA.CA()}, TopicPrefix: "poor.",
		Partitions: 1,
	}
	require.NoError(t, kafka.EnsureTopics(t.Context(), admin, kafka.Deps{}))
	admin.Brokers, admin.Link = []string{s.At("kafka-login")}, kafka.Link{
		TLS: true, CA: s.CA.CA(), Mechanism: "PLAIN", Username: "guest", Password: kafkaPassword,
	}
	report := kafka.Examine(t.Context(), admin, kafka.Deps{})
	require.False(t, report.OK())
	require.Contains(t, missing(report), "describe poor.adnet.events")

	away := kafka.Examine(
		t.Context(), kafka.Config{Brokers: []string{s.At("kafka-tls")}, Link: kafka.Link{TLS: true, CA: s.Other.CA()}},
		kafka.Deps{},
	)
	require.False(t, away.Reached)
	require.Contains(t, away.Findings[0].What, "ADNET_KAFKA_CA")
}
