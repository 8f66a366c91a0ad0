package suitability

import (
	"testing"

	"adnet/internal/demo"
)

// BenchmarkDemo reads the demo's requests, which the row ad_request_100k sends.
func BenchmarkDemo(b *testing.B) {
	requests, err := demo.Requests()
	if err != nil {
		b.Fatal(err)
	}
	var r Reader
	r.Read(requests[0].Context, User)
	for i := 0; b.Loop(); i++ {
		r.Reset()
		r.Read(requests[i%len(requests)].Context, User)
	}
}
