package cmd

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/cmd/operate"
	"adnet/ingress/track"
	"adnet/ingress/track/spool"
	"adnet/internal/demo"
	"adnet/internal/kafka"
	"adnet/internal/process/lifecycle"
	"adnet/internal/token"
)

// standalone is `adnet standalone`: every role in one process, in memory.
type standalone struct {
	Host      hostConfig           `embed:""`
	Role      ingressConfig        `kong:"embed,set='unsigned_beacons=bill',set='verify_email=off',set='unreviewed=everywhere',set='outbound_networks=127.0.0.0/8,::1/128'"`
	Money     backends.Money       `embed:"" set:"prepaid=off"`
	Consumers consumersConfig      `kong:"embed,set='credit_every=500ms',set='credit_hold=0s',set='credit_hold_concentrated=0s',set='quarantine_no_readers=0'"`
	Broker    kafka.EmbeddedConfig `embed:""`
	Demo      demoConfig           `embed:""`

	unsignedSet bool // by the caller, not by default
}

// readerlessFrom is the default of ADNET_QUARANTINE_NO_READERS where money is real.
const readerlessFrom = 1000

// AfterApply is called by the parser.
func (c *standalone) AfterApply(line *kong.Context) error {
	c.Role.inForce = inForce(line)
	c.Demo.set, c.unsignedSet = isSet(line, "demo"), isSet(line, "unsigned-beacons")
	// Others' webhooks must not reach what listens on this machine only.
	if !c.local() && !isSet(line, "outbound-networks") {
		c.Role.Outbound.Networks = nil
	}
	if c.Money.Required() && !isSet(line, "quarantine-no-readers") { // the money is real, so one person does not play both sides
		c.Consumers.Quarantine.Readers = readerlessFrom
	}
	return nil
}

// open rejects an address beyond loopback unless the caller has decided about accounts with public
// passwords and about unsigned billing. On loopback all callers are on this machine.
func (c *standalone) open() error {
	if _, _, err := net.SplitHostPort(c.Role.HTTP.Addr); err != nil { // listening reports it
		return nil
	}
	if c.local() {
		return nil
	}
	var missing []string
	if c.Demo.shows() && !c.Demo.set {
		missing = append(
			missing, "--demo=off (or --demo=on: accounts with public passwords, one of them an administrator's)",
		)
	}
	if c.Role.Track.Unsigned == track.UnsignedBill && !c.unsignedSet {
		missing = append(
			missing, "--unsigned-beacons=record (or --unsigned-beacons=bill: any visitor may charge any campaign)",
		)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is open to other machines; set %s", c.Role.HTTP.Addr, strings.Join(missing, " and "))
	}
	return nil
}

