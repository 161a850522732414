package stream

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/shell/shelltest"
)

// pollRig is a poller without its goroutine, and connections that the test reads by it.
type pollRig struct {
	t      *testing.T
	l      *Listener
	socket net.Listener
	heard  string
	ended  error
}

func newPollRig(t *testing.T) *pollRig {
	patient.Test(t)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &pollRig{t: t, l: newListener(socket, Config{}), socket: socket}
	if r.l.poller = newPoller(&r.l.hub); r.l.poller == nil {
		t.Fatal("there is no poller")
	}
	t.Cleanup(r.l.Close)
	return r
}

func (r *pollRig) Opened(time.Time, Stream) Receiver { return r }
func (r *pollRig) Writable(time.Time)                {}
func (r *pollRig) Ended(_ time.Time, err error)      { r.ended = err }
func (r *pollRig) Received(_ time.Time, b []byte) int {
	r.heard += string(b)
	return len(b)
}

// open returns a connection that the poller knows, and its peer.
func (r *pollRig) open() (c *Conn, peer net.Conn) {
	peer, err := net.Dial("tcp", r.socket.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { peer.Close() })
	return r.accept(), peer
}

// accept is open for a peer that has dialed.
func (r *pollRig) accept() (c *Conn) {
	near, err := r.socket.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	r.l.begin(near.(*net.TCPConn))
	for c = range r.l.conns {
		if c.news&newsOpened != 0 {
			break
		}
	}
	r.l.Turn(time.Time{}, r)
	if c.taken != nil || !c.armed {
		r.t.Fatal("the poller does not read it")
	}
	return c
}

// poll waits until the system tells of something, and reads it.
func (r *pollRig) poll() {
	p := r.l.poller
	for !p.news(uintptr(p.epoll)) {
		runtime.Gosched()
	}
	for i := range p.events[:p.count] {
		p.read(p.events[i].Fd)
	}
}

// wants takes a turn, and looks at what it told.
func (r *pollRig) wants(what, bytes string, end error) {
	r.t.Helper()
	r.heard, r.ended = "", nil
	r.l.Turn(time.Time{}, r)
	if r.heard != bytes || r.ended != end {
		r.t.Fatalf("%s: %q, %v, want %q, %v", what, r.heard, r.ended, bytes, end)
	}
}

// A connection has one buffer at a time for Turn, and is read on when that is taken, up to its end.
func TestThePollerReadsPieceByPiece(t *testing.T) {
	r := newPollRig(t)
	c, peer := r.open()
	peer.Write([]byte("one"))
	r.poll()
	peer.Write([]byte("two"))
	r.l.poller.read(c.polled.number)
	r.wants("the first piece", "one", nil)
	r.poll()
	peer.Close()
	r.l.poller.read(c.polled.number)
	r.wants("the second piece", "two", nil)
	r.poll()
	r.wants("the end", "", io.EOF)
}

// News of a connection that was closed may come when another one has its number: there is nothing to read, and what comes
// later is read.
func TestNewsOfAClosedConnectionAreNobodys(t *testing.T) {
	r := newPollRig(t)
	a, peer := r.open()
	peer.Write([]byte("late"))
	number := a.polled.number
	a.Cut()
	r.l.poller.read(number)
	r.wants("news of nobody", "", net.ErrClosed)
	b, peer := r.open()
	if b.polled.number != number {
		t.Fatalf("it is number %d, want %d", b.polled.number, number)
	}
	r.l.poller.read(number)
	r.wants("news of another", "", nil)
	peer.Write([]byte("its own"))
	r.poll()
	r.wants("its own news", "its own", nil)
	if p := r.l.poller; len(p.conns) != 1 || len(p.free) != 0 {
		t.Errorf("there are %d numbers, %d free", len(p.conns), len(p.free))
	}
}

// A connection that was closed while it was read is not armed again: another one may have its descriptor.
func TestAClosedConnectionIsNotArmed(t *testing.T) {
	r := newPollRig(t)
	c, _ := r.open()
	c.armed = false // it is being read
	c.Cut()
	c.readOn()
	if c.armed {
		t.Error("it is armed")
	}
}

// Bytes that the core does not take are handed over again, and nothing is read before they are taken.
func TestBytesThatAreNotTakenComeAgain(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		patient.Test(t)
		l, err := Listen("127.0.0.1:0", config)
		if err != nil {
			t.Fatal(err)
		}
		s := &server{t: t, l: l}
		woken := startWaking(l)
		t.Cleanup(l.Close)
		b := &bit{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c := s.dial()
			c.Write(make([]byte, 3*readBytes))
			c.(interface{ CloseWrite() error }).CloseWrite()
		}()
		for b.ended == nil {
			patient.Value(woken)
			for range 3 * readBytes { // one byte a turn is taken, though nothing new wakes the core
				l.Turn(time.Now(), b)
			}
		}
		if b.bytes != 3*readBytes || b.ended != io.EOF {
			t.Errorf("%d bytes, then %v", b.bytes, b.ended)
		}
		patient.Value(done)
	})
}

// bit is a core that takes one byte at a time.
type bit struct {
	bytes int
	ended error
}

func (b *bit) Opened(_ time.Time, s Stream) Receiver { s.Entered(); return b }
func (b *bit) Writable(time.Time)                    {}
func (b *bit) Ended(_ time.Time, err error)          { b.ended = err }
func (b *bit) Received(time.Time, []byte) int        { b.bytes++; return 1 }

func TestThePollerDoesNotAllocate(t *testing.T) {
	if shelltest.Race {
		t.Skip("it counts what the race detector allocates")
	}
	r := newPollRig(t)
	c, peer := r.open()
	word, answer := []byte("x"), make([]byte, 1)
	deaf := &bit{}
	c.core = deaf
	cycle := func() {
		peer.Write(word)
		r.poll()
		r.l.Turn(time.Time{}, deaf)
		c.Send(word)
		io.ReadFull(peer, answer)
	}
	cycle()
	if n := testing.AllocsPerRun(100, cycle); n > 0 || deaf.bytes < 100 {
		t.Errorf("%v allocations for %d words", n, deaf.bytes)
	}
}
