package core

import (
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// A server that never answers, or whose accept is all that gets through, is given up in time.
func TestAHandshakeThatCannotSucceedEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		pass func(Kind) bool
		by   time.Duration
	}{
		{"nothing comes back", func(k Kind) bool { return k != KindAccept }, 10 * time.Second},
		{"no ack gets through", func(k Kind) bool { return k != KindAck }, 11 * time.Second},
		{"no entity gets through", func(k Kind) bool { return k != KindEntity }, 11 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1, Config{}, kit.Lan())
			sent := map[Kind]int{}
			w.Filter(func(p simnet.Packet) simnet.Verdict {
				var got Packet
				if !got.Parse(FromClient, p.Bytes) {
					got.Parse(FromServer, p.Bytes)
				}
				sent[got.Kind]++
				return simnet.Verdict{Drop: !tt.pass(got.Kind)}
			})
			x := w.dial(0, Config{})
			w.Until("given up", tt.by, func() bool { return x.closed != nil })
			if x.closed.Reason != ReasonTimeout || len(x.events) != 1 {
				t.Errorf("the client saw %v", x.events)
			}
			// 250, 500 and then every 1,000 ms.
			if n := sent[KindInit] + sent[KindAck]; n < 10 || n > 14 {
				t.Errorf("%d inits and acks in 10 s", n)
			}
			w.Pass(11 * time.Second)
			if w.mux.Len() != 0 {
				t.Error("the server still has a connection")
			}
			if n := w.Stats().InFlight; n != 0 {
				t.Errorf("%d datagrams are still sent", n)
			}
		})
	}
}

// A server that forgets everybody at once cannot keep a client going round for ever.
func TestAHandshakeIsNotBegunAnewForEver(t *testing.T) {
	now := time.Unix(0, 0)
	x := NewClient(now, serverAddr, Config{}, newShared(1))
	var buf [MaxPacket]byte
	inits := 0
	for range 100 {
		for n, _, ok := x.PollTransmit(buf[:]); ok; n, _, ok = x.PollTransmit(buf[:]) {
			var p, answer Packet
			if !p.Parse(FromClient, buf[:n]) {
				t.Fatalf("sent %x", buf[:n])
			}
			now = now.Add(time.Millisecond)
			if answer = (Packet{Kind: KindDisconnect, Sequence: p.Sequence, Time: p.Time}); p.Kind == KindInit {
				inits++
				answer = Packet{Kind: KindAccept, Sequence: 1, Time: 77}
			}
			x.HandleDatagram(now, serverAddr, answer.AppendTo(FromServer, nil))
		}
	}
	ev, _ := x.PollEvent()
	if ev.Kind != EventClosed || ev.Close.Reason != ReasonUnknown || inits != 1+maxRestarts {
		t.Errorf("after %d inits: %+v", inits, ev)
	}
}

// The time to give up counts anew from the accept, and a client that has more patience than
// 10 s still gets a clock from a late one.
func TestALateAccept(t *testing.T) {
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		inits   time.Duration // for how long they are lost
		acks    time.Duration // and acks after that
	}{
		{"after 9 s, and acks after 3 s more", 0, 9 * time.Second, 3 * time.Second},
		{"after 15 s", 30 * time.Second, 15 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1, Config{}, kit.Lan())
			w.Filter(func(p simnet.Packet) simnet.Verdict {
				var got Packet
				isAck := got.Parse(FromClient, p.Bytes) && got.Kind == KindAck
				return simnet.Verdict{Drop: w.Elapsed() < tt.inits || isAck && w.Elapsed() < tt.inits+tt.acks}
			})
			x := w.dial(0, Config{Timeout: tt.timeout})
			w.Until("connected", 20*time.Second, func() bool { return x.State() == StateOpen })
			// Which init the accept answered nobody can tell, so the clock may be off by half of
			// the time that it all took; but not by more than it says.
			off, bound := int64(x.ServerTime(x.host.Now())-x.conn().endpoint.ServerTime(w.Now())), x.ClockError(x.host.Now())
			if max(off, -off) > bound.Microseconds() || bound > (tt.acks+time.Second)/2 {
				t.Errorf("the clock is %d µs off and says %v at most", off, bound)
			}
		})
	}
}

// A client that was told to begin anew may be told once more, for an ack that it had repeated.
// That is no rejection.
func TestASecondNoticeIsNoRejection(t *testing.T) {
	now := duoStart
	x := NewClient(now, serverAddr, Config{}, newShared(1))
	tell := func(p Packet) { x.HandleDatagram(now, serverAddr, p.AppendTo(FromServer, nil)) }
	tell(Packet{Kind: KindAccept, Sequence: 1, Time: 1 << 50})
	notice := Packet{Kind: KindDisconnect, Sequence: 1, Time: 1 << 50}
	for range 2 {
		if tell(notice); x.State() != StateConnecting {
			t.Fatalf("the client is %v", x.State())
		}
	}
	notice.Reason = []byte("full")
	if tell(notice); x.State() != StateClosed {
		t.Errorf("after a rejection the client is %v", x.State())
	}
}
