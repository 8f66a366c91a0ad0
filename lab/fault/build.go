package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build is how adnet is built for a run.
type build struct {
	shifted bool   // with a clock that can be set back
	without string // a protection of breaks, or none
}

// replacement is text of a file to be compiled differently.
type replacement struct{ file, old, new string }

// breaks lists the protections that a run can do without, to prove that the suite notices.
var breaks = map[string]replacement{
	"spool": {"ingress/track/recorder.go",
		"	kept := make(chan error, 1)\n	r.spool.Append(event.TopicEvents, e.AuctionId, value, func(err error) { kept <- err })\n",
		"	kept := make(chan error, 1)\n	kept <- nil\n"},
	"double": {"internal/ledger/decide.go", "	return first\n}", "	return first || true\n}"},
}

// buildProduct builds adnet. With another clock, the standard library's time.Now is compiled from a
// changed copy that adds ADNET_FAULT_CLOCK seconds: adnet's own code is what ships.
func buildProduct(ctx context.Context, k *stack, how build) error {
	replaced := make(map[string]string)
	if how.shifted {
		root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
		if err != nil {
			return err
		}
		file := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
		if replaced[file], err = clockSource(file); err != nil {
			return err
		}
	}
	if how.without != "" {
		root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "adnet").Output()
		if err != nil {
			return err
		}
		b := breaks[how.without]
		file := filepath.Join(strings.TrimSpace(string(root)), b.file)
		if replaced[file], err = b.apply(file); err != nil {
			return err
		}
	}
	args := []string{"build", "-o", k.bin}
	if len(replaced) > 0 {
		overlay, err := writeOverlay(k.dir, replaced)
		if err != nil {
			return err
		}
		args = append(args, "-overlay="+overlay)
	}
	return command(ctx, nil, "go", append(args, "adnet")...)
}

// apply is the text of the file with the replacement, which must fit in one place.
func (r replacement) apply(file string) (string, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if strings.Count(string(source), r.old) != 1 {
		return "", fmt.Errorf("%s is not what this suite knows how to change: %q", file, r.old)
	}
	return strings.Replace(string(source), r.old, r.new, 1), nil
}

// writeOverlay writes the changed texts by file, for `go build -overlay`.
func writeOverlay(dir string, texts map[string]string) (overlay string, err error) {
	files := make(map[string]string, len(texts))
	for original, text := range texts {
		changed := filepath.Join(dir, filepath.Base(original)+".txt")
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			return "", err
		}
		files[original] = changed
	}
	listing, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, listing, 0o644)
}

// clockSource is the standard library's time.go with another clock.
func clockSource(file string) (string, error) {
	const reading, importing = "sec, nsec, mono := runtimeNow()\n", "\t\"math/bits\"\n"
	text, err := replacement{old: reading, new: reading + "\tsec += faultClock\n"}.apply(file)
	if err != nil {
		return "", err
	}
	if strings.Count(text, importing) != 1 {
		return "", fmt.Errorf("%s is not what this suite knows how to change", file)
	}
	return strings.Replace(text, importing, importing+"\t\"syscall\"\n", 1) + `
var faultClock = readFaultClock()

func readFaultClock() (sec int64) {
	text, _ := syscall.Getenv("ADNET_FAULT_CLOCK")
	for i := 0; i < len(text); i++ {
		if c := text[i]; c != '-' {
			sec = sec*10 + int64(c-'0')
		}
	}
	return -sec
}
`, nil
}
