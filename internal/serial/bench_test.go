package serial

import "testing"

var (
	sinkBool   bool
	sinkUint64 uint64
)

// The width is a variable here, as in an engine that serves dialects of several
// widths; with a constant width the compiler folds the masks away.
var benchBits = Bits16

func BenchmarkLess(b *testing.B) {
	b.ReportAllocs()
	n, a, less := benchBits, uint32(0), false
	for b.Loop() {
		a += 40503
		less = less != n.Less(a, a>>3)
	}
	sinkBool = less
}

func BenchmarkUnwrap(b *testing.B) {
	b.ReportAllocs()
	n, near := benchBits, uint64(0)
	for b.Loop() {
		near = n.Unwrap(near, uint32(near)+1)
	}
	sinkUint64 = near
}

func TestNothingAllocates(t *testing.T) {
	n, near := benchBits, uint64(70_000)
	got := testing.AllocsPerRun(100, func() {
		near = n.Unwrap(near, n.Next(uint32(near)))
		sinkBool = n.Less(uint32(near), 7) || n.Distance(7, 9) < 0
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	sinkUint64 = near
}
