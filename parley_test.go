package parley_test

import (
	"context"
	"flag"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/test/field"
	"parley/world"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "6") // those that run beside others wait most of the time
	goleak.VerifyTestMain(m)
}

// playersOf returns who is in the game.
func playersOf(t *testing.T, s *field.Server) []parley.Player {
	t.Helper()
	list, err := s.Players()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// sees returns how many entities somebody sees, and whether one of them is there.
func sees(w *field.Visitor, id uint16) (n int, there bool) {
	w.See(func(v *bots.Sight) { n = len(v.Things); _, there = v.Things[id] })
	return n, there
}

// watch has somebody look at another who stands still. moved is how far that one had come when it was first seen to move, 0 before.
func watch(w *field.Visitor, id uint16) (moved func() float64) {
	var from, far float64
	var mu sync.Mutex
	w.See(func(v *bots.Sight) { from = v.Things[id].X })
	w.Watch(func(v *bots.Sight) {
		mu.Lock()
		defer mu.Unlock()
		thing, there := v.Things[id]
		if !there || far != 0 {
			return
		}
		if d := math.Abs(thing.X - from); d > .01 {
			far = d
		} else if w.Dialect == "realm" && thing.Norm > 0 { // it is for realm's clients to move what has a speed
			far = .02
		}
	})
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return far
	}
}

// cuttable returns where a server is reached until cut is called, which ends the streams without a word.
func cuttable(t *testing.T, addr string) (via string, cut func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var pipes sync.WaitGroup
	var mu sync.Mutex
	var all []net.Conn
	pipes.Go(func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			all = append(all, here, there)
			mu.Unlock()
			pipes.Go(func() { io.Copy(here, there); here.Close() })
			pipes.Go(func() { io.Copy(there, here); there.Close() })
		}
	})
	cut = sync.OnceFunc(func() {
		l.Close()
		mu.Lock()
		for _, c := range all {
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
		mu.Unlock()
		patient.Done(pipes.Wait)
	})
	t.Cleanup(cut)
	return l.Addr().String(), cut
}

// A player of each dialect in one arena: each sees the others move, chat and throws cross,
// leaving is seen, and so is going without goodbye.
func TestOneWorldFiveDialects(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Config()
	c.TickRate, c.Hold = 50, time.Second
	s := field.Serve(t, arena.Game(), c)
	var cut func()
	s.At["realm"], cut = cuttable(t, s.At["realm"])
	all := map[string]*field.Visitor{}
	for _, dialect := range []string{"replica", "relay", "duplex", "realm", "stamp"} { // who watches comes when there is something to see
		config := bots.Config{Schema: s.Schema, TickRate: 50, Plain: true, New: true, Name: "ann", Password: "correct horse"}
		all[dialect] = field.Enter(t, dialect, s.At[dialect], config)
	}
	for name, w := range all {
		s.Within(t, name+" sees four players", func() bool { n, _ := sees(w, 0); return n == 4 })
	}
	if got := len(playersOf(t, s)); got != 4 {
		t.Fatalf("%d players are in the game", got)
	}
	you := func(dialect string) (id uint16) {
		all[dialect].See(func(v *bots.Sight) { id = v.You })
		return id
	}

	// The duplex player walks: its number is its own on every dialect. Each sees it move within three
	// ticks, that is before it has come further than that; on a machine that has other work to do one may
	// look away for longer, so it stops and walks again.
	mover, ann := you("duplex"), you("realm")
	walk := func(angle, norm float32) {
		t.Helper()
		if err := all["duplex"].Steer(angle, norm); err != nil {
			t.Fatal(err)
		}
	}
	step := math.Cos(.3) // along x, of a cell
	for try := 0; ; try++ {
		moved := map[string]func() float64{}
		for name, w := range all {
			moved[name] = watch(w, mover)
		}
		walk(.3+float32(try%2)*math.Pi, 1)
		latest := 0.
		for name, far := range moved {
			s.Within(t, name+" sees it move", func() bool { return far() > 0 })
			latest = max(latest, far()/step)
		}
		if latest <= 3.01 {
			t.Logf("it was seen to move within %.1f ticks, at try %d", latest, try)
			break
		}
		if try == 100 {
			t.Fatalf("it was seen to move after %.1f ticks", latest)
		}
		walk(.3+float32(try%2)*math.Pi, 0)
		stopped := s.WorldStats().Ticks
		s.Within(t, "it stops", func() bool { return s.WorldStats().Ticks > stopped+25 })
	}

	// Everybody says something, and everybody reads it. Stamp has no words.
	read := func(text string) {
		t.Helper()
		for reader, w := range all {
			if reader != "stamp" {
				s.Within(t, reader+" reads "+text, func() bool { return w.Heard(text) })
			}
		}
	}
	for name, w := range all {
		if name == "stamp" {
			continue
		}
		text := "hello from " + name
		if err := w.Say(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		read(text)
	}

	// The realm player throws, and the others see it. On a machine that has other work to do its
	// action may come too late for the world to go back to; then it throws again, as a player would.
	throw, thrown := s.Schema.ActionNamed("throw"), uint64(0)
	for name, w := range all {
		if name == "stamp" {
			continue
		}
		s.Within(t, name+" sees the throw", func() bool {
			if now := s.WorldStats().Ticks; thrown == 0 || now-thrown > 100 {
				thrown = max(now, 1)
				if err := all["realm"].Act(throw, world.FloatValue(world.F32, 2), world.UintValue(world.Entity, 0)); err != nil {
					t.Fatal(err)
				}
			}
			return w.Acts() >= 1
		})
	}
	if err := s.Broadcast("", "the server speaks"); err != nil {
		t.Fatal(err)
	}
	if err := s.Broadcast("", ""); err == nil || err.Error() != "parley: broadcast: the text is empty" {
		t.Errorf("an empty text: %v", err)
	}
	read("the server speaks")

	// One leaves, and another is cut off without goodbye: both are gone for the rest, the other when its place is held no longer. (Of those who are on UDP the server
	// hears nothing any more, which takes some ten seconds: see test/blackbox.)
	for _, leaver := range []struct {
		dialect string
		id      uint16
		leave   func()
	}{{"duplex", mover, all["duplex"].Leave}, {"realm", ann, cut}} {
		leaver.leave()
		delete(all, leaver.dialect)
		for name, w := range all {
			s.Within(t, name+" sees "+leaver.dialect+" go", func() bool { _, there := sees(w, leaver.id); return !there })
		}
		if got := len(playersOf(t, s)); got != len(all)-1 {
			t.Errorf("%d players are left", got)
		}
	}
}

func TestPlayersAreKicked(t *testing.T) {
	s := field.Serve(t, arena.Game(), field.Replica())
	v := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema})
	p := playersOf(t, s)[0]
	if p.Dialect != "replica" || !strings.HasPrefix(p.Name, "guest-") {
		t.Errorf("the player is %+v", p)
	}
	if s.Kick(p.Room, p.ID, "too good") != nil || s.Kick(p.Room, p.ID+1, "") != parley.ErrNoPlayer {
		t.Error("the wrong one was kicked")
	}
	s.Within(t, "it is out", func() bool { return len(playersOf(t, s)) == 0 })
	if why := v.Gone(); !strings.Contains(why, "too good") {
		t.Errorf("it was told %v", why)
	}
}

