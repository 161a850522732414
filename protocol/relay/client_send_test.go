package relay

import (
	"encoding/binary"
	"parley/protocol/relay/core"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// More than fits into the window and the backlog, sent and followed by Close: all of it comes,
// in its order.
func TestCloseSendsWhatWaits(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		var got atomic.Int64
		s := at.serve(t, Config{}, func(_ *Peer, ev Event) {
			if ev.Kind == EventPackage && numberOf(ev.Package.Payload) == int(got.Load()) {
				got.Add(1)
			}
		})
		x := at.join(t, s.Addr(), Config{Rules: core.Rules{MaxBacklog: 4096}})
		const n = 1000
		for i := range n {
			if err := x.SendWait(t.Context(), SemiOrdered, ToServer, []byte(number(i)+strings.Repeat("x", 200))); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got.Load() != n {
			t.Errorf("%d of %d arrived", got.Load(), n)
		}
		if err := x.SendWait(t.Context(), Unordered, ToServer, []byte("late")); err != ErrClosed {
			t.Errorf("after Close: %v", err)
		}
	})
}

// What is wrong with a package is said at once, and so is that too many wait.
func TestSendChecksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{}, nil)
		x := at.join(t, s.Addr(), Config{})
		for _, tt := range []struct {
			mode Mode
			size int
			want error
		}{
			{SemiOrdered, 1, nil}, {Unordered, MaxPayload, nil}, {Unreliable, 1, nil},
			{SemiOrdered + 1, 1, core.ErrMode}, {Unordered, 0, ErrPayloadSize}, {Unreliable, MaxPayload + 1, ErrPayloadSize},
		} {
			for name, send := range map[string]func() error{
				"Send":     func() error { return x.Send(tt.mode, ToServer, make([]byte, tt.size)) },
				"SendWait": func() error { return x.SendWait(t.Context(), tt.mode, ToServer, make([]byte, tt.size)) },
				"Queue":    func() error { return x.Queue(tt.mode, ToServer, make([]byte, tt.size)) },
			} {
				if err := send(); err != tt.want {
					t.Errorf("%s of %d bytes, %v: %v, want %v", name, tt.size, tt.mode, err, tt.want)
				}
			}
		}
		time.Sleep(time.Second) // virtual
		s.shell.Carrier().Close()
		<-s.Done()
		err := error(nil)
		for n := 0; err == nil && n < 10_000; n++ {
			err = x.Send(Unordered, ToServer, make([]byte, 400))
			synctest.Wait()
		}
		if err != ErrBacklogFull {
			t.Errorf("to a server that takes nothing: %v", err)
		}
		if err := x.Send(Unreliable, ToServer, []byte("x")); err != nil && err != ErrBacklogFull {
			t.Errorf("unreliable: %v", err)
		}
	})
}

// number is a number as four bytes.
func number(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

func numberOf(b []byte) int { return int(binary.BigEndian.Uint32(b)) }
