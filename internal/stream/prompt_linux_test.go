package stream

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/patient"
)

// answerer answers what it reads, and notes whether its system would wait for the next answer with an acknowledgement.
type answerer struct {
	x     *Client
	waits []bool
}

func (a *answerer) Opened(time.Time, Stream) Receiver { return a }
func (a *answerer) Writable(time.Time)                {}
func (a *answerer) Ended(time.Time, error)            {}

func (a *answerer) Received(_ time.Time, b []byte) int {
	_ = a.x.conn.raw.Control(func(fd uintptr) {
		quick, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK)
		a.waits = append(a.waits, err == nil && quick == 0)
	})
	a.x.conn.Send(b)
	return len(b)
}

// A prompt client acknowledges at once, though it has answered all that it got. By itself its system waits for the next answer.
func TestAPromptClientWaitsForNoAnswer(t *testing.T) {
	talk := func(prompt bool, until func(waits []bool) bool) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		x, err := Dial(context.Background(), net.Dialer{}, l.Addr().String(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = x.Close(context.Background()) }()
		if prompt {
			x.Prompt()
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		a, woken := &answerer{x: x}, make(chan struct{}, 1)
		x.Start(func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
		for one := make([]byte, 1); !until(a.waits); {
			if _, err := server.Write(one); err != nil {
				t.Fatal(err)
			}
			for n := len(a.waits); len(a.waits) == n; {
				patient.Value(woken)
				x.Turn(time.Now(), a)
			}
			if _, err := io.ReadFull(server, one); err != nil {
				t.Fatal(err)
			}
		}
	}
	talk(false, func(waits []bool) bool { return len(waits) > 0 && waits[len(waits)-1] })
	talk(true, func(waits []bool) bool {
		if len(waits) > 0 && waits[len(waits)-1] {
			t.Fatalf("message %d waits", len(waits))
		}
		return len(waits) == 50
	})
}