// local reports whether only this machine can connect.
func (c *standalone) local() bool {
	host, _, err := net.SplitHostPort(c.Role.HTTP.Addr)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Run runs the command until it finishes or receives a stop signal.
func (c *standalone) Run(p cli.Process) error {
	if err := c.open(); err != nil {
		return err
	}
	process, err := c.build(p, nil)
	if err != nil {
		return err
	}
	defer process.close()
	return process.run()
}

// inMemory holds both roles over the backends of in-memory mode.
type inMemory struct {
	*host
	backends    *backends.Embedded
	role        *ingressRole
	money       backends.Money
	marks       *demo.Marks
	ring        *token.Keyring
	scratch     string // a folder removed when the process ends
	credentials demo.Credentials
}

// build constructs everything and starts nothing. change, unless it is nil, replaces backends
// first.
func (c *standalone) build(p cli.Process, change func(*backends.All)) (_ *inMemory, err error) {
	ring, sessions, err := c.Role.keys(true)
	if err != nil {
		return nil, err
	}
	m := &inMemory{money: c.Money, ring: ring, marks: new(demo.Marks)}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	// Nothing of in-memory mode outlives the process, so neither does its spool.
	if m.scratch, err = os.MkdirTemp("", "adnet-"); err != nil {
		return nil, err
	}
	if m.host, err = newHost(p, c.Host, c.Role.HTTP.Lame()+c.Role.HTTP.DrainTimeout); err != nil {
		return nil, err
	}
	if m.backends, err = backends.OpenEmbedded(c.Broker, c.Money, m.backendDeps()); err != nil {
		return nil, err
	}
	if change != nil {
		change(&m.backends.All)
	}
	m.role, err = newIngress(m.host, parts{
		Config: c.Role, Money: c.Money, Ring: ring, Sessions: sessions, InMemory: true,
		Demo: c.Demo.shows() && c.local(), Invented: c.Demo.shows(),
		Spool: spool.Config{Dir: filepath.Join(m.scratch, "spool"), MaxBytes: 256 << 20},
	}, &m.backends.All)
	if err != nil {
		return nil, err
	}
	if err := m.role.spool.Open(); err != nil {
		return nil, err
	}
	c.Consumers.Life, c.Consumers.Ring = c.Role.Track.Life.Longest(), ring
	c.Consumers.Outbound, c.Consumers.Demo = c.Role.Outbound, m.marks
	if c.Consumers.Mails, err = c.mails(m.role.http.BaseURL, m.Log); err != nil {
		return nil, err
	}
	c.Consumers.Unsigned = c.Role.Track.Unsigned == track.UnsignedBill
	if c.Consumers.NetworkClicks, err = c.Role.Track.Traffic.NetworkClicks(); err != nil {
		return nil, err
	}
	// Every poll runs a few scripts in the in-process Redis, which is far slower than a real one.
	// Changes of campaigns wake the node at once.
	c.Consumers.Project.Every = max(c.Consumers.Project.Every, time.Second)
	c.Consumers.Archive.Tick = max(c.Consumers.Archive.Tick, 200*time.Millisecond) // wakes an idle process less often
	consumers, err := newConsumers(m.host, c.Consumers, c.Money, &m.backends.All)
	if err != nil {
		return nil, err
	}
	m.admin.Handle("GET /internal/verify", operate.VerifyHandler(&m.backends.All, c.Money))
	m.addStages(consumers, c.Demo)
	return m, nil
}

// addStages orders the parts: dependencies come first. The demo's past is made before the consumers
// run, so that each row has its own date and no rule of the present judges the half of it.
func (m *inMemory) addStages(consumers *consumersRole, shown demoConfig) {
	m.group.Add(lifecycle.Named("broker", m.backends.Broker), lifecycle.Named("redis", m.backends.Cache))
	m.group.Add(lifecycle.Task("topics", func(ctx context.Context) error {
		return kafka.EnsureTopics(ctx, m.backends.Kafka, kafka.Deps{Log: m.Log})
	}))
	m.group.Add(lifecycle.Task("administrator", m.role.ensureAdmin))
	if shown.shows() {
		m.group.Add(lifecycle.Task("demo", func(ctx context.Context) error { return m.invent(ctx, shown) }))
	}
	consumers.addStage()
	if shown.shows() {
		// The first request already finds the words weighed by the votes of the demo's advertisers.
		m.group.Add(lifecycle.Task("votes", consumers.standings.Turn))
	}
	m.role.addStages()
	if shown.Mode == "live" {
		m.group.Add(lifecycle.Named("live", m.liveDemo(m.Log)))
	}
	m.group.Add(lifecycle.Task("greeting", func(ctx context.Context) error { return m.greet(ctx, shown.shows()) }))
}

// greetingWait limits the greeting's wait for budgets.
const greetingWait = 5 * time.Second

// greet prints commands to try. Readers run them at once, so the greeting waits until budgets can
// be reserved.
func (m *inMemory) greet(ctx context.Context, shows bool) error {
	for started := time.Now(); !m.role.budget.Granting(time.Now()) && time.Since(started) < greetingWait; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	if shows {
		return demo.Print(m.Stdout, m.role.http.BaseURL(), m.credentials)
	}
	_, err := fmt.Fprintf(m.Stdout, "adnet listens on %s\n", m.role.http.BaseURL())
	return err
}

// close releases everything that build opened, even after a build that failed half-way.
func (m *inMemory) close() {
	if m.backends != nil {
		m.backends.Close()
	}
	if m.scratch != "" {
		_ = os.RemoveAll(m.scratch) // the system cleans its temporary folder itself
	}
}
