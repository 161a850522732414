package client_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"parley"
	"parley/client"
	"parley/internal/kit/chance"
	"parley/internal/promise"
	"parley/test/field"
	"parley/world"
)

// scribe is what a player has: a body that walks, and which player it is.
type scribe struct {
	world.Body
	Row uint32
}

// note is what an action leaves behind: who did it, its number, and how often it was done.
type note struct{ Row, N, Times uint32 }

type write struct{ N uint32 }

// ledger is a game in which nothing that was done is forgotten.
func ledger() world.Game {
	return world.Game{
		Name: "ledger", Kinds: world.Kinds(scribe{}, note{}), Actions: world.Actions(write{}),
		Step: func(w *world.World, inputs []world.Input) {
			for i := range inputs {
				switch in := &inputs[i]; in.Kind {
				case world.Join:
					w.Own(in.Player, world.SpawnFor(w, in, scribe{Body: world.Body{X: 0.5, Y: 0.5}, Row: uint32(in.Player)}))
				case world.Steer:
					w.Steer(in)
				case world.Act:
					_, own := world.Avatar[scribe](w, in.Player)
					if v, ok := world.Read[write](in); ok && own != nil {
						enter(w, own.Row, v.N)
						world.Done(w, in, v)
					}
				}
			}
			w.MoveAll()
		},
	}
}

// enter notes an action.
func enter(w *world.World, row, n uint32) {
	for _, old := range world.All[note](w) {
		if old.Row == row && old.N == n {
			old.Times++
			return
		}
	}
	world.Spawn(w, note{row, n, 1})
}

// T82: sockets are killed, dialects switched and the server restarted at random moments: no line and no action that was told back to its
// player is lost, none is done twice, what a player does while it is away is done, and its body is kept.
func TestComingBackInPlay(t *testing.T) {
	seeds := chance.Seeds(promise.Keeps(t, "T82", "players", promise.Tier(2, 100, 1000)))
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel() // it waits for most of its time
			s := newScribe(t, seed)
			for range 3 {
				s.write(20 + s.r.IntN(60))
				s.disturb()
			}
			s.write(20)
			s.check()
		})
	}
}

// scribes is a server, the cables to it, and a player who writes and speaks.
type scribes struct {
	*testing.T
	r      *rand.Rand
	config parley.Config
	server *field.Server
	cables map[string]*field.Cable
	c      *client.Client

	n     uint32          // of the last action or line
	told  map[uint32]bool // actions that were told back, once
	lines map[string]bool // and lines
	due   []uint32        // that must be told, as they were made while the player was away
	said  []string
	row   uint32 // its own
	away  bool
	lost  int // how often the connection was lost
}

func newScribe(t *testing.T, seed uint64) *scribes {
	s := &scribes{T: t, r: rand.New(rand.NewPCG(seed, 82)), cables: map[string]*field.Cable{}, told: map[uint32]bool{}, lines: map[string]bool{}}
	s.config = field.Config()
	s.config.Stamp, s.config.Realm, s.config.DataDir, s.config.Keep = parley.Off, parley.Off, t.TempDir(), parley.KeepSecond
	t.Cleanup(func() {
		if s.server != nil {
			s.server.Close()
		}
	})
	s.start()
	s.config.Replica, s.config.Relay, s.config.Duplex = s.server.At["replica"], s.server.At["relay"], s.server.At["duplex"]
	urls := ""
	dialects := []string{"replica", "relay", "duplex"}
	s.r.Shuffle(3, func(i, k int) { dialects[i], dialects[k] = dialects[k], dialects[i] })
	for _, d := range dialects {
		s.cables[d] = field.NewCable(t, s.server.At[d])
		urls += "," + d + "://" + s.cables[d].Addr()
	}
	var err error
	for end := time.Now().Add(field.Patience); ; { // a busy machine may take too long to let a player in
		if s.c, err = client.Dial(t.Context(), urls[1:], ledger(), client.Config{Name: "ann"}); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { s.c.Close() })
	s.until("it sees itself", func() bool { return s.row != 0 })
	// "if the client has acknowledged its token": else the place is not held.
	s.until("it can come back", s.returns)
	return s
}

// start starts the server. While it was down, a port of it may have been given to a client of another program.
func (s *scribes) start() {
	s.Helper()
	var err error
	for end := time.Now().Add(field.Patience); ; time.Sleep(50 * time.Millisecond) {
		if s.server, err = field.Start(ledger(), s.config); err == nil {
			return
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			s.Fatal(err)
		}
	}
}

func (s *scribes) returns() bool {
	list, err := s.server.Players()
	return err == nil && len(list) == 1 && list[0].Returns && !list[0].Away
}

// look draws a frame.
func (s *scribes) look() {
	s.Helper()
	f := s.c.At(time.Now())
	for ev := range f.Events() {
		switch v, isWrite := client.As[write](ev); {
		case isWrite:
			if s.told[v.N] {
				s.Errorf("it is told twice that it did %d", v.N)
			}
			s.told[v.N] = true
		case ev.Kind == client.Said && ev.Name == "ann":
			if s.lines[ev.Text] {
				s.Errorf("it is told twice that it said %q", ev.Text)
			}
			s.lines[ev.Text] = true
		case ev.Kind == client.Away && ev.Own:
			s.away = true
			s.lost++
			s.named(ev)
		case ev.Kind == client.Back && ev.Own:
			s.away = false
			s.named(ev)
		case ev.Kind == client.Ended:
			s.Fatalf("it is out of the game: %s", ev.Text)
		}
	}
	if me, ok := client.Own[scribe](f); ok && me.Row != 0 {
		if s.row != 0 && me.Row != s.row {
			s.Fatalf("it was player %d, and is %d", s.row, me.Row)
		}
		s.row = me.Row
	}
}

