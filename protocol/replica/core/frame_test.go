package core

import (
	"encoding/binary"
	"fmt"
	"iter"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// room is a server whose clients see much the same: the first ones, which are alike, are
// shown and hidden everything together, the others each their own.
type room struct {
	t        testing.TB
	w        *world
	clients  []*client
	alike    int
	kind     uint16
	score    uint16
	scored   uint32
	entities []*Entity
	made     map[*Entity]uint32
}

func newRoom(t testing.TB, seed uint64, path simnet.Profile, clients, alike int) *room {
	w := newWorld(t, seed, Config{}, path)
	r := &room{t: t, w: w, alike: alike, made: map[*Entity]uint32{}}
	var err error
	if r.kind, err = w.mux.Store().AddKind("thing", Variable{"a", DataUint64}, Variable{"b", DataUint64}); err != nil {
		t.Fatal(err)
	}
	if r.score, err = w.mux.Store().AddVariable("score", DataUint); err != nil {
		t.Fatal(err)
	}
	for i := range clients {
		x := w.dial(i, Config{})
		x.onEvent = func(now time.Time, ev Event) {
			if ev.Kind == EventConnected {
				if err := x.Link(now); err != nil {
					t.Error(err)
				}
			}
		}
		r.clients = append(r.clients, x)
	}
	w.Until("all are linked", time.Minute, func() bool {
		for _, x := range r.clients {
			if w.conn(x) == nil || !w.conn(x).endpoint.link.all(len(w.mux.store.items)) {
				return false
			}
		}
		return true
	})
	return r
}

// set gives an entity's variable a value that tells whose it is.
func (r *room) set(e *Entity, variable int, n uint32) {
	if err := e.Set(variable, binary.LittleEndian.AppendUint64(nil, uint64(r.made[e])<<32|uint64(n))); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) spawn() *Entity {
	e, err := r.w.mux.Store().NewEntity(r.kind)
	if err != nil {
		r.t.Fatal(err)
	}
	r.made[e] = uint32(len(r.made) + 1)
	r.set(e, 0, 0)
	r.entities = append(r.entities, e)
	return e
}

func (r *room) keepScore() {
	r.scored++
	if err := r.w.mux.Store().Set(r.score, u32(r.scored)); err != nil {
		r.t.Fatal(err)
	}
}

// show shows an entity to those that are alike, or to one of the others.
func (r *room) show(e *Entity, i int) {
	for _, x := range r.group(i) {
		if err := r.w.conn(x).Show(e); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *room) group(i int) []*client {
	if i < r.alike {
		return r.clients[:r.alike]
	}
	return r.clients[i : i+1]
}

// fullRoom is a room whose clients all see as many objects, and have been told of them.
func fullRoom(t testing.TB, clients, objects int) *room {
	r := newRoom(t, 1, kit.Lan(), clients, clients)
	for range objects {
		r.show(r.spawn(), 0)
	}
	for range 5 {
		r.tick(100_000)
	}
	return r
}

// move gives all objects another value, and has the server tell of it.
func (r *room) move(now time.Time, value []byte) {
	r.w.mux.Advance(now)
	value[0]++
	for _, e := range r.entities {
		if err := e.Set(0, value); err != nil {
			r.t.Fatal(err)
		}
	}
	r.w.mux.Replicate(100_000)
}

func (r *room) tick(budget int) {
	r.w.replicate(budget)
	r.w.Pass(20 * time.Millisecond)
}

// differ says what a client sees that is not what it is shown.
func (r *room) differ() error {
	for i, x := range r.clients {
		link, _ := x.Values().KindLink("thing")
		if v, ok := x.Values().Value("score"); r.scored > 0 && (!ok || v.Int() != int64(r.scored)) {
			return fmt.Errorf("client %d: the score is %v, want %d", i, v, r.scored)
		}
		v := r.w.conn(x).endpoint.view
		count := 0
		for range x.Values().Entities(link) {
			count++
		}
		if count != len(v.seen) {
			return fmt.Errorf("client %d sees %d things, is shown %d", i, count, len(v.seen))
		}
		for e, s := range v.seen {
			for variable, name := range []string{"a", "b"} {
				if e.versions[variable] == 0 {
					continue
				}
				if got, ok := x.Values().EntityValue(link, s.id, name); !ok || string(got.Data) != string(e.data[variable]) {
					return fmt.Errorf("client %d: %s of %d is %x, want %x", i, name, s.id, got.Data, e.data[variable])
				}
			}
		}
	}
	return nil
}

// underWay yields what packets to a client carry that it has not acknowledged.
func (c *Conn) underWay() iter.Seq[batch] {
	return func(yield func(batch) bool) {
		for tag := c.endpoint.view.batch; tag != 0; tag = c.endpoint.store.batches.at(tag).older {
			if !yield(*c.endpoint.store.batches.at(tag)) {
				return
			}
		}
	}
}

// shared counts the packets under way whose cargo another connection has under way too.
func (r *room) shared() (n int) {
	seen := map[*cargo]bool{}
	for _, x := range r.clients {
		for b := range r.w.conn(x).underWay() {
			if b.cargo != nil && seen[b.cargo] {
				n++
			}
			seen[b.cargo] = true
		}
	}
	return n
}

// Whatever is lost, shown, hidden and set, to those who are alike and to those who are not:
// in the end each sees exactly what it is shown.
func TestWhatIsWrittenOnceIsRightForEach(t *testing.T) {
	shared := 0
	kit.Seeds(t, kit.Rounds(200, 10_000), func(t *testing.T, seed uint64) {
		r := newRoom(t, seed, simnet.Profile{Delay: 10 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: .15, Duplicate: .05}, 6, 4)
		rng := r.w.Rand()
		for range 80 {
			for range 4 {
				switch n := len(r.entities); {
				case n == 0 || rng.IntN(8) == 0:
					r.show(r.spawn(), rng.IntN(len(r.clients)))
				case rng.IntN(12) == 0:
					e := r.entities[rng.IntN(n)]
					for _, x := range r.group(rng.IntN(len(r.clients))) {
						r.w.conn(x).Hide(e)
					}
				case rng.IntN(12) == 0:
					r.show(r.entities[rng.IntN(n)], rng.IntN(len(r.clients)))
				case rng.IntN(30) == 0:
					i := rng.IntN(n)
					r.entities[i].Remove()
					r.entities = append(r.entities[:i], r.entities[i+1:]...)
				case rng.IntN(10) == 0:
					r.keepScore()
				default:
					r.set(r.entities[rng.IntN(n)], rng.IntN(2), rng.Uint32())
				}
			}
			r.tick([]int{300, 5000}[rng.IntN(2)])
			shared += r.shared()
		}
		var err error
		for range 500 {
			r.tick(5000)
			if err = r.differ(); err == nil {
				return
			}
		}
		t.Errorf("seed=%d: %v", seed, err)
	})
	if shared == 0 {
		t.Error("nothing was ever written once for two")
	}
}

// A quiet path: all who see the same have one frame a tick, one who sees less a frame of its
// own, and the packets of all hold what each would be written alone.
func TestARoomIsWrittenOnce(t *testing.T) {
	r := newRoom(t, 3, kit.Lan(), 20, 19)
	for range 50 {
		r.show(r.spawn(), 0)
	}
	r.show(r.entities[0], 19)
	r.tick(100_000)
	for n := range uint32(10) {
		for _, e := range r.entities {
			r.set(e, 1, n+1)
		}
		r.w.replicate(100_000)
		frames := map[*cargo]int{}
		for _, x := range r.clients {
			for b := range r.w.conn(x).underWay() {
				if b.cargo != nil {
					frames[b.cargo]++
				}
			}
		}
		var of []int
		for _, n := range frames {
			of = append(of, n)
		}
		if len(of) != 2 || of[0]+of[1] != 20 || of[0]*of[1] != 19 {
			t.Fatalf("tick %d: packets were shared by %v connections, want 19 and 1", n, of)
		}
		r.w.Pass(20 * time.Millisecond)
		if err := r.differ(); err != nil {
			t.Fatal(err)
		}
		if n := r.shared(); n != 0 {
			t.Fatalf("%d packets are under way after all were acknowledged", n)
		}
	}
	spare := 0
	for _, list := range r.w.mux.Store().cargos.spare {
		spare += list.Len()
	}
	if spare > 2*maxFrames {
		t.Errorf("%d cargos are spare", spare)
	}
}

// A window that is full before, or in the middle of a frame costs that client time, and nothing else.
func TestAFrameThatFindsNoRoomIsSentLater(t *testing.T) {
	r := newRoom(t, 5, simnet.Profile{Delay: 20 * time.Millisecond}, 4, 4)
	for range 200 {
		r.show(r.spawn(), 0)
	}
	for range 20 {
		r.tick(100_000)
	}
	deaf := true
	r.w.Filter(func(p simnet.Packet) simnet.Verdict {
		return simnet.Verdict{Drop: deaf && p.To != r.w.server && p.To != r.clients[3].host}
	})
	// The first has room for no packet of the frame, the next for one, the third perhaps for all.
	room := 0
	for r.w.conn(r.clients[0]).Send(Reliable, "fill", make([]byte, 1150)) == nil {
		room++
	}
	for i, x := range r.clients[1:3] {
		for range room - 1 - i {
			if err := r.w.conn(x).Send(Reliable, "fill", make([]byte, 1150)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, e := range r.entities {
		r.set(e, 1, 7)
	}
	r.w.replicate(100_000)
	under := make([]int, len(r.clients))
	for i, x := range r.clients {
		for b := range r.w.conn(x).underWay() {
			if b.cargo != nil {
				under[i]++
			}
		}
	}
	if under[0] != 0 || under[1] != 1 || under[2] < 1 || under[3] < 2 {
		t.Errorf("of the frame's packets %v are under way", under)
	}
	for i, x := range r.clients[:2] {
		v := r.w.conn(x).endpoint.view
		noted, carried := 0, 0
		for e, s := range v.seen {
			if s.sent[1] >= e.versions[1] {
				noted++
			}
		}
		for b := range r.w.conn(x).underWay() {
			if b.cargo != nil {
				carried += len(b.cargo.values)
			}
		}
		if v.together || noted != carried {
			t.Errorf("client %d: %d values are under way and %d count as sent", i, carried, noted)
		}
	}
	r.w.Pass(time.Second)
	for _, e := range r.entities[:10] {
		r.set(e, 0, 8)
	}
	deaf = false
	var err error
	for range 300 {
		r.tick(100_000)
		if err = r.differ(); err == nil {
			return
		}
	}
	t.Error(err)
}

// In a packet of the table variables come before entities; a game declares them as it likes.
func TestAVariableDeclaredAfterAKindIsLinked(t *testing.T) {
	r := newRoom(t, 7, kit.Lan(), 1, 1)
	r.keepScore()
	r.show(r.spawn(), 0)
	for range 3 {
		r.tick(1000)
	}
	if _, err := r.w.mux.Store().AddVariable("late", DataUint); err != nil {
		t.Fatal(err)
	}
	if _, err := r.w.mux.Store().AddKind("later", Variable{"x", DataUint}); err != nil {
		t.Fatal(err)
	}
	late, err := r.w.mux.Store().AddVariable("last", DataUint)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.w.mux.Store().Set(late, u32(9)); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		r.tick(1000)
	}
	if err := r.differ(); err != nil {
		t.Error(err)
	}
	if v, ok := r.clients[0].Values().Value("last"); !ok || v.Int() != 9 {
		t.Errorf("last is %v, %v", v, ok)
	}
}

// What one of two that were alike no longer sees it is not sent, nor what is over its budget; and
// those who are told at different times are each told all.
func TestAFrameIsForThoseWhoLackTheSame(t *testing.T) {
	r := newRoom(t, 8, kit.Lan(), 3, 3)
	for range 100 {
		r.show(r.spawn(), 0)
	}
	var conns []*Conn
	for _, x := range r.clients {
		conns = append(conns, r.w.conn(x))
	}
	settle := func(what string) {
		t.Helper()
		r.tick(100_000)
		r.tick(100_000)
		if err := r.differ(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	settle("at first")

	// A value each, told to one of them at a time.
	for n := range uint32(30) {
		r.set(r.entities[n], 1, n)
		r.w.mux.Advance(r.w.Now())
		conns[n%3].Replicate(100_000)
		if n%7 == 0 {
			conns[(n+1)%3].Replicate(100_000)
		}
	}
	r.w.server.Poke()
	settle("by turns")

	// The first sees nothing but what it hid, the second nothing else.
	for i, e := range r.entities {
		conns[i%2].Hide(e)
	}
	settle("after hiding")
	for _, e := range r.entities {
		r.set(e, 0, 1)
	}
	settle("what was hidden changed")

	for _, e := range r.entities {
		r.set(e, 0, 2)
		r.set(e, 1, 2)
	}
	before, held := conns[2].endpoint.sender.Stats().Accepted, conns[2].endpoint.sender.Pressure().Bytes
	r.w.replicate(500)
	n, bytes := conns[2].endpoint.sender.Stats().Accepted-before, conns[2].endpoint.sender.Pressure().Bytes-held
	if n != 1 || bytes < 400 || bytes > 500 {
		t.Errorf("%d packets with %d bytes were sent of a budget of 500", n, bytes)
	}
	settle("by budget")
}

// A tick of a room, its packets and their acks allocate nothing, nor does a client that takes them.
func TestATickOfARoomAllocatesNothing(t *testing.T) {
	r := newRoom(t, 9, kit.Lan(), 10, 9)
	for i := range 50 {
		r.show(r.spawn(), 0)
		if i%2 == 0 {
			r.show(r.entities[i], 9)
		}
	}
	for range 5 {
		r.tick(100_000)
	}
	m, now := r.w.mux, r.w.Now()
	buf, ack := make([]byte, 2048), make([]byte, 0, 8)
	value := make([]byte, 8)
	var p Packet
	first := r.clients[0]
	packets, told := 0, 0
	tick := func() {
		now = now.Add(16 * time.Millisecond)
		r.move(now, value)
		for n, to, ok := m.PollTransmit(buf); ok; n, to, ok = m.PollTransmit(buf) {
			eachPacket(&p, FromServer, buf[:n], func(b []byte) {
				if p.Kind != KindReplicate {
					return
				}
				packets++
				if to == first.host.Addr() {
					first.HandleDatagram(now, serverAddr, b)
					for _, ok := first.PollEvent(); ok; _, ok = first.PollEvent() {
						told++
					}
				}
				ack = (&Packet{Kind: KindAck, Acked: p.Sequence}).AppendTo(ack[:0])
				m.HandleDatagram(now, to, ack)
			})
		}
	}
	for range 10 {
		tick()
	}
	packets, told = 0, 0
	if n := testing.AllocsPerRun(100, tick); n != 0 && !kit.Race {
		t.Errorf("a tick allocates %v times", n)
	}
	if packets < 10*100 || told < 100 {
		t.Errorf("%d packets were sent, the client was told %d times", packets, told)
	}
}

// A slot that is emptied before its first value comes stays empty, though it is the first of its kind.
func TestAValueThatComesAfterItsEntityIsGoneIsDropped(t *testing.T) {
	r := newRoom(t, 10, kit.Lan(), 1, 1)
	held := false
	r.w.Filter(func(p simnet.Packet) simnet.Verdict {
		if _, ok := holds(FromServer, p.Bytes, KindReplicate); ok && !held {
			held = true
			return simnet.Verdict{Delay: 15 * time.Millisecond}
		}
		return simnet.Verdict{}
	})
	e := r.spawn()
	r.show(e, 0)
	r.w.replicate(1000)
	r.w.Pass(time.Millisecond)
	r.w.conn(r.clients[0]).Hide(e)
	r.w.replicate(1000)
	r.w.Pass(time.Second)
	link, _ := r.clients[0].Values().KindLink("thing")
	for id := range r.clients[0].Values().Entities(link) {
		t.Errorf("entity %d is in sight", id)
	}
	if !held {
		t.Error("no value was held up")
	}
}

// The bytes of a kind's variables are counted once for each client that they were sent to, whether their packets are shared or
// not, once the packets are acknowledged and no frame keeps them for further clients.
func TestSentBytesAreThoseOfEachClient(t *testing.T) {
	const clients, alike, changes = 4, 3, 50
	r := newRoom(t, 1, kit.Lan(), clients, alike)
	e := r.spawn()
	r.show(e, 0)
	r.show(e, alike)
	for i := range uint32(changes + maxFrames) {
		if i < changes {
			r.set(e, 1, i)
		}
		r.keepScore() // belongs to no kind
		r.tick(10_000)
	}
	r.w.Pass(time.Second)
	s := r.w.mux.Store()
	if a, b := s.SentBytes(r.kind, 0), s.SentBytes(r.kind, 1); a != 8*clients || b != 8*clients*changes {
		t.Errorf("%d and %d bytes, want %d and %d", a, b, 8*clients, 8*clients*changes)
	}
	if trips := r.w.mux.shared.buffers.RoundTrips; trips.Count() < clients*changes {
		t.Errorf("%d round trips of %d packets", trips.Count(), clients*changes)
	}
}
