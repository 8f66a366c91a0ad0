// Package cli is what every command of the binary gets from outside and how it reports: its output, its log, its
// exit status, and the name under which the audit log knows its operator.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	osuser "os/user"
	"strings"

	"adnet/internal/auditlog"
	"adnet/internal/errs"
)

// Process is what every command works with.
type Process struct {
	Ctx            context.Context // ends when the command is told to stop
	Stdout, Stderr io.Writer
	Log            *slog.Logger
}

// ErrExit ends the program with status 1 after the command has said why itself.
var ErrExit = errors.New("exit")

// AsCommand names whoever runs a command to the audit log.
func AsCommand(ctx context.Context, command string) context.Context {
	return auditlog.With(ctx, auditlog.Actor{Via: auditlog.CLI, Role: "operator", Name: Operator(), Action: "adnet " + command})
}

// Operator is the user of the operating system.
func Operator() string {
	who, err := osuser.Current()
	if err != nil || who.Username == "" {
		return "unknown"
	}
	return strings.ToValidUTF8(who.Username, "")
}

// Sentence turns an error into its message alone: codes are for the API.
func Sentence(err error) error {
	if err == nil || errs.Of(err).Code == errs.Internal || errs.Of(err).Code == errs.Unavailable {
		return err
	}
	return errors.New(errs.Of(err).Message)
}

// PrintJSON writes v as one line.
func PrintJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(text))
	return err
}
