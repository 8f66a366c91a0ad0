package cmd

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"adnet/analytics/clickhouse"
	"adnet/ingress/api/oversee"
	"adnet/internal/store/postgres"
)

// The tag of a setting whose value is never shown: secret:"", or secret:"url" if only the password
// in the value is secret.
const (
	tagSecret = "secret"
	secretURL = "url"
)

// isSecret reports whether the whole value of a flag is a secret.
func isSecret(flag *kong.Flag) bool { return holdsSecret(flag) && flag.Tag.Get(tagSecret) != secretURL }

// holdsSecret reports whether the value of a flag is or contains a secret.
func holdsSecret(flag *kong.Flag) bool { return flag.Tag.Has(tagSecret) }

func isFile(flag *kong.Flag) bool { return flag.Tag.Type == "path" }

const masked = "********"

// printConfig lists every setting of the selected command with its value, as environment
// assignments that can be pasted. Passwords and keys are masked, also inside URLs.
func printConfig(w io.Writer, selected *kong.Context) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range inForce(selected) {
		fmt.Fprintf(table, "%s=%s\t# --%s  %s\n", s.Name, s.Value, s.Flag, s.Help)
	}
	return table.Flush()
}

// inForce returns every setting of the selected command with its value and origin, in the order of
// its flags. It masks secrets, both for --print-config and for administrators.
func inForce(selected *kong.Context) (all []oversee.Setting) {
	for _, flag := range selected.Flags() {
		if len(flag.Envs) == 0 {
			continue
		}
		all = append(all, oversee.Setting{
			Name: flag.Envs[0], Flag: flag.Name, Help: flag.Help, Secret: holdsSecret(flag),
			Origin:  origin(selected, flag),
			Value:   printed(flag.Name, isSecret(flag), selected.FlagValue(flag)),
			Default: printed(flag.Name, isSecret(flag), flag.Default),
		})
	}
	return all
}

// origin returns the source of a setting's value. A flag takes precedence over its variable, and
// the variable over a file.
func origin(selected *kong.Context, flag *kong.Flag) string {
	for _, path := range selected.Path {
		if path.Flag == flag && !path.Resolved { // a resolved value came from a file
			return oversee.FromFlag
		}
	}
	for _, env := range flag.Envs {
		if _, set := os.LookupEnv(env); set {
			return oversee.FromEnvironment
		}
		if os.Getenv(env+secretFile) != "" && holdsSecret(flag) {
			return oversee.FromFile
		}
	}
	return oversee.FromDefault
}

func printed(name string, hide bool, value any) string {
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
	return maskURL(name, text)
}

// inURL and inPairs find secrets in the forms of a DSN: in a URL, and as "password=…" in a query or
// a list of pairs.
var (
	inURL   = regexp.MustCompile(`://(\S*)@`)
	inPairs = regexp.MustCompile(
		`(?i)((?:^|[?&\s;,])[a-z_-]*(?:password|passwd|secret|token)[a-z_-]*\s*=\s*)('(?:[^'\\]|\\.)*'|[^&\s;]*)`,
	)
)

// maskURL masks the secrets of a DSN, in each form that the drivers accept. If the password that
// the driver reads is still in the text, the whole value is hidden.
func maskURL(name, text string) string {
	out := inURL.ReplaceAllStringFunc(text, func(user string) string {
		user = strings.TrimSuffix(strings.TrimPrefix(user, "://"), "@")
		if known, _, has := strings.Cut(user, ":"); has {
			user = known + ":" + masked
		}
		return "://" + user + "@"
	})
	out = inPairs.ReplaceAllString(out, "${1}"+masked)
	for _, hidden := range driverSecrets(name, text) {
		if hidden != "" &&
			(strings.Contains(out, hidden) || strings.Contains(
				out, url.QueryEscape(hidden),
			) || strings.Contains(out, url.PathEscape(hidden))) {
			return masked
		}
	}
	return out
}

// driverSecrets returns the passwords that the driver of a setting reads from it.
func driverSecrets(name, text string) []string {
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(name, "postgres"):
		return postgres.Secrets(text)
	case strings.HasPrefix(name, "clickhouse"):
		return clickhouse.Secrets(text)
	}
	return nil
}
