// Command cases replays the failures that other people reported, ../shared/cases, against the
// binary and the SDKs of this tree. The cases are not part of the project: without them it reports
// that and succeeds, except where ADNET_SHARED=required.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// config holds the flags.
type config struct {
	Folder string `name:"folder" default:"../shared/cases" help:"Folder of the cases."`
	Binary string `name:"binary" required:"" type:"path" help:"The built adnet."`
	SDK    string `name:"sdk" required:"" type:"path" help:"Folder of the built npm package."`
	Python string `name:"python" required:"" type:"path" help:"A Python with the dependencies of the Python SDK."`
	Source string `name:"source" default:"sdk/python/src" type:"path" help:"Source of the Python SDK."`
}

func main() {
	var cfg config
	kong.Parse(&cfg, kong.Description("Replay reported failures."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := cfg.replay(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cases:", err)
		os.Exit(1)
	}
}

// replay runs all cases and compares them with the decisions of [decided].
func (c config) replay(ctx context.Context, out io.Writer) error {
	folder, err := filepath.Abs(c.Folder)
	if err != nil {
		return err
	}
	if _, err := os.Stat(folder); err != nil {
		if os.Getenv("ADNET_SHARED") == "required" {
			return err
		}
		fmt.Fprintln(out, "cases: not replayed,", c.Folder, "is absent")
		return nil
	}
	commands, err := c.commands(folder)
	if err != nil {
		return err
	}
	var results []result
	for _, cmd := range commands {
		fmt.Fprintf(out, "cases: %s\n", strings.Join(cmd.args, " "))
		found, err := cmd.run(ctx, out)
		if err != nil {
			return err
		}
		results = append(results, found...)
	}
	return judge(results, out)
}

// command is one program of the cases.
type command struct {
	dir  string
	env  []string
	args []string
}

// commands returns the programs of both folders. A script of Node or of the Python SDK runs inside
// serve.py, which starts adnet for it.
func (c config) commands(folder string) (all []command, err error) {
	exchange, money := filepath.Join(folder, "exchange"), filepath.Join(folder, "money")
	python := func(args ...string) command {
		return command{exchange, []string{"ADNET_BIN=" + c.Binary}, append([]string{c.Python}, args...)}
	}
	all = append(all, python("run.py"), python("agents.py"))
	scripts, err := filepath.Glob(filepath.Join(exchange, "[0-9]*.[mp][jy]*"))
	for _, script := range scripts {
		name := filepath.Base(script)
		text, err := os.ReadFile(script)
		if err != nil {
			return nil, err
		}
		cmd := python(name)
		switch {
		case filepath.Ext(name) == ".mjs":
			cmd = python("serve.py", "node", name)
			cmd.env = append(cmd.env, "SDK="+c.SDK)
		case bytes.Contains(text, []byte("from adnet import")):
			cmd = python("serve.py", c.Python, name)
			cmd.env = append(cmd.env, "PYTHONPATH="+c.Source)
		}
		all = append(all, cmd)
	}
	path := filepath.Dir(c.Python) + string(os.PathListSeparator) + os.Getenv("PATH")
	return append(all, command{money, []string{"ADNET=" + c.Binary, "PATH=" + path}, []string{"bash", "run.sh"}}), err
}

// result is the outcome of one case.
type result struct {
	program string
	line    string // as printed
	ok      bool
}

// run runs the program and reads its results. A program without any is an error; its exit status is
// not, because it counts failed cases.
func (c command) run(ctx context.Context, out io.Writer) (results []result, err error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), append(c.env, "PYTHONDONTWRITEBYTECODE=1")...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&text, out), out
	ran := cmd.Run()
	var exit *exec.ExitError
	if ran != nil && !errors.As(ran, &exit) {
		return nil, ran
	}
	for lines := bufio.NewScanner(&text); lines.Scan(); {
		line := lines.Text()
		word, _, _ := strings.Cut(line, " ")
		switch strings.TrimSuffix(word, ":") {
		case "ok", "PASS":
			results = append(results, result{c.name(), line, true})
		case "FAULT", "FAIL":
			results = append(results, result{c.name(), line, false})
		}
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("%s printed no result: %w", c.name(), errors.Join(ran, errNoResult))
	}
	return results, nil
}

var errNoResult = errors.New("no line with ok, FAULT, PASS or FAIL")

// name returns the file that defines the cases.
func (c command) name() string { return filepath.Base(c.args[len(c.args)-1]) }
