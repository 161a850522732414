package core

import (
	"testing"

	"parley/internal/shell/shelltest"
)

// BenchmarkRushEngine is what one ordered message of 64 bytes costs both engines, its
// acknowledgement included, where a thousand are on their way.
func BenchmarkRushEngine(b *testing.B) {
	r := newRush(b)
	data := make([]byte, 64)
	turn := func() {
		for range 1000 {
			if !r.client.Offer(r.now, Ordered, "m", data) {
				break
			}
		}
		r.exchange()
	}
	for range 100 {
		turn()
	}
	b.ReportAllocs()
	r.got = 0
	start := shelltest.ProcessCPU()
	for b.Loop() {
		turn()
	}
	b.ReportMetric(float64(shelltest.ProcessCPU()-start)/float64(r.got), "cpu-ns/message")
	b.ReportMetric(0, "ns/op")
}
