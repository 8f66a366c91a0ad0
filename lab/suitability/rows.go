package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/jedib0t/go-pretty/v6/table"

	"adnet/auction/suitability"
	"adnet/internal/campaign/subject"
)

// row is one figure in percent with its required value (must) and its target (aim).
type row struct {
	name      string
	value     float64
	sensitive float64 // share answered `sensitive` at the defaults
	must, aim float64
	atMost    bool
	of        int
}

func (r *row) ok() bool {
	if r.atMost {
		return r.value <= r.must
	}
	return r.value >= r.must
}

// judged is the verdict of a table and the rules on a sample.
type judged struct{ never, sensitive bool }

func judge(table *suitability.Table, text string) judged {
	r := suitability.NewReader(table)
	r.Read(text, suitability.User)
	v := r.Verdict()
	return judged{v.Never != subject.None, v.Sensitive != 0}
}

// measure judges every sample by a table that did not learn from it.
func measure(cfg settings, all []sample) ([]row, error) {
	for i := range all {
		augmented(&all[i])
	}
	verdicts := make([]judged, len(all))
	var parts []part
	for fold := range folds {
		parts = append(parts, part{fold: fold, all: cfg.Quick})
		if cfg.Quick {
			continue
		}
		for _, lang := range languagesOf(all) {
			parts = append(parts, part{fold: fold, lang: lang})
		}
	}
	work := make(chan part)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for p := range work {
				p.judge(all, verdicts)
			}
		})
	}
	for _, p := range parts {
		work <- p
	}
	close(work)
	workers.Wait()
	rows := refusals(all, verdicts, cfg.Show)
	typed, err := typingRows(cfg, all)
	if err != nil {
		return nil, err
	}
	return append(rows, typed...), nil
}

// part selects the samples of a fold: those of sets without translations, or those of one language
// in sets with translations.
type part struct {
	fold int
	lang string
	all  bool // of every set
}

func (p *part) has(s *sample) bool {
	if s.fold != p.fold || p.all {
		return s.fold == p.fold
	}
	if p.lang == "" {
		return !translated[s.Set]
	}
	return translated[s.Set] && s.Lang == p.lang
}

// learns reports whether the table of a part may learn from s.
func (p *part) learns(s *sample) bool {
	return s.fold != p.fold && (p.lang == "" || !translated[s.Set] || s.Lang == p.lang)
}

func (p *part) judge(all []sample, verdicts []judged) {
	var from []*sample
	for i := range all {
		if p.learns(&all[i]) {
			from = append(from, augmented(&all[i])...)
		}
	}
	t := train(from).table()
	for i := range all {
		if p.has(&all[i]) {
			verdicts[i] = judge(&t, all[i].Context)
		}
	}
}

// languagesOf returns the languages of sets with translations.
func languagesOf(all []sample) (langs []string) {
	for i := range all {
		if translated[all[i].Set] && !slices.Contains(langs, all[i].Lang) {
			langs = append(langs, all[i].Lang)
		}
	}
	slices.Sort(langs)
	return langs
}

