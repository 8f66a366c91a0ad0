// Command adnet is a self-hosted advertising network for AI applications. See README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"adnet/cmd"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	hurry := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		fmt.Fprintln(os.Stderr, "adnet: stopping; once more to stop without waiting for balancers")
		stop()
		<-signals
		// From here on the default action is back: a third signal ends the process at once.
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "adnet: not waiting; once more to stop at once")
		close(hurry)
	}()
	finished := cmd.Main(
		ctx, cmd.Invocation{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Hurry: hurry},
	)
	os.Exit(finished)
}
