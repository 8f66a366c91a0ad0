package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

// The rows without servers are Go benchmarks of their packages, which live beside the code.

var perOperation = regexp.MustCompile(`(?m)^Benchmark\S+\s+\d+\s+([0-9.]+) ns/op`)

// goBenchmark answers operations per second of one benchmark on one core.
func (s *session) goBenchmark(pkg, name string) sampler {
	return func(ctx context.Context) (float64, error) {
		length := "1s"
		if s.cfg.Smoke {
			length = "20x"
		}
		out, err := exec.CommandContext(ctx, "go", "test", pkg, "-run", "^$", "-bench", name, "-benchtime", length, "-cpu", "1").CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("%s: %w: %s", name, err, out)
		}
		found := perOperation.FindSubmatch(out)
		if found == nil {
			return 0, fmt.Errorf("no figure in: %s", out)
		}
		ns, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil || ns == 0 {
			return 0, fmt.Errorf("figure %q: %w", found[1], err)
		}
		return 1e9 / ns, nil
	}
}

func auctions(ctx context.Context, s *session) (result, error) {
	ours, linear, err := s.alternate(ctx, s.goBenchmark("./auction", "^BenchmarkDecide$/^replicated$/^100000$"), s.goBenchmark("./auction", "^BenchmarkLinearScan$"))
	if err != nil {
		return result{}, err
	}
	// The campaigns share 534 targetings, which a scan can make use of without an index.
	sharing, err := s.goBenchmark("./auction", "^BenchmarkScanOfTargetings$")(ctx)
	note := fmt.Sprintf("a scan that matches each distinct targeting once reaches %s/s: %.0f times less", number(sharing), ours/sharing)
	return result{ours: ours, baseline: linear, note: note}, err
}

func tokens(ctx context.Context, s *session) (result, error) {
	ours, raw, err := s.alternate(ctx, s.goBenchmark("./internal/token", "^BenchmarkVerify$"), s.goBenchmark("./internal/token", "^BenchmarkRawHMAC$"))
	return result{ours: ours, baseline: raw}, err
}
