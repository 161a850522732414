package duplex

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/shell/shelltest"
)

// pollRig is a poller without its goroutine, and mains that the test reads by it.
type pollRig struct {
	t        *testing.T
	hub      hub
	p        *poller
	listener net.Listener
}

func newPollRig(t *testing.T) *pollRig {
	patient.Test(t)
	r := &pollRig{t: t}
	r.hub.wake = func() {}
	if r.p = newPoller(&r.hub); r.p == nil {
		t.Fatal("there is no poller")
	}
	r.hub.poller = r.p
	var err error
	if r.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.listener.Close()
		r.hub.finish()
	})
	return r
}

// open returns a main that the poller knows, and its peer.
func (r *pollRig) open() (*line, net.Conn) {
	peer, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	conn, err := r.listener.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	l := newLine(&r.hub, conn, conn, nil)
	if l.start(); l.reader != nil {
		r.t.Fatal("it has a goroutine of its own")
	}
	r.t.Cleanup(func() {
		peer.Close()
		l.close(false)
	})
	return l, peer
}

// poll waits until the system tells of something, and reads it.
func (r *pollRig) poll() {
	for !r.p.news(uintptr(r.p.epoll)) {
		runtime.Gosched()
	}
	for i := range r.p.events[:r.p.count] {
		r.p.read(r.p.events[i].Fd)
	}
}

// wants looks at what was left for the loop, and takes it.
func (r *pollRig) wants(l *line, bytes string, end error) {
	r.t.Helper()
	came, _ := r.hub.take(nil, nil, 10)
	if len(came) != 1 || came[0] != l || string(l.bytes) != bytes || l.end != end {
		r.t.Fatalf("%d came; it has %q, %v, want %q, %v", len(came), l.bytes, l.end, bytes, end)
	}
	l.release()
}

func (r *pollRig) wantsNothing(what string) {
	r.t.Helper()
	if came, _ := r.hub.take(nil, nil, 10); len(came) != 0 {
		r.t.Fatalf("%s: %d came", what, len(came))
	}
}

// A main has one piece at a time for the loop, and is read on when that is taken, up to its end.
func TestThePollerReadsAMainPieceByPiece(t *testing.T) {
	r := newPollRig(t)
	l, peer := r.open()
	peer.Write([]byte("one"))
	r.poll()
	peer.Write([]byte("two"))
	r.p.read(l.polled.number)
	r.wants(l, "one", nil)
	r.poll()
	peer.Close()
	r.p.read(l.polled.number)
	r.wants(l, "two", nil)
	r.poll()
	r.wants(l, "", io.EOF)
}

// News of a main that was closed may come when another one has its number: there is nothing to read, and what comes
// later is read.
func TestNewsOfAMainThatIsClosedAreNobodys(t *testing.T) {
	r := newPollRig(t)
	a, peer := r.open()
	peer.Write([]byte("late"))
	number := a.polled.number
	a.close(false)
	r.p.read(number)
	r.wantsNothing("news of nobody")
	b, peer := r.open()
	if b.polled.number != number {
		t.Fatalf("it is number %d, want %d", b.polled.number, number)
	}
	r.p.read(number)
	r.wantsNothing("news of another")
	peer.Write([]byte("its own"))
	r.poll()
	r.wants(b, "its own", nil)
	if len(r.p.lines) != 1 || len(r.p.free) != 0 {
		t.Errorf("there are %d numbers, %d free", len(r.p.lines), len(r.p.free))
	}
	b.close(false)
	peer.Write([]byte("x"))
	r.wantsNothing("after the end")
}

// What was closed while it was read is not armed again: its descriptor may be another's.
func TestAMainThatIsClosedIsNotArmed(t *testing.T) {
	r := newPollRig(t)
	l, _ := r.open()
	l.polled.armed = false // it is being read
	l.close(false)
	r.p.rearm(l)
	if l.polled.armed {
		t.Error("it is armed")
	}
}

// The last words of a main that we close reach a peer that still talks.
func TestAMainIsReadOutBeforeItCloses(t *testing.T) {
	r := newPollRig(t)
	l, peer := r.open()
	if buf := new([writeBytes]byte); !l.write(buf, copy(buf[:], "bye")) {
		t.Fatal("it is not written at once")
	}
	l.close(true)
	peer.SetDeadline(time.Now().Add(patience))
	for i := range 20 {
		if _, err := peer.Write(make([]byte, 10_000)); err != nil {
			t.Fatalf("what the peer says for the %d. time: %v", i+1, err)
		}
	}
	if b, err := io.ReadAll(peer); string(b) != "bye" || err != nil {
		t.Errorf("the peer read %q, %v", b, err)
	}
}

func TestThePollerDoesNotAllocate(t *testing.T) {
	if shelltest.Race {
		t.Skip("it counts what the race detector allocates")
	}
	r := newPollRig(t)
	l, peer := r.open()
	var came []*line
	word := []byte("x")
	cycle := func() {
		peer.Write(word)
		r.poll()
		came, _ = r.hub.take(came[:0], nil, 10)
		l.release()
	}
	cycle()
	if n := testing.AllocsPerRun(100, cycle); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
