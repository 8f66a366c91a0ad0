package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// row is one line of the benchmark.
type row struct {
	name, ours, baseline string
	family               string // common name for selecting several rows
	unit                 string
	must, aim            float64 // of the ratio, or of adnet without a baseline; 0 for a row without judgement
	cpuMust              float64 // limit of the processor time ratio, used if too much time is stolen for must
	atMost               bool    // smaller is better
	steady               bool    // stolen time does not affect the figure
	run                  func(context.Context, *session) (result, error)
}

// result holds the measurements of a row. Without a baseline, baseline is 0.
type result struct {
	row            row
	ours, baseline float64
	p50, p99       time.Duration      // of adnet, open loop at half its peak, from the due time of a request
	cpu            map[string]float64 // µs of processor time per unit, by process
	// adnet over the baseline, for all processes of a side; 0 without a baseline
	cpuRatio float64
	stolen   float64            // largest share of a sample's time that was lost
	parts    map[string]float64 // the figures by name, of which ours is the worst
	note     string
}

// judged returns the figure to compare with must and aim.
func (r result) judged() float64 {
	if r.baseline == 0 {
		return r.ours
	}
	return r.ours / r.baseline
}

// verdict is the outcome of a row.
type verdict string

const (
	reached      verdict = "reached"
	missed       verdict = "MISSED"
	reachedByCPU verdict = "reached by CPU"
	missedByCPU  verdict = "MISSED by CPU"
	tooNoisy     verdict = "too noisy to tell"
	unjudged     verdict = "no must"
)

// verdict compares the result with must if stolen time could not have affected it, and otherwise
// with the bound of the processor time ratio. A good figure without a baseline counts even on a
// noisy machine, because stolen time only makes it worse.
func (r result) verdict() verdict {
	switch {
	case r.row.must == 0:
		return unjudged
	case quiet(r.stolen) || r.row.steady:
		return either(r.within(), reached, missed)
	case r.row.baseline == "":
		return either(r.within(), reached, tooNoisy)
	case r.row.cpuMust == 0 || r.cpuRatio == 0:
		return tooNoisy
	}
	return either(r.cpuRatio <= r.row.cpuMust, reachedByCPU, missedByCPU)
}

// within reports whether the figure satisfies must.
func (r result) within() bool {
	if r.row.atMost {
		return r.judged() <= r.row.must
	}
	return r.judged() >= r.row.must
}

func either(yes bool, a, b verdict) verdict {
	if yes {
		return a
	}
	return b
}

// json returns the result as one line.
func (r result) json() string {
	line := struct {
		Name     string             `json:"name"`
		Ours     float64            `json:"ours"`
		Baseline *float64           `json:"baseline,omitempty"`
		Ratio    *float64           `json:"ratio,omitempty"`
		CPURatio *float64           `json:"cpu_ratio,omitempty"`
		Stolen   float64            `json:"stolen"`
		Unit     string             `json:"unit"`
		P50      *float64           `json:"p50_ms,omitempty"`
		P99      *float64           `json:"p99_ms,omitempty"`
		CPU      map[string]float64 `json:"cpu_us,omitempty"`
		Parts    map[string]float64 `json:"parts,omitempty"`
		Note     string             `json:"note,omitempty"`
	}{
		CPU: r.cpu, Parts: r.parts, Stolen: rounded(r.stolen), Name: r.row.name, Ours: rounded(r.ours),
		Unit: r.row.unit, Note: r.note,
	}
	if r.baseline != 0 {
		baseline, ratio := rounded(r.baseline), rounded(r.ours/r.baseline)
		line.Baseline, line.Ratio = &baseline, &ratio
	}
	if r.cpuRatio != 0 {
		cpu := rounded(r.cpuRatio)
		line.CPURatio = &cpu
	}
	if r.p99 > 0 {
		p50, p99 := rounded(r.p50.Seconds()*1000), rounded(r.p99.Seconds()*1000)
		line.P50, line.P99 = &p50, &p99
	}
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Sprintf(`{"name":%q,"error":%q}`, r.row.name, err)
	}
	return string(text)
}

// rounded keeps four significant digits: more would be noise.
func rounded(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-3)
	out := math.Round(v/unit) * unit
	return math.Round(out*1e9) / 1e9
}

