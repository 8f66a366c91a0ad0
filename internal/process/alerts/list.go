// Package alerts defines the alerts on adnet's metrics: one list, from which the files of Prometheus
// and of its operator, their tests, and the table of the handbook are rendered. The thresholds fit
// the defaults of adnet's settings. Scrape jobs are named adnet-ingress and adnet-consumers.
package alerts

import "time"

//go:generate go run ./gen

// Severity is the urgency of an alert: a page wakes somebody, a ticket waits for the morning.
type Severity string

// The severities.
const (
	Page   Severity = "page"
	Ticket Severity = "ticket"
)

// Alert is one rule.
type Alert struct {
	Name     string // also the anchor of its section in the handbook, in lower case
	Expr     string
	For      time.Duration
	Severity Severity
	Summary  string
	Check    string // first check, as Markdown of docs/operate
}

// All lists the alerts in the order of the handbook.
func All() []Alert {
	return append(append(append(processes(), recording()...), append(money(), security()...)...), objectives()...)
}

func processes() []Alert {
	return []Alert{
		{
			"AdnetProcessGone", `up{job=~"adnet-.+"} == 0`, time.Minute, Page,
			"A process does not answer on its admin listener.",
			"its log, then the machine; a lost ingress node: [outages](outages.md#an-ingress-machine-died)",
		},
		{
			"AdnetIngressAbsent", `absent(up{job="adnet-ingress"} == 1)`, time.Minute, Page,
			"No ingress process answers.", "the scrape job `adnet-ingress`, then the processes",
		},
		{
			"AdnetConsumersAbsent", `absent(up{job="adnet-consumers"} == 1)`, time.Minute, Page,
			"No consumers process answers.", "the scrape job `adnet-consumers`, then the processes",
		},
		{
			"AdnetNodeServesNothing", `adnet_budget_live == 0`, time.Minute, Page,
			"A node cannot reserve budgets, so it sends no ads.",
			"[Redis](outages.md#redis-was-lost-restarted-or-is-old), clocks",
		},
		{
			"AdnetCatalogStale", `adnet_catalog_proof_age_seconds > 5`, time.Minute, Page,
			"A node cannot prove that its campaigns are current.", "Redis, consumers",
		},
		{
			"AdnetClockWrong", `increase(adnet_budget_clock_skewed_total[5m]) > 0`, 0, Ticket,
			"The clock of a node differs from that of Redis.", "NTP",
		},
		{
			"AdnetConnectionsRefused", `rate(adnet_http_connections_refused_total[5m]) > 1`, 5 * time.Minute, Ticket,
			"A node refuses connections.", "`reason`: [scale](scale.md#add), or one address that opens many",
		},
		{
			"AdnetProxyUnnamed", `increase(adnet_http_unnamed_proxy_total[15m]) > 100`, 0, Ticket,
			"A proxy that ADNET_TRUSTED_PROXIES does not name hides its clients' addresses.",
			"`ADNET_TRUSTED_PROXIES`: [listener](links.md#public-listener)",
		},
	}
}

func recording() []Alert {
	return []Alert{
		{
			"AdnetBeaconsRefused", `increase(adnet_track_unrecorded_total[5m]) > 0`, 0, Page,
			"Neither Kafka nor the spool accepted events.", "Kafka, the spool's disk",
		},
		{
			"AdnetKafkaRefuses", `sum by (instance, topic) (rate(adnet_kafka_produced_total{result!="acked"}[5m])) > 0`,
			5 * time.Minute, Page,
			"Kafka does not accept records.", "brokers, `ADNET_KAFKA_MIN_INSYNC`, disks",
		},
		{
			"AdnetSpoolGrows", `adnet_spool_bytes > 1e8`, 10 * time.Minute, Page,
			"Events wait on the disk of a node.", "Kafka, free space of `ADNET_SPOOL_DIR`",
		},
		{
			"AdnetSettlementBehind", `max(adnet_log_behind_seconds{group="settle"}) > 60`, 5 * time.Minute, Page,
			"Settlement is more than a minute behind the log.", "PostgreSQL, Kafka",
		},
		{
			"AdnetSettlementRetries", `rate(adnet_settle_retries_total[5m]) > 0`, 5 * time.Minute, Page,
			"Transactions of settlement fail and are repeated.", "PostgreSQL: locks, disk, a standby that lags",
		},
		{
			"AdnetArchiveBehind", `max by (group) (adnet_log_behind_seconds{group!="settle"}) > 300`,
			5 * time.Minute, Ticket,
			"Stats are more than five minutes old.", "ClickHouse",
		},
		{
			"AdnetLagUnknown", `rate(adnet_log_behind_failures_total[5m]) > 0`, 5 * time.Minute, Ticket,
			"The lag cannot be measured.", "Kafka, PostgreSQL",
		},
		{
			"AdnetRecordsLost",
			`increase(adnet_settle_lost_offsets_total[1h]) > 0 or increase(adnet_kafka_gaps_total[1h]) > 0`,
			0, Page,
			"Kafka lost records that no consumer had applied.", "[data loss](outages.md#kafka-lost-records)",
		},
	}
}

