package core

import (
	"testing"
	"time"
)

// BenchmarkPush is what the core takes for a datagram of a server that sends 200 bytes to
// each of 1,000 clients 20 times a second, and gets their acks within 10 ms: without the
// system's part, which BenchmarkThousandConnections has too.
func BenchmarkPush(b *testing.B) {
	for _, mode := range []Mode{Unreliable, Reliable, Ordered} {
		b.Run(mode.String(), func(b *testing.B) {
			x := newBench(b, 1000)
			data := make([]byte, 200)
			acks := make([][]byte, len(x.addrs))
			before := x.mux.Stats().In
			sent := uint64(0)
			for b.Loop() {
				x.now = x.now.Add(40 * time.Millisecond)
				x.mux.Advance(x.now)
				for c := range x.mux.Conns() {
					if err := c.Send(mode, data); err != nil {
						b.Fatal(err)
					}
				}
				for k := range 11 {
					x.now = x.now.Add(time.Millisecond)
					for i := k - 1; k > 0 && i < len(acks); i += 10 {
						if len(acks[i]) > 0 {
							x.mux.HandleDatagram(x.now, x.addrs[i], acks[i])
							acks[i] = acks[i][:0]
						}
					}
					if at, ok := x.mux.NextTimeout(); ok && !at.After(x.now) {
						x.mux.HandleTimeout(x.now)
					}
					for _, _, ok := x.mux.PollEvent(); ok; _, _, ok = x.mux.PollEvent() {
					}
					for n, to, ok := x.mux.PollTransmit(x.buf[:]); ok; n, to, ok = x.mux.PollTransmit(x.buf[:]) {
						sent++
						var p Packet
						if !p.Parse(FromServer, x.buf[:n]) {
							b.Fatal("not a packet")
						}
						if p.Reliable {
							a := to.Addr().As4()
							i := int(a[2])<<8 | int(a[3])
							ack := Packet{Kind: KindAck, Sequence: p.Sequence, Time: p.Time}
							acks[i] = ack.AppendTo(FromClient, acks[i][:0])
						}
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sent+x.mux.Stats().In-before), "ns/datagram")
			b.ReportMetric(0, "ns/op")
		})
	}
}
