package core

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
)

// A district is a town with many rooms, and what each of its people should have been told.
type district struct {
	*town
	rooms  []*testRoom
	joined int
}

type testRoom struct {
	group *Group
	land  *flatland
	tick  uint64
	in    []*person
}

// at is the room's tick as a message says it.
func (r *testRoom) at() string { return fmt.Sprint(" at ", uint16(r.tick)) }

func newDistrict(t testing.TB, r *rand.Rand, rooms int) *district {
	d := &district{town: newTown(t, r, Config{ChatRate: 1000, MaxPlayers: 1000, SightRadius: -1})}
	for range rooms {
		d.rooms = append(d.rooms, d.open())
	}
	d.game.place = func(_ *Conn, q Question) *Group {
		var i int
		if _, err := fmt.Sscanf(q.Room, "room-%d", &i); err != nil || i >= len(d.rooms) {
			return nil
		}
		return d.rooms[i].group
	}
	return d
}

func (d *district) open() *testRoom {
	room := &testRoom{land: &flatland{}, tick: uint64(d.rand.IntN(1 << 20))}
	room.group = d.mux.NewGroup(GroupConfig{Terrain: room.land})
	room.group.BeginTick(d.now, room.tick)
	return room
}

// come lets somebody new into a room.
func (d *district) come(i int) *person {
	d.t.Helper()
	name := fmt.Sprint("player-", d.joined)
	d.joined++
	d.accounts[name] = "password of " + name
	p := d.arrive(Config{})
	d.drive()
	if err := p.client.Login(d.now, fmt.Sprintf("%s@room-%d", name, i), "password of "+name); err != nil {
		d.t.Fatal(err)
	}
	d.drive()
	if p.conn.Account() != name || !p.conn.Playing() {
		d.t.Fatalf("%q is %v", p.conn.Account(), p.conn.endpoint.State())
	}
	return p
}

// heard returns what a person was told since the last call, a word for each message.
func (p *person) heard() (list []string) {
	for _, ev := range p.events {
		switch m := ev.Message; {
		case ev.Kind == EventClosed:
			list = append(list, "exit "+ev.Close.Exit.String())
		case m == nil:
		case m.Kind == KindMetaAction:
			list = append(list, fmt.Sprint(MetaCode(m.Code), " ", m.ID, " at ", m.Tick))
		case m.Kind == KindChatReceive:
			list = append(list, fmt.Sprintf("%d says %s at %d", m.ID, m.Text, m.Tick))
		case m.Kind == KindChunkUpdate:
			list = append(list, fmt.Sprint("chunk at ", m.Tick))
		case m.Kind == KindEntityDestroy:
			list = append(list, fmt.Sprint("destroy ", m.ID))
		default:
			list = append(list, m.Kind.String())
		}
	}
	p.events = nil
	return list
}

