package reliable

import "testing"

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
			for _, t := range c {
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
	if n := kept(); n != 2*1024 {
		t.Errorf("%d entries are kept of small tables", n)
	}
}
