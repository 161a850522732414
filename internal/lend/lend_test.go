package lend

import "testing"

// A buffer has room for what was asked, and up to a full packet less than twice that;
// what is given back is lent again.
func TestBuffersFit(t *testing.T) {
	var b Buffers
	for n := range 70_000 {
		p := b.Take(n)
		if len(p) != n || cap(p) != Room(n) || n > 64 && n <= 1280 && cap(p) >= 2*n {
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

func TestABufferThatIsGivenTwiceIsFound(t *testing.T) {
	var b Buffers
	p := b.Take(100)
	b.Give(p)
	if b.KeepsTwice() {
		t.Error("a buffer that was given once counts as twice")
	}
	b.Give(p)
	if !b.KeepsTwice() {
		t.Error("a buffer that was given twice is not found")
	}
}

// Of the tables for a window of thousands of packets one is kept, the largest, and lent to who
// asks for one that is not larger; of the small ones many are.
func TestOneLargeTableIsKept(t *testing.T) {
	var b Tables[int]
	kept := func() (n int) {
		for _, c := range b.free {
			for _, t := range c.list {
				n += len(t)
			}
		}
		return n
	}
	for _, n := range []int{1024, 4096, 2048, 1024} {
		b.Give(make([]int, n))
	}
	b.Outgrown(make([]int, 8192))
	if n := kept(); n != 4096 {
		t.Errorf("%d entries are kept, want 4096", n)
	}
	if got := len(b.Take(1024)); got != 4096 || kept() != 0 {
		t.Errorf("a table of %d was lent, and %d entries are kept", got, kept())
	}
	if got := len(b.Take(512)); got != 512 {
		t.Errorf("a table of %d was lent", got)
	}
	for range 10_000 {
		b.Give(make([]int, 2))
	}
	if n := kept(); n != 10_000*2 {
		t.Errorf("%d entries are kept of 10,000 small tables", n)
	}
	for range 10_000 {
		b.Give(make([]int, 16))
	}
	if n := kept(); n != maxKeptEntries || n != b.kept {
		t.Errorf("%d entries are kept of small tables, counted as %d", n, b.kept)
	}
	for range 5000 {
		b.Take(16)
	}
	for range 40 {
		b.Trim()
	}
	if n := kept(); n != b.kept {
		t.Errorf("%d entries are kept after a trim, counted as %d", n, b.kept)
	}
}

// After a burst the buffers go that nobody needs; those that are lent all the time stay, and
// steady work allocates nothing.
func TestABurstIsForgotten(t *testing.T) {
	var tables Tables[int]
	b := Buffers{OnTrim: tables.Trim}
	burst := make([][]byte, 10_000)
	for i := range burst {
		burst[i] = b.Take(200)
	}
	for _, p := range burst {
		b.Give(p)
	}
	for range 500 {
		tables.Give(make([]int, 2))
	}
	if b.kept != 10_000*256 {
		t.Fatalf("%d bytes are kept after the burst", b.kept)
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
	for range (2*patience + 20) / 10 { // steady trims ten times
		steady()
	}
	if n := b.kept / 256; n < 100 || n > 100+100+3*fewSpares {
		t.Errorf("%d buffers are kept, 100 of use", n)
	}
	if n := tables.free[0].Len(); n > 3*fewSpares {
		t.Errorf("%d tables are kept, none of use", n)
	}
	if got := cap(b.bytes[4].list); got > keptRoom {
		t.Errorf("the list of 100 buffers has room for %d", got)
	}
	if n := testing.AllocsPerRun(3, steady); n != 0 {
		t.Errorf("%v allocations in steady work", n)
	}
}

// A machine that stands still for a moment leaves packets of all players in flight. What that takes is not dropped and made again
// each time that it happens.
func TestWhatIsNeededNowAndThenStays(t *testing.T) {
	var tables Tables[int]
	b := Buffers{OnTrim: tables.Trim}
	lent := make([][]byte, 0, 5*2000)
	lentTables := make([][]int, 0, 2000)
	flight := func(packets int) {
		for range packets {
			lent = append(lent, b.Take(200))
		}
		for range min(packets, 2000) {
			lentTables = append(lentTables, tables.Take(packets/2000*2))
		}
		for _, p := range lent {
			b.Give(p)
		}
		for _, p := range lentTables {
			tables.Give(p)
		}
		lent, lentTables = lent[:0], lentTables[:0]
	}
	tenSeconds := func() {
		for tick := range 200 {
			if tick%100 == 50 {
				flight(5 * 2000)
			}
			flight(2000)
		}
	}
	tenSeconds()
	if n := testing.AllocsPerRun(6, tenSeconds); n != 0 {
		t.Errorf("%v allocations in ten seconds of 2,000 players with two pauses", n)
	}
}

// The bytes go back with the last user, once.
func TestSharedBytesGoBackOnce(t *testing.T) {
	var b Buffers
	packet := []byte("one for all")
	s := b.Share(packet)
	packet[0] = 'X' // it has a copy
	s.Retain()
	b.Release(s)
	if string(s.Bytes()) != "one for all" || b.kept != 0 {
		t.Fatalf("%q is shared, and %d bytes went back while it is used", s.Bytes(), b.kept)
	}
	b.Release(s)
	if b.kept != 64 || b.shared.Len() != 1 {
		t.Errorf("after the last: %d bytes and %d heads are free, want 64 and 1", b.kept, b.shared.Len())
	}
	defer func() {
		if recover() == nil {
			t.Error("one release too many is no panic")
		}
	}()
	b.Release(s)
}
