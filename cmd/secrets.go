package cmd

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// secretFile is the suffix of the variable that names the file with a secret. Environment values
// are visible in `docker inspect`, and in /proc to processes of the same user.
const secretFile = "_FILE"

// fromFiles reads the secrets whose variable with the suffix [secretFile] is set. It fails if a
// file cannot be read or a secret is set twice.
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
		return nil, fmt.Errorf("%s and %s%s are both set: unset one of them", setting, setting, secretFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", setting, secretFile, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// isSet reports whether the caller set a flag, on the command line or as a variable.
func isSet(line *kong.Context, name string) bool {
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
