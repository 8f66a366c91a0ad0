package cmd

import (
	"errors"
	"fmt"
	"strings"

	"adnet/cmd/cli"
	"adnet/internal/process/obs"
)

// healthProbe is `adnet health`: the probe of containers that hold only the binary.
type healthProbe struct {
	Admin obs.AdminConfig `embed:""`
	For   string          `name:"for" default:"" enum:",ads" help:"What the process is needed for: ads. Without it, traffic of any kind."`
}

// Run asks the process and prints its answer. A process that is not ready is an error.
func (c *healthProbe) Run(p cli.Process) error {
	report, err := c.Admin.Probe(p.Ctx, c.For)
	if err != nil {
		return err
	}
	failing := []string{}
	for _, check := range report.Checks {
		if !check.OK {
			failing = append(failing, check.Name)
		}
	}
	switch {
	case report.Ready && len(failing) == 0:
		_, err = fmt.Fprintln(p.Stdout, "ready")
	case report.Ready:
		_, err = fmt.Fprintln(p.Stdout, "ready; degraded: "+strings.Join(failing, ", "))
	case report.Draining:
		err = errors.New("not ready: the process stops")
	default:
		err = errors.New("not ready: " + strings.Join(failing, ", "))
	}
	return err
}
