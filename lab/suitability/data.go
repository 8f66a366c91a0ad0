package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"adnet/auction/suitability"
	"adnet/internal/demo"
)

// folds is the number of parts that the texts are divided into: each is judged by a table trained
// on the others.
const folds = 5

// sample is a labelled text.
type sample struct {
	Context string `json:"context"`
	Kind    string `json:"kind"` // crisis, distress, harm, child, sensitive, ordinary
	Lang    string `json:"lang"`
	Set     string `json:"set"`

	fold     int
	features []uint32
	variants []*sample // the samples that the table learns from: see augmented
}

// The sets whose texts exist in several languages. A text is judged by a table that learnt from no
// other language of its set, because the translations of a text are not marked.
var translated = map[string]bool{"multijail": true, "xsafety": true}

// Our own sets.
const (
	setOwn      = "own"      // texts to learn from
	setOrdinary = "sentence" // ordinary sentences
	setDemo     = "demo"
)

// outputs returns the expected outputs for s.
func (s *sample) outputs() (is [suitability.Outputs]float32) {
	switch s.Kind {
	case "crisis", "distress":
		is[suitability.Need] = 1
	case "harm":
		is[suitability.Harm] = 1
	}
	return is
}

func load(cfg settings) (all []sample, err error) {
	shared, err := lines(filepath.Join(cfg.Data, "suitability", "contexts.dev.jsonl"), "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: the labelled contexts are not part of adnet", cfg.Data)
	}
	if err != nil {
		return nil, err
	}
	all = shared
	for _, set := range []string{"metatool", "clinc", "livemcp", "xsid", "sib"} {
		requests, err := lines(filepath.Join(cfg.Data, "relevance", set+".dev.jsonl"), set)
		if err != nil {
			return nil, err
		}
		all = append(all, requests...)
	}
	requests, err := demo.Requests()
	if err != nil {
		return nil, err
	}
	for i := range requests {
		all = append(all, sample{Context: requests[i].Context, Lang: requests[i].Lang, Set: setDemo})
	}
	for _, from := range [...]struct{ folder, set string }{{cfg.Own, setOwn}, {cfg.Ordinary, setOrdinary}} {
		own, err := filesOf(from.folder, from.set)
		if err != nil {
			return nil, err
		}
		all = append(all, own...)
	}
	labelled := all[:0]
	for _, s := range all {
		if s.Kind == "child" {
			continue // only rules detect a child: the words beside an age can be anything
		}
		if s.Kind == "" || s.Kind == "sensitive" {
			s.Kind = "ordinary"
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(s.Context))
		s.fold = int(h.Sum32()>>4) % folds
		labelled = append(labelled, s)
	}
	return labelled, nil
}

// filesOf reads the files of a folder in the order of their names.
func filesOf(folder, set string) (all []sample, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		own, err := lines(name, set)
		if err != nil {
			return nil, err
		}
		all = append(all, own...)
	}
	return all, nil
}

// lines reads a file; set is the default set of its texts.
func lines(path, set string) (all []sample, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if strings.TrimSpace(in.Text()) == "" {
			continue
		}
		var s sample
		if err := json.Unmarshal(in.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if set != "" {
			s.Set = set
		}
		all = append(all, s)
	}
	return all, in.Err()
}
