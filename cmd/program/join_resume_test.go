package program

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	front "parley"
	"parley/internal/patient"
	"parley/play/player"
)

// rope leads streams to a server, and can be cut.
type rope struct {
	listener net.Listener
	group    sync.WaitGroup
	mu       sync.Mutex
	open     []net.Conn
}

func newRope(t *testing.T, to string) *rope {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &rope{listener: l}
	w.group.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			w.mu.Lock()
			w.open = append(w.open, near, far)
			w.mu.Unlock()
			w.group.Go(func() { io.Copy(near, far) })
			w.group.Go(func() { io.Copy(far, near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.cut()
		patient.Done(w.group.Wait)
	})
	return w
}

// cut resets all streams.
func (w *rope) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	w.open = nil
}

// Who plays at a terminal and loses the connection is told so, and plays on as the same player.
func TestJoinComesBack(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, dialect := range []string{"duplex", "realm"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel() // it waits for most of its time
			s, addrs, _ := serveArena(t)
			w := newRope(t, addrs[dialect])
			args, first := []string{dialect, w.listener.Addr().String(), "--name", "ann"}, ""
			if dialect == "realm" {
				args, first = append(args, "--realm-plain", "--password-stdin"), "correct horse"
			}
			u := join(t, first, args...)
			u.waits("which is you", "who")
			before := idOf(t, s, "ann")
			for range 2 {
				u.types("here")
				u.waits(": here", "") // so that the server has its session confirmed
				w.cut()
				u.waits("connection lost, coming back …", "")
				u.waits("back after ", "")
			}
			if got := idOf(t, s, "ann"); got != before {
				t.Errorf("it was player %d, and is %d", before, got)
			}
			u.types("say hello again")
			u.waits("ann: hello again", "")
			u.quits()
		})
	}
}

// idOf returns the number of a player.
func idOf(t *testing.T, s *front.Server, name string) uint64 {
	t.Helper()
	list, err := s.Players()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Name == name {
			return uint64(p.ID)
		}
	}
	t.Fatalf("%s is not among %v", name, list)
	return 0
}

// Who cannot come back reads why.
func TestJoinCannotComeBack(t *testing.T) {
	s, addrs, _ := serveArena(t)
	u := join(t, "", "replica", addrs["replica"])
	u.waits("which is you", "who")
	s.Close()
	u.waits("connection lost, coming back … (replica: connection ended: peer left: server closing)", "")
	u.quits()

	var out strings.Builder
	seat := &joinSeat{out: &out, over: make(chan struct{})}
	for _, n := range []player.Notice{
		{Kind: player.Away, Text: "a\x1b[2J"}, {Kind: player.Back, Same: true, Absence: 1230 * time.Millisecond},
		{Kind: player.Away, Text: "b"}, {Kind: player.Back, Absence: 2 * time.Second},
		{Kind: player.Away, Text: "c"}, {Kind: player.Ended, Text: "no such session"},
	} {
		seat.notice(n)
	}
	want := "connection lost, coming back … (a·[2J)\nback after 1.23s\n" +
		"connection lost, coming back … (b)\nback after 2s, as a new player: the server did not hold your place\n" +
		"connection lost, coming back … (c)\ncould not come back: no such session\n"
	if out.String() != want {
		t.Errorf("it is\n%swant\n%s", &out, want)
	}
}
