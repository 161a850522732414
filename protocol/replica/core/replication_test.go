package core

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// linkedWorld is a world with one client that asks for the server's table.
func linkedWorld(t testing.TB, seed uint64, path simnet.Profile, c Config) (*world, *client) {
	w := newWorld(t, seed, Config{}, path)
	x := w.dial(0, c)
	x.onEvent = func(now time.Time, ev Event) {
		if ev.Kind == EventConnected {
			if err := x.Link(now); err != nil {
				t.Error(err)
			}
		}
	}
	return w, x
}

// conn returns the server's side of a client.
func (w *world) conn(x *client) *Conn { return w.mux.Conn(x.host.Addr()) }

// replicate is one tick of the server.
func (w *world) replicate(budget int) {
	w.mux.Advance(w.Now())
	w.mux.Replicate(budget)
	w.server.Poke()
}

func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

func TestValuesReachALinkedClient(t *testing.T) {
	w, x := linkedWorld(t, 1, kit.Lan(), Config{})
	s := w.mux.Store()
	score, err := s.AddVariable("score", DataShort)
	if err != nil {
		t.Fatal(err)
	}
	ship, err := s.AddKind("ship", Variable{"x", DataFloat}, Variable{"name", DataChars})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := s.NewEntity(ship)
	for _, err := range []error{
		s.Set(score, []byte{0xfe, 0xff}),
		e.Set(0, []byte{0, 0, 0xc0, 0x3f}),
		e.Set(1, []byte("Argo")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.Until("linked", 5*time.Second, func() bool { return w.conn(x) != nil && w.conn(x).endpoint.link.isFinished() })
	if err := w.conn(x).Show(e); err != nil {
		t.Fatal(err)
	}
	w.replicate(10_000)
	w.Pass(100 * time.Millisecond)
	if v, ok := x.Values().Value("score"); !ok || v.Int() != -2 {
		t.Errorf("score is %v, %v", v, ok)
	}
	link, ok := x.Values().KindLink("ship")
	if !ok {
		t.Fatal("the client does not know the kind")
	}
	for id := range x.Values().Entities(link) {
		px, _ := x.Values().EntityValue(link, id, "x")
		name, _ := x.Values().EntityValue(link, id, "name")
		if px.Float() != 1.5 || name.Text() != "Argo" || px.Number == 0 || px.Time == 0 {
			t.Errorf("the ship is %+v, %+v", px, name)
		}
	}
	out := w.conn(x).Stats().Out
	w.replicate(10_000)
	if w.conn(x).Stats().Out != out {
		t.Error("nothing changed, yet something was sent")
	}
	e.Remove()
	w.replicate(10_000)
	w.Pass(100 * time.Millisecond)
	for id := range x.Values().Entities(link) {
		t.Errorf("entity %d is still in sight", id)
	}
}

func TestASchemaThatCannotBeSentIsRefused(t *testing.T) {
	var s Store
	long := string(make([]byte, 256))
	if _, err := s.AddKind("empty"); err == nil {
		t.Error("a kind without variables was taken")
	}
	if _, err := s.AddKind(long, Variable{"x", DataChar}); err == nil {
		t.Error("a name of 256 bytes was taken")
	}
	if _, err := s.AddVariable("x", 11); err == nil {
		t.Error("an unknown type was taken")
	}
	link, err := s.AddVariable("x", DataInt)
	if err != nil {
		t.Fatal(err)
	}
	if s.Set(link, []byte{1}) == nil || s.Set(link+1, u32(1)) == nil {
		t.Error("a value that does not fit was taken")
	}
	f, _ := s.AddVariable("f", DataFloat)
	if s.Set(f, u32(0x7fc00000)) == nil || s.Set(f, u32(0x7f800000)) == nil {
		t.Error("NaN or infinity was taken")
	}
}

// Tables are split, refused piece by piece, and added to later.
func TestATableOfManyPieces(t *testing.T) {
	pieces := 0
	w, x := linkedWorld(t, 2, simnet.Profile{Delay: 5 * time.Millisecond, Loss: .1}, Config{
		AcceptTable: func(Table) bool { pieces++; return pieces != 2 },
	})
	s := w.mux.Store()
	for i := range 60 {
		if _, err := s.AddVariable(fmt.Sprintf("a variable with a name of some length, number %d", i), DataInt); err != nil {
			t.Fatal(err)
		}
		if err := s.Set(uint16(i), u32(uint32(i))); err != nil {
			t.Fatal(err)
		}
	}
	vars := make([]Variable, 100)
	for i := range vars {
		vars[i] = Variable{fmt.Sprintf("field %d of a kind that fills a packet", i), DataUchar}
	}
	if _, err := s.AddKind("large", vars...); err != nil {
		t.Fatal(err)
	}
	w.Until("linked", 10*time.Second, func() bool {
		return w.conn(x) != nil && w.conn(x).endpoint.link != nil && w.conn(x).endpoint.link.done == len(s.items)
	})
	if pieces < 5 {
		t.Errorf("the table came in %d pieces", pieces)
	}
	late, _ := s.AddVariable("late", DataUchar)
	if err := s.Set(late, []byte{7}); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		w.replicate(5000)
		w.Pass(50 * time.Millisecond)
	}
	got := 0
	for i := range 60 {
		if v, ok := x.Values().Value(fmt.Sprintf("a variable with a name of some length, number %d", i)); ok {
			got++
			if v.Int() != int64(i) {
				t.Errorf("variable %d is %d", i, v.Int())
			}
		}
	}
	if got == 0 || got == 60 {
		t.Errorf("%d of 60 variables came, want all but those of the refused piece", got)
	}
	if v, ok := x.Values().Value("late"); !ok || v.Int() != 7 {
		t.Errorf("the late variable is %v, %v", v, ok)
	}
}

// churn is a server that creates, changes, shows, hides and removes entities, each
// value of which carries the entity's own number, and a client that must never
// see two numbers in one slot.
type churn struct {
	t        testing.TB
	w        *world
	x        *client
	kind     uint16
	next     uint32
	entities []*Entity
	uids     map[*Entity]uint32
}

const churnVars = 3

func newChurn(t testing.TB, seed uint64, path simnet.Profile) *churn {
	w, x := linkedWorld(t, seed, path, Config{})
	c := &churn{t: t, w: w, x: x, uids: map[*Entity]uint32{}}
	var err error
	c.kind, err = w.mux.Store().AddKind("thing", Variable{"a", DataUint64}, Variable{"b", DataUint64}, Variable{"c", DataUint64})
	if err != nil {
		t.Fatal(err)
	}
	w.Until("linked", time.Minute, func() bool { return w.conn(x) != nil && w.conn(x).endpoint.link.isFinished() })
	x.onEvent = func(_ time.Time, ev Event) {
		if ev.Kind == EventReplicated || ev.Kind == EventGone {
			c.check()
		}
	}
	return c
}

// check holds that all values of a slot are of one entity.
func (c *churn) check() {
	link, ok := c.x.Values().KindLink("thing")
	if !ok {
		return
	}
	k := c.x.client.seen.kinds[link]
	for id := range c.x.Values().Entities(link) {
		uid, first := uint64(0), true
		for _, v := range k.slots[id].entity.values {
			if !v.set {
				continue
			}
			u := binary.LittleEndian.Uint64(v.Data) >> 32
			if !first && u != uid {
				c.t.Fatalf("slot %d has values of entities %d and %d", id, uid, u)
			}
			uid, first = u, false
		}
	}
}

func (c *churn) set(e *Entity, v int, n uint32) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(c.uids[e])<<32|uint64(n))
	if err := e.Set(v, b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *churn) spawn() *Entity {
	e, err := c.w.mux.Store().NewEntity(c.kind)
	if err != nil {
		c.t.Fatal(err)
	}
	c.next++
	c.uids[e] = c.next
	for v := range churnVars {
		c.set(e, v, 0)
	}
	c.entities = append(c.entities, e)
	return e
}

