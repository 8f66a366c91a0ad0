package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Names of the variables that point tests at servers; internal/testenv reads them.
const (
	testPostgres   = "ADNET_TEST_POSTGRES"
	testRedis      = "ADNET_TEST_REDIS"
	testKafka      = "ADNET_TEST_KAFKA"
	testClickHouse = "ADNET_TEST_CLICKHOUSE"
)

// postgresOwner names the setting of the role that owns the tables. Only maintenance commands such
// as migrate get it.
const postgresOwner = "ADNET_POSTGRES_OWNER_URL"

// variable is one environment setting.
type variable struct{ name, value string }

// variables returns the settings of the named servers, for adnet and for its tests.
func (s *stack) variables(names []string) ([]variable, error) {
	var all []variable
	for _, name := range names {
		switch name {
		case namePostgres:
			product, err := s.postgresAppURL()
			if err != nil {
				return nil, err
			}
			owner, err := s.postgresURL("adnet")
			if err != nil {
				return nil, err
			}
			tests, err := s.postgresURL("postgres")
			if err != nil {
				return nil, err
			}
			all = append(
				all, variable{"ADNET_POSTGRES_URL", product}, variable{postgresOwner, owner},
				variable{testPostgres, tests},
			)
		case nameRedis:
			all = append(
				all, variable{"ADNET_REDIS_ADDR", s.address(nameRedis)}, variable{testRedis, s.address(nameRedis)},
			)
		case nameKafka:
			all = append(all, variable{"ADNET_KAFKA_BROKERS", s.brokers()}, variable{testKafka, s.brokers()})
		case nameClickHouse:
			server := "clickhouse://" + s.address(nameClickHouse)
			all = append(
				all, variable{"ADNET_CLICKHOUSE_URL", server + "/adnet"}, variable{testClickHouse, server + "/default"},
			)
		}
	}
	return all, nil
}

// trial holds the settings of adnet on this stack unless the environment sets others: campaigns
// deliver without a deposit or a review, and e-mails are not confirmed, because the stack has neither
// payment provider nor mail server. Serve and verify must agree on them.
func trial() []variable {
	all := []variable{{"ADNET_PREPAID", "off"}, {"ADNET_VERIFY_EMAIL", "off"}, {"ADNET_UNREVIEWED", "everywhere"}}
	for i := range all {
		all[i].value = cmp.Or(os.Getenv(all[i].name), all[i].value)
	}
	return all
}

// requireRunning returns an error with the remedy if a server of the stack is not running.
func (s *stack) requireRunning() error {
	for _, name := range s.servers() {
		if _, ok := s.runs(name); !ok {
			return fmt.Errorf(
				"%s of the stack in %s is not running: start it with `make stack` (go run ./lab/stack up)", name,
				s.cfg.Dir,
			)
		}
	}
	return nil
}

// printEnv writes one export line a variable, quoted for a POSIX shell.
func (s *stack) printEnv(w io.Writer) error {
	if err := s.requireRunning(); err != nil {
		return err
	}
	all, err := s.variables(everything())
	if err != nil {
		return err
	}
	for _, v := range append(all, trial()...) {
		_, writeErr := fmt.Fprintf(w, "export %s=%s\n", v.name, shellQuote(v.value))
		err = errors.Join(err, writeErr)
	}
	return err
}

// shellQuote makes one word of any text in a POSIX shell.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// addresses prints the summary after up.
func (s *stack) addresses() string {
	engine := "Apache Kafka " + kafkaVersion
	if s.state.KafkaEngine == engineKfake {
		engine = "kfake, NOT Apache Kafka"
	}
	return fmt.Sprintf(`
The stack answers. Data, logs and pid files: %s
  PostgreSQL   %s   role %s owns, role %s serves; databases adnet (product) and postgres
  Redis        %s
  Kafka        %s   %s
  ClickHouse   %s   native; http://%s
Variables for a shell:  eval "$(make -s stack-env)"
Run adnet against it:   make serve     Stop it: make stack-down`,
		s.cfg.Dir, s.address(namePostgres), postgresRole, postgresAppRole, s.address(nameRedis), s.address(nameKafka),
		engine,
		s.address(nameClickHouse), s.address(portClickHouseHTTP))
}

// external returns the servers that the environment names for tests. They are used instead of
// started.
func external() map[string]bool {
	return map[string]bool{
		namePostgres: os.Getenv(testPostgres) != "", nameRedis: os.Getenv(testRedis) != "",
		nameKafka: os.Getenv(testKafka) != "", nameClickHouse: os.Getenv(testClickHouse) != "",
	}
}
