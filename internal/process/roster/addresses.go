package roster

import (
	"fmt"
	"time"
)

// Addresses counts the requests since a node's start whose client could not be identified by its
// address, by reason.
type Addresses struct {
	// Unreadable: a trusted proxy sent an entry of X-Forwarded-For that is not an address.
	Unreadable Seen `json:"unreadable"`
	// Absent: a trusted proxy sent no X-Forwarded-For. Health checks do not count.
	Absent Seen `json:"absent"`
	// Unlisted: X-Forwarded-For from a private address that is not a trusted proxy.
	Unlisted Seen `json:"unlisted"`
}

// Seen counts requests.
type Seen struct {
	Requests int64     `json:"requests"`
	LastAt   time.Time `json:"last_at,omitzero"` // of the last one, by the node's clock
}

// recently reports whether requests came within the last hour.
func (s Seen) recently(now time.Time) bool { return s.Requests > 0 && now.Sub(s.LastAt) < time.Hour }

// Concern is a fact about a process that an operator should know.
type Concern struct {
	Mend     bool // must be repaired before adnet works well; otherwise advice
	What, Do string
}

// Concerns lists what an operator should know about the client addresses that p received within the
// last hour.
func (p *Process) Concerns(now time.Time) (list []Concern) {
	if p.Serving == nil {
		return nil
	}
	a := &p.Serving.Addresses
	for _, c := range []struct {
		seen     Seen
		mend     bool
		what, do string
	}{
		{
			a.Unreadable, true,
			"X-Forwarded-For entries that are not addresses; clients with the same entry count as one",
			"have the proxy send the client's address: the log line of the node names the proxy and the form",
		},
		{
			a.Unlisted, true, "X-Forwarded-For from a proxy that is not trusted; all clients behind it count as one",
			"add the proxy's address, which the node logs, to ADNET_TRUSTED_PROXIES",
		},
		{
			a.Absent, false, "no X-Forwarded-For from a trusted proxy; all clients of such requests count as one",
			"have the proxy append the client's address; ignore it if programs on trusted addresses call adnet",
		},
	} {
		if c.seen.recently(now) {
			list = append(list, Concern{
				c.mend, fmt.Sprintf("node %s received %d requests with %s", p.Name, c.seen.Requests, c.what), c.do,
			})
		}
	}
	return list
}
