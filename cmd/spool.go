package cmd

import (
	"context"
	"fmt"
	"os"

	"adnet/cmd/cli"
	"adnet/ingress/track/spool"
	"adnet/internal/kafka"
	"adnet/internal/process/obs"
)

// spoolCommand is `adnet spool`.
type spoolCommand struct {
	Send spoolSend `cmd:"" help:"Hand the events in the spool of a node that is gone to Kafka, and print how many. It can be repeated."`
}

// spoolSend is `adnet spool send`.
type spoolSend struct {
	Dir   string       `arg:"" help:"Folder of the spool: ADNET_SPOOL_DIR of its node."`
	Kafka kafka.Config `embed:""`
}

// Run sends the events and prints how many Kafka has acknowledged.
func (c *spoolSend) Run(p cli.Process) error {
	// A spool creates its folder, so a wrong name would look like an empty one.
	if _, err := os.Stat(c.Dir); err != nil {
		return fmt.Errorf("folder of the spool: %w", err)
	}
	deps := kafka.Deps{Log: p.Log, Metrics: obs.NewRegistry()}
	if err := kafka.Check(p.Ctx, c.Kafka, deps); err != nil {
		return err
	}
	producer, err := kafka.NewProducer(c.Kafka, deps)
	if err != nil {
		return err
	}
	left, err := spool.New(
		spool.Config{Dir: c.Dir}, spool.Deps{Log: p.Log, Metrics: deps.Metrics, Producer: producer},
	)
	if err != nil {
		return err
	}
	if err := left.Open(); err != nil {
		return err
	}
	working, stop := context.WithCancel(context.WithoutCancel(p.Ctx))
	ended := make(chan error, 1)
	go func() { ended <- producer.Run(working) }()
	sent, err := left.Send(p.Ctx)
	stop()
	if failure := <-ended; err == nil {
		err = failure
	}
	if _, printed := fmt.Fprintf(p.Stdout, "sent %d events of %s\n", sent, c.Dir); err == nil {
		err = printed
	}
	return err
}
