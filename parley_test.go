package parley_test

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley"
	"parley/account/storetest"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/schema"
	"parley/protocol/duplex"
	"parley/protocol/realm"
	realmcore "parley/protocol/realm/core"
	"parley/protocol/relay"
	"parley/protocol/replica"
	"parley/protocol/stamp"
	"parley/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serveArena serves the arena at ports of the system's choice, with accounts in memory.
func serveArena(t *testing.T) (*parley.Server, map[string]string) {
	t.Helper()
	const any = "127.0.0.1:0"
	s, err := parley.Start(arena.Game(), parley.Config{
		Replica: any, Stamp: any, Relay: any, Duplex: any, Realm: any, RealmTime: any, RealmPlain: true,
		Accounts: storetest.OpenMemory, Sight: -1, TickRate: 50, Seed: 7, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	addrs := map[string]string{}
	for _, a := range s.Addrs() {
		addrs[a.Name] = a.Addr.String()
	}
	return s, addrs
}

// playersOf returns who is in the game.
func playersOf(t *testing.T, s *parley.Server) []parley.Player {
	t.Helper()
	list, err := s.Players()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// witness is what a client of some dialect has seen, in terms of none.
type witness struct {
	mu     sync.Mutex
	said   []string
	throws int
	places map[uint16]float64 // of entities, their x; by number
	own    uint16             // the realm player's own

	mover uint16  // whom it watches
	from  float64 // where that stood
	moved float64 // how far it had come when it was first seen to move; 0 if it was not

	stop func() // leaves
	over bool   // its connection has ended
}

func (w *witness) sees(cond func() bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cond()
}

// note takes in what was seen.
func (w *witness) note(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	if x, there := w.places[w.mover]; there && w.moved == 0 && math.Abs(x-w.from) > .01 {
		w.moved = math.Abs(x - w.from)
	}
}

// watch has it look at somebody who stands still.
func (w *witness) watch(mover uint16) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mover, w.from, w.moved = mover, w.places[mover], 0
}

// hears reports whether it read a line.
func (w *witness) hears(text string) bool {
	return w.sees(func() bool {
		for _, s := range w.said {
			if strings.HasSuffix(s, text) {
				return true
			}
		}
		return false
	})
}

// within waits for something, as long as the server lives. Ticks that are late do not count: of those a
// server that has stood still runs hundreds in a moment, in which its clients do nothing.
func within(t *testing.T, s *parley.Server, what string, cond func() bool) {
	t.Helper()
	punctual := func() uint64 { st := s.WorldStats(); return st.Ticks - st.LateTicks }
	for begin := punctual(); !cond(); {
		if punctual()-begin > 1000 {
			t.Fatalf("%s: not within 1,000 ticks", what)
		}
		s.Players() // waits for the hub, which has other things to do
	}
}

// enter joins until the server lets somebody in: while it is behind the clock it has them come again.
func enter[C any](t *testing.T, s *parley.Server, dialect string, join func() (*witness, C)) (*witness, C) {
	t.Helper()
	for {
		w, c := join()
		in := false
		within(t, s, dialect+" is in, or turned away", func() bool {
			if in = w.sees(func() bool { return len(w.places) > 0 }); in {
				return true
			}
			return w.sees(func() bool { return w.over })
		})
		if in {
			return w, c
		}
	}
}

// records reads what stamp and relay say of entities.
func records(w *witness, b []byte, order binary.ByteOrder) {
	for len(b) >= 4 {
		id, size := order.Uint16(b), int(b[3])
		if size == 0 {
			delete(w.places, id)
		} else {
			w.places[id] = math.Float64frombits(order.Uint64(b[4:]))
		}
		b = b[4+size:]
	}
}

func watchStamp(t *testing.T, addr string) (*witness, *stamp.Client) {
	w := &witness{places: map[uint16]float64{}}
	c, err := stamp.Dial(t.Context(), addr, stamp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, w, func() { c.Close(context.Background()) }, func() {
		for ev := range c.Events() {
			if ev.Kind == stamp.EventEntity {
				w.note(func() { records(w, ev.Data, binary.LittleEndian) })
			}
		}
	})
	return w, c
}

// follow reads events until the client is closed.
func follow(t *testing.T, w *witness, stop, read func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		read()
		w.note(func() { w.over = true })
	}()
	w.stop = sync.OnceFunc(func() {
		stop()
		patient.Value(done)
	})
	t.Cleanup(w.stop)
}

func joinRelay(t *testing.T, addr string) (*witness, *relay.Client) {
	w := &witness{places: map[uint16]float64{}}
	c, err := relay.Dial(t.Context(), addr, relay.Config{})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, w, func() { c.Close(context.Background()) }, func() {
		for ev := range c.Events() {
			if ev.Kind != relay.EventPackage || !ev.Package.Server {
				continue
			}
			b := ev.Package.Payload
			w.note(func() {
				switch b[0] {
				case 0:
					records(w, b[1:], binary.BigEndian)
				case 1:
					w.throws++
				case 2:
					w.said = append(w.said, string(b[2:]))
				}
			})
		}
	})
	if err := c.Send(relay.Unordered, relay.ToServer, append([]byte{0}, make([]byte, 8)...)); err != nil {
		t.Fatal(err)
	}
	return w, c
}

