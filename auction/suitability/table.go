package suitability

import (
	_ "embed"
	"encoding/binary"
)

// The learnt table is made by `make suitability`. It contains numbers, and no text of the training
// data.
//
//go:embed table.bin
var weights string

// learntWords holds the thresholds of the outputs and the set of ordinary words.
//
//go:embed words.bin
var learntWords string

// Table holds learnt weights of the features of texts.
type Table struct {
	// Weights holds the weights of the buckets, one after the other: [Buckets] × [Outputs] signed
	// bytes.
	Weights string
	// Thresholds are the limits, one per kind: a text is of a kind if the sum of its weights,
	// divided by the root of their number, is above the limit.
	Thresholds [Outputs]int32
	words      knownWords
}

// learnt returns the built-in table.
func learnt() Table {
	t := Table{Weights: weights}
	for i := range t.Thresholds {
		t.Thresholds[i] = int32(binary.LittleEndian.Uint32([]byte(learntWords[4*i:])))
	}
	t.words = knownWords(learntWords[4*Outputs:])
	return t
}

// scorer sums the weights of a text. The zero value is ready.
type scorer struct {
	features features
	sums     [][Outputs]int32 // up to the end of each token
}

// Doubt is the number of features without weight added to every text: few words prove little.
const Doubt = 40

// Windows: each part of a long text is judged as well, so that a sentence of distress does not
// drown in it.
const (
	windowLetters = 160
	windowStep    = 80
	windowRaise   = 5 // quarters of the threshold: one of many windows easily exceeds it
)

// kinds reports the outputs that match a text, as a whole or in a part of it.
func (s *scorer) kinds(table *Table, t *tokens, marks []mark) (is [Outputs]bool) {
	s.features.read(t, marks)
	s.sums = s.sums[:0]
	var sum [Outputs]int32
	at := int32(0)
	for _, end := range s.features.ends {
		for ; at < end; at++ {
			bucket := s.features.list[at] * Outputs
			sum[Need] += int32(int8(table.Weights[bucket+Need]))
			sum[Harm] += int32(int8(table.Weights[bucket+Harm]))
		}
		s.sums = append(s.sums, sum)
	}
	s.window(table, 0, len(s.sums), 4, &is)
	s.windows(table, t, &is)
	return is
}

// windows judges the parts of a text that is longer than one window.
func (s *scorer) windows(table *Table, t *tokens, is *[Outputs]bool) {
	if len(t.list) == 0 || t.list[len(t.list)-1].to < windowLetters+windowStep/2 {
		return
	}
	from, to := 0, 0
	for next := int32(0); to < len(t.list); next += windowStep {
		for from < len(t.list) && t.list[from].from < next {
			from++
		}
		for to < len(t.list) && t.list[to].to <= next+windowLetters {
			to++
		}
		s.window(table, from, to, windowRaise, is)
	}
}

// window judges the tokens from from to to. It compares the mean of their weights times the root of
// their number without dividing.
func (s *scorer) window(table *Table, from, to int, quarters int64, is *[Outputs]bool) {
	if from >= to {
		return
	}
	n, sum := int64(s.features.ends[to-1]), s.sums[to-1]
	if from > 0 {
		n -= int64(s.features.ends[from-1])
		for i := range sum {
			sum[i] -= s.sums[from-1][i]
		}
	}
	for i, threshold := range table.Thresholds {
		is[i] = is[i] || above(4*int64(sum[i]), quarters*int64(threshold), n+Doubt)
	}
}

// above reports whether sum ÷ √n is above a threshold.
func above(sum, threshold, n int64) bool {
	switch {
	case threshold >= 0:
		return sum > 0 && sum*sum > threshold*threshold*n
	case sum >= 0:
		return true
	}
	return sum*sum < threshold*threshold*n
}
