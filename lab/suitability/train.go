package main

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"adnet/auction/suitability"
)

// Training is logistic regression on the features of a text. Each feature is scaled by the root of
// their number, and steps shrink for frequent features (AdaGrad).
const (
	epochs  = 12
	step    = 0.5
	decay   = 3e-4 // of weights, for each text with the feature
	heavier = 1.5  // the weight of a text to refuse against an ordinary one
	balance = 8    // the weight of the ordinary texts of a language against those to refuse

	// Numbers of mistyped copies of each text. The table leans towards refusing badly typed text:
	// people in need mistype more, and a refusal costs little.
	copiesRefused, copiesOrdinary = 4, 1
)

// model is a table before it is rounded to bytes.
type model struct {
	weights [suitability.Buckets][suitability.Outputs]float32
	bias    [suitability.Outputs]float32
}

func (m *model) score(features []uint32) (z [suitability.Outputs]float32) {
	if len(features) == 0 {
		return z
	}
	for _, bucket := range features {
		for o := range z {
			z[o] += m.weights[bucket][o]
		}
	}
	n := float32(math.Sqrt(float64(len(features) + suitability.Doubt)))
	for o := range z {
		z[o] = z[o]/n + m.bias[o]
	}
	return z
}

// train learns from the samples in a reproducible order.
func train(from []*sample) *model {
	m, seen := new(model), make([][suitability.Outputs]float32, suitability.Buckets)
	var seenBias [suitability.Outputs]float32
	order, weights := rand.New(rand.NewPCG(1, 2)), weigh(from)
	for range epochs {
		order.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		for _, s := range from {
			m.learn(s, weights[s.Lang], seen, &seenBias)
		}
	}
	return m
}

func (m *model) learn(
	s *sample, ordinary float32, seen [][suitability.Outputs]float32, seenBias *[suitability.Outputs]float32,
) {
	if len(s.features) == 0 {
		return
	}
	n := 1 / float32(math.Sqrt(float64(len(s.features)+suitability.Doubt)))
	should, z := s.outputs(), m.score(s.features)
	for o := range z {
		slope := float32(1/(1+math.Exp(-float64(z[o])))) - should[o]
		if should[o] == 1 {
			slope *= heavier
		} else if s.Kind == "ordinary" {
			slope *= ordinary
		}
		seenBias[o] += slope * slope
		m.bias[o] -= step * slope / (root(seenBias[o]) + 1)
		for _, bucket := range s.features {
			w := &m.weights[bucket][o]
			g := slope*n + decay**w
			seen[bucket][o] += g * g
			*w -= step * g / (root(seen[bucket][o]) + 1e-3)
		}
	}
}

func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// margin is the distance above its threshold that a text must have: the higher, the fewer texts are
// refused.
var margin = [suitability.Outputs]float32{suitability.Need: 0.2, suitability.Harm: -0.7}

// mostWeight is the maximum weight of a text in a language with few texts of its kind.
const mostWeight = 8

// weigh returns the weight of an ordinary text of each language, so that a language with mostly
// texts of need is not itself taken for need.
func weigh(from []*sample) map[string]float32 {
	refusing, ordinary := map[string]float32{}, map[string]float32{}
	for _, s := range from {
		if s.Kind == "ordinary" {
			ordinary[s.Lang]++
		} else {
			refusing[s.Lang]++
		}
	}
	weights := map[string]float32{}
	for lang, n := range ordinary {
		weights[lang] = min(max(1, balance*refusing[lang]/n), mostWeight)
	}
	return weights
}

// largest is the byte for the largest weight.
const largest = 127

// table rounds a model to bytes.
func (m *model) table() suitability.Table {
	var top float64
	for _, w := range m.weights {
		for _, weight := range w {
			top = max(top, math.Abs(float64(weight)))
		}
	}
	scale := largest / top
	bytes := make([]byte, 0, suitability.Buckets*suitability.Outputs)
	for _, w := range m.weights {
		for _, weight := range w {
			bytes = append(bytes, byte(int8(math.RoundToEven(float64(weight)*scale))))
		}
	}
	t := suitability.Table{Weights: string(bytes)}
	for o := range t.Thresholds {
		t.Thresholds[o] = int32(math.Round(float64(margin[o]-m.bias[o]) * scale))
	}
	return t
}

// setSize is the size of the set of ordinary words, in bytes.
const setSize = 64 << 10

// write writes the table trained on all samples.
func write(all []sample, folder string) error {
	var from []*sample
	var ordinary []string
	for i := range all {
		from = append(from, augmented(&all[i])...)
		if all[i].Kind == "ordinary" {
			ordinary = append(ordinary, all[i].Context)
		}
	}
	t := train(from).table()
	if err := os.WriteFile(filepath.Join(folder, "table.bin"), []byte(t.Weights), 0o644); err != nil {
		return err
	}
	return writeWords(filepath.Join(folder, "words.bin"), suitability.Words(t.Thresholds, ordinary, setSize))
}

var errAgain = errors.New("the set of ordinary words has changed: run this again to train the table with it")

// writeWords writes thresholds and ordinary words. The training features depend on the words of the
// running program, so changed words require another run.
func writeWords(path string, words []byte) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, words, 0o644); err != nil {
		return err
	}
	if set := len(words) - setSize; len(old) != len(words) || !bytes.Equal(old[set:], words[set:]) {
		return errAgain
	}
	return nil
}

// augmented returns s with its features, its hurriedly typed copies, and its parts.
func augmented(s *sample) []*sample {
	if s.variants == nil {
		s.features = suitability.Features(s.Context)
		s.variants = append(append([]*sample{s}, s.copies()...), s.parts()...)
	}
	return s.variants
}

// variant returns s with the features of another text.
func (s *sample) variant(text string) *sample {
	other := *s
	other.features = suitability.Features(text)
	return &other
}

// copies returns hurriedly typed copies of s.
func (s *sample) copies() (all []*sample) {
	n, rate := copiesRefused, letterInTen
	if s.Kind == "ordinary" {
		n, rate = copiesOrdinary, letterInTwenty
	}
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(i), uint64(len(s.Context))))
		all = append(all, s.variant(mistyped(s.Context, r, rate)))
	}
	return all
}

// Parts of long texts, in words: about the size of the windows that adnet judges separately.
const (
	partWords = 28
	partStep  = 14
)

// parts returns the parts of a long ordinary text: each is ordinary as well.
func (s *sample) parts() (all []*sample) {
	words := strings.Fields(s.Context)
	if s.Kind != "ordinary" || len(words) < partWords+partStep {
		return nil
	}
	for from := 0; from+partWords-partStep < len(words); from += partStep {
		all = append(all, s.variant(strings.Join(words[from:min(from+partWords, len(words))], " ")))
	}
	return all
}
