// Package product builds adnet for the lab suites: as shipped, with an adjustable clock, or without
// one of its protections to verify that the suite fails.
package product

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build describes a build of adnet for a run.
type Build struct {
	Binary  string        // file to write
	Scratch string        // folder for changed texts
	Shifted bool          // with a clock shifted by ADNET_FAULT_CLOCK seconds
	Without []Replacement // protections to remove
}

// Replacement replaces text of a source file for the build. The file is relative to the module and
// contains the old text exactly once.
type Replacement struct{ File, Old, New string }

// Make builds adnet. For a shifted clock it compiles a changed copy of the standard library's
// time.Now. adnet's own code is unchanged.
func (b Build) Make(ctx context.Context) error {
	replaced := make(map[string]string)
	if b.Shifted {
		root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
		if err != nil {
			return err
		}
		file := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
		if replaced[file], err = clockSource(file); err != nil {
			return err
		}
	}
	if len(b.Without) > 0 {
		root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "adnet").Output()
		if err != nil {
			return err
		}
		for _, r := range b.Without {
			file := filepath.Join(strings.TrimSpace(string(root)), r.File)
			if replaced[file], err = r.apply(file); err != nil {
				return err
			}
		}
	}
	args := []string{"build", "-o", b.Binary}
	if len(replaced) > 0 {
		overlay, err := b.writeOverlay(replaced)
		if err != nil {
			return err
		}
		args = append(args, "-overlay="+overlay)
	}
	if out, err := exec.CommandContext(ctx, "go", append(args, "adnet")...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}

// Key returns a random key in the form of adnet's key settings.
func Key() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	return "k1:" + base64.StdEncoding.EncodeToString(key[:])
}

// Fits checks that the replacement applies to the module in a folder.
func (r Replacement) Fits(module string) error {
	_, err := r.apply(filepath.Join(module, r.File))
	return err
}

// apply returns the text of the file with the replacement, which must match exactly once.
func (r Replacement) apply(file string) (string, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if strings.Count(string(source), r.Old) != 1 {
		return "", fmt.Errorf("%s does not have the text that this suite replaces: %q", file, r.Old)
	}
	return strings.Replace(string(source), r.Old, r.New, 1), nil
}

// writeOverlay writes the changed texts by file, for `go build -overlay`.
func (b Build) writeOverlay(texts map[string]string) (overlay string, err error) {
	files := make(map[string]string, len(texts))
	for original, text := range texts {
		changed := filepath.Join(b.Scratch, strings.ReplaceAll(strings.TrimPrefix(original, "/"), "/", "_")+".txt")
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			return "", err
		}
		files[original] = changed
	}
	listing, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(b.Scratch, "overlay.json")
	return overlay, os.WriteFile(overlay, listing, 0o644)
}

// clockSource returns the standard library's time.go with a shifted clock.
func clockSource(file string) (string, error) {
	const reading, importing = "sec, nsec, mono := runtimeNow()\n", "\t\"math/bits\"\n"
	text, err := Replacement{Old: reading, New: reading + "\tsec += faultClock\n"}.apply(file)
	if err != nil {
		return "", err
	}
	if strings.Count(text, importing) != 1 {
		return "", fmt.Errorf("%s does not have the text that this suite replaces", file)
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
