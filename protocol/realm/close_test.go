package realm

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// T27 (a fifth of its seeds here, all of them nightly): after the end: bytes, timeouts and calls in random order. No event comes, no timeout is
// due, nothing is sent, and every queued message was let go once (a second time panics).
func TestNothingComesAfterTheEnd(t *testing.T) {
	r := newRand(t)
	for range rounds(2000, 10_000) {
		w := newTown(t, r, Config{Terrain: &flatland{}, SightRadius: -1, MaxQueue: 64 << 10})
		ann, bob := w.join("ann"), w.join("bob")
		bob.deaf = r.IntN(2) == 0
		p := ann
		for range r.IntN(5) {
			w.mux.Say(1, []byte("hello"))
		}
		switch r.IntN(6) {
		case 0:
			p.conn.Close(ExitClientKicked, "")
		case 1:
			w.mux.HandleEnd(w.now, p.conn, io.EOF)
		case 2:
			p.client.Close(w.now, ExitClientQuit, "")
		case 3:
			p.up = append(p.up, 22)
		case 4:
			p.conn.Cut("")
		case 5:
			w.mux.Shutdown(w.now, "")
		}
		w.drive()
		w.advance(2 * time.Second)
		if p.closed != 1 {
			t.Fatalf("%d ends", p.closed)
		}
		for range 1000 / 20 {
			afterEnd(w, p, r)
		}
		if p.closed != 1 || p.gone > 1 {
			t.Fatalf("%d and %d ends", p.closed, p.gone)
		}
		if _, ok := p.conn.NextTimeout(); ok || p.conn.Queued() != 0 || p.conn.PollBytes(w.buf[:]) != 0 {
			t.Fatal("a closed connection has something to do")
		}
		if _, ok := p.conn.PollEvent(); ok {
			t.Fatal("an event after the end")
		}
		w.checkFrames()
		if err := p.conn.stats.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

// afterEnd does something to a connection that is over.
func afterEnd(w *town, p *person, r *rand.Rand) {
	switch r.IntN(12) {
	case 0:
		w.mux.HandleBytes(w.now, p.conn, []byte{0, 1, 22})
	case 1:
		w.mux.HandleEnd(w.now, p.conn, errors.New("again"))
	case 2:
		p.conn.HandleTimeout(w.now)
	case 3:
		p.conn.Send(&Message{Kind: KindEntityDestroy})
	case 4:
		p.conn.Close(ExitClientBanned, "")
	case 5:
		p.conn.Cut("")
	case 6:
		p.conn.AnswerLogin(Question{Number: 1}, LoginOK)
	case 7:
		p.conn.AnswerRegister(Question{Number: 1}, RegisterOK)
	case 8:
		p.conn.Enter(Entry{})
	case 9:
		w.mux.Unblock(w.now, p.conn)
	case 10:
		p.conn.ChunkChanged(ChunkID{})
		p.conn.Refuse(LoginPlayerLimitReached)
	case 11:
		w.mux.Say(1, []byte("hello"))
	}
	w.drive()
}

// T24: the opening of a connection, cut off after each byte, in both directions, and each part
// of it delayed: either it goes on, or both ends know by the deadlines. Nothing half-open is
// left.
func TestOpeningsThatAreCutOff(t *testing.T) {
	whole := func(w *town) *person {
		p := w.arrive(Config{})
		p.client.state = StateLobby // so that it says all at once
		p.client.Register(w.now, "fay", "password of fay")
		p.client.Login(w.now, "fay", "password of fay")
		p.client.state = StateOpening
		return p
	}
	count := func() (up, down int) {
		w := newTown(t, newRand(t), Config{})
		p := whole(w)
		w.drive()
		if p.client.State() != StatePlaying {
			t.Fatal(p.client.State())
		}
		return int(p.client.Stats().OutBytes), int(p.conn.Stats().OutBytes)
	}
	up, down := count()
	for cut := 0; cut <= up+down; cut++ {
		for _, ends := range []bool{false, true} { // the stream ends, or falls silent
			w := newTown(t, newRand(t), Config{})
			w.max = 1
			p := whole(w)
			for moved := 0; moved < cut; {
				before := len(p.up) + len(p.down)
				if !w.step() {
					break
				}
				if len(p.up)+len(p.down) <= before {
					moved++
				}
			}
			p.ended, p.deaf = true, true
			if ends {
				w.mux.HandleEnd(w.now, p.conn, io.EOF)
				p.client.HandleEnd(w.now, io.EOF)
				w.drive()
			}
			w.advance(2 * time.Minute)
			if p.closed != 1 || p.gone != 1 || w.mux.Len() != 0 || w.mux.waiting != 0 || w.mux.players != 0 {
				t.Fatalf("cut after %d: %d and %d ends, %d left, %d waiting, %d players", cut, p.closed, p.gone, w.mux.Len(), w.mux.waiting, w.mux.players)
			}
		}
	}
	// Delayed by 4 s at a random place, it opens all the same.
	r := newRand(t)
	for range rounds(1000, 10_000) {
		w := newTown(t, r, Config{VersionWithin: 30 * time.Second})
		w.max = 8
		p := whole(w)
		for range r.IntN(12) {
			w.step()
		}
		w.now = w.now.Add(4 * time.Second)
		w.mux.HandleTimeout(w.now)
		p.client.HandleTimeout(w.now)
		w.drive()
		if p.client.State() != StatePlaying || p.conn.State() != StatePlaying {
			t.Fatalf("%v and %v", p.client.State(), p.conn.State())
		}
	}
}

// T58: connections come and go, and leave nothing behind: 2,000 here, 100,000 in the soak,
// where T58 has a million.
func TestChurnLeavesNothingBehind(t *testing.T) {
	r := newRand(t)
	w := newTown(t, r, Config{Terrain: &flatland{}, MaxPlayers: 1000})
	for range rounds(200, 10_000) {
		for range 10 {
			p := w.arrive(Config{})
			if r.IntN(2) == 0 {
				w.drive()
				p.client.Login(w.now, "ann", "password of ann")
			}
		}
		w.drive()
		w.mux.Say(1, []byte("hello"))
		for _, p := range w.people {
			switch r.IntN(3) {
			case 0:
				p.client.Close(w.now, ExitClientQuit, "")
			case 1:
				w.mux.HandleEnd(w.now, p.conn, io.EOF)
			case 2:
				p.conn.Close(ExitClientKicked, "")
			}
		}
		w.drive()
		w.people, w.told = nil, nil
		w.game.ended, w.game.messages = nil, nil
		w.now = w.now.Add(time.Second)
	}
	if w.mux.Len() != 0 || w.mux.players != 0 || w.mux.waiting != 0 || !w.mux.conns.Idle() || len(w.game.players) != 0 {
		t.Errorf("%d connections, %d players, %d waiting, idle %t", w.mux.Len(), w.mux.players, w.mux.waiting, w.mux.conns.Idle())
	}
	if n := w.mux.crowd.Len(); n > 20 {
		t.Errorf("%d are still in the list of those who wait", n)
	}
	if got := w.mux.Stats(); got.Accepted != got.Ended {
		t.Errorf("%+v", got)
	}
}
