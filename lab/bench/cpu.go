package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// servers tell the stack's processes by a part of their command line.
var servers = map[string]string{"kafka.Kafka": "kafka", "clickhouse-child": "clickhouse", "redis-server": "redis", "postgres": "postgres"}

// ticksPerSecond is the unit of /proc's times, fixed for user space on Linux.
const ticksPerSecond = 100

// usedCPU is the processor time that each kind of process has used, in seconds: what the session started, itself
// as "generator", and the stack's servers.
func (s *session) usedCPU() map[string]float64 {
	names := map[int]string{os.Getpid(): "generator"}
	for _, p := range s.processes {
		names[p.cmd.Process.Pid] = p.name
	}
	used := map[string]float64{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		name := names[pid]
		if name == "" {
			if name = serverOf(dir); name == "" {
				continue
			}
		}
		used[name] += cpuSeconds(dir)
	}
	return used
}

func serverOf(dir string) string {
	line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	for part, name := range servers {
		if bytes.Contains(line, []byte(part)) {
			return name
		}
	}
	return ""
}

func cpuSeconds(dir string) float64 {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything; the times are the 12th and 13th field after it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticksPerSecond
}

// perUnit is the processor time between two readings, in µs for each of n units.
func perUnit(before, after map[string]float64, n float64) map[string]float64 {
	cost := map[string]float64{}
	for name := range after {
		if us := (after[name] - before[name]) / n * 1e6; us >= 0.05 {
			cost[name] = rounded(us)
		}
	}
	return cost
}

func costs(cost map[string]float64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(cost)) {
		parts = append(parts, fmt.Sprintf("%s %s", name, number(cost[name])))
	}
	return strings.Join(parts, ", ")
}
