package cmd

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"adnet/cmd/cli"
	"adnet/internal/process/alerts"
)

// alertsCommand is `adnet alerts`.
type alertsCommand struct {
	BaseURL  string `name:"base-url" env:"ADNET_BASE_URL" default:"http://127.0.0.1:8080" help:"Base URL of the service."`
	Docs     string `name:"docs" placeholder:"URL" help:"Base of the guide that runbook_url points to (default: /docs/guide of the base URL)."`
	Operator bool   `name:"operator" help:"Print a PrometheusRule for Prometheus's operator."`
}

// Run prints the rules.
func (c *alertsCommand) Run(p cli.Process) error {
	docs := strings.TrimRight(cmp.Or(c.Docs, strings.TrimRight(c.BaseURL, "/")+"/docs/guide"), "/")
	if !strings.HasPrefix(docs, "https://") && !strings.HasPrefix(docs, "http://") {
		return fmt.Errorf("--docs is %q: it must be an http or https URL", docs)
	}
	rules := alerts.Prometheus(docs)
	if c.Operator {
		rules = alerts.PrometheusRule(docs)
	}
	_, err := io.WriteString(p.Stdout, rules)
	return err
}
