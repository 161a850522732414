package wt_test

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/carry"
	"parley/internal/carry/wt"
	"parley/internal/datagram"
	"parley/internal/patient"
	"parley/internal/stream"
	"parley/internal/way"
)

func TestMain(m *testing.M) {
	if ask := os.Getenv(crewEnv); ask != "" {
		os.Exit(beCrew(ask))
	}
	goleak.VerifyTestMain(m)
}

// largest is what a core puts into a datagram over WebTransport.
var largest = way.Largest(way.SessionAddr(way.WebTransport, 0).Addr())

// echo is a core that sends back what comes. It says goodbye to who says bye.
type echo struct {
	hall *carry.Hall
	out  []datagram.Message
	gone atomic.Int64
}

func (e *echo) HandleDatagram(_ time.Time, from netip.AddrPort, b []byte) {
	switch string(b) {
	case "silence": // this session has no connection of the dialect
		return
	case "bye":
		for range 20 {
			e.out = append(e.out, datagram.Message{From: from, Data: make([]byte, largest)})
		}
		e.out = append(e.out, datagram.Message{From: from, Data: []byte("goodbye")})
		e.hall.Hangup(from)
		return
	case "flood":
		for range 300 {
			e.out = append(e.out, datagram.Message{From: from, Data: make([]byte, largest)})
		}
	}
	e.hall.Welcome(from)
	e.out = append(e.out, datagram.Message{From: from, Data: bytes.Clone(b)})
}
func (e *echo) HandleGone(time.Time, netip.AddrPort) { e.gone.Add(1) }
func (e *echo) HandleTimeout(time.Time)              {}
func (e *echo) NextTimeout() (at time.Time, ok bool) { return at, false }
func (e *echo) PollTransmit(buf []byte) (n int, to netip.AddrPort, ok bool) {
	if len(e.out) == 0 {
		return 0, to, false
	}
	m := e.out[0]
	if e.out = e.out[1:]; len(e.out) == 0 {
		e.out = nil
	}
	return copy(buf, m.Data), m.From, true
}

// streamEcho sends back what comes on streams, and closes one that says bye.
type streamEcho struct{}

type streamPeer struct{ stream.Stream }

func (streamEcho) Opened(_ time.Time, s stream.Stream) stream.Receiver { return streamPeer{s} }
func (p streamPeer) Received(_ time.Time, b []byte) int {
	if !p.Ready() {
		return 0
	}
	p.Send(bytes.Clone(b))
	if bytes.HasSuffix(b, []byte("bye")) {
		p.Finish()
	}
	return len(b)
}
func (streamPeer) Writable(time.Time)     {}
func (streamPeer) Ended(time.Time, error) {}

// ground is a server with the hall "replica", behind which is an echo, and "realm", whose streams are echoed.
type ground struct {
	t      testing.TB
	server *wt.Server
	hall   *carry.Hall
	realm  *carry.Hall
	core   *echo
	own    *wt.Own
}

// newGround returns a ground for a test that waits for most of its time.
func newGround(t *testing.T, c wt.Config) *ground {
	patient.Test(t)
	t.Parallel()
	return layGround(t, c, carry.Config{})
}

// anyNumber lets an address have any number of sessions.
var anyNumber = carry.Config{OfHost: -1}

func layGround(t testing.TB, c wt.Config, b carry.Config) *ground {
	g := &ground{t: t}
	var err error
	if g.own, err = wt.NewOwn(time.Now); err != nil {
		t.Fatal(err)
	}
	c.Building = carry.NewBuilding(b)
	c.Certificate = g.own.Certificate
	g.hall = c.Building.Hall("replica")
	g.core = &echo{hall: g.hall}
	loop := datagram.StartLoop(carry.Join(datagram.NewSilent(netip.AddrPort{}, netip.AddrPort{}), g.hall), g.core, datagram.LoopConfig{})
	t.Cleanup(func() { loop.Close() })
	g.realm = c.Building.Hall("realm")
	g.serveStreams()
	if g.server, err = wt.Listen("127.0.0.1:0", c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.server.Close)
	return g
}

// serveStreams echoes streams until the test is over.
func (g *ground) serveStreams() {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	streams := carry.JoinStreams(stream.Serve(socket, stream.Config{}), g.realm)
	wake, end := make(chan struct{}, 1), make(chan struct{})
	streams.Start(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-wake:
				streams.Turn(time.Now(), streamEcho{})
			case <-end:
				return
			}
		}
	})
	g.t.Cleanup(func() {
		close(end)
		patient.Done(group.Wait)
		streams.Close()
	})
}