// named looks at the name of an event of its own.
func (s *scribes) named(ev client.Event) {
	if ev.Name != "ann" {
		s.Errorf("%v: the player's name is %q", ev.Kind, ev.Name)
	}
}

// until draws frames until something holds.
func (s *scribes) until(what string, holds func() bool) {
	s.Helper()
	for end := time.Now().Add(field.Patience); ; time.Sleep(5 * time.Millisecond) {
		if s.look(); holds() {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("%s: not within %v; away %v, %d actions were told, due %v %q", what, field.Patience, s.away, len(s.told), s.due, s.said)
		}
	}
}

// write does and says so many things, of which the last is told, unless the connection is lost meanwhile.
func (s *scribes) write(n int) {
	s.Helper()
	for range n {
		s.one(false)
		time.Sleep(time.Duration(s.r.Int64N(int64(20 * time.Millisecond))))
		s.look()
	}
}

// one does or says something. What is due must be told.
func (s *scribes) one(due bool) {
	s.Helper()
	s.n++
	text := fmt.Sprintf("line %d", s.n)
	isLine := s.r.IntN(8) == 0
	err := client.Act(s.c, write{s.n})
	if isLine {
		err = errors.Join(err, s.c.Say(text))
	}
	switch {
	case err != nil && due:
		s.Errorf("while it was away: %v", err)
	case err != nil && !s.away: // a full window, or a connection that is about to be lost
		s.Log(err)
	case due && isLine:
		s.said = append(s.said, text)
	}
	if due {
		s.due = append(s.due, s.n)
	}
	_ = s.c.Steer(s.r.Float32(), s.r.Float32()/8)
}

// disturb has the connection lost in one way or another, and waits until the player is back.
func (s *scribes) disturb() {
	s.Helper()
	lost := s.lost
	moment := time.Duration(s.r.Int64N(int64(200 * time.Millisecond)))
	switch what := s.r.IntN(4); what {
	case 0, 1: // the server is restarted
		if err := s.server.Close(); err != nil {
			s.Fatal(err)
		}
		s.until("it is away", func() bool { return s.lost > lost })
		s.meanwhile(moment)
		s.start()
	case 2: // the network is cut for a moment, which may go unnoticed
		for _, c := range s.cables {
			c.Cut()
		}
		s.write(1 + s.r.IntN(20))
		for _, c := range s.cables {
			c.Mend()
		}
		s.until("it is there, or back", func() bool { return !s.away && s.returns() })
		return
	case 3: // one dialect does not work any more
		for d, c := range s.cables {
			if d == s.speaks() {
				c.Cut()
				defer c.Mend()
			}
		}
		s.until("it is away", func() bool { return s.lost > lost })
		s.meanwhile(moment)
	}
	s.until("it is back", func() bool { return !s.away && s.returns() })
	if s.lost > lost+1 { // what was sent over a connection in between may be lost with it
		s.due, s.said = nil, nil
	}
	s.until("what it did while away is done", func() bool {
		return s.lost > lost+1 || !slices.ContainsFunc(s.due, func(n uint32) bool { return !s.told[n] }) && !slices.ContainsFunc(s.said, func(l string) bool { return !s.lines[l] })
	})
	s.due, s.said = nil, nil
}

// meanwhile does a few things while the player is away.
func (s *scribes) meanwhile(moment time.Duration) {
	s.Helper()
	for range s.r.IntN(8) {
		if s.look(); s.away {
			s.one(true)
		}
		time.Sleep(moment / 8)
	}
}

// speaks returns the dialect of the connection.
func (s *scribes) speaks() string {
	list, err := s.server.Players()
	if err != nil || len(list) != 1 {
		s.Fatalf("%v: %v", list, err)
	}
	return list[0].Dialect
}

// check compares what was told with what the server has.
func (s *scribes) check() {
	s.Helper()
	for last := -1; last < 0 || !s.told[s.n]; { // on a busy machine the connection may be lost now too, and what it had not confirmed with it
		s.until("it is there", func() bool { return !s.away && s.returns() })
		last = s.lost
		s.n++
		if err := client.Act(s.c, write{s.n}); err != nil {
			s.Fatal(err)
		}
		s.until(fmt.Sprint("the last action is told, or the connection is lost, as it was ", last, " times"), func() bool { return s.told[s.n] || s.lost > last })
	}
	done := map[uint32]uint32{}
	err := s.server.View(parley.MainRoom, func(w *world.World) {
		for _, n := range world.All[note](w) {
			if n.Row == s.row {
				done[n.N] = n.Times
			}
		}
	})
	if err != nil {
		s.Fatal(err)
	}
	for n, times := range done {
		if times != 1 {
			s.Errorf("action %d was done %d times", n, times)
		}
	}
	for n := range s.told {
		if done[n] == 0 {
			s.Errorf("action %d was told, and is lost", n)
		}
	}
	s.Logf("%d actions, %d told, %d done; %d lines told; lost %d times", s.n, len(s.told), len(done), len(s.lines), s.lost)
}
