// Command relevance measures how often adnet finds the right ad, on labelled requests that are not
// part of adnet: `make relevance`. With --fit it writes the calibration fitted on them.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// settings are the flags of the command.
type settings struct {
	Data string `default:"../shared/data/relevance" help:"Folder of the labelled requests."`
	Pure bool   `help:"Run auctions in this process, which is faster, instead of using the API of an installation."`
	Fit  bool   `help:"Fit the calibration on the labelled requests and write it into auction/ranker."`
}

func main() {
	var cfg settings
	kong.Parse(&cfg, kong.Description("Measure how often adnet finds the right ad for labelled requests."))
	if err := run(cfg); err != nil {
		fmt.Fprintln(os.Stderr, "relevance:", err)
		os.Exit(1)
	}
}

func run(cfg settings) error {
	if cfg.Fit {
		return fit(cfg.Data, "auction/ranker/calibration.go")
	}
	make := inProcess
	if !cfg.Pure {
		in, err := install(context.Background())
		if err != nil {
			return err
		}
		defer in.remove()
		make = in.serve
	}
	rows, err := measure(cfg.Data, make)
	if err != nil {
		return err
	}
	if err := show(os.Stdout, rows); err != nil {
		return err
	}
	return missed(rows)
}

// missed returns an error with the rows below their required values, or nil.
func missed(rows []row) error {
	var names []string
	for i := range rows {
		if !rows[i].ok() {
			names = append(names, rows[i].Name)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("missed: %s", strings.Join(names, "; "))
	}
	return nil
}
