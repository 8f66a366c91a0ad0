// Command gen writes docs/settings.md from the flags of the program. Run it with go generate ./cmd.
package main

import (
	"bytes"
	"fmt"
	"os"

	"adnet/cmd"
)

func main() {
	var text bytes.Buffer
	err := cmd.WriteSettings(&text)
	if err == nil {
		err = os.WriteFile("../docs/settings.md", text.Bytes(), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cmd/gen:", err)
		os.Exit(1)
	}
}