// Every operation in any order, in rooms at random: each message reaches exactly the players of its room, with the tick of
// that room, and nobody else.
func TestGroupsAgreeWithAModel(t *testing.T) {
	rng := kit.Rand(t)
	d := newDistrict(t, rng, 5)
	did := map[string]int{}
	for range max(1000, kit.Tier(5000, 50_000, 1_000_000)) {
		i := rng.IntN(len(d.rooms))
		room := d.rooms[i]
		var one *person
		if len(room.in) > 0 {
			one = room.in[rng.IntN(len(room.in))]
		}
		want := map[*person][]string{} // whoever is not in it is told nothing
		tell := func(line string) {
			for _, p := range room.in {
				want[p] = append(want[p], line)
			}
		}
		op := rng.IntN(9)
		switch {
		case op == 0 && len(room.in) < 8:
			did["join"]++
			p := d.come(i)
			p.heard()
			tell(fmt.Sprint("player_joined ", p.conn.Entity(), room.at()))
			room.in = append(room.in, p)
		case op == 1 && one != nil:
			did["leave"]++
			entity := one.conn.Entity()
			room.in = slices.DeleteFunc(room.in, func(p *person) bool { return p == one })
			if rng.IntN(2) == 0 {
				one.client.Close(d.now, ExitClientQuit, "")
			} else {
				one.ended = true
				d.mux.HandleEnd(d.now, one.conn, errors.New("reset"))
			}
			tell(fmt.Sprint("player_left ", entity, room.at()))
			want[one] = nil
			if !one.ended {
				want[one] = []string{"exit client_quit"}
			}
		case op == 2 && one != nil:
			did["chat"]++
			if err := one.client.Send(d.now, &Message{Kind: KindChatSend, Text: []byte("hello")}); err != nil {
				t.Fatal(err)
			}
			tell(fmt.Sprint(one.conn.Entity(), " says hello", room.at()))
		case op == 3:
			did["say"]++
			room.group.Say(7, []byte("news"))
			tell(fmt.Sprint("7 says news", room.at()))
		case op == 4:
			did["tick"]++
			room.tick += uint64(rng.IntN(3))
			room.group.BeginTick(d.now, room.tick)
		case op == 5 && one != nil:
			did["broadcast"]++
			if err := room.group.Broadcast(&Message{Kind: KindEntityDestroy, ID: 9}, func(c *Conn) bool { return c != one.conn }); err != nil {
				t.Fatal(err)
			}
			tell("destroy 9")
			delete(want, one)
		case op == 6 && one != nil:
			did["terrain"]++
			chunks, _ := MakeWanted(ChunkID{3, 4})
			before := room.land.asked
			if err := one.client.Send(d.now, &Message{Kind: KindTerrainRequest, Wanted: chunks}); err != nil {
				t.Fatal(err)
			}
			d.advance(100 * time.Millisecond) // for its budget
			if room.land.asked != before+1 {
				t.Fatalf("the room's terrain was asked %d times", room.land.asked-before)
			}
			want[one] = []string{"chunk" + room.at()}
		case op == 7 && one != nil:
			did["act"]++
			d.game.messages = nil
			update := testCodec.AppendTo(nil, &Message{Kind: KindEntityUpdate, Tick: uint16(room.tick), Entity: Entity{ID: 1}})
			d.mux.HandleBytes(d.now, one.conn, update)
			d.events()
			if got := d.game.messages; len(got) != 1 || got[0].Kind != EventMessage || got[0].Tick != room.tick {
				t.Fatalf("an update of tick %d is %+v", room.tick, got)
			}
		case op == 8 && rng.IntN(10) == 0:
			did["close"]++
			room.group.Close(ExitServerClosed, "the room is over")
			tell("exit server_closed")
			d.rooms[i] = d.open()
			room.in = nil
		}
		d.drive()
		for _, p := range d.people {
			if got := p.heard(); !slices.Equal(got, want[p]) {
				t.Fatalf("%v (room %d): %q was told %q, want %q", did, i, p.conn.Account(), got, want[p])
			}
		}
		total := 0
		for _, room := range d.rooms {
			total += len(room.in)
			if g := room.group; g.Len() != len(room.in) || g.Players() != len(room.in) || len(slices.Collect(g.Conns())) != len(room.in) {
				t.Fatalf("%d and %d are in a group, want %d", g.Len(), g.Players(), len(room.in))
			}
		}
		if d.mux.Players() != total || d.mux.Len() != total || d.mux.Main().Len() != 0 {
			t.Fatalf("%d players of %d connections, want %d", d.mux.Players(), d.mux.Len(), total)
		}
		d.people = slices.DeleteFunc(d.people, func(p *person) bool { return p.closed > 0 })
	}
	t.Log(did)
	for _, op := range strings.Fields("join leave chat say tick broadcast terrain act close") {
		if did[op] == 0 {
			t.Errorf("%s was never tried", op)
		}
	}
}

// A connection is placed after its log-in was accepted and before it enters, and not otherwise.
func TestPlace(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	one, two := w.mux.NewGroup(GroupConfig{}), w.mux.NewGroup(GroupConfig{})
	gone := w.mux.NewGroup(GroupConfig{})
	gone.Close(ExitServerClosed, "")
	p := w.arrive(Config{})
	w.drive()
	if err := p.conn.Place(one); !errors.Is(err, ErrState) {
		t.Errorf("before a log-in: %v", err)
	}
	w.game.place = func(c *Conn, q Question) *Group {
		if err := c.Place(gone); !errors.Is(err, ErrClosed) {
			t.Errorf("into a group that is closed: %v", err)
		}
		if err := c.Place(one); err != nil || one.Len() != 1 || one.Players() != 0 {
			t.Errorf("%v, %d are in it, %d play", err, one.Len(), one.Players())
		}
		return two
	}
	p.client.Login(w.now, "ann", "password of ann")
	w.drive()
	if one.Len() != 0 || two.Len() != 1 || two.Players() != 1 || w.mux.Holder("ann") != p.conn {
		t.Errorf("%d, %d and %d", one.Len(), two.Len(), two.Players())
	}
	if err := p.conn.Place(one); !errors.Is(err, ErrState) {
		t.Errorf("in the game: %v", err)
	}
	two.Close(ExitServerClosed, "")
	two.Close(ExitServerClosed, "")
	w.drive()
	if p.closed != 1 || two.Len() != 0 || w.mux.Players() != 0 || w.mux.Holder("ann") != nil {
		t.Errorf("%d ends, %d are left, %d play", p.closed, two.Len(), w.mux.Players())
	}
}

