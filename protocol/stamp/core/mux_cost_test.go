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
			x, mux := newBench(b, 1000)
			data := make([]byte, 200)
			var buf [MaxPacket]byte
			acks := make([][]byte, len(x.Addrs))
			before := mux.Stats().In
			sent := uint64(0)
			for b.Loop() {
				x.Now = x.Now.Add(40 * time.Millisecond)
				mux.Advance(x.Now)
				for c := range mux.Conns() {
					if err := c.Send(mode, data); err != nil {
						b.Fatal(err)
					}
				}
				for k := range 11 {
					x.Now = x.Now.Add(time.Millisecond)
					for i := k - 1; k > 0 && i < len(acks); i += 10 {
						if len(acks[i]) > 0 {
							mux.HandleDatagram(x.Now, x.Addrs[i], acks[i])
							acks[i] = acks[i][:0]
						}
					}
					if at, ok := mux.NextTimeout(); ok && !at.After(x.Now) {
						mux.HandleTimeout(x.Now)
					}
					for _, _, ok := mux.PollEvent(); ok; _, _, ok = mux.PollEvent() {
					}
					for n, to, ok := mux.PollTransmit(buf[:]); ok; n, to, ok = mux.PollTransmit(buf[:]) {
						sent++
						var p Packet
						if !p.Parse(FromServer, buf[:n]) {
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
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sent+mux.Stats().In-before), "ns/datagram")
			b.ReportMetric(0, "ns/op")
		})
	}
}