// same holds that the client sees exactly what it is shown.
func (c *churn) same() error {
	conn := c.w.conn(c.x)
	if conn == nil {
		return fmt.Errorf("the connection is gone: %v", c.w.Log)
	}
	link, _ := c.x.Values().KindLink("thing")
	count := 0
	for range c.x.Values().Entities(link) {
		count++
	}
	if count != len(conn.endpoint.view.seen) {
		return fmt.Errorf("the client sees %d entities, is shown %d", count, len(conn.endpoint.view.seen))
	}
	for e, s := range conn.endpoint.view.seen {
		for v, name := range []string{"a", "b", "c"} {
			got, ok := c.x.Values().EntityValue(link, s.id, name)
			if !ok || string(got.Data) != string(e.data[v]) {
				return fmt.Errorf("slot %d %s is %x (%v), want %x", s.id, name, got.Data, ok, e.data[v])
			}
		}
	}
	return nil
}

// tick replicates once and lets time pass.
func (c *churn) tick(budget int) {
	c.w.replicate(budget)
	c.w.Pass(20 * time.Millisecond)
}

// Newest wins, what is lost comes again, and no slot ever holds two entities.
func TestReplicationUnderLoss(t *testing.T) {
	kit.Seeds(t, kit.Rounds(40, 2000), func(t *testing.T, seed uint64) {
		c := newChurn(t, seed, simnet.Profile{Delay: 15 * time.Millisecond, Jitter: 40 * time.Millisecond, Loss: .2, Duplicate: .1})
		rng := c.w.Rand()
		for range 100 {
			for range 5 {
				switch n := len(c.entities); {
				case n == 0 || rng.IntN(4) == 0:
					e := c.spawn()
					if err := c.w.conn(c.x).Show(e); err != nil {
						t.Fatal(err)
					}
				case rng.IntN(6) == 0:
					i := rng.IntN(n)
					if rng.IntN(2) == 0 {
						c.entities[i].Remove()
					} else {
						c.w.conn(c.x).Hide(c.entities[i])
					}
					c.entities = append(c.entities[:i], c.entities[i+1:]...)
				default:
					c.set(c.entities[rng.IntN(n)], rng.IntN(churnVars), rng.Uint32())
				}
			}
			c.tick(600)
		}
		var err error
		for range 500 {
			c.tick(5000)
			if err = c.same(); err == nil {
				return
			}
		}
		t.Errorf("seed=%d: %v", seed, err)
	})
}

