package program

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	front "parley"
	"parley/client"
	"parley/internal/patient"
)

// rope leads to a server, over TCP and UDP at the same port, and its streams can be cut. Without datagrams duplex would wait for its
// feed for five seconds, each time.
type rope struct {
	listener net.Listener
	packets  net.PacketConn
	group    sync.WaitGroup
	mu       sync.Mutex
	open     []net.Conn
}

func newRope(t *testing.T, to string) *rope {
	t.Helper()
	w := &rope{}
	for w.packets == nil { // the port of the stream may be taken for datagrams
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if w.packets, err = net.ListenPacket("udp", l.Addr().String()); err != nil {
			l.Close()
			continue
		}
		w.listener = l
	}
	l := w.listener
	w.group.Go(func() { w.carryPackets(to) })
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
		w.packets.Close()
		w.cut()
		patient.Done(w.group.Wait)
	})
	return w
}

// carryPackets leads the datagrams of each client to the server and back, until packets is closed.
func (w *rope) carryPackets(to string) {
	ends := map[string]net.Conn{} // the far end of each client
	b := make([]byte, 1<<16)
	for {
		n, from, err := w.packets.ReadFrom(b)
		if err != nil {
			break
		}
		far := ends[from.String()]
		if far == nil {
			if far, err = net.Dial("udp", to); err != nil {
				continue
			}
			ends[from.String()] = far
			w.group.Go(func() {
				b := make([]byte, 1<<16)
				for n, err := far.Read(b); !errors.Is(err, net.ErrClosed); n, err = far.Read(b) {
					if err == nil { // or the server was not there
						w.packets.WriteTo(b[:n], from)
					}
				}
			})
		}
		far.Write(b[:n])
	}
	for _, far := range ends {
		far.Close()
	}
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
	seat := &joinSeat{out: &out}
	now := time.Unix(1, 0)
	for _, ev := range []client.Event{
		{Kind: client.Away, Own: true, Text: "a\x1b[2J"}, {Kind: client.Back, Own: true, Text: "duplex"}, {Kind: client.Away, Name: "somebody else"},
		{Kind: client.Away, Own: true, Text: "c"}, {Kind: client.Ended, Own: true, Text: "no such session"},
	} {
		seat.notice(now, ev)
		now = now.Add(1230 * time.Millisecond)
	}
	want := "connection lost, coming back … (a·[2J)\nback after 1.23s\n" +
		"connection lost, coming back … (c)\ncould not come back: no such session\n"
	if out.String() != want {
		t.Errorf("it is\n%swant\n%s", &out, want)
	}
}
