package reliable

import (
	"math"
	"testing"
	"time"
)

// A buffer has room for what was asked, and up to a full packet less than twice that;
// what is given back is lent again.
func TestBuffersFit(t *testing.T) {
	var b Buffers
	for n := range 70_000 {
		p := b.Take(n)
		if len(p) != n || n > 64 && n <= 1280 && cap(p) >= 2*n {
			t.Fatalf("%d bytes are in a buffer of %d", n, cap(p))
		}
		b.Give(p)
		if n == 0 || n > 65536 {
			continue
		}
		if q := b.Take(n); &q[0] != &p[:1][0] {
			t.Fatalf("a buffer for %d bytes was not lent again", n)
		} else {
			b.Give(q)
		}
	}
}

// Of the tables for a window of thousands of packets one is kept, the largest, and lent to who
// asks for one that is not larger; of the small ones many are.
func TestOneLargeTableIsKept(t *testing.T) {
	var b Buffers
	kept := func() (n int) {
		for _, c := range b.flights {
			for _, t := range c.list {
				n += len(t)
			}
		}
		return n
	}
	for _, n := range []int{1024, 4096, 2048, 1024} {
		b.giveFlights(make([]flight, n))
	}
	if n := kept(); n != 4096 {
		t.Errorf("%d entries are kept, want 4096", n)
	}
	if got := len(b.takeFlights(1024)); got != 4096 || kept() != 0 {
		t.Errorf("a table of %d was lent, and %d entries are kept", got, kept())
	}
	if got := len(b.takeFlights(512)); got != 512 {
		t.Errorf("a table of %d was lent", got)
	}
	for range 10_000 {
		b.giveFlights(make([]flight, 2))
	}
	if n := kept(); n != firstTable*maxKeptTables {
		t.Errorf("%d entries are kept of small tables", n)
	}
}

// After a burst the buffers go that nobody needs; those that are lent all the time stay, and
// steady work allocates nothing.
func TestABurstIsForgotten(t *testing.T) {
	var b Buffers
	lend := func(n int) {
		var lent [][]byte
		for range n {
			lent = append(lent, b.Take(200))
		}
		for _, p := range lent {
			b.Give(p)
		}
	}
	tables := make([][]flight, 500)
	for i := range tables {
		tables[i] = b.takeFlights(2)
	}
	for _, x := range tables {
		b.giveFlights(x)
	}
	lend(10_000)
	if b.Kept() != 10_000*256 {
		t.Fatalf("%d bytes are kept after the burst", b.Kept())
	}
	steady := func() {
		var lent [100][]byte
		for range trimEvery / 10 {
			for i := range lent {
				lent[i] = b.Take(200)
			}
			for _, p := range lent {
				b.Give(p)
			}
		}
	}
	steady()
	steady()
	if n := b.Kept() / 256; n < 100 || n > 100+100+3*fewSpares {
		t.Errorf("%d buffers are kept, 100 of use", n)
	}
	if n := len(b.flights[0].list); n > 3*fewSpares {
		t.Errorf("%d tables are kept, none of use", n)
	}
	if got := cap(b.bytes[4].list); got > keptRoom {
		t.Errorf("the list of 100 buffers has room for %d", got)
	}
	if n := testing.AllocsPerRun(3, steady); n != 0 {
		t.Errorf("%v allocations in steady work", n)
	}
}

// A round trip counts once for each packet that was acknowledged in time, and is as long as it was. What Karn's rule does not
// sample does not count.
func TestRoundTripsAreCounted(t *testing.T) {
	s := newSolo(t, SendConfig{})
	for _, trip := range []time.Duration{30 * time.Millisecond, 40 * time.Millisecond} {
		n := s.send(100)
		s.poll()
		s.now = s.now.Add(trip)
		s.ack(n)
		s.ack(n) // again: no sample
	}
	n := s.send(100)
	s.poll()
	s.wait(300 * time.Millisecond) // it is resent
	s.ack(n)
	count, sum, buckets := s.buffers.RoundTrips.Histogram()
	if count != 2 || math.Abs(sum-.07) > 1e-9 || buckets[.025] != 0 || buckets[.05] != 2 {
		t.Errorf("%d round trips of %v s in all, %d within 25 ms and %d within 50 ms; want 2 of 0.07 s, none and 2", count, sum, buckets[.025], buckets[.05])
	}
}
