package httpapi

import (
	"math"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/ingress/httpapi/wire"
	"adnet/internal/process/obs"
)

// openFiles returns the process's limit of open file descriptors.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return limit.Cur // Go has raised it to the hard limit
}

// maxConns returns the limit of open connections: the descriptors that the rest of the process does
// not need, but at least half of all.
func maxConns(files uint64, others int) int {
	files = min(files, math.MaxInt32)
	return max(int(files)-others, int(files)/2)
}

// connections registers the counters of the connection layer.
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
			Help: "Connections refused or closed: too many in total, too many from one address, " +
				"idle ones displaced by new ones, a failed accept, TLS handshake or PROXY header.",
			ConstLabels: prometheus.Labels{"reason": reason},
		}, func() float64 { return float64(count.Load()) }))
	}
}
