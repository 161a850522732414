package core

import (
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
)

// T27: after the end nothing happens any more, whatever comes or is asked.
func TestAfterClosed(t *testing.T) {
	t.Parallel()
	rng := kit.Rand(t)
	stages := []*stage{newStage(t, FromClient, "open"), newStage(t, FromServer, "open")}
	for range promise.Keeps(t, "T27", "duplex", kit.Rounds(10_000, 100_000)) {
		for _, s := range stages {
			s.Begin(anyState(s.side, rng))
			s.e.end(Close{Reason: Reason(1 + rng.IntN(int(ReasonSocket)))})
			if s.mux != nil {
				s.mux.touch(s.conn)
			}
			closed := 0
			count := func() {
				_, reason := s.poll()
				if reason != "" {
					closed++
				}
			}
			count()
			for range 100 {
				s.now = s.now.Add(time.Duration(rng.Int64N(int64(time.Second))))
				switch rng.IntN(4) {
				case 0:
					s.deliver(s.messages()[rng.IntN(len(s.messages()))])
				case 1:
					s.e.HandleTimeout(s.now)
				case 2:
					poke(s.e, s.now, rng)
				case 3:
					count()
				}
				if words, _ := s.poll(); len(words) > 0 {
					t.Fatalf("after closed: %v", words)
				}
			}
			if _, ok := s.e.NextTimeout(); ok || closed != 1 || s.e.state != StateClosed || s.e.out.size != 0 || s.e.feed.loose.Len() != 0 {
				t.Fatalf("closed is told %d times, a timeout %t, %v", closed, ok, s.e.state)
			}
			if s.mux == nil {
				continue
			}
			for _, _, ok := s.mux.PollTransmit(s.buf[:]); ok; _, _, ok = s.mux.PollTransmit(s.buf[:]) {
				t.Fatal("it sends after the end")
			}
			if !s.mux.conns.Idle() {
				t.Fatal("the mux holds something of a connection that is over")
			}
		}
	}
}

// anyState returns a state of an endpoint with a main.
func anyState(side Side, rng *rand.Rand) string {
	states := clientStates[:4]
	if side == FromServer {
		states = serverStates[1:6]
	}
	return states[rng.IntN(len(states))]
}

// poke calls something that a game may call.
func poke(e *Endpoint, now time.Time, rng *rand.Rand) {
	switch rng.IntN(10) {
	case 0:
		_ = e.Update(now, 1, noise[:8])
	case 1:
		_ = e.Sync(now, 1, noise[:8])
	case 2:
		_ = e.Signal(now, Channel(1+rng.IntN(2)), 14)
	case 3:
		_, _ = e.Query(now, Channel(1+rng.IntN(2)), 65, noise[:4])
	case 4:
		_ = e.Reply(now, uint32(rng.IntN(3)), 0, noise[:4])
	case 5:
		e.Cancel(now, uint32(rng.IntN(3)))
	case 6:
		e.Close(now, "")
	case 7:
		e.Abort(now, "")
	case 8:
		e.HandleEnd(now, "")
	case 9:
		_ = e.RequestSync(now)
	}
}

// A client that closes has what it said before arrive.
func TestCloseWritesWhatWasQueued(t *testing.T) {
	w, x := joined(t, 1, Config{}, perfect)
	for i := range uint64(100) {
		if err := x.Sync(x.host.Now(), 1, valueOf(i)[1:]); err != nil {
			t.Fatal(err)
		}
	}
	x.Close(x.host.Now(), "bye")
	if x.State() != StateClosing {
		t.Errorf("it is %v with bytes to write", x.State())
	}
	if err := x.Sync(x.host.Now(), 1, noise[:8]); err != ErrClosed {
		t.Errorf("a sync while closing: %v", err)
	}
	x.run(100 * time.Millisecond)
	if got := only(w.log, "sync "); len(got) != 100 || w.log[len(w.log)-1] != "closed: peer left" {
		t.Errorf("%d arrived, and the server saw %s", len(got), w.log[len(w.log)-1])
	}
	if x.closed == nil || x.closed.Reason != ReasonClosed || x.closed.Text != "bye" || x.closed.Remote {
		t.Errorf("the client saw %v", x.closed)
	}
}

