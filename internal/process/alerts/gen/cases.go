package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"adnet/internal/process/alerts"
)

// series are input series with their values, in promtool's notation, a value each minute.
type series map[string]string

// example is when an alert fires and a similar state in which it does not.
type example struct {
	at     string // time since the beginning at which both are judged
	fires  series
	labels map[string]string // of the alert that fires, besides severity
	quiet  series
}

// one is the label of the process that most examples are of.
var one = map[string]string{"instance": "a"}

// rising is a counter that grows by one each minute, and level one that stands still.
const (
	rising = "0+1x2000"
	level  = "7x2000"
)

// counts is the example of an alert that fires when a counter of a process grows.
func counts(metric string, labels map[string]string) example {
	name := series{metric + inBraces(labels): rising}
	still := series{metric + inBraces(labels): level}
	return example{"2h", name, labels, still}
}

// exceeds is the example of an alert on a gauge.
func exceeds(metric string, labels, of map[string]string, above, below string) example {
	name := metric + inBraces(labels)
	return example{"2h", series{name: above + "x2000"}, of, series{name: below + "x2000"}}
}

func inBraces(labels map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, name+"="+strconv.Quote(labels[name]))
	}
	return "{" + strings.Join(list, ",") + "}"
}

// with returns one with another label.
func with(name, value string) map[string]string {
	return map[string]string{"instance": "a", name: value}
}

const (
	ingress   = `up{job="adnet-ingress",instance="a"}`
	consumers = `up{job="adnet-consumers",instance="a"}`
	beacons   = `adnet_http_requests_total{route="/api/track",status="%s"}`
	ads       = `adnet_http_request_seconds_%s`
)

func examples() map[string]example {
	list := map[string]example{
		"AdnetProcessGone": {
			"5m", series{ingress: "1 1 0x2000"}, with("job", "adnet-ingress"),
			series{ingress: "1 0 1x2000", `up{job="other",instance="a"}`: "0x2000"}, // it came back
		},
		"AdnetIngressAbsent": {
			"5m", series{consumers: "1x2000", ingress: "1 1 stale"}, nil,
			series{ingress: "1x2000"},
		},
		"AdnetConsumersAbsent": {
			"5m", series{ingress: "1x2000", consumers: "0x2000"}, nil,
			series{consumers: "1x2000"},
		},
		"AdnetNodeServesNothing":    exceeds("adnet_budget_live", one, one, "0", "1"),
		"AdnetCatalogStale":         exceeds("adnet_catalog_proof_age_seconds", one, one, "6", "5"),
		"AdnetSpoolGrows":           exceeds("adnet_spool_bytes", one, one, "100000001", "100000000"),
		"AdnetSettlementBehind":     exceeds("adnet_log_behind_seconds", with("group", "settle"), nil, "61", "60"),
		"AdnetMoneyRuleBroken":      exceeds("adnet_verify_broken", one, nil, "1", "0"),
		"AdnetRefusalsJump":         exceeds("adnet_unsuitable_jumped_publishers", one, nil, "1", "0"),
		"AdnetWebhooksWait":         exceeds("adnet_webhook_messages", with("state", "waiting"), nil, "10001", "10000"),
		"AdnetClockWrong":           counts("adnet_budget_clock_skewed_total", one),
		"AdnetBeaconsRefused":       counts("adnet_track_unrecorded_total", one),
		"AdnetSettlementRetries":    counts("adnet_settle_retries_total", one),
		"AdnetLagUnknown":           counts("adnet_log_behind_failures_total", with("group", "settle")),
		"AdnetRecordsLost":          counts("adnet_settle_lost_offsets_total", one),
		"AdnetStandingsStandStill":  counts("adnet_standing_failures_total", one),
		"AdnetCreditsWait":          counts("adnet_credit_failures_total", one),
		"AdnetNightlyJobsFail":      counts("adnet_train_failures_total", one),
		"AdnetPublisherQuarantined": counts("adnet_quarantine_opened_total", with("rule", "ctr")),
		"AdnetMailsFail":            counts("adnet_mails_total", with("result", "failed")),
		"AdnetCampaignsForged":      counts("adnet_catalog_refused_total", one),
		"AdnetMessagesForged":       counts("adnet_exchange_refused_total", with("exchange", "limits")),
		"AdnetEventsForged":         counts("adnet_settle_refused_total", with("reason", "mac")),
		"AdnetCertificateUnreadable": counts(
			"adnet_http_certificate_failures_total", one),
	}
	maps.Copy(list, further())
	return list
}

