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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		// From here on the default action is back: a second signal ends the process at once.
		stop()
		fmt.Fprintln(os.Stderr, "adnet: stopping; once more to stop at once")
	}()
	finished := cmd.Main(ctx, cmd.Invocation{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr})
	os.Exit(finished)
}