// A log-in that is about to enter a room that closes is refused like an unknown name, and its session is over.
func TestARoomClosesBeforeAnybodyEnters(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	refused := 0
	w.mux.SetHooks(Hooks{Refused: func(*Conn) { refused++ }})
	room := w.mux.NewGroup(GroupConfig{})
	w.game.place = func(c *Conn, _ Question) *Group {
		if err := c.Place(room); err != nil || room.Len() != 1 {
			t.Error(err)
		}
		room.Close(ExitServerClosed, "")
		return nil
	}
	p := w.arrive(Config{})
	w.drive()
	p.client.Login(w.now, "ann", "password of ann")
	w.drive()
	ev, ok := p.last(EventLoggedIn)
	if !ok || LoginCode(ev.Message.Code) != LoginUnknownPseudo || refused != 1 || room.Len() != 0 || p.conn.endpoint.state != StateLobby {
		t.Errorf("%+v, refused %d times, %d are in it", ev, refused, room.Len())
	}
	if err := p.conn.Enter(Entry{}); !errors.Is(err, ErrState) {
		t.Errorf("it enters: %v", err)
	}
}

// The room is what follows the last @ of a log-in's name. A registration has none.
func TestAccountAtRoom(t *testing.T) {
	for _, tt := range []struct{ wire, name, room string }{
		{"ann", "ann", ""},
		{"ann@", "ann", ""},
		{"ann@room-1", "ann", "room-1"},
		{"ann@home@room-1", "ann@home", "room-1"},
		{"@room", "", "room"},
		{"@", "", ""},
		{"ann＠room", "ann＠room", ""}, // a wide @ is none
	} {
		for _, kind := range []EventKind{EventLogin, EventRegister} {
			w := newTown(t, kit.Rand(t), Config{})
			p := w.arrive(Config{})
			w.drive()
			message := &Message{Kind: KindLogin, Name: []byte(tt.wire), Password: []byte("p")}
			name, room := tt.name, tt.room
			if kind == EventRegister {
				message.Kind, name, room = KindRegister, tt.wire, ""
			}
			w.mux.HandleBytes(w.now, p.conn, testCodec.AppendTo(nil, message))
			_, ev, ok := w.mux.PollEvent()
			if q := ev.Question; !ok || ev.Kind != kind || q.Name != name || q.Room != room || q.Password != "p" {
				t.Errorf("%q: %v of %q in %q", tt.wire, ev.Kind, q.Name, q.Room)
			}
			if text := fmt.Sprintf("%v %#v %+v", ev.Question, ev.Question, ev.Question); bytes.Contains([]byte(text), []byte(`"p"`)) {
				t.Errorf("the password is shown: %s", text)
			}
		}
	}
}

// A room that is not there is refused like a name that is not there: the same bytes, and the client may ask again.
func TestARoomThatIsNotThereIsLikeAnUnknownName(t *testing.T) {
	d := newDistrict(t, kit.Rand(t), 1)
	d.sessions = map[string]*Conn{}
	d.mux.SetHooks(Hooks{Refused: d.logout})
	p := d.arrive(Config{})
	d.drive()
	var answers [][]byte
	for _, name := range []string{"nobody", "ann@room-9", "ann@nowhere", "nobody@room-0", "ann@room-9"} {
		p.client.Login(d.now, name, "password of ann")
		p.stepUp()
		d.events()
		var got []byte
		for _, n, ok := d.mux.PollBytes(d.buf[:]); ok; _, n, ok = d.mux.PollBytes(d.buf[:]) {
			got = append(got, d.buf[:n]...)
		}
		answers = append(answers, got)
		p.client.HandleBytes(d.now, got)
		p.poll()
		if !bytes.Equal(got, answers[0]) || len(got) != 2 || len(d.sessions) != 0 || d.mux.Holder("ann") != nil {
			t.Errorf("%q is answered %x, an unknown name %x; %d sessions", name, got, answers[0], len(d.sessions))
		}
	}
	p.client.Login(d.now, "ann@room-0", "password of ann")
	d.drive()
	if !p.conn.Playing() || d.rooms[0].group.Players() != 1 {
		t.Error("it cannot enter the room that is there")
	}
}

