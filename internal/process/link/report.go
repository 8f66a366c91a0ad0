package link

import (
	"crypto/tls"
	"fmt"
	"time"
)

// Report holds the findings about a server.
type Report struct {
	Server     string         `json:"server"`
	Address    string         `json:"address"` // without a password
	Setting    string         `json:"setting"` // where the address is set
	Reached    bool           `json:"reached"`
	Version    string         `json:"version,omitzero"`
	Latency    time.Duration  `json:"-"`
	ClockAhead *time.Duration `json:"-"` // lead of its clock over this machine's; nil if unknown
	Encryption string         `json:"encryption,omitzero"`
	Rights     []Right        `json:"rights,omitempty"`
	Findings   []Finding      `json:"findings,omitempty"`

	// Conns is, at PostgreSQL, the number of connections that it accepts, and at Redis, where the
	// processes report, the number that they may open to PostgreSQL.
	Conns int `json:"-"`
}

// Right is an operation that adnet must be able to do at a server.
type Right struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
}

// Finding is a fact that an operator should know.
type Finding struct {
	Mend bool   `json:"mend"` // must be repaired before adnet works well; otherwise advice
	What string `json:"what"`
	Do   string `json:"do"`
}

// Mend adds a finding that must be repaired.
func (r *Report) Mend(what, do string) {
	r.Findings = append(r.Findings, Finding{Mend: true, What: what, Do: do})
}

// Advise adds a finding that may stay.
func (r *Report) Advise(what, do string) {
	r.Findings = append(r.Findings, Finding{What: what, Do: do})
}

// Right records whether adnet may do something, and the remedy if not.
func (r *Report) Right(name string, ok bool, do string) {
	r.Rights = append(r.Rights, Right{Name: name, OK: ok})
	if !ok {
		r.Mend("missing right: "+name, do)
	}
}

// OK reports whether nothing needs repair.
func (r *Report) OK() bool {
	for _, f := range r.Findings {
		if f.Mend {
			return false
		}
	}
	return true
}

// Away records that the server could not be used.
func (r *Report) Away(err error, do string) {
	r.Mend(err.Error(), do)
}

// maxClock is the largest tolerated difference between a server's clock and this machine's. With a
// larger difference to Redis a node serves nothing; days and horizons of the other servers are
// compared with times stamped by nodes.
const maxClock = time.Second

// Measure requests the server's time, at best three times, and records the shortest round trip and
// the difference of the clocks.
func (r *Report) Measure(ask func() (time.Time, error)) error {
	for range 3 {
		before := time.Now()
		there, err := ask()
		took := time.Since(before)
		if err != nil {
			return err
		}
		if r.Latency == 0 || took < r.Latency {
			r.Latency = took
			if !there.IsZero() {
				ahead := there.Sub(before.Add(took / 2)).Round(time.Microsecond)
				r.ClockAhead = &ahead
			}
		}
	}
	r.Reached = true
	r.CheckClock()
	return nil
}

// CheckClock compares the difference of the clocks with the tolerance.
func (r *Report) CheckClock() {
	if r.ClockAhead != nil && r.ClockAhead.Abs() > maxClock+r.Latency {
		r.Mend(
			fmt.Sprintf("its clock is %s from this machine's", r.ClockAhead.Round(time.Millisecond)),
			"run NTP on both machines",
		)
	}
}

// Watch records the state of the encryption from the handshakes of a link.
type Watch struct{ state *tls.ConnectionState }

// Seen records a handshake; it serves as [Dialer.Seen] and the like.
func (w *Watch) Seen(state tls.ConnectionState) { w.state = &state }

// renewBefore is the remaining life below which a certificate is reported.
const renewBefore = 14 * 24 * time.Hour

// Encrypted records the encryption that watch saw, or its absence.
func (r *Report) Encrypted(watch *Watch, local bool, cure string) {
	if watch.state == nil {
		r.Encryption = "plain text"
		if !local {
			r.Advise("the link is plain text (allowed by --insecure)", cure)
		}
		return
	}
	r.Encryption = tls.VersionName(watch.state.Version)
	if len(watch.state.PeerCertificates) == 0 {
		return
	}
	leaf := watch.state.PeerCertificates[0]
	r.Encryption += ", certificate until " + leaf.NotAfter.UTC().Format(time.DateOnly)
	if len(watch.state.VerifiedChains) == 0 {
		r.Encryption += ", name not checked"
	}
	if left := time.Until(leaf.NotAfter); left < renewBefore {
		r.Mend(fmt.Sprintf("its certificate ends in %.0f hours", left.Hours()), "renew it")
	}
}

// Seen is a report in machine-readable form.
type Seen struct {
	Report
	OK        bool     `json:"ok"`             // nothing needs repair
	LatencyMS *float64 `json:"latency_ms"`     // round trip, the shortest of three; null if not reached
	ClockMS   *float64 `json:"clock_ahead_ms"` // lead of its clock over this machine's; null if unknown
}

// Seen returns r in machine-readable form.
func (r Report) Seen() Seen {
	s := Seen{Report: r, OK: r.OK()}
	if r.Reached {
		s.LatencyMS = milliseconds(r.Latency)
	}
	if r.ClockAhead != nil {
		s.ClockMS = milliseconds(*r.ClockAhead)
	}
	return s
}

func milliseconds(d time.Duration) *float64 {
	ms := float64(d.Microseconds()) / 1000
	return &ms
}
