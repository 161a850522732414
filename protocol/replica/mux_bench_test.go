package replica

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
)

// BenchmarkMuxExchange is the server's core alone: a message of 32 bytes comes
// and one of 200 goes, for one connection of many after the other, so that what
// a connection keeps is not in the caches. Batches are as they come at 20,000 a
// second.
func BenchmarkMuxExchange(b *testing.B) {
	for _, conns := range []int{1, 1000} {
		for _, mode := range []Mode{Unreliable, Reliable} {
			b.Run(fmt.Sprintf("conns=%d/mode=%d", conns, mode), func(b *testing.B) { benchMux(b, conns, mode) })
		}
	}
}

func benchMux(b *testing.B, conns int, mode Mode) {
	const batch = 20
	now := time.Unix(1_900_000_000, 0)
	m := NewMux(now, Config{}, newShared(1), admission.Key{1})
	peers := make([]netip.AddrPort, conns)
	numbers := make([]uint16, conns)
	in := Packet{Kind: KindMessage, Reliable: mode == Reliable, Name: []byte("in"), Data: make([]byte, 32)}
	var buf, out [2048]byte
	var answer [200]byte
	poll := func() {
		for c, ev, ok := m.PollEvent(); ok; c, ev, ok = m.PollEvent() {
			if ev.Kind == EventMessage {
				if err := c.Send(mode, "st", answer[:]); err != nil {
					b.Fatal(err)
				}
			}
		}
		for {
			n, to, ok := m.PollTransmit(out[:])
			if !ok {
				return
			}
			if p := (Packet{}); p.Parse(FromServer, out[:n]) && p.Reliable {
				ack := Packet{Kind: KindAck, Acked: p.Sequence}
				m.HandleDatagram(now, to, ack.AppendTo(buf[:0]))
			}
		}
	}
	ask := func(i int) {
		c := m.Conn(peers[i])
		numbers[i]++
		in.Sequence, in.Time = numbers[i], c.ServerTime(now)
		m.HandleDatagram(now, peers[i], in.AppendTo(buf[:0]))
	}
	for i := range peers {
		peers[i] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 7000)
		m.HandleDatagram(now, peers[i], (&Packet{Kind: KindInit, Extended: true}).AppendTo(buf[:0]))
		n, _, _ := m.PollTransmit(out[:])
		var p Packet
		if !p.Parse(FromServer, out[:n]) {
			b.Fatal("no accept")
		}
		in.Time = p.Sent
		numbers[i] = 1
		in.Sequence = 1
		m.HandleDatagram(now, peers[i], in.AppendTo(buf[:0]))
		poll()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ask(i % conns)
		if i%batch == batch-1 {
			now = now.Add(time.Millisecond)
			if at, ok := m.NextTimeout(); ok && !at.After(now) {
				m.HandleTimeout(now)
			}
			poll()
		}
	}
	if m.Len() != conns {
		b.Errorf("%d of %d connections are left", m.Len(), conns)
	}
}
