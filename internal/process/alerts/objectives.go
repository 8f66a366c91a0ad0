package alerts

import (
	"fmt"
	"time"
)

// objective is a share of requests that must be good. Its alerts compare the rate at which the
// allowance of 30 days is used with the rate that uses all of it (Google's SRE Workbook, chapter 5):
// a long window shows that it matters, a short one that it goes on.
type objective struct {
	name      string
	allowance float64 // share that may be bad
	bad       string  // its share over a window, which replaces each %[1]s
	what      string
	check     string
}

// burn is a pair of windows and the factor at which it alerts: 14.4 uses 2 % of the allowance in an
// hour, 6 uses 5 % in six hours.
type burn struct {
	speed       string
	factor      float64
	long, short string
	hold        time.Duration
	severity    Severity
}

func objectives() (list []Alert) {
	for _, o := range []objective{
		{
			"AdnetBeacons", 0.0005,
			`sum(rate(adnet_http_requests_total{route="/api/track",status=~"5.."}[%[1]s])) / ` +
				`sum(rate(adnet_http_requests_total{route="/api/track"}[%[1]s]))`,
			"more than 0.05 % of the beacons are answered 5xx", "`AdnetBeaconsRefused`, Kafka, the spool's disk",
		},
		{
			"AdnetAds", 0.01,
			`1 - sum(rate(adnet_http_request_seconds_bucket{route="/v1/ad-request",le="0.05"}[%[1]s])) / ` +
				`sum(rate(adnet_http_request_seconds_count{route="/v1/ad-request"}[%[1]s]))`,
			"more than 1 % of the ad requests take over 50 ms", "processor time of the ingress machines, Redis",
		},
	} {
		for _, b := range []burn{
			{"Fast", 14.4, "1h", "5m", 2 * time.Minute, Page},
			{"Slow", 6, "6h", "30m", 15 * time.Minute, Ticket},
		} {
			list = append(list, o.alert(b))
		}
	}
	return list
}

func (o objective) alert(b burn) Alert {
	limit := fmt.Sprintf("%.4g", o.allowance*b.factor)
	return Alert{
		Name: o.name + b.speed + "Burn",
		Expr: fmt.Sprintf("(%s) > %s and (%s) > %s",
			fmt.Sprintf(o.bad, b.long), limit, fmt.Sprintf(o.bad, b.short), limit),
		For: b.hold, Severity: b.severity,
		Summary: fmt.Sprintf("At this rate %s over 30 days (%s, %s).", o.what, b.long, b.short),
		Check:   o.check,
	}
}