func joinReplica(t *testing.T, addr string) (*witness, *replica.Client) {
	w := &witness{places: map[uint16]float64{}}
	c, err := replica.Dial(t.Context(), addr, replica.Config{})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, w, func() { c.Close(context.Background()) }, func() {
		for ev := range c.Events() {
			switch {
			case ev.Kind == replica.EventMessage:
				w.note(func() {
					switch string(ev.Name) {
					case "chat":
						w.said = append(w.said, string(ev.Data[1:]))
					case "throw":
						w.throws++
					}
				})
			case ev.Kind == replica.EventReplicated, ev.Kind == replica.EventGone:
				readReplica(w, c)
			}
		}
	})
	if err := c.Link(); err != nil {
		t.Fatal(err)
	}
	return w, c
}

func readReplica(w *witness, c *replica.Client) {
	places := map[uint16]float64{}
	c.Do(func(values *replica.Values) {
		for _, kind := range []string{"player", "ball"} {
			link, ok := values.KindLink(kind)
			if !ok {
				continue
			}
			for id := range values.Entities(link) {
				number, ok1 := values.EntityValue(link, id, "entity")
				x, ok2 := values.EntityValue(link, id, "x")
				if ok1 && ok2 {
					places[uint16(number.Int())] = x.Float()
				}
			}
		}
	})
	w.note(func() { w.places = places })
}

func joinDuplex(t *testing.T, addr string, game *world.Schema) (*witness, *duplex.Client) {
	w := &witness{places: map[uint16]float64{}}
	c, err := duplex.Dial(t.Context(), addr, duplex.Config{Schema: schema.Duplex(game)})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, w, func() { c.Close(context.Background()) }, func() {
		for ev := range c.Events() {
			w.note(func() {
				switch {
				case ev.Kind == duplex.EventGone:
					delete(w.places, uint16(ev.SID))
				case ev.Kind == duplex.EventSync && ev.SID == -1:
					w.said = append(w.said, string(ev.Data[1:]))
				case ev.Kind == duplex.EventSync && ev.SID == -2:
					w.throws++
				case ev.Kind == duplex.EventSync || ev.Kind == duplex.EventUpdate:
					w.places[uint16(ev.SID)] = math.Float64frombits(binary.BigEndian.Uint64(ev.Data[1:]))
				}
			})
		}
	})
	return w, c
}

