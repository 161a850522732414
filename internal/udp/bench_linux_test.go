package udp

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"parley/internal/datagram"
)

// round is how many datagrams one measured round moves.
const round = 64

// payload is the size of the datagrams: the 64 bytes of the project's bars.
const payload = 64

// BenchmarkEcho holds a turn of the loop against the bare loop: as many senders
// as datagrams, so no joining helps. The batch is how many a call finds.
func BenchmarkEcho(b *testing.B) {
	for _, batch := range []int{1, 4, 16, 64} {
		for _, c := range []struct {
			name   string
			config Config
		}{
			{"loop", Config{}},
			{"loop with small buffers", Config{NoGSO: true, NoGRO: true, MaxDatagram: 2048}},
		} {
			b.Run(fmt.Sprintf("%s/batch=%d", c.name, batch), func(b *testing.B) {
				c.config.Batch = batch
				s := mustListen(b, c.config)
				benchEcho(b, newEchoLoop(b, s, newEchoCore(2*round, 2048)), s.LocalAddr(), batch, round)
			})
		}
	}
}

// benchEcho holds e, at addr, against a floor of the given batch.
func benchEcho(b *testing.B, e echoer, addr netip.AddrPort, batch, senders int) {
	f := newFloor(b, batch, 2048)
	crowd := newCrowd(b, senders, payload)
	b.ReportAllocs()
	(&contest{
		n:      round,
		ours:   func() { e.echo(round) },
		theirs: func() { f.echo(round) },
		prepare: func(ours bool) {
			to := f.addr
			if ours {
				to = addr
			}
			crowd.send(b, to, round)
		},
		clean: func(bool) { crowd.drain(b, round) },
	}).run(b)
}

// BenchmarkEchoOneByOne holds package net, one datagram a call, against the
// bare batches.
func BenchmarkEchoOneByOne(b *testing.B) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	benchEcho(b, oneByOne{conn, make([]byte, 2048)}, conn.LocalAddr().(*net.UDPAddr).AddrPort(), 64, round)
}

type oneByOne struct {
	conn *net.UDPConn
	buf  []byte
}

func (o oneByOne) echo(n int) {
	for range n {
		k, from, err := o.conn.ReadFromUDPAddrPort(o.buf)
		if err == nil {
			_, err = o.conn.WriteToUDPAddrPort(o.buf[:k], from)
		}
		if err != nil {
			panic(err)
		}
	}
}

// BenchmarkReceive holds reading alone against a bare recvmmsg.
func BenchmarkReceive(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := mustListen(b, Config{Batch: batch})
			defer s.Close()
			f := newFloor(b, batch, 2048)
			crowd := newCrowd(b, round, payload)
			in := s.NewRecvBatch()
			var sum int
			b.ReportAllocs()
			(&contest{
				n: round,
				ours: func() {
					for n := 0; n < round; n += in.Len() {
						if err := s.Read(in, time.Time{}); err != nil {
							b.Fatal(err)
						}
						for m := in.Next(); m != nil; m = in.Next() {
							sum += len(m.Data) + int(m.From.Port())
						}
					}
				},
				theirs: func() { f.drain(round) },
				prepare: func(ours bool) {
					to := f.addr
					if ours {
						to = s.LocalAddr()
					}
					crowd.send(b, to, round)
				},
				clean: func(bool) {},
			}).run(b)
		})
	}
}

// BenchmarkTrain is one connection at full speed: trains of datagrams of one
// size to one address, sent and echoed, against the bare batches that carry
// each datagram by itself.
func BenchmarkTrain(b *testing.B) {
	for _, c := range []struct {
		name   string
		config Config
	}{
		{"GSO and GRO", Config{}},
		{"GSO", Config{NoGRO: true}},
		{"neither", Config{NoGSO: true, NoGRO: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			const n = 512
			s := mustListen(b, c.config)
			e := newEchoLoop(b, s, newEchoCore(2*n, 2048))
			client := mustListen(b, c.config)
			defer client.Close()
			in, out := client.NewRecvBatch(), client.NewSendBatch()
			f := newFloor(b, 64, 2048)
			fc := newFloor(b, 64, 2048)
			data := make([]byte, payload)
			// Both ends are measured: the client sends n, the server echoes,
			// the client receives.
			crossing := func() {
				for range n {
					if !out.Append(data, s.LocalAddr()) {
						b.Fatal("batch full")
					}
				}
				if err := client.Write(out); err != nil {
					b.Fatal(err)
				}
				e.echo(n)
				for got := 0; got < n; got += in.Len() {
					if err := client.Read(in, time.Time{}); err != nil {
						b.Fatal(err)
					}
				}
			}
			bare := func() {
				for range n / len(fc.msgs) {
					fc.send(f.addr, payload)
				}
				f.echo(n)
				fc.drain(n)
			}
			b.ReportAllocs()
			none := func(bool) {}
			(&contest{n: n, ours: crossing, theirs: bare, prepare: none, clean: none}).run(b)
		})
	}
}

func mustListen(tb testing.TB, c Config) *Socket {
	tb.Helper()
	s, err := Listen("127.0.0.1:0", c)
	if err != nil {
		tb.Fatal(err)
	}
	ours.Store(s.LocalAddr().Port(), true)
	return s
}

// BenchmarkServe is a server at part load, where it sleeps and wakes: 20,000
// datagrams a second from a process of its own, which is 1,000 clients at 20 Hz.
// It compares the CPU time of the whole process.
func BenchmarkServe(b *testing.B) {
	for _, burst := range []int{1, 4, 20} {
		b.Run(fmt.Sprintf("burst=%d", burst), func(b *testing.B) {
			s := mustListen(b, Config{})
			l := datagram.StartLoop(s, newEchoCore(4096, 2048), datagram.LoopConfig{})
			defer l.Close()
			f := newFloor(b, defaultBatch, 2048)
			go f.serve()
			load := startLoad(b)
			const n = 400
			var ours, theirs []time.Duration
			window := func(to netip.AddrPort) time.Duration {
				start := processCPU()
				load.run(b, to, n, burst, time.Duration(burst)*50*time.Microsecond)
				return processCPU() - start
			}
			window(f.addr)
			before := l.Stats().Turns
			for b.Loop() {
				ours = append(ours, window(s.LocalAddr()))
				theirs = append(theirs, window(f.addr))
			}
			turns := l.Stats().Turns - before
			a, z := median(ours), median(theirs)
			b.ReportMetric(float64(n*len(ours))/float64(turns), "datagrams/turn")
			b.ReportMetric(float64(a)/n, "cpu-ns/datagram")
			b.ReportMetric(float64(z)/n, "floor-ns/datagram")
			b.ReportMetric(float64(a)/float64(z), "x-floor")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkWake is what it costs another goroutine to have the loop do something.
func BenchmarkWake(b *testing.B) {
	b.Run("a sleeping loop, there and back", func(b *testing.B) {
		l := datagram.StartLoop(mustListen(b, Config{}), newEchoCore(1, 1), datagram.LoopConfig{})
		defer l.Close()
		b.ReportAllocs()
		for b.Loop() {
			if err := l.Do(func() {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("a busy loop", func(b *testing.B) {
		s := mustListen(b, Config{})
		defer s.Close()
		b.ReportAllocs()
		for b.Loop() {
			s.Wake()
		}
	})
}
