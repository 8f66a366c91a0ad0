package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	osuser "os/user"
	"strings"

	"adnet/internal/trail"
)

// asCommand names whoever runs a command to the audit log.
func asCommand(ctx context.Context, command string) context.Context {
	return trail.With(ctx, trail.Actor{Via: trail.CLI, Role: "operator", Name: operator(), Action: "adnet " + command})
}

// operator is the user of the operating system.
func operator() string {
	who, err := osuser.Current()
	if err != nil || who.Username == "" {
		return "unknown"
	}
	return strings.ToValidUTF8(who.Username, "")
}

// printJSON writes v as one line.
func printJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(text))
	return err
}
