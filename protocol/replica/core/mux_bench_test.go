package core

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/admission"
)

// BenchmarkColdExchange is the server's core alone: a message of 32 bytes comes and one of 200
// goes, and is acknowledged if it is reliable. Between two batches all caches are
// filled with other things, as with a thousand connections and 50 ms between two
// datagrams of one they are. Medians of batches; ns/ask is of a message and its answer.
func BenchmarkColdExchange(b *testing.B) {
	for _, mode := range []Mode{Unreliable, Reliable, Ordered} {
		for _, batch := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("mode=%d/batch=%d", mode, batch), func(b *testing.B) { benchCold(b, mode, batch) })
		}
	}
}

const (
	coldConns = 1000
	coldBytes = 6 << 20 // more than the second cache holds
	coolBytes = 1 << 20 // what others use until an ack comes back
)

// coldMux is a Mux with its clients, which are as little as can be.
type coldMux struct {
	tb      testing.TB
	m       *Mux
	mode    Mode
	now     time.Time
	peers   []netip.AddrPort
	numbers []uint16
	acks    []coldDatagram
	out     [2048]byte
	answer  [200]byte
}

type coldDatagram struct {
	from netip.AddrPort
	b    []byte
}

func benchCold(b *testing.B, mode Mode, batch int) {
	x := newColdMux(b, mode)
	other := make([]byte, coldBytes)
	var asks, acks []float64
	for i := 0; b.Loop(); i += batch {
		questions, answered := x.questions(i, batch), x.acks
		x.acks = nil
		x.now = x.now.Add(time.Millisecond)
		cool(other)
		asks = append(asks, x.turn(questions))
		if len(answered) > 0 {
			cool(other[:coolBytes])
			acks = append(acks, x.turn(answered))
		}
	}
	b.ReportMetric(median(asks), "ns/ask")
	if mode != Unreliable {
		b.ReportMetric(median(acks), "ns/ack")
	}
	b.ReportMetric(0, "ns/op") // of the cooling, for the most part
	if x.m.Len() != coldConns {
		b.Errorf("%d of %d connections are left", x.m.Len(), coldConns)
	}
}

func newColdMux(tb testing.TB, mode Mode) *coldMux {
	x := &coldMux{tb: tb, mode: mode, now: time.Unix(1_900_000_000, 0), numbers: make([]uint16, coldConns)}
	x.m = NewMux(x.now, Config{}, newShared(1), admission.Key{1})
	for i := range coldConns {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 7000)
		x.m.HandleDatagram(x.now, addr, (&Packet{Kind: KindInit, Extended: true}).AppendTo(nil))
		n, _, _ := x.m.PollTransmit(x.out[:])
		var p Packet
		if !p.Parse(FromServer, x.out[:n]) {
			tb.Fatal("no accept")
		}
		x.peers = append(x.peers, addr)
		x.m.HandleDatagram(x.now, addr, x.question(i, p.Sent))
		x.poll()
	}
	return x
}

// questions are the next messages of n clients from the i-th on.
func (x *coldMux) questions(i, n int) (list []coldDatagram) {
	for ; n > 0; n-- {
		k := i % coldConns
		list = append(list, coldDatagram{x.peers[k], x.question(k, x.m.Conn(x.peers[k]).endpoint.ServerTime(x.now))})
		i++
	}
	return list
}

func (x *coldMux) question(i int, at uint64) []byte {
	x.numbers[i]++
	p := Packet{Kind: KindMessage, Sequence: x.numbers[i], Reliable: x.mode != Unreliable, Time: at, Name: []byte("in"), Data: make([]byte, 32)}
	if p.Ordered = x.mode == Ordered; p.Ordered && p.Sequence > 1 {
		p.OrderLink = 1
	}
	return p.AppendTo(nil)
}

// turn does what a loop does with a batch, and returns how long each datagram took.
func (x *coldMux) turn(batch []coldDatagram) float64 {
	start := time.Now()
	for i := range batch {
		x.m.HandleDatagram(x.now, batch[i].from, batch[i].b)
	}
	if at, ok := x.m.NextTimeout(); ok && !at.After(x.now) {
		x.m.HandleTimeout(x.now)
	}
	x.poll()
	x.m.NextTimeout()
	return float64(time.Since(start).Nanoseconds()) / float64(len(batch))
}

func (x *coldMux) poll() {
	for c, ev, ok := x.m.PollEvent(); ok; c, ev, ok = x.m.PollEvent() {
		if ev.Kind == EventMessage {
			if err := c.Send(x.mode, "st", x.answer[:]); err != nil {
				x.tb.Fatal(err)
			}
		}
	}
	for {
		_, to, ok := x.m.PollTransmit(x.out[:])
		if !ok {
			return
		}
		if Type(x.out[0]) == TypeMessage && x.out[1]&flagReliable != 0 {
			x.acks = append(x.acks, coldDatagram{to, []byte{byte(TypeAck), x.out[2], x.out[3]}})
		}
	}
}

// cool fills the caches with something else.
func cool(other []byte) {
	for i := 0; i < len(other); i += 64 {
		other[i]++
	}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
