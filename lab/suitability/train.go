package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"adnet/auction/suitability"
)

// The training: logistic regression on the features of a text, each of which counts by the root of
// their number, with steps that shrink for features that were often seen (AdaGrad).
const (
	epochs  = 12
	step    = 0.5
	decay   = 3e-4 // of weights, for each text that has the feature
	heavier = 1.5  // how much more a text to refuse counts than an ordinary one
	balance = 8    // how much the ordinary texts of a language count against those to refuse

	// Copies of each text as somebody in a hurry types it. Despair types badly, and a refusal costs
	// little, so that text which can hardly be read counts towards refusing.
	copiesRefused, copiesOrdinary = 4, 1
)

// model is a table before it is cut to bytes.
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

// train learns from the samples, in an order that is always the same.
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

func (m *model) learn(s *sample, ordinary float32, seen [][suitability.Outputs]float32, seenBias *[suitability.Outputs]float32) {
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

// margin is how far above its threshold a text must be: the higher, the less is refused.
var margin = [suitability.Outputs]float32{suitability.Need: 0.2, suitability.Harm: -0.7}

// mostWeight is how much more a text counts at most in a language that has few of its kind.
const mostWeight = 8

// weights are what an ordinary text of each language counts, so that a language of which mostly needs
// are known is not taken for one.
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

// largest is the weight that becomes the largest byte; larger ones are cut.
const largest = 127

// table cuts a model to bytes.
func (m *model) table() suitability.Table {
	var top float64
	for _, w := range m.weights {
		for _, one := range w {
			top = max(top, math.Abs(float64(one)))
		}
	}
	scale := largest / top
	bytes := make([]byte, 0, suitability.Buckets*suitability.Outputs)
	for _, w := range m.weights {
		for _, one := range w {
			bytes = append(bytes, byte(int8(math.RoundToEven(float64(one)*scale))))
		}
	}
	t := suitability.Table{Weights: string(bytes)}
	for o := range t.Thresholds {
		t.Thresholds[o] = int32(math.Round(float64(margin[o]-m.bias[o]) * scale))
	}
	return t
}

// setSize is that of the set of ordinary words, in bytes.
const setSize = 64 << 10

// write writes the table that all samples teach.
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
	return os.WriteFile(filepath.Join(folder, "words.bin"), suitability.Words(t.Thresholds, ordinary, setSize), 0o644)
}

// augmented is s with its features, and s as somebody in a hurry types it.
func augmented(s *sample) []*sample {
	if s.features == nil {
		s.features = suitability.Features(s.Context)
	}
	copies, rate := copiesRefused, letterInTen
	if s.Kind == "ordinary" {
		copies, rate = copiesOrdinary, letterInTwenty
	}
	for len(s.hasty) < copies {
		hasty := *s
		hasty.hasty = nil
		hasty.features = suitability.Features(mistyped(s.Context, rand.New(rand.NewPCG(uint64(len(s.hasty)), uint64(len(s.Context)))), rate))
		s.hasty = append(s.hasty, &hasty)
	}
	return append(append([]*sample{s}, s.hasty...), s.parts()...)
}

// Parts of long texts, in words: about those that are judged by themselves.
const (
	partWords = 28
	partStep  = 14
)

// parts are the parts of an ordinary text that is long: each is ordinary, too.
func (s *sample) parts() (all []*sample) {
	words := strings.Fields(s.Context)
	if s.Kind != "ordinary" || len(words) < partWords+partStep {
		return nil
	}
	if s.cut == nil {
		for from := 0; from+partWords-partStep < len(words); from += partStep {
			part := *s
			part.features = suitability.Features(strings.Join(words[from:min(from+partWords, len(words))], " "))
			s.cut = append(s.cut, &part)
		}
	}
	return s.cut
}
