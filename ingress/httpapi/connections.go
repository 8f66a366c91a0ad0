package httpapi

import (
	"math"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/ingress/httpapi/wire"
	"adnet/internal/obs"
)

// openFiles is how many descriptors the process may have.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return limit.Cur // Go has raised it to the hard limit
}

// maxConns is how many connections may be open: what the others leave of the descriptors, but half
// of them at least.
func maxConns(files uint64, others int) int {
	files = min(files, math.MaxInt32)
	return max(int(files)-others, int(files)/2)
}

// connections adds what the connection layer counts.
func (m serverMetrics) connections(r prometheus.Registerer, counts *wire.Counts) {
	obs.Register(r, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_http_connections", Help: "Open connections of the public listener.",
	}, func() float64 { return float64(counts.Open.Load()) }))
	for reason, count := range map[string]interface{ Load() int64 }{
		"total": &counts.RefusedTotal, "address": &counts.RefusedAddr, "displaced": &counts.Displaced,
		"system":    &counts.AcceptFailed,
		"handshake": &counts.NotAgreed,
	} {
		obs.Register(r, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "adnet_http_connections_refused_total",
			Help: "Connections refused or closed for want of room: too many in all, too many of an address, " +
				"idle ones displaced by new ones, failures of accept, of a TLS handshake or a PROXY header.",
			ConstLabels: prometheus.Labels{"reason": reason},
		}, func() float64 { return float64(count.Load()) }))
	}
}
