package metric

import (
	"math/rand/v2"
	"testing"
	"time"
)

type inner struct{ A, B uint64 }

type stats struct {
	In    uint64
	Array [3]uint64
	inner
	Last inner
}

func TestAdderAddsEveryCounter(t *testing.T) {
	add := NewAdder[stats]().Add
	total := stats{1, [3]uint64{2, 3, 4}, inner{5, 6}, inner{7, 8}}
	one := stats{10, [3]uint64{20, 30, 40}, inner{50, 60}, inner{70, 80}}
	add(&total, &one)
	if want := (stats{11, [3]uint64{22, 33, 44}, inner{55, 66}, inner{77, 88}}); total != want {
		t.Errorf("the sum is %+v, want %+v", total, want)
	}
	if one.In != 10 || one.Last.B != 80 {
		t.Errorf("what was added has changed: %+v", one)
	}
	if n := testing.AllocsPerRun(100, func() { add(&total, &one) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAdderTakesOnlyCounters(t *testing.T) {
	refuses := func(name string, make func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s is taken", name)
			}
		}()
		make()
	}
	refuses("an int", func() { NewAdder[struct{ N int }]() })
	refuses("a uint32", func() { NewAdder[struct{ A, B uint32 }]() })
	refuses("a pointer inside", func() { NewAdder[struct{ In struct{ P *uint64 } }]() })
	refuses("a text", func() { NewAdder[struct{ S string }]() })
	refuses("an empty struct", func() { NewAdder[struct{}]() })
	NewAdder[Times]()
	refuses("an Adder that nobody made", func() { Adder[Times]{}.Add(new(Times), new(Times)) })
}

func TestTimesCountEachDurationOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	durations := []time.Duration{-time.Second, 0, 1, time.Hour, 1<<63 - 1}
	for _, b := range bounds {
		durations = append(durations, b-1, b, b+1)
	}
	for range 10_000 {
		durations = append(durations, time.Duration(r.Uint64()>>(1+r.IntN(63))))
	}
	for _, d := range durations {
		var one Times
		one.Add(d)
		count, sum, buckets := one.Histogram()
		if count != 1 || one.Count() != 1 || sum != max(d, 0).Seconds() {
			t.Fatalf("%v counts %d times, as %v s", d, count, sum)
		}
		for _, b := range bounds {
			if (buckets[b.Seconds()] == 1) != (d <= b) {
				t.Fatalf("%v: up to %v there are %d", d, b, buckets[b.Seconds()])
			}
		}
	}
}

func TestTimesAllocateNothing(t *testing.T) {
	var one Times
	if n := testing.AllocsPerRun(100, func() { one.Add(30 * time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTimes(b *testing.B) {
	var one Times
	d := time.Microsecond
	for b.Loop() {
		one.Add(d)
		d = (d*5 + 1) & (1<<32 - 1)
	}
}
