package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"
)

// proxies stand between adnet and its servers.
type proxies struct {
	postgres, clickhouse *cuttable
	kafka                []*cuttable
}

// cuttable is a proxy of toxiproxy with a gate in both directions.
type cuttable struct {
	*toxiproxy.Proxy
	gate *gate
}

// gate controls the data in transit. toxiproxy creates toxics from JSON, so they look up their gate
// by name.
type gate struct {
	dark  atomic.Bool // answers of the server are dropped
	armed atomic.Int32
	met   chan struct{} // closed when an armed gate reaches its moment; later answers are dropped
}

// The moments of a gate. Each occurs once.
const (
	disarmed     int32 = iota
	commitBefore       // a COMMIT, which is dropped
	commitAfter        // a COMMIT: the server gets it, and its answer is lost
	insertData         // the rows of a ClickHouse INSERT; its answer before them passes
)

var gates sync.Map // by proxy name

// gateToxic is a gate in one direction.
type gateToxic struct {
	Gate string `json:"gate"`
	Up   bool   `json:"up"`
}

var (
	pgCommit = []byte("commit\x00") // the simple query that ends a transaction
	chInsert = []byte("INSERT INTO events")
)

// Pipe implements toxics.Toxic.
func (t *gateToxic) Pipe(stub *toxics.ToxicStub) {
	found, _ := gates.Load(t.Gate)
	g := found.(*gate)
	inserting := false // the client's last message was an INSERT without rows
	for {
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-stub.Input:
			if chunk == nil {
				stub.Close()
				return
			}
			pass := !g.dark.Load()
			if t.Up {
				pass = g.passesUp(chunk.Data, inserting)
				inserting = bytes.Contains(chunk.Data, chInsert)
			}
			if pass {
				stub.Output <- chunk
			}
		}
	}
}

func (g *gate) passesUp(data []byte, inserting bool) bool {
	how := g.armed.Load()
	switch how {
	case commitBefore, commitAfter:
		if !bytes.Contains(data, pgCommit) {
			return true
		}
	case insertData:
		if !inserting {
			return true
		}
	default:
		return true
	}
	if !g.armed.CompareAndSwap(how, disarmed) {
		return true
	}
	g.dark.Store(true)
	g.met <- struct{}{}
	return how != commitBefore
}

func (s *suite) startProxies() error {
	toxics.Register("gate", new(gateToxic))
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	open := func(name, listen, upstream string) (*cuttable, error) {
		c := &cuttable{
			Proxy: toxiproxy.NewProxy(server, name, listen, upstream), gate: &gate{met: make(chan struct{}, 1)},
		}
		gates.Store(name, c.gate)
		for _, direction := range []string{"upstream", "downstream"} {
			_, err := c.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
				`{"name":"gate-%s","type":"gate","stream":"%s","attributes":{"gate":"%s","up":%t}}`, direction,
				direction, name, direction == "upstream")))
			if err != nil {
				return nil, err
			}
		}
		return c, c.Start()
	}
	ports, err := freePorts(2 + brokers)
	if err != nil {
		return err
	}
	address := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	if s.proxy.postgres, err = open("postgres", address(ports[brokers]), s.stack.addr("postgres")); err != nil {
		return err
	}
	if s.proxy.clickhouse, err = open("clickhouse", address(ports[brokers+1]), s.stack.addr("clickhouse")); err != nil {
		return err
	}
	for i, port := range s.stack.via {
		name := brokerName(i)
		c, err := open(name, address(port), s.stack.addr(name+"-via"))
		if err != nil {
			return err
		}
		s.proxy.kafka = append(s.proxy.kafka, c)
	}
	return nil
}

func brokerName(i int) string {
	if i == 0 {
		return "kafka"
	}
	return fmt.Sprintf("kafka-%d", i+1)
}

func (s *suite) stopProxies() {
	for _, c := range append([]*cuttable{s.proxy.postgres, s.proxy.clickhouse}, s.proxy.kafka...) {
		if c != nil {
			c.Stop()
		}
	}
}

// cut closes every connection and accepts new ones.
func (c *cuttable) cut() error {
	c.Stop()
	c.gate.dark.Store(false)
	return c.Start()
}

// slow delays both directions.
func (c *cuttable) slow(by time.Duration) error {
	_, err := c.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"name":"slow","type":"latency","stream":"downstream","attributes":{"latency":%d}}`, by.Milliseconds())))
	return err
}

// block drops the clients' data.
func (c *cuttable) block() error {
	_, err := c.Toxics.AddToxicJson(strings.NewReader(
		`{"name":"block","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`,
	))
	return err
}
