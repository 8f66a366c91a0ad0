package cmd

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/cmd/cli"
)

// Set by -ldflags -X: see deploy/build.sh.
var (
	version  = "devel" // of the file VERSION
	revision string    // of git
)

// versionCommand is `adnet version`.
type versionCommand struct{}

// Run prints the version, the revision and the Go release of the build.
func (versionCommand) Run(p cli.Process) error {
	_, err := fmt.Fprintln(p.Stdout, versionLine())
	return err
}

// versionLine returns a line like "adnet 0.1.0 (revision 1a2b3c4d5e6f, go1.26.8, linux/amd64)".
func versionLine() string {
	return fmt.Sprintf("adnet %s (revision %s, %s, %s/%s)",
		version, revisionOf(debug.ReadBuildInfo()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildInfo returns the metric that names the build of this process.
func buildInfo() prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "adnet_build_info", Help: "Always 1; the labels name the build of this process.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revisionOf(debug.ReadBuildInfo())},
	})
	info.Set(1)
	return info
}

// revisionOf returns the revision that the build was given, else the one that go build noted.
func revisionOf(info *debug.BuildInfo, known bool) string {
	if revision != "" || !known {
		return cmp.Or(revision, "unknown")
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return "unknown"
}
