package cmd

import (
	"fmt"

	"adnet/cmd/cli"
	"adnet/cmd/load"
)

// loadRun is `adnet load`.
type loadRun struct {
	Config load.Config `embed:""`
}

// Run replays the contexts and prints the table. It fails if answered beacons are missing from
// stats after the wait.
func (c *loadRun) Run(p cli.Process) error {
	run, err := load.New(c.Config, load.Deps{Log: p.Log, Out: p.Stdout, Progress: p.Stderr})
	if err != nil {
		return err
	}
	report, err := run.Run(p.Ctx)
	if err != nil || report.Interrupted || report.Settled || c.Config.SettleWait == 0 {
		return err
	}
	fmt.Fprintf(
		p.Stderr, "adnet: stats lack %d answered beacons after %s; is the consumers role running?\n", report.Missing,
		c.Config.SettleWait,
	)
	return cli.ErrExit
}
