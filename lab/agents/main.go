// Command agents measures how often package agents takes people for robots, and robots for people,
// on public corpora that packages of npm and PyPI contain: `make agents`. It downloads the packages,
// whose versions are pinned, into a cache folder, and fails above the highest shares allowed. The
// fixtures of isbot are left out: no package contains them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"adnet/ingress/track/agents"
)

// The highest shares allowed.
const (
	maxFalse  = 0.0002 // people's agents that count as robots
	maxMissed = 0.4    // robots' agents that count as people
)

// settings are the flags of the command.
type settings struct {
	Cache string `help:"Folder of the downloaded packages; by default in the user's cache folder."`
	Show  bool   `help:"Print the misjudged agents."`
}

func main() {
	var cfg settings
	kong.Parse(&cfg, kong.Description("Measure the detection of robots on public corpora of user agents."))
	if err := run(context.Background(), cfg); err != nil {
		fmt.Fprintln(os.Stderr, "agents:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg settings) error {
	if cfg.Cache == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("set --cache: %w", err)
		}
		cfg.Cache = filepath.Join(cache, "adnet-agents")
	}
	list, err := agents.New()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tagents of\tnumber\twrong\tshare\tat most")
	var failed error
	for _, p := range packages {
		files, err := p.read(ctx, cfg.Cache)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		all, err := p.agents(files)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for _, of := range []sender{common, person, robot} {
			if len(all[of]) > 0 {
				failed = errors.Join(failed, judge(w, list, result{p.String(), of, all[of]}, cfg.Show))
			}
		}
	}
	return errors.Join(w.Flush(), failed)
}

// result is the agents of one kind of sender in a package.
type result struct {
	source string
	of     sender
	agents []string
}

// judge prints the share of misjudged agents, and returns an error if it is too high.
func judge(w *tabwriter.Writer, list *agents.List, r result, show bool) error {
	most := map[sender]float64{common: 0, person: maxFalse, robot: maxMissed}[r.of]
	wrong := 0
	for _, agent := range r.agents {
		if hit := list.Kind(agent) != agents.Unlisted; hit == (r.of == robot) {
			continue
		}
		wrong++
		if show {
			fmt.Printf("%s, %s: %s\n", r.source, r.of, agent)
		}
	}
	share := float64(wrong) / float64(len(r.agents))
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%.3f %%\t%.2f %%\n", r.source, r.of, len(r.agents), wrong, 100*share, 100*most)
	if share > most {
		return fmt.Errorf("%s: %d of %d agents of %s are misjudged", r.source, wrong, len(r.agents), r.of)
	}
	return nil
}
