package core

import (
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
)

// T27: after the end: bytes, timeouts and calls in random order, a thousand of them in each of
// 10,000 lives in the gate, and of 2,000 in every run. No event comes, no timeout is due,
// nothing is sent, and every queued message was let go once (a second time panics).
func TestNothingComesAfterTheEnd(t *testing.T) {
	t.Parallel()
	kit.Spread(t, promise.Keeps(t, "T27", "realm", kit.Tier(500, 10_000, 10_000)), func(r *rand.Rand, n int) { endLives(t, r, n) })
}

func endLives(t *testing.T, r *rand.Rand, lives int) {
	for range lives {
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
		for range 1000 {
			afterEnd(w, p, r)
		}
		if p.closed != 1 || p.gone > 1 {
			t.Fatalf("%d and %d ends", p.closed, p.gone)
		}
		if _, ok := p.conn.endpoint.NextTimeout(); ok || p.conn.endpoint.Queued() != 0 || p.conn.endpoint.PollBytes(w.buf[:]) != 0 {
			t.Fatal("a closed connection has something to do")
		}
		if _, ok := p.conn.endpoint.PollEvent(); ok {
			t.Fatal("an event after the end")
		}
		w.checkFrames()
		if err := p.conn.endpoint.stats.Check(); err != nil {
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
		p.conn.endpoint.HandleTimeout(w.now)
	case 3:
		p.conn.Send(&Message{Kind: KindEntityDestroy})
	case 4:
		p.conn.Close(ExitClientBanned, "")
	case 5:
		p.conn.Cut("")
	case 6, 7, 8:
		q := Question{Number: uint64(r.IntN(3))}
		if p.conn.AnswerLogin(q, LoginOK) || p.conn.AnswerRegister(q, RegisterOK) || p.conn.Refuse(LoginPlayerLimitReached) || p.conn.Enter(Entry{}) != ErrState {
			w.t.Fatal("somebody who has left was answered")
		}
	case 9:
		w.mux.Unblock(w.now, p.conn)
	case 10:
		p.conn.ChunkChanged(ChunkID{})
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
		w := newTown(t, kit.Rand(t), Config{})
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
			w := newTown(t, kit.Rand(t), Config{})
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
	r := kit.Rand(t)
	for range promise.Keeps(t, "T24", "realm", kit.Rounds(1024, 10_000)) {
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
		if p.client.State() != StatePlaying || p.conn.endpoint.State() != StatePlaying {
			t.Fatalf("%v and %v", p.client.State(), p.conn.endpoint.State())
		}
	}
}

// T58: connections come and go, a million of them in the gate and 20,000 in every run, and leave
// nothing behind: no entry in any table, and a heap that is as it was when a hundredth of
// them had been there.
func TestChurnLeavesNothingBehind(t *testing.T) {
	const atOnce = 10
	turns := promise.Keeps(t, "T58", "realm", kit.Tier(20_000, 1_000_000, 1_000_000)) / atOnce
	var after []int64 // heap objects, after the first hundredth and in the end
	var towns []*town
	for range min(runtime.GOMAXPROCS(0), 4) {
		towns = append(towns, nil)
	}
	// Each town has some turns first, however few there are and on however many cores, so that all that is made once is made.
	for _, share := range []int{max(turns/100, 10*len(towns)), turns + len(towns) - 1} {
		var group sync.WaitGroup
		for i := range towns {
			group.Go(func() {
				if towns[i] == nil {
					towns[i] = newTown(t, rand.New(rand.NewPCG(58, uint64(i))), Config{Terrain: &flatland{}, MaxPlayers: 1000})
					towns[i].forget = true
				}
				for range share / len(towns) {
					comeAndGo(towns[i], atOnce)
				}
			})
		}
		patient.Done(group.Wait)
		after = append(after, shelltest.LiveObjects())
	}
	for _, w := range towns {
		if w.mux.Len() != 0 || w.mux.players != 0 || w.mux.waiting != 0 || !w.mux.conns.Idle() || len(w.game.players) != 0 {
			t.Errorf("%d connections, %d players, %d waiting, idle %t", w.mux.Len(), w.mux.players, w.mux.waiting, w.mux.conns.Idle())
		}
		if n := w.mux.crowd.Len(); n > 2*atOnce {
			t.Errorf("%d are still in the list of those who wait", n)
		}
		if got := w.mux.Stats(); got.Accepted != got.Ended || got.Entered < got.Accepted/4 {
			t.Errorf("%+v", got)
		}
	}
	t.Logf("%d connections, %d heap objects after a hundredth of them and %d in the end", turns*atOnce, after[0], after[1])
	// What the runtime and the tests before have may come and go by some hundreds.
	if after[1] > after[0]+1000+after[0]/100 {
		t.Error("they left something on the heap")
	}
}

// comeAndGo lets some people into a town, of whom half log in, and out again.
func comeAndGo(w *town, people int) {
	for range people {
		p := w.arrive(Config{})
		if w.rand.IntN(2) == 0 {
			w.drive()
			p.client.Login(w.now, "ann", "password of ann")
		}
	}
	w.drive()
	w.mux.Say(1, []byte("hello"))
	for _, p := range w.people {
		switch w.rand.IntN(3) {
		case 0:
			p.client.Close(w.now, ExitClientQuit, "")
		case 1:
			w.mux.HandleEnd(w.now, p.conn, io.EOF)
		case 2:
			p.conn.Close(ExitClientKicked, "")
		}
		w.look()
	}
	w.drive()
	clear(w.people) // so that nothing of them is kept
	w.people, w.told = w.people[:0], w.told[:0]
	w.game.ended, w.game.messages = w.game.ended[:0], w.game.messages[:0]
	w.now = w.now.Add(time.Second)
}
