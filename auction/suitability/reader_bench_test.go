package suitability

import (
	"strings"
	"testing"

	"adnet/internal/adtext"
)

func benchTexts() map[string]string {
	base := "Our build is slow and one flaky test keeps blocking the release. How do I cache the monorepo pipeline, and how do I roll back a bad deployment on our Kubernetes cluster? "
	return map[string]string{
		"60":        "why does my workflow rebuild everything when only the readme",
		"200":       (base + base)[:200],
		"2000":      strings.Repeat(base, 20)[:2000],
		"hostile2k": strings.Repeat("i want to d1e k*ll mys3lf wnat to kil myslef ", 60)[:2000],
	}
}

func BenchmarkReader(b *testing.B) {
	for name, text := range benchTexts() {
		b.Run(name, func(b *testing.B) {
			var r Reader
			b.ReportAllocs()
			for b.Loop() {
				r.Reset()
				r.Read(text, User)
			}
		})
	}
}

func BenchmarkAdtext(b *testing.B) {
	for name, text := range benchTexts() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				adtext.Instructing(text)
			}
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
