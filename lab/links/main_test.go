package links_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"adnet/internal/testenv"
	"adnet/lab/links"
)

// started are the servers of this test run: they start with the first test that wants them.
var started = sync.OnceValues(links.StartServers)

func TestMain(m *testing.M) {
	code := m.Run()
	if wanted {
		servers, _ := started()
		if err := servers.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var wanted bool

// real are the real servers with TLS. Where no real servers are tested at all, they are not either.
func real(t *testing.T) *links.Servers {
	t.Helper()
	testenv.Kafka(t) // skips, or fails in CI
	wanted = true
	servers, err := started()
	if err != nil {
		t.Fatal(err)
	}
	return servers
}
