package relay

import (
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/shell"
	"parley/internal/udp"
	"parley/protocol/relay/core"
)

// BenchmarkRoomTurn is what one turn of the server's loop takes for one package in a room of 32,
// from the package in hand to 31 datagrams sent, and for one confirmation of 20 packages. It is
// held against the same turn of a bare loop in the same milliseconds. A figure is the lower
// quartile of all turns: what else the machine does hits some of them, not most, so that it
// can be measured where BenchmarkRoomOf32 cannot. Waking up is not in it.
func BenchmarkRoomTurn(b *testing.B) {
	for mode := Unreliable; mode <= SemiOrdered; mode++ {
		b.Run(mode.String(), func(b *testing.B) { benchTurn(b, mode) })
	}
}

func benchTurn(b *testing.B, mode Mode) {
	server, core := startTimed(b)
	bare := newBareLoop(mode.Reliable())
	bare.timed = new(turnTimes)
	go bare.serve()
	b.Cleanup(func() { bare.file.Close() })
	crowds := []*stepCrowd{newStepCrowd(b, server, mode, true), newStepCrowd(b, bare.addr, mode, false)}
	for b.Loop() {
		core.reset()
		bare.timed.reset()
		for i := range 400 {
			for k := range crowds {
				crowds[(i+k)%2].step(i)
			}
		}
	}
	pack, confirm := core.figures()
	floor, floorConfirm := bare.timed.figures()
	b.ReportMetric(pack, "ns/package")
	b.ReportMetric(floor, "floor-ns/package")
	b.ReportMetric(pack/floor, "x-floor")
	if mode.Reliable() {
		b.ReportMetric(confirm, "ns/confirmation")
		b.ReportMetric(floorConfirm, "floor-ns/confirmation")
		// 32 participants confirm every 20 ms, in which there are 19.2 packages.
		const share = 32 / 19.2
		b.ReportMetric((pack+share*confirm)/(floor+share*floorConfirm), "x-floor-with-confirmations")
	}
	b.ReportMetric(0, "ns/op")
}

// turnTimes are how long turns took that passed packages on, and those that did not, for each
// datagram that came in them.
type turnTimes struct{ packages, rest []float64 }

func (t *turnTimes) reset() { t.packages, t.rest = t.packages[:0], t.rest[:0] }

func (t *turnTimes) add(took time.Duration, in, packages int) {
	switch {
	case packages == 0:
		t.rest = append(t.rest, float64(took)/float64(in))
	case packages == in:
		t.packages = append(t.packages, float64(took)/float64(in))
	}
}

func (t *turnTimes) figures() (pack, rest float64) { return quartile(t.packages), quartile(t.rest) }

func quartile(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[len(x)/4]
}

// timedCore notes how long each turn of a loop takes, from its first datagram to the question
// that comes when all is sent.
type timedCore struct {
	lockedMux
	turnTimes
	since        time.Time
	in, packages int
	transmitted  bool
}

func startTimed(tb testing.TB) (netip.AddrPort, *timedCore) {
	socket, err := udp.Listen("127.0.0.1:0", socketConfig)
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{first: socket, handle: func(*Peer, Event) {}, log: shell.Log(nil, "relay", "local", socket.LocalAddr())}
	s.mux = core.NewMux(time.Now(), Config{}, &core.Shared{Rand: shell.Rand()}, core.Key{1}, opener{s})
	core := &timedCore{lockedMux: lockedMux{lockedPort{s, s.mux.First()}}}
	loop := udp.StartLoop(socket, core, udp.LoopConfig{AfterTurn: func(now time.Time) {
		core.Advance(now)
		s.events()
	}})
	tb.Cleanup(func() { loop.Close() })
	return socket.LocalAddr(), core
}

func (c *timedCore) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	if c.in == 0 {
		c.since = time.Now()
	}
	c.in++
	if b[0]&flagControl == 0 {
		c.packages++
	}
	c.lockedMux.HandleDatagram(now, from, b)
}

func (c *timedCore) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	c.transmitted = true
	return c.lockedMux.PollTransmit(buf)
}

func (c *timedCore) NextTimeout() (time.Time, bool) {
	if c.transmitted && c.in > 0 {
		c.add(time.Since(c.since), c.in, c.packages)
		c.in, c.packages = 0, 0
	}
	c.transmitted = false
	return c.lockedMux.NextTimeout()
}

// stepCrowd is a room of participants that do one thing after the other.
type stepCrowd struct {
	fds    []int
	nextID []uint32
	owed   [][]byte
	mode   Mode
	speaks bool
	buf    [1024]byte
	out    [core.MaxDatagram]byte
}

func newStepCrowd(tb testing.TB, to netip.AddrPort, mode Mode, speaks bool) *stepCrowd {
	c := &stepCrowd{mode: mode, speaks: speaks}
	for range crowdSize {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
		}
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { unix.Close(fd) })
		c.fds, c.nextID = append(c.fds, fd), append(c.nextID, 1)
		c.owed = append(c.owed, append(make([]byte, 0, core.MaxDatagram), flagControl, 0, 0, 0))
		hello := core.Datagram{Kind: core.KindPackage, Mode: Unordered, ToServer: true}
		if !speaks {
			hello.Mode = Unreliable
		}
		_, _ = unix.Write(fd, hello.AppendTo(nil))
		if speaks {
			for n := 0; n < 1; n += c.receive(len(c.fds)-1, 0) { // the challenge
				runtime.Gosched()
			}
		}
	}
	c.confirm()
	return c
}

// step has one participant send a package, waits until all others have it, and now and then has
// all confirm.
func (c *stepCrowd) step(i int) {
	from := i % crowdSize
	d := core.Datagram{Kind: core.KindPackage, Mode: c.mode, ID: c.nextID[from] & core.MaxID, Payload: c.buf[900 : 900+crowdPayload]}
	c.nextID[from]++
	_, _ = unix.Write(c.fds[from], d.AppendTo(c.out[:0]))
	for k := range c.fds {
		for got := 0; k != from && got == 0; {
			if got = c.receive(k, core.HeaderBytes+crowdPayload); got == 0 {
				runtime.Gosched()
			}
		}
	}
	if c.mode.Reliable() && i%20 == 19 {
		c.confirm()
	}
}

// receive takes what waits for one of them, and returns how many packages of a size, or of any,
// that was.
func (c *stepCrowd) receive(k, size int) (packages int) {
	for {
		n, err := unix.Read(c.fds[k], c.buf[:900])
		if err != nil {
			return packages
		}
		if n < core.HeaderBytes || c.buf[0]&flagControl != 0 {
			continue
		}
		if c.buf[0]>>modeShift != 0 && len(c.owed[k]) < core.MaxDatagram-3 {
			c.owed[k] = append(c.owed[k], c.buf[1:core.HeaderBytes]...)
		}
		if n == size || size == 0 {
			packages++
		}
	}
}

// confirm has all of them confirm what they have.
func (c *stepCrowd) confirm() {
	for k := range c.fds {
		if len(c.owed[k]) > core.HeaderBytes {
			_, _ = unix.Write(c.fds[k], c.owed[k])
			c.owed[k] = c.owed[k][:core.HeaderBytes]
		}
	}
}