// 256 slots of a kind, taken and left 100,000 times: no alias, no slot lost.
func TestSlotsAreReusedWithoutAnAlias(t *testing.T) {
	c := newChurn(t, 9, simnet.Profile{Delay: 5 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .05})
	total := 100_000
	if testing.Short() {
		total = 10_000
	}
	conn := c.w.conn(c.x)
	for changes := 0; changes < total; {
		for {
			e := c.spawn()
			if conn.Show(e) == ErrNoSlot {
				c.entities = c.entities[:len(c.entities)-1]
				break
			}
		}
		for range min(100, len(c.entities)) {
			conn.Hide(c.entities[0])
			delete(c.uids, c.entities[0])
			c.entities = c.entities[1:]
			changes++
		}
		c.tick(20_000)
	}
	var err error
	for range 200 {
		c.tick(20_000)
		if err = c.same(); err == nil {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
	for range 50 {
		c.tick(20_000) // a slot is free when its departure is acknowledged
	}
	for range 256 {
		if err := conn.Show(c.spawn()); err == ErrNoSlot {
			break
		}
	}
	if n := len(conn.endpoint.view.seen); n != 256 {
		t.Errorf("after the churn %d of 256 slots can be used", n)
	}
}

// A slot that is used again knows nothing of whoever had it: what comes into sight is told whole,
// also if its values are older than those that were told of the one before.
func TestASlotThatIsUsedAgainIsToldWhole(t *testing.T) {
	w, x := linkedWorld(t, 2, kit.Lan(), Config{})
	s := w.mux.Store()
	ship, err := s.AddKind("ship", Variable{"x", DataUint})
	if err != nil {
		t.Fatal(err)
	}
	old, _ := s.NewEntity(ship)
	young, _ := s.NewEntity(ship)
	old.Set(0, u32(1))
	young.Set(0, u32(2))
	w.Until("linked", 5*time.Second, func() bool { return w.conn(x) != nil && w.conn(x).endpoint.link.isFinished() })
	conn := w.conn(x)
	for i, show := range []*Entity{young, old, young, old} {
		if err := conn.Show(show); err != nil {
			t.Fatal(err)
		}
		w.replicate(10_000)
		w.Pass(100 * time.Millisecond)
		link, _ := x.Values().KindLink("ship")
		seen := 0
		for id := range x.Values().Entities(link) {
			seen++
			if v, ok := x.Values().EntityValue(link, id, "x"); !ok || v.Int() != int64(2-i%2) {
				t.Errorf("in turn %d the client sees %v, %v", i, v, ok)
			}
		}
		if spare := w.mux.Store().kinds[ship].spares; seen != 1 || spare != slotsAtOnce-1 {
			t.Errorf("in turn %d the client sees %d ships; %d slots are spare", i, seen, spare)
		}
		conn.Hide(show)
		w.replicate(10_000)
		w.Pass(100 * time.Millisecond)
	}
}

// Blind spoofing: who sends from a victim's address and sees no reply gets the
// victim at most the accepts and sync packets that the page allows.
func TestASpooferGetsItsVictimLittle(t *testing.T) {
	w := newWorld(t, 11, Config{}, kit.Lan())
	if _, err := w.mux.Store().AddVariable("secret", DataInt); err != nil {
		t.Fatal(err)
	}
	victim := netip.MustParseAddrPort("10.9.9.9:999")
	kinds := map[Kind]int{}
	w.Filter(func(p simnet.Packet) simnet.Verdict {
		var q Packet
		if p.To == nil && q.Parse(FromServer, p.Bytes) {
			kinds[q.Kind]++
		}
		return simnet.Verdict{}
	})
	inits := 0
	for i := range 2000 {
		n := uint16(i)
		for _, p := range []Packet{
			{Kind: KindInit}, {Kind: KindAck, Acked: 1}, {Kind: KindAck, Acked: n},
			{Kind: KindLinkInit, Reliable: true, Ordered: true, Sequence: n},
			{Kind: KindLinkAccept, Reliable: true, Ordered: true, Sequence: n + 1},
			{Kind: KindMessage, Reliable: true, Sequence: n, Time: uint64(i) << 40, Name: []byte("x")},
			{Kind: KindSyncAck, Sequence: n, Acked: 2, Sent: uint64(i) << 50, Received: uint64(i) << 50},
		} {
			if p.Kind == KindInit {
				if i%10 != 0 {
					continue
				}
				inits++
			}
			w.Inject(victim, serverAddr, p.AppendTo(nil))
		}
		w.Pass(10 * time.Millisecond)
	}
	if w.mux.Len() != 0 {
		t.Fatal("a spoofed address has a connection")
	}
	t.Logf("in 20 s the victim got %v for %d inits", kinds, inits)
	for k, n := range kinds {
		switch k {
		case KindAccept:
			if n > inits {
				t.Errorf("%d accepts for %d inits", n, inits)
			}
		case KindSyncInit:
			if n > maxUnprovenSyncs*(20/5+1) {
				t.Errorf("%d sync.inits, want at most %d for each half-open connection", n, maxUnprovenSyncs)
			}
		case KindDisconnect: // a notice to a stranger
		default:
			t.Errorf("the victim got %d %v", n, k)
		}
	}
}
