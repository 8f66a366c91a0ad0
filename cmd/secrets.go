package cmd

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// secretFile is the suffix of the variable that names the file with a secret: the values of
// the environment are shown by `docker inspect`, and in /proc to whoever runs as the same user.
const secretFile = "_FILE"

// holdsSecret says whether the value of a flag is a secret or has one in it.
func holdsSecret(flag *kong.Flag) bool {
	return isSecret(flag) ||
		slices.Contains([]string{"postgres-url", "postgres-owner-url", "clickhouse-url"}, flag.Name)
}

// fromFiles reads the secrets whose variable with [secretFile] behind its name is set. Errors: a
// file that cannot be read, and a secret that is given twice.
func fromFiles(line *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if len(flag.Envs) == 0 || !holdsSecret(flag) {
		return nil, nil
	}
	setting := flag.Envs[0]
	path := os.Getenv(setting + secretFile)
	if path == "" {
		return nil, nil
	}
	if os.Getenv(setting) != "" {
		return nil, fmt.Errorf("%s and %s%s are both set: leave one", setting, setting, secretFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", setting, secretFile, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// said says whether the caller gave a flag, on the command line or as a variable.
func said(line *kong.Context, name string) bool {
	for _, path := range line.Path {
		if path.Flag != nil && path.Flag.Name == name {
			return true
		}
	}
	for _, flag := range line.Flags() {
		for _, env := range flag.Envs {
			if _, set := os.LookupEnv(env); set && flag.Name == name {
				return true
			}
		}
	}
	return false
}