// A panic of the game ends it in order: everybody is told, and Serve returns why.
func TestAPanicOfTheGameIsAnError(t *testing.T) {
	g := arena.Game()
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		if w.Tick() == 20 {
			panic("a bug in the game")
		}
		step(w, in)
	}
	c := field.Replica()
	c.TickRate = 100
	s, err := field.Start(g, c)
	if err != nil {
		t.Fatal(err)
	}
	v := s.Audience(t) // an empty room has no twentieth tick
	patient.Value(s.Done())
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "a bug in the game") {
		t.Errorf("Close returned %v", err)
	}
	if why := v.Gone(); !strings.Contains(why, "its game failed") {
		t.Errorf("the player was told %v", why)
	}
}

// Serve returns the panic of a game. The first tick comes when nobody is there yet.
func TestServeReturnsThePanicOfTheGame(t *testing.T) {
	g := arena.Game()
	g.Step = func(*world.World, []world.Input) { panic("a bug in the game") }
	if err := parley.Serve(t.Context(), g, field.Replica()); err == nil || !strings.Contains(err.Error(), "a bug in the game") {
		t.Errorf("Serve returned %v", err)
	}
}

// So does a panic of its terrain, which any client may ask to see.
func TestAPanicOfTheTerrainIsAnError(t *testing.T) {
	g := arena.Game()
	walls := g.Terrain
	g.Terrain = func(seed uint64, bx, by int16, cells *world.Cells) {
		if bx == 5 {
			panic("no such land")
		}
		walls(seed, bx, by, cells)
	}
	s, err := field.Start(g, field.Replica())
	if err != nil {
		t.Fatal(err)
	}
	v := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema})
	if err := v.Explore(t.Context(), world.ChunkPlace{BX: 5}); err != nil {
		t.Fatal(err)
	}
	patient.Value(s.Done())
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "chunk (5, 0): no such land") {
		t.Errorf("Close returned %v", err)
	}
	if why := v.Gone(); !strings.Contains(why, "server closing") {
		t.Errorf("the client was told %v", why)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := parley.Serve(ctx, arena.Game(), field.Replica()); err != nil {
		t.Error(err)
	}
}
