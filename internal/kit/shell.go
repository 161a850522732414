package kit

import (
	"context"
	"iter"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"parley/internal/datagram"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
)

// Shell is a dialect's server and client around its cores, over sockets.
type Shell struct {
	// Name is the part under which promises are recorded, and the dialect's name in logs and errors.
	Name string
	// Mute says that clients send nothing.
	Mute bool
	// Enters says that a client has a place among MaxConns with the event Entered, not with Connected.
	Enters bool
	// MaxBytes is the largest ordered packet that the tests send.
	MaxBytes int

	Serve func(carrier datagram.Carrier, o Options, handle func(Conn, Event)) RunningServer
	Dial  func(ctx context.Context, carrier datagram.Carrier, o Options) (RunningClient, error)

	// Listen and DialName are the dialect's Listen and Dial with Options{Timeout: Unhurried}.
	Listen   func(addr string) (RunningServer, error)
	DialName func(ctx context.Context, addr string) (RunningClient, error)
	// Why is how a connection ended, from the error of a Dial.
	Why func(error) Event
	// ErrServerClosed is what Do says after Close, and ErrClosed is what Send says after the end.
	ErrServerClosed, ErrClosed error
}

// Options are what the tests set in a dialect's Config.
type Options struct {
	Timeout, Linger time.Duration
	MaxConns        int
	Log             *slog.Logger
	Refuse          string // the text with which a server refuses everybody, if not empty
}

// RunningServer is a dialect's Server. A struct that embeds it has most of this.
type RunningServer interface {
	Addr() netip.AddrPort
	Do(func()) error
	Shutdown(context.Context) error
	Close() error
	Done() <-chan struct{}

	Counts() Counts
	Check() error // if counters do not add up
	Idle() bool   // inside Do: nothing of a connection that is over is held
	Break()       // closes the socket, without a word to anybody
}

// Counts are counters of a server.
type Counts struct {
	Conns              int
	Opened, Ended      uint64
	Malformed          uint64
	OutFaults, OutLost uint64 // failed system calls, and datagrams that were given up for one
	InData             uint64 // datagrams that came
	Turns              uint64 // of the loop
}

// RunningClient is a dialect's Client. A struct that embeds it has most of this.
type RunningClient interface {
	LocalAddr() netip.AddrPort
	Err() error
	Close(context.Context) error

	All() iter.Seq[Event]
	Send(mode Mode, data []byte) error
	Clock() (µs uint64, within time.Duration) // of the server, and how wrong it may be
	RTT() time.Duration
	Check() error                      // if nothing is counted, or counters do not add up
	Queued() (events int, bytes int64) // what waits for a reader
	Over() <-chan struct{}             // the connection has ended
	Stopped() <-chan struct{}          // its loop has ended, too
	Break()                            // closes the socket
}

// Conn is a server's connection.
type Conn interface {
	Peer() netip.AddrPort
	Send(mode Mode, data []byte) error
	Close(text string)
	ServerTime() uint64
}

// Unhurried is how long a peer may be silent at real sockets: a machine that runs something else for 10 s is no peer
// that has gone.
const Unhurried = time.Minute

// place is where the sockets of a test are.
type place struct {
	shelltest.Place
	sh Shell
}

func (sh Shell) memory() place             { return place{shelltest.Memory(), sh} }
func (sh Shell) kernel(c udp.Config) place { return place{shelltest.Kernel(c), sh} }

func (sh Shell) eachPlace(t *testing.T, test func(t *testing.T, at place)) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) { test(t, place{at, sh}) })
}

func (p place) options(o Options) Options {
	if p.Network == nil && o.Timeout == 0 {
		o.Timeout = Unhurried
	}
	return o
}

func (p place) serve(t testing.TB, o Options, handle func(Conn, Event)) RunningServer {
	t.Helper()
	if handle == nil {
		handle = func(Conn, Event) {}
	}
	s := p.sh.Serve(p.Listen(t), p.options(o), handle)
	t.Cleanup(func() { s.Close() })
	return s
}

func (p place) tryDial(ctx context.Context, t testing.TB, to netip.AddrPort, o Options) (RunningClient, error) {
	t.Helper()
	return p.sh.Dial(ctx, p.Dial(t, to), p.options(o))
}

// connect returns a client that its server knows.
func (p place) connect(t testing.TB, s RunningServer, o Options) RunningClient {
	t.Helper()
	opened := s.Counts().Opened
	x, err := p.tryDial(t.Context(), t, s.Addr(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(shelltest.Ended()) })
	waitFor(t, s, func() bool { return s.Counts().Opened > opened })
	return x
}

// waitFor has the server's loop run until cond holds.
func waitFor(t testing.TB, s RunningServer, cond func() bool) {
	t.Helper()
	for !cond() {
		if err := s.Do(func() {}); err != nil {
			t.Fatal(err)
		}
	}
}

// welcome sends each newcomer some packets.
func welcome(t testing.TB, mode Mode, packets ...string) func(Conn, Event) {
	return func(c Conn, ev Event) {
		if ev.Kind != Connected {
			return
		}
		for _, p := range packets {
			if err := c.Send(mode, []byte(p)); err != nil {
				t.Errorf("send: %v", err)
			}
		}
	}
}

// reply has a dialect's clients hear packets: the server says them to each newcomer, or says back what clients that are not
// mute say with say.
func (p place) reply(t testing.TB, packets ...string) func(Conn, Event) {
	if p.sh.Mute {
		return welcome(t, Ordered, packets...)
	}
	return echo(t)
}

func (p place) say(x RunningClient, packets ...string) error {
	for _, text := range packets {
		if err := x.Send(Ordered, []byte(text)); err != nil && !p.sh.Mute {
			return err
		}
	}
	return nil
}

// echo says back what comes, in the mode in which it came.
func echo(t testing.TB) func(Conn, Event) {
	return func(c Conn, ev Event) {
		if ev.Kind != Data {
			return
		}
		if err := c.Send(ev.Mode, ev.Bytes); err != nil {
			t.Errorf("send: %v", err)
		}
	}
}

// ends reads what is left and returns how the connection ended.
func ends(x RunningClient) (last Event) {
	for ev := range x.All() {
		last = ev
	}
	return last
}

// want holds an end against what it should be.
func want(t testing.TB, got Event, reason string, remote bool, text string) {
	t.Helper()
	if got.Kind != Ended || got.Reason != reason || got.Remote != remote || got.Text != text {
		t.Errorf("a connection ended with %+v, want %q, remote %t, with the text %q", got, reason, remote, text)
	}
}

// The reasons that all dialects have.
const (
	reasonClosed   = "closed"
	reasonPeer     = "peer left"
	reasonRejected = "rejected"
)