func number(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v >= 1000:
		return message.NewPrinter(language.English).Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// table returns the results as a table. Smoke runs are not judged.
func table(done []result, machine string, smoke bool) string {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(
		w, "row\tours\tbaseline\tunit\tfigure\tmust\taim\tCPU ratio\tCPU must (aim %.1f)\tstolen\tp50 ms\tp99 ms\t\n",
		cpuAim,
	)
	for _, r := range done {
		verdict := string(r.verdict())
		if smoke {
			verdict = "smoke, not judged"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f %%\t%s\t%s\t%s\n", r.row.name, number(r.ours),
			number(r.baseline), r.row.unit,
			number(r.judged()), bound(r.row, r.row.must), bound(r.row, r.row.aim), number(r.cpuRatio), cpuBound(r.row),
			100*r.stolen,
			number(r.p50.Seconds()*1000), number(r.p99.Seconds()*1000), verdict)
	}
	_ = w.Flush() // into memory
	for _, r := range done {
		if len(r.parts) > 0 {
			fmt.Fprintf(&out, "%s: %s\n", r.row.name, costs(r.parts))
		}
	}
	fmt.Fprintf(&out, "machine: %s. The load generator, the servers and their stores share its cores.\n", machine)
	return out.String()
}

func bound(r row, v float64) string {
	if v == 0 {
		return "–"
	}
	if r.atMost {
		return "≤ " + number(v)
	}
	return "≥ " + number(v)
}

func cpuBound(r row) string {
	if r.cpuMust == 0 {
		return "–"
	}
	return "≤ " + number(r.cpuMust)
}

// describeMachine describes the machine of the measurements.
func describeMachine() string {
	model := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	memory := ""
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib int64
		if _, err := fmt.Sscanf(string(info), "MemTotal: %d kB", &kib); err == nil {
			memory = fmt.Sprintf(", %.0f GiB", float64(kib)/(1<<20))
		}
	}
	return fmt.Sprintf(
		"%d cores of %s%s, %s/%s, %s", runtime.NumCPU(), model, memory, runtime.GOOS, runtime.GOARCH, runtime.Version(),
	)
}

// publish writes the results file and the table in lab/bench/README.md.
func publish(cfg *runCmd, machine string, done []result) error {
	now := time.Now().UTC()
	if cfg.Results != "" {
		if err := os.MkdirAll(cfg.Results, 0o755); err != nil {
			return err
		}
		var out bytes.Buffer
		commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
		header, err := json.Marshal(map[string]any{
			"at": now.Format(time.RFC3339), "machine": machine, "commit": strings.TrimSpace(string(commit)),
			"samples": cfg.Samples, "sample_seconds": cfg.Sample.Seconds(),
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s\n", header)
		for _, r := range done {
			fmt.Fprintln(&out, r.json())
		}
		name := filepath.Join(cfg.Results, now.Format("2006-01-02T150405Z")+".jsonl")
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "bench: results in", name)
	}
	if cfg.Readme != "" {
		return replaceTable(cfg.Readme, markdown(done, machine, now))
	}
	return nil
}

const (
	tableStart = "<!-- bench: start, written by make bench -->\n"
	tableEnd   = "<!-- bench: end -->\n"
)

func markdown(done []result, machine string, at time.Time) string {
	var out strings.Builder
	fmt.Fprintf(
		&out, "Measured %s on %s;\nthe load generator, the servers and their stores share these cores.\n\n",
		at.Format(time.DateOnly), machine,
	)
	out.WriteString("A figure is ours over the baseline's, or ours where there is none; CPU is the ratio of processor\n" +
		"time per request. Where 5 % of the time or more was stolen, CPU is held against its bound instead\n" +
		"of the figure against must.\n\n")
	out.WriteString(
		"| row | ours | baseline | figure | must | aim | CPU | stolen | p50 / p99 ms " +
			"|\n|---|---|---|---|---|---|---|---|---|\n",
	)
	for _, r := range done {
		note, cpu, baseline, latency := "", "", "", ""
		switch v := r.verdict(); v {
		case reached, unjudged:
		case missed:
			note = " (missed)"
		default:
			note = " (" + strings.ToLower(string(v)) + ")"
		}
		if r.cpuRatio > 0 {
			cpu = number(r.cpuRatio) + " (" + cpuBound(r.row) + ")"
		}
		if r.row.baseline != "" {
			baseline = r.row.baseline + ": " + number(r.baseline)
		}
		if r.p99 > 0 {
			latency = number(r.p50.Seconds()*1000) + " / " + number(r.p99.Seconds()*1000)
		}
		fmt.Fprintf(&out, "| %s: %s | %s %s | %s | %s%s | %s | %s | %s | %.0f %% | %s |\n", r.row.name, r.row.ours,
			number(r.ours), r.row.unit, baseline,
			number(r.judged()), note, bound(r.row, r.row.must), bound(r.row, r.row.aim), cpu, 100*r.stolen, latency)
	}
	return out.String()
}

func replaceTable(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), tableStart)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		return fmt.Errorf("%s has no bench markers", path)
	}
	return os.WriteFile(path, []byte(before+tableStart+text+tableEnd+after), 0o644)
}
