package operate_test

import (
	"encoding/json"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// examined is the form of `adnet doctor --json` that docs/operate/outages.md promises.
type examined struct {
	OK      bool `json:"ok"`
	Servers []struct {
		Server     string   `json:"server"`
		Address    string   `json:"address"`
		Setting    string   `json:"setting"`
		OK         bool     `json:"ok"`
		Reached    bool     `json:"reached"`
		Version    string   `json:"version"`
		LatencyMS  *float64 `json:"latency_ms"`
		ClockMS    *float64 `json:"clock_ahead_ms"`
		Encryption string   `json:"encryption"`
		Rights     []struct {
			Name string `json:"name"`
			OK   bool   `json:"ok"`
		} `json:"rights"`
		Findings []struct {
			Mend bool   `json:"mend"`
			What string `json:"what"`
			Do   string `json:"do"`
		} `json:"findings"`
	} `json:"servers"`
}

// doctor runs `adnet doctor --json` and says how it ended.
func (i *installation) doctor(args ...string) (found examined, err error) {
	i.t.Helper()
	command := exec.Command(i.bin, append([]string{"doctor", "--json"}, args...)...)
	command.Env = i.env()
	out, err := command.Output()
	require.NoError(i.t, json.Unmarshal(out, &found), "%s", out)
	require.NotContains(i.t, string(out), "hunter2", "a password is shown")
	return found, err
}

// TestDoctor looks at an empty installation, at a whole one, and at one with each server away.
func TestDoctor(t *testing.T) {
	i := install(t)
	found, err := i.doctor()
	require.Error(t, err, "nothing is migrated")
	advice := ""
	for _, s := range found.Servers {
		require.True(
			t, s.Reached || s.Server == "PostgreSQL", "%s: the role of the application may not be there yet", s.Server,
		)
		for _, f := range s.Findings {
			advice += f.Do + "\n"
		}
	}
	require.Contains(t, advice, "adnet migrate")

	i.must("migrate")
	found, err = i.doctor()
	require.NoError(t, err, "%+v", found)
	require.True(t, found.OK)
	require.Len(t, found.Servers, 5, "four servers, and PostgreSQL as its owner")
	for _, s := range found.Servers {
		require.True(t, s.OK && s.Reached, "%+v", s)
		require.NotEmpty(t, s.Version, s.Server)
		require.NotEmpty(t, s.Address, s.Server)
		require.Equal(t, "plain text", s.Encryption, s.Server)
		require.NotNil(t, s.LatencyMS, s.Server)
		require.Positive(t, *s.LatencyMS, s.Server)
		require.NotNil(t, s.ClockMS, s.Server)
		require.Less(t, max(*s.ClockMS, -*s.ClockMS), 1000.0, s.Server)
		require.NotEmpty(t, s.Rights, s.Server)
		for _, right := range s.Rights {
			require.True(t, right.OK, "%s: %s", s.Server, right.Name)
		}
	}
	require.Contains(t, i.must("doctor"), "nothing to mend")

	for server, flag := range map[string]string{
		"PostgreSQL":        "--postgres-url=postgres://u:hunter2@127.0.0.1:1/x",
		"PostgreSQL, owner": "--postgres-owner-url=postgres://u:hunter2@127.0.0.1:1/x",
		"Redis":             "--redis-addr=redis://u:hunter2@127.0.0.1:1", "Kafka": "--kafka-brokers=127.0.0.1:1",
		"ClickHouse": "--clickhouse-url=clickhouse://u:hunter2@127.0.0.1:1/adnet",
	} {
		found, err := i.doctor(flag)
		require.Error(t, err, "%s is away", server)
		require.False(t, found.OK)
		for _, s := range found.Servers {
			require.Equal(t, s.Server != server, s.OK, "%s is away; %+v", server, s)
			if s.Server == server {
				require.False(t, s.Reached)
				require.NotEmpty(t, s.Findings)
				require.Contains(t, s.Findings[0].Do, s.Setting, "what to do names the setting")
			}
		}
		text, err := i.run("doctor", flag)
		require.Error(t, err)
		require.Contains(t, text, "must be mended")
	}
}

// A clock or a server that hangs does not hold the doctor up.
func TestDoctorIsPatientForAWhileOnly(t *testing.T) {
	i := install(t)
	silent := silence(t)
	began := time.Now()
	found, err := i.doctor("--redis-addr="+silent, "--postgres-url=postgres://u:hunter2@"+silent+"/x",
		"--kafka-brokers="+silent,
		"--clickhouse-url=clickhouse://"+silent+"/adnet", "--timeout=3s")
	require.Error(t, err)
	require.Less(t, time.Since(began), 20*time.Second)
	for _, s := range found.Servers {
		require.False(t, s.OK && !strings.Contains(s.Server, "owner"), "%+v", s)
	}
}

// silence is the address of a server that takes connections and says nothing.
func silence(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	return listener.Addr().String()
}