func money() []Alert {
	return []Alert{
		{
			"AdnetMoneyRuleBroken", `max(adnet_verify_broken) > 0`, 0, Page,
			"A promise about money is broken.", "[verify](verify.md#verify)",
		},
		{
			"AdnetVerifyLate", `time() - max(adnet_verify_ended_timestamp_seconds) > 172800`, time.Hour, Ticket,
			"No run of verify ended for two days.", "System health in the console, the consumers' log",
		},
		{
			"AdnetStandingsStandStill", `increase(adnet_standing_failures_total[15m]) > 10`, 0, Ticket,
			"The standings of accounts are not evaluated.",
			"the log; also `adnet_standing_votes`, `adnet_standing_bound`, `adnet_standing_changes_total`",
		},
		{
			"AdnetCreditsWait", `increase(adnet_credit_failures_total[30m]) > 3`, 0, Ticket,
			"Credits are not released.", "PostgreSQL, the log",
		},
		{
			"AdnetNightlyJobsFail",
			`increase(adnet_rollup_failures_total[6h]) > 3 or increase(adnet_retention_failures_total[6h]) > 3 or ` +
				`increase(adnet_train_failures_total[6h]) > 3`,
			0, Ticket,
			"A nightly job fails.", "System health in the console, the log",
		},
		{
			"AdnetRollupLate", `time() - max(adnet_rollup_newest_day_timestamp_seconds) > 259200`, time.Hour, Ticket,
			"Days are not rolled up.", "ClickHouse, the log",
		},
		{
			"AdnetPublisherQuarantined", `increase(adnet_quarantine_opened_total[1h]) > 0`, 0, Ticket,
			"A publisher was put into quarantine.", "[quarantine](abuse.md#quarantine)",
		},
		{
			"AdnetRefusalsJump", `max(adnet_unsuitable_jumped_publishers) > 0`, 15 * time.Minute, Ticket,
			"Requests refused as unsuitable jumped at a publisher.",
			"\"Refused requests\": misuse, wrong flags, or [readers in need](../suitability.md)",
		},
		{
			"AdnetWebhooksWait", `max(adnet_webhook_messages{state="waiting"}) > 10000`, 5 * time.Minute, Ticket,
			"Messages to webhooks wait.",
			"the log, the way out to the internet; also `adnet_webhook_attempts_total` by `state`",
		},
		{
			"AdnetMailsFail", `increase(adnet_mails_total{result!="sent"}[1h]) > 5`, 0, Ticket,
			"Mails are not sent.", "`ADNET_SMTP_HOST`, the mail server's log",
		},
	}
}

func security() []Alert {
	return []Alert{
		{
			"AdnetCampaignsForged", `increase(adnet_catalog_refused_total[10m]) > 0`, 0, Page,
			"Campaigns or rooms in Redis have a foreign seal.",
			"`ADNET_TOKEN_KEYS` of consumers and ingress, writers to Redis; `adnet reconcile --fix`",
		},
		{
			"AdnetMessagesForged", `increase(adnet_exchange_refused_total[10m]) > 0`, 0, Page,
			"Messages between nodes have a foreign seal.", "`ADNET_TOKEN_KEYS` of the nodes, writers to Redis",
		},
		{
			"AdnetEventsForged", `increase(adnet_settle_refused_total[10m]) > 0`, 0, Page,
			"Events contradict their auction tokens.", "token keys, writers to Kafka; `adnet dlq list`",
		},
		{
			"AdnetCertificateExpires", `adnet_http_certificate_expires_timestamp_seconds - time() < 604800`,
			0, Ticket,
			"The certificate of the public listener expires within a week.", "[listener](links.md#public-listener)",
		},
		{
			"AdnetCertificateUnreadable", `increase(adnet_http_certificate_failures_total[1h]) > 0`, 0, Ticket,
			"A changed certificate could not be used; the old one stays.", "[listener](links.md#public-listener)",
		},
	}
}
