package cmd

import (
	"testing"

	"adnet/cmd/backends"
)

// ServeOver runs in-memory mode with change made to its backends and returns the address of its
// API.
func ServeOver(t *testing.T, change func(*backends.All), flags ...string) (base string) {
	t.Helper()
	return wire(t, change, flags...).http.BaseURL()
}