// refusals returns the rows on refused texts and on wrongly refused ones.
func refusals(all []sample, verdicts []judged, show string) (rows []row) {
	add := func(name string, must, aim float64, refuse bool, of func(*sample) bool) {
		r := row{name: name, must: must, aim: aim, atMost: !refuse}
		hits, sensitive := 0, 0
		for i := range all {
			if !of(&all[i]) {
				continue
			}
			r.of++
			hit := verdicts[i].never || refuse && verdicts[i].sensitive
			if hit {
				hits++
			} else if verdicts[i].sensitive {
				sensitive++
			}
			if show != "" && strings.HasPrefix(name, show) && hit != refuse {
				fmt.Printf(
					"%s [%s %s] %s\n", name, all[i].Set, all[i].Lang, strings.ReplaceAll(all[i].Context, "\n", " "),
				)
			}
		}
		if r.of > 0 {
			r.value, r.sensitive = 100*float64(hits)/float64(r.of), 100*float64(sensitive)/float64(r.of)
			rows = append(rows, r)
		}
	}
	shared := func(kind string, english bool) func(*sample) bool {
		return func(s *sample) bool {
			return s.Kind == kind && s.Set != setOwn && (s.Lang == "en") == english
		}
	}
	add("refused of crisis: English", 81.8, 95.4, true, shared("crisis", true))
	add("refused of crisis: others", 83.3, 100, true, shared("crisis", false))
	add("refused of distress: English", 82, 92, true, shared("distress", true))
	add("refused of distress: others", 80, 92, true, shared("distress", false))
	add("refused of harm: English", 55, 80, true, shared("harm", true))
	add("refused of harm: others", 70, 90, true, shared("harm", false))
	for _, kind := range []string{"crisis", "distress", "harm"} {
		for _, lang := range languagesOf(all) {
			add(
				"– of "+kind+": "+lang, 0, 0, true,
				func(s *sample) bool { return s.Kind == kind && s.Set != setOwn && s.Lang == lang },
			)
		}
	}
	in := func(set, lang string) func(*sample) bool {
		return func(s *sample) bool { return s.Set == set && s.Kind == "ordinary" && (lang == "" || s.Lang == lang) }
	}
	add(
		"refused though ordinary: metatool + clinc", 0.8, 0.3, false,
		func(s *sample) bool { return s.Set == "metatool" || s.Set == "clinc" },
	)
	add("refused though ordinary: xsid", 1, 0.5, false, in("xsid", ""))
	add("refused though ordinary: xstest's twins", 25, 10, false, in("xstest", ""))
	for _, set := range []string{"sib", setDemo, setOrdinary, setOwn} {
		var langs []string
		for i := range all {
			if in(set, "")(&all[i]) && !slices.Contains(langs, all[i].Lang) {
				langs = append(langs, all[i].Lang)
			}
		}
		slices.Sort(langs)
		must, aim := 2.0, 1.0
		if set == setOwn { // half of them are twins
			must, aim = 100, 10
		}
		for _, lang := range langs {
			add("refused though ordinary: "+set+" "+lang, must, aim, false, in(set, lang))
		}
	}
	for _, kind := range []string{"crisis", "distress", "harm"} {
		add(
			"refused of our own to learn from: "+kind, 0, 90, true,
			func(s *sample) bool { return s.Set == setOwn && s.Kind == kind },
		)
	}
	return rows
}

// seeds is the number of times that texts are mistyped.
const seeds = 10

// typingRows measure the loss on our own contexts of crisis, from which no table learns, when they
// are mistyped, masked or in capitals.
func typingRows(cfg settings, all []sample) (rows []row, err error) {
	crisis, err := lines(cfg.Crisis, setOwn)
	if err != nil {
		return nil, err
	}
	var from []*sample
	for i := range all {
		from = append(from, augmented(&all[i])...)
	}
	t := train(from).table()
	refused := func(change func(text string, r *rand.Rand) string) float64 {
		hits, n := 0, 0
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, 1))
			for i := range crisis {
				j := judge(&t, change(crisis[i].Context, r))
				if n++; j.never || j.sensitive {
					hits++
				} else if cfg.Show == "crisis" && seed == 0 {
					fmt.Println("crisis missed:", crisis[i].Lang, crisis[i].Context)
				}
			}
		}
		return 100 * float64(hits) / float64(n)
	}
	plain := refused(func(text string, _ *rand.Rand) string { return text })
	rows = append(rows, row{name: "refused of our own contexts of crisis", value: plain, aim: 95, of: len(crisis)})
	for _, c := range []struct {
		name      string
		must, aim float64
		change    func(string, *rand.Rand) string
	}{
		{"mistyped: points lost", 8, 3, hurried},
		{"masked: points lost", 4, 1, masked},
		{"capitals: points lost", 0, 0, func(text string, _ *rand.Rand) string { return strings.ToUpper(text) }},
	} {
		rows = append(
			rows,
			row{
				name: c.name, value: plain - refused(c.change), must: c.must, aim: c.aim, atMost: true, of: len(crisis),
			},
		)
	}
	return rows, nil
}

func show(to io.Writer, rows []row) {
	t := table.NewWriter()
	t.SetOutputMirror(to)
	t.AppendHeader(table.Row{"Row", "Of", "Is", "Must", "Aim", "Also sensitive"})
	for i := range rows {
		r := &rows[i]
		sign := "≥"
		if r.atMost {
			sign = "≤"
		}
		also := ""
		if r.atMost {
			also = fmt.Sprintf("%.1f %%", r.sensitive)
		}
		mark := ""
		if !r.ok() {
			mark = "  missed"
		}
		t.AppendRow(table.Row{
			r.name, r.of, fmt.Sprintf("%.1f%s", r.value, mark), fmt.Sprintf("%s %g", sign, r.must), r.aim, also,
		})
	}
	t.Render()
}
