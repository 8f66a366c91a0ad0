package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"adnet/internal/money"
)

// row is one figure: a ratio with its required value (must) and its target (aim).
type row struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Must   float64 `json:"must"`
	Aim    float64 `json:"aim"`
	AtMost bool    `json:"at_most"`
	Of     int     `json:"of"` // requests, or campaigns
}

func (r *row) ok() bool {
	if r.AtMost {
		return r.Value <= r.Must
	}
	return r.Value >= r.Must
}

// suite measures all rows in the worlds of one maker.
type suite struct {
	make maker
	sets map[string]*set
	err  error // the first
}

func measure(folder string, make maker) (rows []row, err error) {
	u := &suite{make: make, sets: map[string]*set{}}
	for _, name := range append(setNames, demoName) {
		s, err := loadAny(folder, name)
		if err != nil {
			return nil, err
		}
		u.sets[name] = &s
	}
	rows = append(u.firstRight(), u.markRows()...)
	for _, name := range floorSets {
		s := u.sets[name]
		rows = append(rows, u.floorRows(s)...)
		rows = append(rows, u.bidRow(s))
		rows = append(rows, u.attackRows(s)...)
	}
	rows = append(rows, u.demoRows(u.sets[demoName])...)
	rows = append(rows, u.conversationRows(u.sets["metatool"])...)
	rows = append(rows, u.typingRow(u.sets["metatool"]))
	rows = append(rows, trainedRows(u.sets)...)
	rows = append(rows, simulatedRows(u.sets)...)
	return append(rows, goalRows()...), u.err
}

// in runs a function in a world.
func (u *suite) in(s *set, bids []money.Micros, run func(w world), more ...extra) {
	if u.err != nil {
		return
	}
	w, err := u.make(s, bids, more...)
	if err != nil {
		u.err = err
		return
	}
	run(w)
	u.err = w.close()
}

// right returns the share of requests whose first ad is right.
func right(w world, requests []question) float64 {
	hits := 0
	for _, q := range requests {
		if slices.Contains(q.Labels, w.ask(q)) {
			hits++
		}
	}
	return float64(hits) / float64(len(requests))
}

// open returns requests without a floor; lang "" is any.
func open(requests []labelled, lang string) (list []question) {
	for _, r := range requests {
		if lang == "" || r.Lang == lang {
			list = append(list, question{labelled: r, open: true})
		}
	}
	return list
}

func (u *suite) firstRight() (rows []row) {
	for _, want := range []struct {
		set, lang string
		must, aim float64
	}{
		{"metatool", "", 0.51, 0.56}, {"clinc", "", 0.65, 0.70}, {"livemcp", "", 0.37, 0.48},
		{"xsid", "", 0.68, 0.75}, {"xsid", "ja", 0.60, 0.75}, {"xsid", "zh", 0.50, 0.65}, {"sib", "th", 0.43, 0.50},
		{"sib", "ko", 0.40, 0.45},
	} {
		s := u.sets[want.set]
		requests := open(s.inScope(), want.lang)
		r := row{
			Name: strings.TrimSpace("first ad right, floor off: " + want.set + " " + want.lang), Must: want.must,
			Aim: want.aim, Of: len(requests),
		}
		u.in(s, nil, func(w world) { r.Value = right(w, requests) })
		rows = append(rows, r)
	}
	return rows
}

// exposure counts the ads shown in a world.
type exposure struct{ ads, right, scope, outAds, out int }

func ask(w world, requests []labelled) (n exposure) {
	for _, r := range requests {
		label := w.ask(question{labelled: r})
		if len(r.Labels) > 0 {
			n.scope++
		} else {
			n.out++
		}
		switch {
		case label == "":
		case len(r.Labels) == 0:
			n.ads++
			n.outAds++
		case slices.Contains(r.Labels, label):
			n.right++
			n.ads++
		default:
			n.ads++
		}
	}
	return n
}

// expose runs all requests of a set with the default floor.
func (u *suite) expose(s *set, bids []money.Micros) (n exposure) {
	u.in(s, bids, func(w world) { n = ask(w, s.requests) })
	return n
}

func (u *suite) floorRows(s *set) []row {
	n := u.expose(s, nil)
	must, aim := 0.25, 0.36
	if s.name == "clinc" {
		must, aim = 0.50, 0.54
	}
	return []row{
		{
			Name: "default floor: out of scope with an ad: " + s.name, Value: ratio(n.outAds, n.out), Must: 0.20,
			Aim: 0.08, AtMost: true, Of: n.out,
		},
		{
			Name: "default floor: precision of ads shown: " + s.name, Value: ratio(n.right, n.ads), Must: 0.72,
			Aim: 0.80, Of: n.ads,
		},
		{
			Name: "default floor: right of all: " + s.name, Value: ratio(n.right, n.scope), Must: must, Aim: aim,
			Of: n.scope,
		},
	}
}

// demoRows returns the results of the demo on a first start.
func (u *suite) demoRows(s *set) []row {
	n := u.expose(s, nil)
	return []row{
		{
			Name: "demo, default floor: of the requests that an ad answers, right", Value: ratio(n.right, n.scope),
			Must: 0.6, Aim: 0.75, Of: n.scope,
		},
		{
			Name: "demo, default floor: out of scope with an ad", Value: ratio(n.outAds, n.out), Must: 0.2, Aim: 0.08,
			AtMost: true, Of: n.out,
		},
	}
}

func ratio(a, b int) float64 { return float64(a) / float64(max(b, 1)) }

