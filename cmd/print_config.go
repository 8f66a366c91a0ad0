package cmd

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"text/tabwriter"

	"github.com/alecthomas/kong"
)

// secret names the flags whose values are never shown. Those of files only say where a key lies.
var secret = regexp.MustCompile(`password|^key$|-keys?$|secret|-token$`)

func isSecret(flag *kong.Flag) bool { return secret.MatchString(flag.Name) && !isFile(flag) }

func isFile(flag *kong.Flag) bool { return flag.Tag.Type == "path" }

const masked = "********"

// printConfig lists every setting of the selected command with its value, as environment
// assignments that can be pasted. Passwords and keys are masked, also inside URLs.
func printConfig(w io.Writer, selected *kong.Context) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, flag := range selected.Flags() {
		if len(flag.Envs) == 0 {
			continue
		}
		fmt.Fprintf(table, "%s=%s\t# --%s  %s\n", flag.Envs[0], shown(isSecret(flag), selected.FlagValue(flag)), flag.Name, flag.Help)
	}
	return table.Flush()
}

func shown(hide bool, value any) string {
	text := fmt.Sprint(value)
	if list, ok := value.([]string); ok {
		text = ""
		for i, item := range list {
			if i > 0 {
				text += ","
			}
			text += item
		}
	}
	if text != "" && hide {
		return masked
	}
	if u, err := url.Parse(text); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), masked)
			return u.String()
		}
	}
	return text
}
