package suitability

import (
	"strconv"
	"strings"
	"testing"

	"adnet/internal/compliance/adtext"
	"adnet/internal/testenv/cputime"
)

// The texts of the benchmark row: 200 and 2,000 characters in one turn, 8,000 in 32.
const ordinaryText = "Our build is slow and one flaky test keeps blocking the release. How do I cache the monorepo " +
	"pipeline, and how do I roll back a bad deployment on our Kubernetes cluster before Friday? "

// hostileText is meant to be read repeatedly: masked, misspelt and joined words of the rules.
const hostileText = "i want to k1ll mys3lf s*icide wnat to hrut myslef iwanttokillmyself d.i.e how can i how do i " +
	"suicde killmyslef a b c d e f unalvie 死にたい انتحار "

type turns struct {
	name string
	list []string
}

func texts() (all []turns) {
	for _, kind := range []struct{ name, text string }{{"ordinary", ordinaryText}, {"hostile", hostileText}} {
		letters := []rune(strings.Repeat(kind.text, 60))
		for _, size := range []struct{ turns, letters int }{{1, 200}, {1, 2000}, {32, 250}} {
			t := turns{name: kind.name + "/" + strconv.Itoa(size.turns*size.letters)}
			for i := range size.turns {
				t.list = append(t.list, string(letters[i*7:i*7+size.letters]))
			}
			all = append(all, t)
		}
	}
	return all
}

// BenchmarkReader measures our reader in the row suitability.
func BenchmarkReader(b *testing.B) {
	rules()
	for _, t := range texts() {
		b.Run(t.name, func(b *testing.B) {
			var r Reader
			used := cputime.Start(b)
			for b.Loop() {
				r.Reset()
				for _, text := range t.list {
					r.Read(text, User)
				}
			}
			used.Report()
		})
	}
}

// BenchmarkPlain is its baseline: the reader of ad texts, which only folds letters.
func BenchmarkPlain(b *testing.B) {
	for _, t := range texts() {
		b.Run(t.name, func(b *testing.B) {
			used := cputime.Start(b)
			for b.Loop() {
				for _, text := range t.list {
					adtext.Plain(text)
				}
			}
			used.Report()
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		all, err := languages()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := compile(all); err != nil {
			b.Fatal(err)
		}
	}
}