// A main that takes nothing: closing waits for the linger time, and no longer.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	w, x := joined(t, 1, Config{}, perfect)
	x.pipe.room = 0
	x.pipe.stallUntil = w.net.Now().Add(time.Hour)
	if err := x.Sync(x.host.Now(), 1, noise[:8]); err != nil {
		t.Fatal(err)
	}
	x.host.Poke()
	x.Close(x.host.Now(), "")
	x.run(900 * time.Millisecond)
	if x.closed != nil {
		t.Fatal("it is over before the linger time")
	}
	w.run(200 * time.Millisecond)
	if x.closed == nil || x.closed.Reason != ReasonClosed || x.Endpoint.closing.written {
		t.Errorf("it is %v: %v", x.State(), x.closed)
	}
}

// A main that breaks ends the player, and says why.
func TestAMainThatBreaks(t *testing.T) {
	w, x := joined(t, 1, Config{}, perfect)
	x.pipe.breakOff()
	w.run(50 * time.Millisecond)
	if x.closed == nil || x.closed.Reason != ReasonLost || x.closed.Text != "connection reset" || !x.closed.Remote {
		t.Errorf("the client saw %v", x.closed)
	}
	if w.log[len(w.log)-1] != "closed: main was lost" || len(w.mux.feeds)+len(w.mux.ids)+w.mux.Len() != 0 {
		t.Errorf("the server saw %s and has %d", w.log[len(w.log)-1], w.mux.Len())
	}
}

// T19: a datagram that finds no room is not counted as seen: it is taken when it comes again.
func TestWhatIsRefusedDoesNotAdvance(t *testing.T) {
	t.Parallel()
	rng := kit.Rand(t)
	s := newStage(t, FromClient, "open")
	for range promise.Keeps(t, "T19", "duplex", kit.Rounds(10_000, 100_000)) {
		s.Begin("open")
		seq, taken := int64(0), 0
		for range 200 {
			seq += 1 + rng.Int64N(3)
			d := Datagram{Sequence: s.e.feed.last + 1 + rng.Int64N(3), Message: Message{Kind: KindUpdate, SID: 6, Data: valueOf(uint64(seq))}}
			b := d.AppendTo(nil)
			before := s.e.Stats()
			s.e.HandleDatagram(s.now, serverAddr, b)
			switch after := s.e.Stats(); {
			case after.FeedTaken > before.FeedTaken:
				taken++
			case after.NoRoom == before.NoRoom || s.e.feed.last >= d.Sequence:
				t.Fatalf("a datagram was refused as %+v", after)
			default:
				for range rng.IntN(3) + 1 {
					if ev, ok := s.e.PollEvent(); !ok || ev.Kind != EventUpdate {
						t.Fatal("nothing to poll, and no room")
					}
				}
				s.e.HandleDatagram(s.now, serverAddr, b)
				if s.e.feed.last != d.Sequence {
					t.Fatal("it is not taken when it comes again")
				}
				taken++
			}
		}
		if stats := s.e.Stats(); stats.NoRoom == 0 || taken != 200 {
			t.Fatalf("%d of 200 were taken; %+v", taken, stats)
		}
	}
}

// Main is written one piece at a time: two at once could overtake each other.
func TestOneWriteAtATime(t *testing.T) {
	l := newLane(t)
	for range 2 {
		if err := l.conn.Sync(3, valueOf(1)); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.conn.e.PollBytes(l.buf[:5]); n != 5 {
		t.Errorf("%d bytes are written first, want 5", n)
	}
	if n := l.conn.e.PollBytes(l.buf[:]); n != 0 || l.conn.Queued() != 24 {
		t.Errorf("%d bytes are written before the first are, of %d", n, l.conn.Queued())
	}
	l.conn.e.Written(l.now)
	if n := l.conn.e.PollBytes(l.buf[:]); n != 19 {
		t.Errorf("%d bytes are written then, want 19", n)
	}
}
