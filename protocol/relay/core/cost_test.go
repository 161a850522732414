package core

import (
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
)

// cpuTime returns the CPU time of this process, where the system tells: a benchmark on a busy
// machine means nothing by the clock on the wall.
var cpuTime = func() time.Duration { return 0 }

// relayRig is a server core with a room of raw participants who confirm what they get, and
// nothing else around it: what a package costs.
type relayRig struct {
	h    *hall
	all  []netip.AddrPort
	owed [][]byte // confirmations that each participant gathers
	next []uint32
	mode Mode
	turn int
	in   [MaxDatagram]byte
	data [100]byte
	out  int
}

func newRelayRig(tb testing.TB, mode Mode, size int) *relayRig {
	r := &relayRig{h: newHall(tb, Config{}), mode: mode, next: make([]uint32, size), owed: make([][]byte, size)}
	for i := range size {
		r.all = append(r.all, near(i))
		r.h.join(near(i))
		r.next[i] = 1
		r.owed[i] = make([]byte, 0, MaxDatagram)
	}
	r.h.wait(100 * time.Millisecond)
	return r
}

// step has one participant send to all others, and one confirm what it has.
func (r *relayRig) step() {
	m := r.h.mux
	i := r.turn % len(r.all)
	r.turn++
	r.h.now = r.h.now.Add(time.Second / 960)
	d := Datagram{Kind: KindPackage, Mode: r.mode, ID: r.next[i] & MaxID, Payload: r.data[:]}
	r.next[i]++
	m.HandleDatagram(r.h.now, r.all[i], d.AppendTo(r.in[:0]))
	if b := r.owed[i]; len(b) > HeaderBytes {
		m.HandleDatagram(r.h.now, r.all[i], b)
		r.owed[i] = b[:0]
	}
	if at, ok := m.NextTimeout(); ok && !at.After(r.h.now) {
		m.HandleTimeout(r.h.now)
	}
	for _, _, ok := m.PollEvent(); ok; _, _, ok = m.PollEvent() {
	}
	for n, to, ok := m.PollTransmit(r.h.buf[:]); ok; n, to, ok = m.PollTransmit(r.h.buf[:]) {
		r.out++
		if r.h.buf[0]&flagControl == 0 && n > HeaderBytes && r.mode.Reliable() {
			r.owe(to, r.h.buf[1:HeaderBytes])
		}
	}
	for _, ok := m.PollPort(); ok; _, ok = m.PollPort() {
	}
}

func (r *relayRig) owe(to netip.AddrPort, id []byte) {
	ip := to.Addr().As4()
	b := &r.owed[int(ip[2])<<8|int(ip[3])]
	if len(*b) == 0 {
		*b = append(*b, flagControl, 0, 0, 0)
	}
	if len(*b)+3 <= MaxDatagram {
		*b = append(*b, id...)
	}
}

// Passing packages on allocates nothing, in any mode.
func TestRelayingAllocatesNothing(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	for mode := Unreliable; mode <= SemiOrdered; mode++ {
		r := newRelayRig(t, mode, 8)
		for range 2000 {
			r.step()
		}
		r.out = 0
		if got := testing.AllocsPerRun(1000, r.step); got != 0 {
			t.Errorf("%v: %v allocations a package, want 0", mode, got)
		}
		if r.out < 7000 || r.h.mux.Len() != 8 {
			t.Errorf("%v: %d datagrams to %d participants: that was no relaying", mode, r.out, r.h.mux.Len())
		}
	}
}

// BenchmarkRelay is the server core alone: one package in, 31 out, and a confirmation of 31.
func BenchmarkRelay(b *testing.B) {
	for mode := Unreliable; mode <= SemiOrdered; mode++ {
		b.Run(mode.String(), func(b *testing.B) {
			r := newRelayRig(b, mode, 32)
			for range 1000 {
				r.step()
			}
			r.out = 0
			b.ReportAllocs()
			before := cpuTime()
			for b.Loop() {
				r.step()
			}
			b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(r.out), "cpu-ns/datagram")
			if r.h.mux.Len() != 32 {
				b.Errorf("%d are left", r.h.mux.Len())
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for name, in := range map[string][]byte{"package": pack(SemiOrdered, true, 9, string(noise[:100])), "confirmation": confirmOf(1, 2, 3, 4, 5, 6, 7)} {
		b.Run(name, func(b *testing.B) {
			var d Datagram
			b.ReportAllocs()
			for b.Loop() {
				if !d.Parse(in) {
					b.Fatal("refused")
				}
			}
		})
	}
}
