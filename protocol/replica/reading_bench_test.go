package replica

import (
	"testing"
	"time"
)

// BenchmarkClientTakesATick is what a client does with a packet of 100 values that all changed.
func BenchmarkClientTakesATick(b *testing.B) {
	r := newRoom(b, 1, lan(), 1, 1)
	for range 100 {
		r.show(r.spawn(), 0)
	}
	for range 5 {
		r.tick(100_000)
	}
	x, value, buf := r.clients[0], make([]byte, 8), make([]byte, 2048)
	now := r.w.net.Now()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		now = now.Add(16 * time.Millisecond)
		r.w.mux.Advance(now)
		value[0]++
		for _, e := range r.entities {
			if err := e.Set(0, value); err != nil {
				b.Fatal(err)
			}
		}
		r.w.mux.Replicate(100_000)
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
