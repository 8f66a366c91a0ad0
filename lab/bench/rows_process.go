package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// Rows without servers run the Go benchmarks of their packages.

var (
	perOperation    = regexp.MustCompile(`(?m)^Benchmark\S+\s+\d+\s+([0-9.]+) ns/op`)
	cpuPerOperation = regexp.MustCompile(`(?m)^Benchmark.*\s([0-9.]+) cpu-ns/op`) // of testenv.ReportCPU
)

// goBenchmark measures operations per second of one benchmark on one core. The check for stolen
// time includes the build of the package.
func (s *session) goBenchmark(pkg, name string) sampler {
	return func(ctx context.Context) (result sample, err error) {
		length := "1s"
		if s.cfg.Smoke {
			length = "20x"
		}
		counted := s.begin()
		out, err := exec.CommandContext(
			ctx, "go", "test", pkg, "-run", "^$", "-bench", name, "-benchtime", length, "-cpu", "1",
		).CombinedOutput()
		if err != nil {
			return result, fmt.Errorf("%s: %w: %s", name, err, out)
		}
		_, result.stolen = counted.end(1)
		took, err := figure(perOperation, out)
		if err != nil {
			return result, err
		}
		used, err := figure(cpuPerOperation, out)
		result.rate, result.cpu = 1e9/took, used/1000
		return result, err
	}
}

// figure returns one of a benchmark's figures from the output of go test.
func figure(in *regexp.Regexp, out []byte) (float64, error) {
	found := in.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("no figure like %s in: %s", in, out)
	}
	ns, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil || ns == 0 {
		return 0, fmt.Errorf("figure %q: %w", found[1], err)
	}
	return ns, nil
}

func auctions(ctx context.Context, s *session) (result, error) {
	r, err := s.alternate(
		ctx, s.goBenchmark("./auction", "^BenchmarkDecide$/^replicated$/^100000$"),
		s.goBenchmark("./auction", "^BenchmarkLinearScan$"),
	)
	if err != nil {
		return r, err
	}
	// The campaigns share 534 targetings, which a scan can exploit without an index.
	sharing, err := s.goBenchmark("./auction", "^BenchmarkScanOfTargetings$")(ctx)
	r.note = fmt.Sprintf(
		"a scan that matches each distinct targeting once reaches %s/s: %.0f times less", number(sharing.rate),
		r.ours/sharing.rate,
	)
	return r, err
}

func tokens(ctx context.Context, s *session) (result, error) {
	return s.alternate(
		ctx, s.goBenchmark("./internal/token", "^BenchmarkVerify$"),
		s.goBenchmark("./internal/token", "^BenchmarkRawHMAC$"),
	)
}

// pageAds runs in process because a page that does not report its ads as seen soon gets no more
// ads.
func pageAds(ctx context.Context, s *session) (result, error) {
	return s.alternate(
		ctx, s.goBenchmark("./ingress/serve", "^BenchmarkKeys$/^page$"),
		s.goBenchmark("./ingress/serve", "^BenchmarkKeys$/^server$"),
	)
}

// judging returns the worst result of all lengths and kinds of conversations.
func judging(ctx context.Context, s *session) (worst result, err error) {
	for _, text := range []string{
		"ordinary/200", "ordinary/2000", "ordinary/8000", "hostile/200", "hostile/2000", "hostile/8000",
	} {
		name := "$/^" + strings.ReplaceAll(text, "/", "$/^") + "$"
		r, err := s.alternate(
			ctx, s.goBenchmark("./auction/suitability", "^BenchmarkReader"+name),
			s.goBenchmark("./auction/suitability", "^BenchmarkPlain"+name),
		)
		if err != nil {
			return worst, err
		}
		if worst.parts == nil {
			worst.parts = map[string]float64{}
		}
		parts := worst.parts
		parts[text] = r.cpuRatio
		if worst.cpuRatio < r.cpuRatio {
			worst = r
		}
		worst.parts = parts
	}
	return worst, nil
}
