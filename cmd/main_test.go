package cmd_test

import (
	"os"
	"testing"
)

// TestMain switches off the limits on what an account may do in a minute: tests do in seconds what
// people do in hours. ingress/limits tests them.
func TestMain(m *testing.M) {
	for _, name := range []string{"ADNET_RATE_WRITES", "ADNET_RATE_STATS", "ADNET_RATE_READS", "ADNET_CAMPAIGNS"} {
		if err := os.Setenv(name, "0"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
