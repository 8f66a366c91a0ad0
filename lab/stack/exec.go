package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// execCmd runs a command against the stack.
type execCmd struct {
	Down    bool     `help:"Afterwards stop the servers that this call started."`
	Command []string `arg:"" passthrough:"" help:"Command and arguments, after --."`
}

// exec starts the servers that the environment does not name, runs the command with the variables
// set and returns its exit code as an exitError. With Down it stops the servers that it started,
// even if the command failed or was interrupted.
func (s *stack) exec(ctx context.Context, c execCmd) (err error) {
	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return errors.New("exec needs a command: exec -- COMMAND")
	}
	names, have := everything(), external()
	names = slices.DeleteFunc(names, func(name string) bool { return have[name] })
	started, upErr := s.up(ctx, names)
	if c.Down {
		defer func() {
			if downErr := s.stopNamed(started); downErr != nil {
				// The command's exit code must not hide a server that is still running.
				err = fmt.Errorf("%w (previous error: %v)", downErr, err)
			}
		}()
	}
	if upErr != nil {
		return upErr
	}
	vars, err := s.variables(names)
	if err != nil {
		return err
	}
	return runCommand(ctx, command, vars)
}

// runCommand runs the command on this terminal. An interrupt from the keyboard reaches it directly;
// a cancelled ctx is passed on as SIGTERM. runCommand always waits for the command to end.
func runCommand(ctx context.Context, command []string, vars []variable) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	for _, v := range vars {
		cmd.Env = append(cmd.Env, v.name+"="+v.value)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitError(128 + int(status.Signal()))
	}
	return exitError(exit.ExitCode())
}
