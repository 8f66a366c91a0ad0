// Command suitability learns beside which conversations no ad belongs, and measures how well they
// are distinguished from ordinary ones: `make suitability`. No row is measured on a text in the
// training data of its table, or on a translation of one. With --write it writes the table of the
// build.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// settings are the flags of the command.
type settings struct {
	Data     string `default:"../shared/data" help:"Folder of the labelled contexts (suitability) and requests (relevance)."`
	Own      string `default:"lab/suitability/texts" help:"Folder of our own training texts."`
	Ordinary string `default:"lab/suitability/ordinary" help:"Folder of our own ordinary sentences."`
	Crisis   string `default:"lab/suitability/crisis.jsonl" help:"File of our own crisis contexts, which are never used for training."`
	Write    bool   `help:"Write the table and its words into auction/suitability."`
	Quick    bool   `help:"Judge translations by tables that may have learnt from their originals: faster, for experiments."`
	Show     string `help:"Print the misjudged texts of the rows whose names begin with this text."`
}

func main() {
	var cfg settings
	kong.Parse(&cfg, kong.Description("Train and measure the detection of conversations beside which no ad belongs."))
	if err := run(cfg); err != nil {
		fmt.Fprintln(os.Stderr, "suitability:", err)
		os.Exit(1)
	}
}

func run(cfg settings) error {
	all, err := load(cfg)
	if err != nil {
		return err
	}
	if cfg.Write {
		return write(all, "auction/suitability")
	}
	rows, err := measure(cfg, all)
	if err != nil {
		return err
	}
	show(os.Stdout, rows)
	var missed []string
	for i := range rows {
		if !rows[i].ok() {
			missed = append(missed, rows[i].name)
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("missed: %s", strings.Join(missed, "; "))
	}
	return nil
}
