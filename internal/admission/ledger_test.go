package admission

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"parley/internal/promise"
)

func TestAllowance(t *testing.T) {
	var a Allowance
	if a.MaySend(1) {
		t.Error("the zero value allows a byte")
	}
	if !a.MaySend(0) {
		t.Error("nothing at all is not allowed")
	}
	a.Received(10)
	if a.MaySend(31) || !a.MaySend(30) || a.MaySend(1) {
		t.Error("10 bytes do not allow 30")
	}
	a.Received(-10)
	if a.MaySend(-1) {
		t.Error("less than nothing may be sent")
	}
	for range 10 {
		a.Received(math.MaxInt)
		if a.left < 0 || a.left > maxAllowance {
			t.Fatalf("%d bytes are left", a.left)
		}
	}
	if a.Proven() {
		t.Error("an endless peer is taken for a proven one")
	}
	if !a.MaySend(math.MaxInt/2) || a.MaySend(math.MaxInt) {
		t.Error("the sum overflowed")
	}
	g := NewAllowance(8192)
	if g.MaySend(8193) || !g.MaySend(8192) || g.MaySend(1) {
		t.Error("a grace of 8 KiB is not 8 KiB")
	}
	if z := NewAllowance(-5); z.MaySend(1) || z != (Allowance{}) {
		t.Error("a negative grace is not none")
	}
	g.Prove()
	g.Received(5)
	if !g.Proven() || !g.MaySend(math.MaxInt) || !g.Proven() {
		t.Error("a proven address is limited")
	}
	if size := unsafe.Sizeof(g); size != 8 {
		t.Errorf("an allowance takes %d bytes, want 8", size)
	}
}

// T29: whatever happens, no source was sent more than three times what it sent, at any instant;
// with a grace, one more grace for each time that it had been silent for Life.
func TestLedgerNeverSendsMoreThanThreeTimes(t *testing.T) {
	steps := promise.Keeps(t, "T29", "admission", tenth(t, 100_000))
	forEachSeed(t, 6, func(t *testing.T, rng *rand.Rand) {
		grace := []int{0, 8192}[rng.IntN(2)]
		l := NewLedger(LedgerConfig{Max: 64, Grace: grace, Life: time.Second}, testKey)
		type books struct {
			in, out, graces int
			heard           time.Duration
		}
		model := map[netip.AddrPort]*books{}
		now := time.Duration(0)
		sources := 1 + rng.IntN(200)
		sent := 0
		for range steps {
			now += time.Duration(rng.Int64N(int64(20 * time.Millisecond)))
			if rng.IntN(100) == 0 {
				now += time.Second
			}
			p := peer(rng.IntN(sources))
			b := model[p]
			if b == nil {
				b = &books{}
				model[p] = b
			}
			n := rng.IntN(1500)
			if rng.IntN(2) == 0 {
				if b.graces == 0 || now-b.heard >= time.Second {
					b.graces++
				}
				b.heard = now
				b.in += n
				l.Received(at(now), p, n)
				continue
			}
			n *= 8
			if l.MaySend(at(now), p, n) {
				b.out += n
				sent++
			}
			if limit := 3*b.in + b.graces*grace; b.out > limit {
				t.Fatalf("%v was sent %d bytes for %d, limit %d", p, b.out, b.in, limit)
			}
			if l.Len() > 64 {
				t.Fatalf("%d on the books", l.Len())
			}
		}
		if s := l.Stats(); s.Booked+s.Full+s.Allowed+s.Refused != uint64(steps) || s.Allowed != uint64(sent) || sent == 0 {
			t.Errorf("stats %+v, %d sent", s, sent)
		}
	})
}

// T29: 10^6 sources, far more than there is room for.
func TestLedgerWithAMillionSources(t *testing.T) {
	n := promise.Keeps(t, "T29", "admission", tenth(t, 1_000_000))
	forEachSeed(t, 1, func(t *testing.T, rng *rand.Rand) {
		l := NewLedger(LedgerConfig{}, testKey)
		for i := range n {
			now, size := at(time.Duration(i)*time.Millisecond), rng.IntN(1400)
			p := peer(i)
			if l.MaySend(now, p, 1) {
				t.Fatalf("source %d was sent something for nothing", i)
			}
			l.Received(now, p, size)
			if l.MaySend(now, p, 3*size+1) {
				t.Fatalf("source %d was sent %d bytes for %d", i, 3*size+1, size)
			}
			if l.MaySend(now, p, 3*size) && l.MaySend(now, p, 1) {
				t.Fatalf("source %d was sent %d bytes for %d in two", i, 3*size+1, size)
			}
		}
		s := l.Stats()
		if s.Full == 0 || s.Booked == 0 || l.Len() > 4096 {
			t.Errorf("stats %+v, %d on the books", s, l.Len())
		}
	})
}

func TestLedgerAtItsLimits(t *testing.T) {
	l := NewLedger(LedgerConfig{Max: 2}, testKey)
	l.Received(start, peer(1), 100)
	l.Received(at(10*time.Second), peer(2), 100)
	l.Received(at(10*time.Second), peer(3), 100)
	if l.MaySend(at(10*time.Second), peer(3), 1) {
		t.Error("a newcomer to full books was sent something")
	}
	if !l.MaySend(at(10*time.Second), addrPort("[::ffff:10.0.0.1]:1000"), 300) {
		t.Error("one on the books was not sent its 300 bytes")
	}
	if !l.MaySend(at(29*time.Second), peer(2), 1) || l.MaySend(at(40*time.Second), peer(2), 1) {
		t.Error("a silent address is not forgotten after 30 s")
	}
	l.Received(at(40*time.Second), peer(3), 100)
	if !l.MaySend(at(40*time.Second), peer(3), 300) || l.MaySend(at(40*time.Second), peer(3), 1) {
		t.Error("there is no room again")
	}
	l.Received(at(60*time.Second), peer(3), 0)
	if !l.MaySend(at(89*time.Second), peer(3), 0) {
		t.Error("an address was forgotten that was not silent for 30 s")
	}
	if !l.Forget(at(89*time.Second), peer(3)) || l.Forget(at(89*time.Second), peer(3)) || l.Len() != 0 {
		t.Error("a proven address is still on the books")
	}
	want := LedgerStats{Booked: 4, Full: 1, Allowed: 4, Refused: 3, Expired: 2}
	if got := l.Stats(); got != want {
		t.Errorf("stats: got %+v, want %+v", got, want)
	}
}
