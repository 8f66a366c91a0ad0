package roster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConcernsAboutAddresses(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	seen := func(ago time.Duration) Seen { return Seen{Requests: 3, LastAt: now.Add(-ago)} }
	for name, tc := range map[string]struct {
		addresses Addresses
		mend      []bool
		text      string
	}{
		"none":             {},
		"long ago":         {addresses: Addresses{Unreadable: seen(2 * time.Hour)}},
		"unreadable":       {Addresses{Unreadable: seen(time.Minute)}, []bool{true}, "not addresses"},
		"of a new proxy":   {Addresses{Unlisted: seen(0)}, []bool{true}, "not trusted"},
		"without a header": {Addresses{Absent: seen(59 * time.Minute)}, []bool{false}, "no X-Forwarded-For"},
		"all":              {Addresses{seen(0), seen(0), seen(0)}, []bool{true, true, false}, "received 3 requests"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Process{Name: "a", Serving: &Serving{Addresses: tc.addresses}}
			found := p.Concerns(now)
			require.Len(t, found, len(tc.mend))
			for i, c := range found {
				require.Equal(t, tc.mend[i], c.Mend)
				require.NotEmpty(t, c.Do)
				require.Contains(t, c.What, "node a")
			}
			if tc.text != "" {
				require.Contains(t, found[0].What, tc.text)
			}
		})
	}
	require.Empty(t, (&Process{Name: "consumers"}).Concerns(now))
}
