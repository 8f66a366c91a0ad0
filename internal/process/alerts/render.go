package alerts

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Prometheus returns the rules as a file for rule_files of Prometheus. docs is the base address of
// the guide that runbook_url points to, without a slash at its end.
func Prometheus(docs string) string { return groups(docs, "") }

// PrometheusRule returns the same rules as a resource of Prometheus's operator
// (monitoring.coreos.com/v1).
func PrometheusRule(docs string) string {
	return "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: adnet\nspec:\n" +
		groups(docs, "  ")
}

// groups renders every line behind indent.
func groups(docs, indent string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, indent+format+"\n", args...) }
	line("groups:")
	line("  - name: adnet")
	line("    rules:")
	for _, a := range All() {
		line("      - alert: %s", a.Name)
		line("        expr: %s", strconv.Quote(a.Expr))
		if a.For > 0 {
			line("        for: %s", seconds(a.For))
		}
		line("        labels:")
		line("          severity: %s", a.Severity)
		line("        annotations:")
		line("          summary: %s", strconv.Quote(a.Summary))
		line("          runbook_url: %s", strconv.Quote(a.Runbook(docs)))
	}
	return b.String()
}

// Runbook returns the address of the alert's section.
func (a Alert) Runbook(docs string) string {
	return docs + "/operate/alerts#" + strings.ToLower(a.Name)
}

// seconds returns a duration as Prometheus writes it.
func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }

// Handbook returns docs/operate/alerts.md.
func Handbook() string {
	var b strings.Builder
	b.WriteString(`# Alerts

Load ` + "`deploy/monitoring/adnet.rules.yml`" + ` into Prometheus, or ` + "`prometheusrule.yml`" + ` into its
operator. ` + "`adnet alerts`" + ` prints the same with the addresses of your own guide (` + "`--operator`" + `:
for the operator). Name the scrape jobs ` + "`adnet-ingress`" + ` and ` + "`adnet-consumers`" + `. The
thresholds fit the defaults. A page wakes somebody, a ticket waits for the morning. Also alert on
exit status 1 of ` + "`adnet verify`" + `.

| Alert | Severity | Meaning |
|---|---|---|
`)
	for _, a := range All() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", a.Name, strings.ToLower(a.Name), a.Severity, a.Summary)
	}
	for _, a := range All() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\nSeverity: %s%s.\n\n```\n%s\n```\n\nFirst check:\n%s.\n",
			a.Name, a.Summary, a.Severity, after(a.For), a.Expr, a.Check)
	}
	return b.String()
}

func after(d time.Duration) string {
	if d == 0 {
		return ", at once"
	}
	if d == time.Minute {
		return ", after a minute"
	}
	return ", after " + strconv.Itoa(int(d.Minutes())) + " minutes"
}
