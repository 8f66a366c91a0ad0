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
	Own      string `default:"lab/suitability/texts" help:"Folder of our own texts to learn from."`
	Ordinary string `default:"lab/suitability/ordinary" help:"Folder of our own ordinary sentences."`
	Crisis   string `default:"lab/suitability/crisis.jsonl" help:"Our own contexts of crisis, which are never learnt from."`
	Write    bool   `help:"Write the table and its words into auction/suitability."`
	Quick    bool   `help:"Judge translations by tables that may have learnt from their originals: for trying."`
	Show     string `help:"Print the texts of a row that were judged wrongly: the beginning of its name."`
}

func main() {
	var cfg settings
	kong.Parse(&cfg, kong.Description("Which conversations no ad belongs beside."))
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
