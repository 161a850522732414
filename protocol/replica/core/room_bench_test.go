package core

import (
	"testing"
	"time"
)

// BenchmarkRoom is a tick of 100 clients who see 100 objects that move, with its packets and
// their acks, without a socket.
func BenchmarkRoom(b *testing.B) {
	r := fullRoom(b, 100, 100)
	m, now := r.w.mux, r.w.Now()
	buf := make([]byte, 2048)
	acks := make([][]byte, 0, len(r.clients))
	value := make([]byte, 8)
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(16 * time.Millisecond)
		r.move(now, value)
		acks = acks[:0]
		for n, _, ok := m.PollTransmit(buf); ok; n, _, ok = m.PollTransmit(buf) {
			if n > 1000 {
				next := acks[len(acks) : len(acks)+1][0]
				acks = append(acks, append(next[:0], byte(TypeAck), buf[sequenceAt], buf[sequenceAt+1]))
			}
		}
		now = now.Add(time.Millisecond)
		for i, ack := range acks {
			m.HandleDatagram(now, r.clients[i].host.Addr(), ack)
		}
		for _, _, ok := m.PollTransmit(buf); ok; _, _, ok = m.PollTransmit(buf) {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(r.clients)), "ns/client-tick")
}
