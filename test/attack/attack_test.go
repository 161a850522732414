package attack

import (
	"io"
	"sync"
	"testing"
	"time"

	"parley/internal/pagetest"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/bots"
	"parley/test/field"
)

// count is the gate's with PARLEY_PR=1.
func count(plain, pr int) int {
	if promise.Full() && !testing.Short() {
		return pr
	}
	return plain
}

// siege is an attack that goes on until it is lifted.
type siege struct {
	begun chan struct{} // closed once it is in full strength
	over  chan struct{}
	wg    sync.WaitGroup
}

func newSiege() *siege { return &siege{begun: make(chan struct{}), over: make(chan struct{})} }

func (s *siege) lifted() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// wait waits until it is in full strength.
func (s *siege) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.begun:
	case <-time.After(field.Patience):
		t.Fatal("the attack did not begin")
	}
}

func (s *siege) lift() {
	close(s.over)
	patient.Done(s.wg.Wait)
}

// T30: a flood of first datagrams from ever new sources, who answer nothing. Honest players of every dialect enter
// meanwhile, those who are in stay in, no place is taken, and the heap does not grow.
func TestForgedSources(t *testing.T) {
	for _, d := range doors {
		if d.knock == nil {
			continue
		}
		t.Run(d.dialect, func(t *testing.T) {
			sources := promise.Keeps(t, "T30", d.dialect+", real sockets", count(2000, 20_000))
			for try := 1; !forgedSources(t, d, sources); try++ {
				if try == 10 {
					t.Fatal("a player who was there was lost in each of ten tries")
				}
			}
		})
	}
}

// forgedSources is one flood. It is not ok if a player was lost while the machine stood still for longer than seconds, as then
// every server and every client takes the other for gone.
func forgedSources(t *testing.T, d door, sources int) (ok bool) {
	s := serve(t)
	stood := patient.Stood(t)
	present := s.enter(t, "replica")
	before := pagetest.Heap()
	a := newSiege()
	a.wg.Go(func() { flood(t, a, d, s, sources) })
	a.wait(t)
	in := []*field.Visitor{present}
	for range 2 {
		for _, dialect := range bots.Dialects {
			in = append(in, s.enter(t, dialect))
		}
	}
	a.lift()
	if grown := pagetest.Heap() - before; grown > 16<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	// Who was told to come again may still have the place of the first try.
	if w := s.WorldStats(); w.Players > s.tries {
		t.Errorf("%d players are in the game, and honest ones came %d times", w.Players, s.tries)
	}
	ok = present.Ended() == ""
	if still := stood(); !ok && still < 2*time.Second {
		t.Error("a player who was there was lost")
		ok = true
	} else if !ok {
		t.Logf("a player who was there was lost, and the machine stood still for %v", still)
	}
	for _, v := range in {
		v.Leave()
	}
	return ok
}

// flood knocks from at least so many sources, and on until it is lifted.
func flood(t *testing.T, a *siege, d door, s *server, sources int) {
	to, sent, before := s.At[d.dialect], 0, s.came(d.dialect)
	for i := 0; i < sources || !a.lifted(); i++ {
		c, err := dialUDP(attacker(i), to)
		if err != nil {
			t.Errorf("source %d: %v", i, err)
			return
		}
		for turn := range 3 {
			if _, err := c.Write(d.knock(turn)); err == nil { // a system that has had enough says so, and that is its answer
				sent++
			}
		}
		c.Close()
		if i == 10*maxPlayers {
			close(a.begun)
		}
		if i%100 == 99 {
			// The socket's buffer holds so much: it is no test of a full link. A server that has no processor is given time.
			for wait := 0; wait == 0 || wait < 100 && s.came(d.dialect)-before < sent-1000; wait++ {
				time.Sleep(5 * time.Millisecond)
			}
		}
	}
}

// T31: ten times as many connections as there are places get as far as they can without entering, from one address
// and from many, and come again when they are cut off. Every honest player enters, of each dialect.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	for _, d := range doors {
		t.Run(d.dialect, func(t *testing.T) {
			s := serve(t)
			a := newSiege()
			defer a.lift()
			a.wg.Go(func() { loiter(t, a, d, s.At[d.dialect]) })
			a.wait(t)
			for i := range promise.Keeps(t, "T31", d.dialect+", real sockets", count(4, 100)) {
				dialect := d.dialect
				if i%4 == 3 {
					dialect = bots.Dialects[i/4%len(bots.Dialects)]
				}
				s.enter(t, dialect).Leave()
			}
		})
	}
}

// loiter keeps a crowd of idle connections at a server until it is lifted. A new crowd comes every five seconds, for
// those that were cut off; the first one stays for as long as it is let, and each other until the one after the next has come: a slow
// machine would else run out of descriptors.
func loiter(t *testing.T, a *siege, d door, to string) {
	leave := func(crowd []io.Closer) {
		for _, c := range crowd {
			c.Close()
		}
	}
	stays := crowd(t, d, to, 10*maxPlayers)
	defer leave(stays)
	close(a.begun)
	var late [2][]io.Closer
	defer func() { leave(late[0]); leave(late[1]) }()
	for {
		select {
		case <-a.over:
			return
		case <-time.After(5 * time.Second):
		}
		next := crowd(t, d, to, 10*maxPlayers)
		leave(late[0])
		late = [2][]io.Closer{late[1], next}
	}
}

// crowd makes idle connections, 32 at a time, every other one from the same address.
func crowd(t *testing.T, d door, to string, n int) (idle []io.Closer) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var refused error
	room := make(chan struct{}, 32)
	for i := range n {
		room <- struct{}{}
		from := attacker(1)
		if i%2 == 0 {
			from = attacker(2 + i)
		}
		wg.Go(func() {
			c, err := d.idle(from, to)
			patient.Value(room)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused = err // the server has had enough of that address
				return
			}
			idle = append(idle, c)
		})
	}
	patient.Done(wg.Wait)
	if len(idle) < n/4 {
		t.Errorf("only %d of %d connections were made: %v", len(idle), n, refused)
	}
	return idle
}
