package main

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of /proc's times, fixed for user space on Linux.
const ticksPerSecond = 100

// generator names this process: the load generator and the components that a row runs in it.
const generator = "generator"

// reading holds the values of /proc at one moment. Times are seconds of processor time since the
// start of the machine or process.
type reading struct {
	ours    map[string]float64 // the session's processes, itself as generator, and its servers
	session float64            // all of these, ended processes included
	kernel  float64            // the kernel's own threads, which work for all processes
	machine machineTime
}

// machineTime holds the first line of /proc/stat, the sum of all processors.
type machineTime struct{ busy, idle, steal float64 }

// processTime holds the accounted times of one process.
type processTime struct {
	parent        int
	used, reaped  float64 // its own time and the time of reaped children
	kernelsThread bool
}

// read takes a reading. Processes that end during the reading count in the times of their parents.
func (s *session) read() reading {
	names := map[int]string{os.Getpid(): generator}
	for _, p := range s.processes {
		names[p.PID] = p.Name
	}
	all := map[int]processTime{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if text, err := os.ReadFile(filepath.Join(dir, "stat")); err == nil {
			all[pid] = parseProcess(pid, text)
		}
	}
	text, _ := os.ReadFile("/proc/stat")
	r := reading{ours: map[string]float64{}, machine: parseMachine(text)}
	for pid, p := range all {
		if p.kernelsThread {
			r.kernel += p.used
			continue
		}
		name, server := s.kind(all, names, pid)
		switch {
		case name == "":
			continue
		case server:
			r.ours[name] += p.used + p.reaped
		default: // children reaped by a process of the session had their own names
			r.ours[name] += p.used
		}
		r.session += p.used + p.reaped
	}
	return r
}

// kind returns the name of a process or of its nearest named ancestor, or "" for a foreign process.
func (s *session) kind(all map[int]processTime, names map[int]string, pid int) (name string, server bool) {
	for range 64 { // a chain of parents is short, but the table may be inconsistent
		if name := names[pid]; name != "" {
			return name, false
		}
		if name := s.servers[pid]; name != "" {
			return name, true
		}
		p, known := all[pid]
		if !known || p.parent == 0 {
			break
		}
		pid = p.parent
	}
	return "", false
}

// kthreadd is the parent of the kernel's threads.
const kthreadd = 2

func parseProcess(pid int, text []byte) (p processTime) {
	// The name in parentheses may contain anything. The parent is the second field after it, the
	// times are the 12th to 15th.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return p
	}
	p.parent, _ = strconv.Atoi(fields[1])
	p.used = ticks(fields[11]) + ticks(fields[12])
	p.reaped = ticks(fields[13]) + ticks(fields[14])
	p.kernelsThread = p.parent == kthreadd || pid == kthreadd && p.parent == 0
	return p
}

func parseMachine(text []byte) (m machineTime) {
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal …
	if len(fields) < 9 || fields[0] != "cpu" {
		return m
	}
	m.busy = ticks(fields[1]) + ticks(fields[2]) + ticks(fields[3]) + ticks(fields[6]) + ticks(fields[7])
	m.idle = ticks(fields[4]) + ticks(fields[5])
	m.steal = ticks(fields[8])
	return m
}

func ticks(field string) float64 {
	n, _ := strconv.ParseFloat(field, 64)
	return n / ticksPerSecond
}

// findServers names the processes that listen on the stack's addresses, if they run on this machine
// and are visible. Another stack on the machine counts as foreign.
func (s *session) findServers() {
	s.servers = map[int]string{}
	ports := map[string]string{}
	for name, addr := range map[string]string{
		"kafka": s.Kafka, "redis": s.Redis, "postgres": hostOf(s.Postgres), "clickhouse": hostOf(s.ClickHouse),
	} {
		if _, port, err := net.SplitHostPort(addr); err == nil {
			ports[port] = name
		}
	}
	sockets := map[string]string{} // inode: name
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			if name, inode := listener(line, ports); name != "" {
				sockets["socket:["+inode+"]"] = name
			}
		}
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		if name := sockets[target]; err == nil && name != "" {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			s.servers[pid] = name
		}
	}
}

// listener parses a line of /proc/net/tcp and returns the server of the listening socket, by port,
// and the socket's inode.
func listener(line string, ports map[string]string) (name, inode string) {
	const listening = "0A"
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != listening {
		return "", ""
	}
	_, hex, _ := strings.Cut(fields[1], ":")
	port, err := strconv.ParseUint(hex, 16, 16)
	if err != nil {
		return "", ""
	}
	return ports[strconv.FormatUint(port, 10)], fields[9]
}

// hostOf returns host:port of a URL.
func hostOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return u.Host
}

// stretch is a part of a run with counted processor time.
type stretch struct {
	s     *session
	began time.Time
	from  reading
	probe *probe // nil if the machine reports stolen time
}

// begin starts counting.
func (s *session) begin() *stretch {
	w := &stretch{s: s, began: time.Now(), from: s.read()}
	if w.from.machine.steal == 0 {
		w.probe = startProbe()
	}
	return w
}

// end returns the processor time of each kind of process, in µs per unit for n units, and the share
// of the machine's time that the session did not get.
func (w *stretch) end(n float64) (cost map[string]float64, stolen float64) {
	to := w.s.read()
	hidden := 0.0
	if w.probe != nil {
		hidden = w.probe.end()
	}
	return perUnit(w.from.ours, to.ours, n), stolenShare(w.from, to, hidden)
}

// stolenShare returns the share of the machine's time between two readings that was lost: time
// reported as stolen by the hypervisor, hidden (an unreported share that it took), and time of
// foreign processes.
func stolenShare(from, to reading, hidden float64) float64 {
	a, b := from.machine, to.machine
	steal, busy := b.steal-a.steal, b.busy-a.busy
	all := busy + b.idle - a.idle + steal
	if all <= 0 {
		return hidden
	}
	strangers := max(0, busy-(to.session-from.session)-(to.kernel-from.kernel))
	return min(1, (steal+strangers)/all+hidden)
}

// perUnit returns the processor time between two readings, in µs per unit for n units.
func perUnit(before, after map[string]float64, n float64) map[string]float64 {
	cost := map[string]float64{}
	for name := range after {
		if us := (after[name] - before[name]) / n * 1e6; us >= 0.05 {
			cost[name] = rounded(us)
		}
	}
	return cost
}

// total adds up the costs of processes, except for the excluded ones.
func total(cost map[string]float64, without ...string) (sum float64) {
	for name, us := range cost {
		if !slices.Contains(without, name) {
			sum += us
		}
	}
	return sum
}

func costs(cost map[string]float64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(cost)) {
		parts = append(parts, fmt.Sprintf("%s %s", name, number(cost[name])))
	}
	return strings.Join(parts, ", ")
}
