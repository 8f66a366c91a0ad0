// Package cli is the environment of every command of the binary: output, log, exit status, and the
// operator's name in the audit log.
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

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
)

// Process is the environment of every command.
type Process struct {
	Ctx            context.Context // ends when the command must stop
	Stdout, Stderr io.Writer
	Log            *slog.Logger
	Hurry          <-chan struct{} // closed when a stop must not wait for balancers; may be nil
}

// ErrExit ends the program with status 1 after the command has printed the reason itself.
var ErrExit = errors.New("exit")

// AsCommand sets the operator of a command as the actor in the audit log.
func AsCommand(ctx context.Context, command string) context.Context {
	return auditlog.With(
		ctx, auditlog.Actor{Via: auditlog.CLI, Role: "operator", Name: Operator(), Action: "adnet " + command},
	)
}

// Operator returns the user of the operating system.
func Operator() string {
	who, err := osuser.Current()
	if err != nil || who.Username == "" {
		return "unknown"
	}
	return strings.ToValidUTF8(who.Username, "")
}

// Sentence reduces an error to its message: codes are for the API.
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