// further are the examples with series of their own. Promtool's time begins at 0, so times of days ago
// are negative.
func further() map[string]example {
	return map[string]example{
		"AdnetConnectionsRefused": {
			"30m", series{"adnet_http_connections_refused_total" + inBraces(with("reason", "total")): "0+64x2000"},
			with("reason", "total"),
			series{"adnet_http_connections_refused_total" + inBraces(with("reason", "total")): "0+56x2000"},
		},
		"AdnetProxyUnnamed": {
			"30m", series{"adnet_http_unnamed_proxy_total" + inBraces(one): "0+8x2000"}, one,
			series{"adnet_http_unnamed_proxy_total" + inBraces(one): "0+6x2000"},
		},
		"AdnetKafkaRefuses": {
			"30m", series{`adnet_kafka_produced_total{instance="a",topic="events",result="failed"}`: rising},
			with("topic", "events"),
			series{`adnet_kafka_produced_total{instance="a",topic="events",result="acked"}`: rising},
		},
		"AdnetArchiveBehind": {
			"30m", series{`adnet_log_behind_seconds{instance="a",group="auctions"}`: "301x2000"},
			map[string]string{"group": "auctions"},
			series{
				`adnet_log_behind_seconds{instance="a",group="auctions"}`: "300x2000",
				`adnet_log_behind_seconds{instance="a",group="settle"}`:   "301x2000",
			},
		},
		"AdnetVerifyLate": {
			"2h", series{"adnet_verify_ended_timestamp_seconds" + inBraces(one): "-172800x2000"}, nil,
			series{"adnet_verify_ended_timestamp_seconds" + inBraces(one): "-165600x2000"},
		},
		"AdnetRollupLate": {
			"2h", series{"adnet_rollup_newest_day_timestamp_seconds" + inBraces(one): "-259200x2000"}, nil,
			series{"adnet_rollup_newest_day_timestamp_seconds" + inBraces(one): "-252000x2000"},
		},
		"AdnetCertificateExpires": {
			"2h", series{"adnet_http_certificate_expires_timestamp_seconds" + inBraces(one): "604800x2000"}, one,
			series{"adnet_http_certificate_expires_timestamp_seconds" + inBraces(one): "691200x2000"},
		},
		// 0.8 % of the beacons for an hour: more than 14.4 times the allowance. 0.4 %: more than 6 times.
		"AdnetBeaconsFastBurn": share(beacons, "503", "200", "0+8x2000", "0+992x2000", "0+7x2000", "0+993x2000"),
		"AdnetBeaconsSlowBurn": share(beacons, "503", "200", "0+4x2000", "0+996x2000", "0+2x2000", "0+998x2000"),
		"AdnetAdsFastBurn":     slow("0+850x2000", "0+860x2000"),
		"AdnetAdsSlowBurn":     slow("0+935x2000", "0+945x2000"),
	}
}

// share is the example of an objective about statuses.
func share(metric, bad, good, badFires, goodFires, badQuiet, goodQuiet string) example {
	return example{
		"7h", series{fmt.Sprintf(metric, bad): badFires, fmt.Sprintf(metric, good): goodFires}, nil,
		series{fmt.Sprintf(metric, bad): badQuiet, fmt.Sprintf(metric, good): goodQuiet},
	}
}

// slow is the example of the objective about time, with the part of 1,000 requests that is in time.
func slow(fires, quiet string) example {
	in, all := fmt.Sprintf(ads, `bucket{route="/v1/ad-request",le="0.05"}`), fmt.Sprintf(ads, `count{route="/v1/ad-request"}`)
	return example{
		"7h", series{in: fires, all: "0+1000x2000"}, nil, series{in: quiet, all: "0+1000x2000"},
	}
}

// tests renders a test for promtool of each alert that fires, and of each that does not. An alert
// without an example is an error.
func tests() (string, error) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("rule_files:\n  - adnet.rules.yml\nevaluation_interval: 1m\ntests:")
	examples := examples()
	for _, a := range alerts.All() {
		e, ok := examples[a.Name]
		if !ok {
			return "", fmt.Errorf("%s has no example in cases.go", a.Name)
		}
		delete(examples, a.Name)
		for _, fires := range []bool{true, false} {
			line("  - name: %s %s", a.Name, map[bool]string{true: "fires", false: "does not fire"}[fires])
			line("    interval: 1m\n    input_series:")
			in := map[bool]series{true: e.fires, false: e.quiet}[fires]
			for _, name := range slices.Sorted(maps.Keys(in)) {
				line("      - series: '%s'\n        values: '%s'", name, in[name])
			}
			line("    alert_rule_test:\n      - eval_time: %s\n        alertname: %s", e.at, a.Name)
			if !fires {
				line("        exp_alerts: []")
				continue
			}
			line("        exp_alerts:\n          - exp_labels:\n              severity: %s", a.Severity)
			for _, name := range slices.Sorted(maps.Keys(e.labels)) {
				line("              %s: %q", name, e.labels[name])
			}
			line("            exp_annotations:\n              summary: %q", a.Summary)
			line("              runbook_url: %q", a.Runbook(guide))
		}
	}
	for name := range examples {
		return "", fmt.Errorf("cases.go has an example of %s, which is no alert", name)
	}
	return b.String(), nil
}
