package core

import (
	"testing"
	"time"
)

// BenchmarkClientTakesATick is what a client does with a packet of 100 values that all changed.
func BenchmarkClientTakesATick(b *testing.B) {
	r := fullRoom(b, 1, 100)
	x, value, buf := r.clients[0], make([]byte, 8), make([]byte, 2048)
	now := r.w.Now()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		now = now.Add(16 * time.Millisecond)
		r.move(now, value)
		n, _, _ := r.w.mux.PollTransmit(buf)
		for n < 1000 {
			n, _, _ = r.w.mux.PollTransmit(buf)
		}
		b.StartTimer()
		x.HandleDatagram(now, serverAddr, buf[:n])
		for ev, ok := x.PollEvent(); ok; ev, ok = x.PollEvent() {
			_ = ev
		}
		b.StopTimer()
		for n, _, ok := x.PollTransmit(buf); ok; n, _, ok = x.PollTransmit(buf) {
			r.w.mux.HandleDatagram(now, x.host.Addr(), buf[:n])
		}
		b.StartTimer()
	}
}