// The end of a connection says whether the client said goodbye.
func TestGoodbye(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(w *town, p *person)
		want bool
	}{
		{"the client quits", func(w *town, p *person) { p.client.Close(w.now, ExitClientQuit, "") }, true},
		{"its network fails", func(w *town, p *person) { p.client.Close(w.now, ExitNetworkError, "") }, false},
		{"it hears nothing from us", func(w *town, p *person) { p.client.Close(w.now, ExitPingTimeout, "") }, false},
		{"the stream ends", func(w *town, p *person) { w.mux.HandleEnd(w.now, p.conn, nil) }, false},
		{"the stream is reset", func(w *town, p *person) { w.mux.HandleEnd(w.now, p.conn, errors.New("reset")) }, false},
		{"nothing comes", func(w *town, p *person) { p.ended = true; w.advance(11 * time.Second) }, false},
		{"we kick it", func(w *town, p *person) { p.conn.Close(ExitClientKicked, "") }, false},
		{"we shut down", func(w *town, p *person) { w.mux.Shutdown(w.now, "") }, false},
		{"it breaks the rules", func(w *town, p *person) { w.mux.HandleBytes(w.now, p.conn, []byte{99}) }, false},
		{"it quits when we have kicked it", func(w *town, p *person) {
			p.conn.Close(ExitClientKicked, "")
			p.client.Close(w.now, ExitClientQuit, "")
		}, false},
	} {
		w := newTown(t, kit.Rand(t), Config{})
		p := w.join("ann")
		tt.end(w, p)
		w.drive()
		if got := w.game.goodbyes; len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: goodbye is %v, want %t (%v)", tt.name, got, tt.want, w.game.ended)
		}
	}
}

// Rooms that open, are played in and close leave nothing behind.
func TestClosedRoomsLeaveNothingBehind(t *testing.T) {
	d := newDistrict(t, kit.Rand(t), 4)
	d.forget = true
	d.sessions = map[string]*Conn{}
	d.mux.SetHooks(Hooks{Refused: d.logout})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	round := func(i int) {
		room := i % len(d.rooms)
		for range 2 {
			d.come(room)
		}
		d.rooms[room].group.Say(1, []byte("hello"))
		d.rooms[room].group.Close(ExitServerClosed, "")
		d.rooms[room] = d.open()
		d.drive()
		clear(d.people)
		d.people, d.told = d.people[:0], d.told[:0]
		d.game.ended, d.game.goodbyes = d.game.ended[:0], d.game.goodbyes[:0]
		clear(d.accounts)
	}
	for i := range 200 {
		round(i)
	}
	before := heap()
	rounds := kit.Tier(2000, 10_000, 100_000)
	for i := range rounds {
		round(i)
	}
	after := heap()
	t.Logf("%d rooms: the heap goes from %d to %d bytes", rounds, before, after)
	if after > before+256<<10 || d.mux.Len() != 0 || len(d.mux.holders) != 0 || len(d.sessions) != 0 || d.mux.Players() != 0 {
		t.Errorf("%d to %d bytes, %d connections, %d sessions", before, after, d.mux.Len(), len(d.sessions))
	}
}

// BenchmarkGroups is a tick of 1,000 rooms of two players, and one of a room whose neighbours are idle.
func BenchmarkGroups(b *testing.B) {
	d := newDistrict(b, rand.New(rand.NewPCG(1, 1)), 1000)
	d.forget = true
	d.mux.cfg.MaxPlayers = 4096
	for i := range 2000 {
		d.come(i % 1000)
	}
	block := Entity{ID: 1, Has: HasPosition}
	raw := make([]byte, 0, 64)
	tick := func(room *testRoom) {
		room.tick++
		room.group.BeginTick(d.now, room.tick)
		var list Entities
		raw, list, _ = testCodec.AppendEntities(raw[:0], block)
		if err := room.group.Broadcast(&Message{Kind: KindEntitiesUpdate, Tick: uint16(room.tick), Entities: list}, nil); err != nil {
			b.Fatal(err)
		}
	}
	flush := func() {
		for _, _, ok := d.mux.PollEvent(); ok; _, _, ok = d.mux.PollEvent() {
		}
		for _, _, ok := d.mux.PollBytes(d.buf[:]); ok; _, _, ok = d.mux.PollBytes(d.buf[:]) {
		}
	}
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, room := range d.rooms {
				tick(room)
				flush()
			}
		}
	})
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tick(d.rooms[0])
			flush()
		}
	})
}