// bidRow measures precision with bids spread log-normally, in three draws.
func (u *suite) bidRow(s *set) row {
	rng := rand.New(rand.NewPCG(1, 1))
	var all exposure
	for range 3 {
		bids := make([]money.Micros, len(s.campaigns))
		for i := range bids {
			bids[i] = money.Micros(math.Exp(rng.NormFloat64()-0.5) * float64(bid))
		}
		n := u.expose(s, bids)
		all.ads += n.ads
		all.right += n.right
	}
	must, aim := 0.62, 0.80
	if s.name == "clinc" {
		must, aim = 0.68, 0.90
	}
	return row{
		Name: "bids of sigma 1: precision of ads shown: " + s.name, Value: ratio(all.right, all.ads), Must: must,
		Aim: aim, Of: all.ads,
	}
}

// commonWords occur in requests of every topic.
var commonWords = strings.Fields(
	"find get need want help provide information looking recommend know give tell make show best",
)

// attackRows measure two attacks: a campaign on common words, and one without any targeting.
func (u *suite) attackRows(s *set) []row {
	var byWords, everywhere, out int
	u.in(s, nil, func(w world) {
		for _, r := range s.requests {
			if w.ask(question{labelled: r}) == "common words" {
				byWords++
			}
		}
	},
		extra{
			label: "common words", headline: "Great offers for you", tokens: commonWords, langs: []string{"en"},
			bid: bid * 3 / 2,
		})
	u.in(s, nil, func(w world) {
		for _, r := range s.requests {
			if len(r.Labels) == 0 {
				out++
				if w.ask(question{labelled: r}) == "no targeting" {
					everywhere++
				}
			}
		}
	}, extra{label: "no targeting", headline: "Great offers for you", bid: bid * 19 / 10})
	return []row{
		{
			Name:  "15 common words at 1.5 times the bid, of all requests: " + s.name,
			Value: ratio(byWords, len(s.requests)), Must: 0.02, AtMost: true, Of: len(s.requests),
		},
		{
			Name: "no targeting at 1.9 times, where nothing belongs: " + s.name, Value: ratio(everywhere, out),
			AtMost: true, Of: out,
		},
	}
}

// conversationRows put other requests before each one.
func (u *suite) conversationRows(s *set) []row {
	scope := s.inScope()
	byLabel := map[string][]labelled{}
	for _, r := range scope {
		byLabel[r.Labels[0]] = append(byLabel[r.Labels[0]], r)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	var strings8, turns8, strings3 []question
	for _, r := range scope {
		var other, same []string
		for range 8 {
			other = append(other, scope[rng.IntN(len(scope))].Context)
		}
		for range 2 {
			list := byLabel[r.Labels[0]]
			same = append(same, list[rng.IntN(len(list))].Context)
		}
		strings8 = append(strings8, question{labelled: joined(r, other), open: true})
		strings3 = append(strings3, question{labelled: joined(r, same), open: true})
		turns8 = append(turns8, question{labelled: r, turns: other, open: true})
	}
	rows := []row{
		{Name: "8 unrelated turns before, in one string", Must: 0.45, Aim: 0.52, Of: len(scope)},
		{Name: "8 unrelated turns before, as messages", Must: 0.45, Aim: 0.52, Of: len(scope)},
		{Name: "3 turns on the same need, in one string", Must: 0.58, Aim: 0.75, Of: len(scope)},
	}
	u.in(s, nil, func(w world) {
		for i, requests := range [][]question{strings8, turns8, strings3} {
			rows[i].Value = right(w, requests)
		}
	})
	return rows
}

// maxContext is the length of a context; its end is kept.
const maxContext = 2000

func joined(r labelled, before []string) labelled {
	letters := []rune(strings.Join(append(slices.Clone(before), r.Context), " "))
	r.Context = string(letters[max(0, len(letters)-maxContext):])
	return r
}

// typingRow measures the loss when one word in five has two letters swapped.
func (u *suite) typingRow(s *set) row {
	rng := rand.New(rand.NewPCG(3, 3))
	clean := open(s.inScope(), "")
	var typed []question
	for _, q := range clean {
		list := strings.Fields(q.Context)
		for i, word := range list {
			letters := []rune(word)
			if len(letters) > 3 && rng.IntN(5) == 0 {
				at := 1 + rng.IntN(len(letters)-2)
				letters[at], letters[at+1] = letters[at+1], letters[at]
				list[i] = string(letters)
			}
		}
		q.Context = strings.Join(list, " ")
		typed = append(typed, q)
	}
	r := row{Name: "one word in five mistyped, loss", Must: 0.09, Aim: 0.05, AtMost: true, Of: len(clean)}
	u.in(s, nil, func(w world) { r.Value = 1 - right(w, typed)/right(w, clean) })
	return r
}

// show prints the rows as JSON lines, then as a table.
func show(to io.Writer, rows []row) error {
	out := json.NewEncoder(to)
	for i := range rows {
		if err := out.Encode(&rows[i]); err != nil {
			return err
		}
	}
	t := table.NewWriter()
	t.AppendHeader(table.Row{"Row", "Is", "Must", "Aim", "", "Of"})
	for i := range rows {
		r := &rows[i]
		state := "reached"
		if !r.ok() {
			state = "missed"
		}
		sign := "≥"
		if r.AtMost {
			sign = "≤"
		}
		t.AppendRow(table.Row{
			r.Name, percent(r.Value), sign + " " + percent(r.Must), sign + " " + percent(r.Aim), state, r.Of,
		})
	}
	_, err := fmt.Fprintln(to, t.Render())
	return err
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