func joinRealm(t *testing.T, addr, name string, game *world.Schema) (*witness, *realm.Client) {
	w := &witness{places: map[uint16]float64{}}
	rs, err := schema.Realm(game)
	if err != nil {
		t.Fatal(err)
	}
	c, err := realm.Dial(t.Context(), addr, realm.Config{Config: realmcore.Config{Schema: rs, TickRate: 50}, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, w, func() { c.Close(context.Background()) }, func() {
		for ev := range c.Events() {
			if ev.Kind == realm.EventMessage {
				w.note(func() { readRealm(w, ev.Message) })
			}
		}
	})
	if code, err := c.Register(t.Context(), name, "correct horse"); err != nil || code != realm.RegisterOK {
		t.Fatalf("registering: %v, %v", code, err)
	}
	for {
		switch code, err := c.Login(t.Context(), name, "correct horse"); {
		case err == nil && code == realmcore.LoginPlayerLimitReached: // the server is behind the clock: again
		case err != nil || code != realm.LoginOK:
			t.Fatalf("logging in: %v, %v", code, err)
		default:
			return w, c
		}
	}
}

// cuttable returns where a server is reached until cut is called, which ends the stream without a word.
func cuttable(t *testing.T, addr string) (via string, cut func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var pipes sync.WaitGroup
	both := make(chan net.Conn, 2)
	pipes.Go(func() {
		here, err := l.Accept()
		if err != nil {
			return
		}
		both <- here
		there, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		both <- there
		pipes.Go(func() { io.Copy(here, there) })
		io.Copy(there, here)
	})
	cut = sync.OnceFunc(func() {
		l.Close()
		for range 2 {
			select {
			case c := <-both:
				c.(*net.TCPConn).SetLinger(0)
				c.Close()
			default:
			}
		}
		patient.Done(pipes.Wait)
	})
	t.Cleanup(cut)
	return l.Addr().String(), cut
}

func readRealm(w *witness, m *realmcore.Message) {
	place := func(e *realmcore.Entity) {
		// Places are whole cells here, and it is for the client to move what has a speed.
		if e.ID == w.mover && w.moved == 0 && e.Has&realmcore.HasSpeedNorm != 0 && e.SpeedNorm > 0 {
			x, _ := world.Place(e.Position.BX, e.Position.BY, e.Position.X, e.Position.Y)
			if w.moved = .02; e.Has&realmcore.HasPosition != 0 {
				w.moved = max(.02, math.Abs(x-w.from))
			}
		}
		if e.Has&realmcore.HasPosition != 0 {
			w.places[e.ID], _ = world.Place(e.Position.BX, e.Position.BY, e.Position.X, e.Position.Y)
		}
	}
	switch m.Kind {
	case realmcore.KindEntityCreate, realmcore.KindEntityUpdate:
		place(&m.Entity)
	case realmcore.KindEntitiesUpdate:
		for e := range m.Entities.All() {
			place(e)
		}
	case realmcore.KindEntityDestroy:
		delete(w.places, m.ID)
	case realmcore.KindMetaAction:
		if string(m.Name) == "ann" {
			w.own = m.ID
		}
	case realmcore.KindChatReceive:
		w.said = append(w.said, string(m.Text))
	case realmcore.KindActionsDone:
		w.throws += m.Actions.Len()
	}
}

// A player of each dialect in one arena: each sees the others move, chat and throws cross,
// leaving is seen, and so is going without goodbye.
func TestOneWorldFiveDialects(t *testing.T) {
	s, addrs := serveArena(t)
	sim, err := world.New(arena.Game(), world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	schema := sim.Schema()
	realmAddr, cut := cuttable(t, addrs["realm"])
	onReplica, viaReplica := enter(t, s, "replica", func() (*witness, *replica.Client) { return joinReplica(t, addrs["replica"]) })
	onRelay, viaRelay := enter(t, s, "relay", func() (*witness, *relay.Client) { return joinRelay(t, addrs["relay"]) })
	onDuplex, viaDuplex := enter(t, s, "duplex", func() (*witness, *duplex.Client) { return joinDuplex(t, addrs["duplex"], schema) })
	onRealm, viaRealm := enter(t, s, "realm", func() (*witness, *realm.Client) { return joinRealm(t, realmAddr, "ann", schema) })
	spectator, _ := enter(t, s, "stamp", func() (*witness, *stamp.Client) { return watchStamp(t, addrs["stamp"]) })
	all := map[string]*witness{"stamp": spectator, "replica": onReplica, "relay": onRelay, "duplex": onDuplex, "realm": onRealm}

	for name, w := range all {
		within(t, s, name+" sees four players", func() bool { return w.sees(func() bool { return len(w.places) == 4 }) })
	}
	if got := len(playersOf(t, s)); got != 4 {
		t.Fatalf("%d players are in the game", got)
	}

	// The duplex player walks: its number is its own on every dialect. Each sees it move within three
	// ticks, that is before it has come further than that; on a machine that has other work to do one may
	// look away for longer, so it stops and walks again.
	mover := uint16(viaDuplex.Player())
	walk := func(angle, norm float32) {
		t.Helper()
		b := binary.BigEndian.AppendUint32(nil, math.Float32bits(angle))
		if err := viaDuplex.Update(viaDuplex.Player(), binary.BigEndian.AppendUint32(b, math.Float32bits(norm))); err != nil {
			t.Fatal(err)
		}
	}
	step := math.Cos(.3) // along x, of a cell
	for try := 0; ; try++ {
		for _, w := range all {
			w.watch(mover)
		}
		walk(.3+float32(try%2)*math.Pi, 1)
		latest := 0.
		for name, w := range all {
			within(t, s, name+" sees it move", func() bool { return w.sees(func() bool { return w.moved > 0 }) })
			w.note(func() { latest = max(latest, w.moved/step) })
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
		within(t, s, "it stops", func() bool { return s.WorldStats().Ticks > stopped+25 })
	}

	// Everybody says something, and everybody reads it.
	for name, say := range map[string]func(text string) error{
		"replica": func(text string) error { return viaReplica.Send(replica.Ordered, "chat", []byte(text)) },
		"relay":   func(text string) error { return viaRelay.Send(relay.SemiOrdered, relay.ToServer, []byte("\x02"+text)) },
		"duplex": func(text string) error {
			_, _, err := viaDuplex.Query(t.Context(), duplex.Main, 65, append([]byte{0, byte(len(text))}, text...))
			return err
		},
		"realm": func(text string) error { return viaRealm.Say(text) },
	} {
		text := "hello from " + name
		if err := say(text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for reader, w := range all {
			if reader == "stamp" {
				continue // it has no words
			}
			within(t, s, reader+" reads what "+name+" said", func() bool { return w.hears(text) })
		}
	}

	// The realm player throws, and the others see it. On a machine that has other work to do its
	// action may come too late for the world to go back to; then it throws again, as a player would.
	throw, err := viaRealm.Codec().Action(0, realmcore.F32(2), realmcore.EntityID(0))
	if err != nil {
		t.Fatal(err)
	}
	thrown := uint64(0)
	for name, w := range all {
		if name == "stamp" {
			continue
		}
		within(t, s, name+" sees the throw", func() bool {
			if now := s.WorldStats().Ticks; thrown == 0 || now-thrown > 100 {
				thrown = max(now, 1)
				if err := viaRealm.Act(throw); err != nil {
					t.Fatal(err)
				}
			}
			return w.sees(func() bool { return w.throws >= 1 })
		})
	}
	if err := s.Broadcast("the server speaks"); err != nil {
		t.Fatal(err)
	}
	if err := s.Broadcast(""); err == nil || err.Error() != "parley: broadcast: the text is empty" {
		t.Errorf("an empty text: %v", err)
	}
	for name, w := range all {
		if name != "stamp" {
			within(t, s, name+" reads it", func() bool { return w.hears("the server speaks") })
		}
	}

	// One leaves, and is gone for the rest.
	onDuplex.stop()
	delete(all, "duplex")
	for name, w := range all {
		within(t, s, name+" sees it leave", func() bool {
			return w.sees(func() bool { _, there := w.places[mover]; return !there })
		})
	}
	if got := len(playersOf(t, s)); got != 3 {
		t.Errorf("%d players are left", got)
	}

	// Another is cut off without goodbye, and is gone too. (Of those who are on UDP the server hears
	// nothing any more, which takes some ten seconds: see test/blackbox.)
	var ann uint16
	within(t, s, "realm knows who it is", func() bool { return onRealm.sees(func() bool { ann = onRealm.own; return ann != 0 }) })
	cut()
	delete(all, "realm")
	for name, w := range all {
		within(t, s, name+" sees it go", func() bool {
			return w.sees(func() bool { _, there := w.places[ann]; return !there })
		})
	}
}

func TestPlayersAreKicked(t *testing.T) {
	s, addrs := serveArena(t)
	_, c := joinReplica(t, addrs["replica"])
	within(t, s, "it is in", func() bool { return len(playersOf(t, s)) == 1 })
	p := playersOf(t, s)[0]
	if p.Dialect != "replica" || !strings.HasPrefix(p.Name, "guest-") {
		t.Errorf("the player is %+v", p)
	}
	if s.Kick(p.ID, "too good") != nil || s.Kick(p.ID+1, "") != parley.ErrNoPlayer {
		t.Error("the wrong one was kicked")
	}
	within(t, s, "it is out", func() bool { return len(playersOf(t, s)) == 0 && c.Err() != nil })
	if !strings.Contains(c.Err().Error(), "too good") {
		t.Errorf("it was told %v", c.Err())
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
	err := parley.Serve(t.Context(), g, parley.Config{
		Replica: "127.0.0.1:0", Stamp: parley.Off, Relay: parley.Off, Duplex: parley.Off, Realm: parley.Off, TickRate: 100,
		Log: slog.New(slog.DiscardHandler),
	})
	if err == nil || !strings.Contains(err.Error(), "a bug in the game") {
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
	s, err := parley.Start(g, quietly())
	if err != nil {
		t.Fatal(err)
	}
	_, c := joinReplica(t, s.Addrs()[0].Addr.String())
	within(t, s, "it is in", func() bool { return len(playersOf(t, s)) == 1 })
	if err := c.Send(replica.Ordered, "terrain", []byte{5, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	patient.Value(s.Done())
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "chunk (5, 0): no such land") {
		t.Errorf("Close returned %v", err)
	}
	for c.Err() == nil {
		<-time.After(time.Millisecond) // look again
	}
	if err := c.Err(); !strings.Contains(err.Error(), "server closing") {
		t.Errorf("the client was told %v", err)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := parley.Serve(ctx, arena.Game(), parley.Config{
		Replica: "127.0.0.1:0", Stamp: parley.Off, Relay: parley.Off, Duplex: parley.Off, Realm: parley.Off, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Error(err)
	}
}
