package stream

import (
	"context"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/patient"
)

// tinyWindow has a socket advertise as little room as the system permits.
func tinyWindow(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 1) })
	if err == nil {
		err = failed
	}
	return err
}

// A peer that never reads, reads a byte at a time or has room for next to nothing is soon given only what a player cannot do
// without, has little held for it by us and by the system, and takes nothing from another.
func TestASlowReaderHoldsLittle(t *testing.T) {
	for _, tt := range []struct {
		name    string
		control func(network, address string, raw syscall.RawConn) error
		read    func(peer net.Conn)
	}{
		{"never reads", nil, func(net.Conn) {}},
		{"reads a byte at a time", nil, func(peer net.Conn) { io.ReadFull(peer, make([]byte, 1)) }},
		{"has a tiny window", tinyWindow, func(net.Conn) {}},
		{"has a tiny window and reads a byte at a time", tinyWindow, func(peer net.Conn) { io.ReadFull(peer, make([]byte, 1)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newPollRig(t)
			honest, friend := r.open()
			dialer := net.Dialer{Control: tt.control}
			peer, err := dialer.DialContext(context.Background(), "tcp", r.socket.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { peer.Close() })
			slow := r.accept()
			zeros := 0
			b := make([]byte, 8<<10)
			const ticks = 200
			for tick := range ticks {
				if p := slow.Pace(time.Now(), 0); p.Budget == 0 {
					zeros++
				} else if slow.Ready() {
					slow.Send(b)
				}
				if honest.Pace(time.Now(), 0); !honest.Ready() {
					t.Fatalf("tick %d: the other one is held up", tick)
				}
				honest.Send(b)
				if _, err := io.ReadFull(friend, make([]byte, len(b))); err != nil {
					t.Fatal(err)
				}
				tt.read(peer)
				if n := len(slow.out.pending); n > maxPending {
					t.Fatalf("%d bytes are pending", n)
				}
			}
			var info *unix.TCPInfo
			slow.raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
			if err != nil {
				t.Fatal(err)
			}
			written, pending := slow.out.counts()
			t.Logf("%d bytes written, of which %d are pending and %d unsent; %d ticks had to wait", written, pending, info.Notsent_bytes, zeros)
			const segment = 64 << 10 // which the system fills up before it looks at its bound
			if n := int(info.Notsent_bytes); n > maxUnsent+segment {
				t.Errorf("the system holds %d bytes that it has not sent", n)
			}
			if n := int(written) - pending; n > 2*sendBuffer {
				t.Errorf("the system was given %d bytes", n)
			}
			if zeros < ticks/4 {
				t.Errorf("only %d of %d ticks had to wait", zeros, ticks)
			}
		})
	}
}

// What the peer has read is known to have arrived, and what the system counts before the first byte is no matter.
func TestWhatHasArrivedIsKnown(t *testing.T) {
	r := newPollRig(t)
	c, peer := r.open()
	c.Pace(time.Now(), 0)
	for range 20 {
		c.Send(make([]byte, 1000))
		if _, err := io.ReadFull(peer, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		peer.Write([]byte{1}) // which brings an acknowledgement at once
		patient.Until(t, "all has arrived", func() bool {
			for range lookTicks {
				if c.Pace(time.Now(), 0).Unacked == 0 {
					return true
				}
			}
			return false
		})
	}
	if c.flow.acked != 20_000 {
		t.Errorf("%d bytes have arrived", c.flow.acked)
	}
}

// Asking the system allocates nothing.
func TestPaceAllocatesNothing(t *testing.T) {
	r := newPollRig(t)
	c, _ := r.open()
	now := time.Now()
	c.Pace(now, 0)
	c.Send([]byte{1})
	if n := testing.AllocsPerRun(200, func() {
		now = now.Add(50 * time.Millisecond)
		c.flow.waits = true // so that it is looked at
		c.Pace(now, 0)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPace(b *testing.B) {
	for _, looks := range []bool{false, true} {
		name := "a quiet tick"
		if looks {
			name = "a look"
		}
		b.Run(name, func(b *testing.B) {
			server, peer := socketPair(b)
			defer peer.Close()
			var h hub
			h.init(0)
			c, err := newConn(&h, server)
			if err != nil {
				b.Fatal(err)
			}
			defer server.Close()
			now := time.Now()
			c.Pace(now, 0)
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(50 * time.Millisecond)
				if looks {
					c.flow.count, c.flow.waits = 1, true
				}
				c.Pace(now, 0)
			}
		})
	}
}

func socketPair(b *testing.B) (server *net.TCPConn, peer net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if peer, err = net.Dial("tcp", l.Addr().String()); err != nil {
		b.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	return c.(*net.TCPConn), peer
}
