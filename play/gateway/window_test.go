package gateway

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/arena"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
	"parley/world"
)

const (
	windowRate = 50 // ticks a second, as --realm-profile miko has them
	windowTick = time.Second / windowRate
	windowCalm = windowRate // ticks after a stall until all is as it was
)

// windowWorld is the arena over realm as --realm-profile miko has it, in virtual time: the hub, the dialect and realm's server core are the
// real ones, and the streams are bytes in memory.
type windowWorld struct {
	t       *testing.T
	rand    *rand.Rand
	h       *Hub
	d       *Realm
	mux     *core.Mux
	now     time.Time
	behind  time.Duration // how late the hub is
	n       int           // ticks
	clients []*windowClient
	byConn  map[*realm.Conn]*windowClient
	deeds   []windowDeed
}

// windowDeed is what the game does at a tick, whenever that is run.
type windowDeed struct {
	tick uint64
	do   func(*world.World)
}

// windowRealm is the dialect, whose server is the world.
type windowRealm struct{ *Realm }

func (v windowRealm) Shutdown(context.Context) error { return nil }

func newWindowWorld(t *testing.T, seed uint64) *windowWorld {
	t.Helper()
	return newWindowWorldFor(t, seed, 0)
}

// newWindowWorldFor is one whose realm server has so many players at most; 0 is as many as the hub.
func newWindowWorldFor(t *testing.T, seed uint64, players int) *windowWorld {
	t.Helper()
	t.Logf("seed=%d", seed)
	w := &windowWorld{t: t, rand: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_700_000_000, 0), byConn: map[*realm.Conn]*windowClient{}}
	game := arena.GameAt(windowRate)
	step := game.Step
	game.Step = func(sim *world.World, in []world.Input) {
		step(sim, in)
		for _, d := range w.deeds {
			if d.tick == sim.Tick() {
				d.do(sim)
			}
		}
	}
	h := must(New(Config{Game: game, World: world.Config{Seed: seed}, TickRate: windowRate, Sight: -1}))
	c := RealmConfig{FirstType: 1}
	c.Server.SightRadius, c.Server.FollowSight, c.Server.LoginWithin = 8, true, 10*time.Minute
	d, s, err := newRealm(h, c)
	if err != nil {
		t.Fatal(err)
	}
	s.MaxPlayers = cmp.Or(players, s.MaxPlayers)
	w.h, w.d = h, d
	h.home = goroutine() // virtual time is one goroutine
	w.mux = core.NewMux(w.now, s.Config, &core.Shared{})
	d.mux, d.loop = w.mux, func(fn func()) error {
		w.mux.Advance(w.now)
		fn()
		return nil
	}
	h.Add(windowRealm{d})
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	return w
}

// tick is one turn of the server, and a frame of each client.
func (w *windowWorld) tick() {
	w.t.Helper()
	w.now = w.now.Add(windowTick)
	w.n++
	for _, c := range w.clients {
		c.frame()
		for b := c.up.due(w.now); b != nil; b = c.up.due(w.now) {
			w.mux.HandleBytes(w.now, c.conn, b)
			w.events()
		}
	}
	w.mux.HandleTimeout(w.now)
	w.events()
	w.h.main.due, w.h.main.now, w.h.now = w.now.Add(-w.behind), w.now, w.now
	if w.behind < windowTick {
		if err := w.h.Tick(); err != nil {
			w.t.Fatal(err)
		}
	}
	var buf [16 << 10]byte
	for c, n, ok := w.mux.PollBytes(buf[:]); ok; c, n, ok = w.mux.PollBytes(buf[:]) {
		if to := w.byConn[c]; to != nil {
			to.down.put(w, buf[:n])
		}
		w.events()
	}
}

// stalls has the hub run no tick for so many.
func (w *windowWorld) stalls(ticks int) {
	w.t.Helper()
	for range ticks {
		w.behind += windowTick
		w.tick()
	}
}

// catchesUp runs the ticks that are due.
func (w *windowWorld) catchesUp() {
	w.t.Helper()
	for w.behind > 0 {
		w.behind -= windowTick
		w.h.main.due, w.h.main.now, w.h.now = w.now.Add(-w.behind), w.now, w.now
		if err := w.h.Tick(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// will has the game do something at the next tick.
func (w *windowWorld) will(do func(*world.World)) {
	w.deeds = append(w.deeds, windowDeed{w.h.main.sim.Tick(), do})
}

func (w *windowWorld) events() {
	for c, ev, ok := w.mux.PollEvent(); ok; c, ev, ok = w.mux.PollEvent() {
		w.d.handle(c, ev)
	}
}

// run runs so many ticks.
func (w *windowWorld) run(ticks int) {
	w.t.Helper()
	for range ticks {
		w.tick()
	}
}

// wait runs until cond is true, and fails after a minute.
func (w *windowWorld) wait(what string, cond func() bool) {
	w.t.Helper()
	for n := 0; !cond(); n++ {
		if n > 60*windowRate {
			w.t.Fatalf("after a minute: not %s", what)
		}
		w.tick()
	}
}

// windowPath is one way of a stream: in order, each piece 10 to 50 ms late, and no piece before the stall is over.
type windowPath struct {
	pieces []windowPiece
	last   time.Time // of the newest piece
	stall  time.Time
}

type windowPiece struct {
	at time.Time
	b  []byte
}

func (p *windowPath) put(w *windowWorld, b []byte) {
	at := w.now.Add(time.Duration(10+w.rand.IntN(40)) * time.Millisecond)
	for _, least := range []time.Time{p.last, p.stall} {
		if at.Before(least) {
			at = least
		}
	}
	p.last = at
	p.pieces = append(p.pieces, windowPiece{at, append([]byte(nil), b...)})
}

func (p *windowPath) due(now time.Time) []byte {
	if len(p.pieces) == 0 || p.pieces[0].at.After(now) {
		return nil
	}
	b := p.pieces[0].b
	p.pieces = p.pieces[1:]
	return b
}

// windowThrow is a throw that its client has not heard of.
type windowThrow struct {
	at   int    // the world's count of ticks
	tick uint16 // as it said
	fair bool   // its own cooldown permits it
}

// windowClient behaves as the game's own client does: it says each tick where it is and where it goes, adopts whatever it is told of itself,
// stands still where the cell that it is told is not free, counts its own cooldown, never asks for terrain, has 1,000 temporary numbers, and
// crashes at a message of a tick before that of its log-in.
type windowClient struct {
	w        *windowWorld
	name     string
	conn     *realm.Conn
	in       *core.Stream
	up, down windowPath
	steer    func(c *windowClient) // what it does each frame, in the game
	keysOnly bool                  // it says no place

	mayFail bool           // its log-in
	refused core.LoginCode // what it was told

	entered   bool // login_response has come
	enteredAt int  // the world's ticks when it did
	since     uint16
	at        uint64        // Unix µs of the start of that tick
	wrong     time.Duration // what its clock is wrong by
	own       uint16
	players   map[uint16]string
	land      map[core.ChunkID]*core.Terrain
	x, y      float64
	angle     float32
	norm      float32
	cooldown  int
	seen      map[uint16]core.Entity // others, as it was last told: place, angle and norm

	next   uint16
	throws map[uint16]windowThrow // by temporary number

	told      int             // how often it was told where it is
	toldAt    int             // the world's ticks when it was
	jumps     int             // of them, those that are far from where it was
	countdown int             // how often it was told its cooldown
	done      int             // throws that it was told of
	denied    int             // throws that came to nothing
	unfair    map[uint16]bool // of them, those that its own cooldown permits, by their ticks
	calm      int             // the world's ticks at which all is well again
}

// enter logs somebody in.
func (w *windowWorld) enter(name string, steer func(c *windowClient)) *windowClient {
	w.t.Helper()
	from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(len(w.clients) + 1)}), 40000)
	c := &windowClient{w: w, name: name, conn: w.mux.Accept(w.now, from, w.now), in: core.NewStream(w.d.codec, core.FromServer), steer: steer,
		players: map[uint16]string{}, land: map[core.ChunkID]*core.Terrain{}, seen: map[uint16]core.Entity{}, throws: map[uint16]windowThrow{}, unfair: map[uint16]bool{}}
	w.byConn[c.conn] = c
	w.clients = append(w.clients, c)
	c.say(&core.Message{Kind: core.KindVersion, Version: 10})
	c.say(&core.Message{Kind: core.KindLogin, Name: []byte(name), Password: []byte("correct horse")})
	return c
}

// leave ends a client's stream.
func (w *windowWorld) leave(c *windowClient) {
	w.mux.HandleEnd(w.now, c.conn, nil)
	w.events()
	delete(w.byConn, c.conn)
	for i := range w.clients {
		if w.clients[i] == c {
			w.clients = append(w.clients[:i], w.clients[i+1:]...)
			return
		}
	}
}

func (c *windowClient) fail(format string, args ...any) {
	c.w.t.Helper()
	c.w.t.Fatalf("tick %d: %s at (%v, %v): %s", c.w.n, c.name, c.x, c.y, fmt.Sprintf(format, args...))
}

func (c *windowClient) say(m *core.Message) { c.up.put(c.w, c.w.d.codec.AppendTo(nil, m)) }

// tick is the server's tick by its clock.
func (c *windowClient) tick() uint16 {
	return c.since + uint16((c.w.mux.Unix(c.w.now.Add(c.wrong))-c.at)/uint64(windowTick.Microseconds()))
}

func (c *windowClient) playing() bool { return c.entered && c.own != 0 }

// frame reads what came, and acts.
func (c *windowClient) frame() {
	c.w.t.Helper()
	for b := c.down.due(c.w.now); b != nil; b = c.down.due(c.w.now) {
		for len(b) > 0 {
			var m core.Message
			n, ok := c.in.Next(b, &m)
			if b = b[n:]; ok {
				c.take(&m)
			} else if err := c.in.Err(); err != nil {
				c.fail("%v", err)
			}
		}
	}
	if c.playing() && c.steer != nil {
		c.cooldown = max(0, c.cooldown-1)
		c.steer(c)
		e := core.Entity{ID: c.own, Has: core.HasSpeedAngle | core.HasSpeedNorm, SpeedAngle: c.angle, SpeedNorm: c.norm}
		if !c.keysOnly {
			e.Has |= core.HasPosition
			e.Position = windowCell(c.x, c.y)
		}
		c.say(&core.Message{Kind: core.KindEntityUpdate, Tick: c.tick(), Entity: e})
	}
}

func windowCell(x, y float64) core.Position {
	cx, cy := int(math.Floor(x)), int(math.Floor(y))
	return core.Position{BX: int16(cx >> 8), BY: int16(cy >> 8), X: uint8(cx), Y: uint8(cy)}
}

// take reads a message.
func (c *windowClient) take(m *core.Message) {
	c.w.t.Helper()
	if m.Kind.HasTick() && int16(m.Tick-c.since) < 0 && c.w.n-c.enteredAt < 1<<14 { // after that 16 bits tell no more
		c.fail("a %v of tick %d after a log-in at %d: it crashes", m.Kind, m.Tick, c.since)
	}
	switch m.Kind {
	case core.KindPing:
		c.say(&core.Message{Kind: core.KindPong})
	case core.KindExit:
		c.fail("exit %d", m.Code)
	case core.KindLoginResponse:
		if c.refused = core.LoginCode(m.Code); c.refused != realm.LoginOK {
			if !c.mayFail {
				c.fail("login_response %d", m.Code)
			}
			return
		}
		c.entered, c.enteredAt, c.since, c.at = true, c.w.n, m.Tick, m.Timestamp
	case core.KindMetaAction:
		if core.MetaCode(m.Code) == core.MetaPlayerLeft {
			delete(c.players, m.ID)
		} else if c.players[m.ID] = string(m.Name); string(m.Name) == c.name {
			c.own = m.ID
			c.hear(c.seen[m.ID], false)
		}
	case core.KindChunkUpdate:
		c.chunk(m.Chunk)
	case core.KindChunksUpdate:
		for chunk := range m.Chunks.All() {
			c.chunk(chunk)
		}
	case core.KindEntityCreate:
		c.hear(m.Entity, true)
	case core.KindEntitiesUpdate:
		for e := range m.Entities.All() {
			c.hear(*e, true)
		}
	case core.KindEntityDestroy:
		if throw, ok := c.throws[m.ID]; ok {
			c.denied++
			if throw.fair && throw.at >= c.calm {
				c.unfair[throw.tick] = true
			}
			delete(c.throws, m.ID)
		}
		delete(c.seen, m.ID)
	case core.KindEntityIDChange:
		delete(c.throws, m.Old)
	case core.KindActionsDone:
		for done := range m.Actions.All() {
			if done.By == c.own {
				c.done++
				delete(c.unfair, m.Tick) // it was done, and what it threw is gone
			}
		}
	}
}

func (c *windowClient) chunk(chunk core.Chunk) {
	cells := new(core.Terrain)
	chunk.FillIn(cells)
	c.land[core.ChunkID{BX: chunk.BX, BY: chunk.BY}] = cells
}

// hear takes what it is told of an entity, and adopts what is its own.
func (c *windowClient) hear(e core.Entity, counts bool) {
	c.w.t.Helper()
	was := c.seen[e.ID]
	if e.Has&core.HasPosition != 0 {
		was.Position = e.Position
	}
	if e.Has&core.HasSpeedAngle != 0 {
		was.SpeedAngle = e.SpeedAngle
	}
	if e.Has&core.HasSpeedNorm != 0 {
		was.SpeedNorm = e.SpeedNorm
	}
	was.ID, was.Has = e.ID, was.Has|e.Has
	was.Attributes = core.Attributes{}
	c.seen[e.ID] = was
	if e.ID != c.own || c.own == 0 {
		return
	}
	if v, ok := e.Attributes.Get(30000); ok && counts {
		c.countdown++
		c.cooldown = int(v.Uint())
	}
	if counts && e.Has&(core.HasSprite|core.HasType) != 0 {
		c.fail("it is told %v of itself: a correction has position, angle and norm, nothing else", e.Has)
	}
	if e.Has&core.HasPosition == 0 {
		return
	}
	x, y := float64(int(e.Position.BX)<<8+int(e.Position.X)), float64(int(e.Position.BY)<<8+int(e.Position.Y))
	if counts {
		c.told++
		c.toldAt = c.w.n
		if math.Hypot(x-c.x, y-c.y) > 60 {
			c.jumps++
			c.calm = max(c.calm, c.w.n+windowCalm)
		} else if c.w.n >= c.calm && !c.keysOnly {
			c.fail("it is told to be at (%v, %v), and nothing that it said was wrong; refused: %v", x, y, c.w.h.main.sim.Stats().Refused)
		}
	}
	c.x, c.y = x, y
	if len(c.land) > 0 && c.stuck(x, y) {
		c.fail("it is told to be there, in a wall: it stands still for ever")
	}
}

// solid reports whether a cell is a wall; what it does not know is none.
func (c *windowClient) solid(x, y int) bool {
	cells := c.land[core.ChunkID{BX: int16(x >> 8), BY: int16(y >> 8)}]
	return cells != nil && cells[(y&255)<<8|x&255] == arena.Wall
}

// stuck reports whether a place is none where it can be: the cells at the ends of its outline, and around it, are judged whole.
func (c *windowClient) stuck(x, y float64) bool {
	cx, cy := int(math.Floor(x)), int(math.Floor(y))
	return c.solid(cx+10, cy) || c.solid(cx-10, cy) || c.solid(cx, cy+10) || c.solid(cx, cy-10)
}

// near reports whether anything around a place is a wall.
func (c *windowClient) near(x, y float64) bool {
	cx, cy := int(math.Floor(x)), int(math.Floor(y))
	for dy := -11; dy <= 11; dy++ {
		for dx := -11; dx <= 11; dx++ {
			if c.solid(cx+dx, cy+dy) {
				return true
			}
		}
	}
	return false
}

// walk goes a step where it looks, if it can.
func (c *windowClient) walk() bool {
	x, y := c.x+float64(c.norm)*math.Cos(float64(c.angle)), c.y+float64(c.norm)*math.Sin(float64(c.angle))
	if c.near(x, y) {
		return false
	}
	c.x, c.y = x, y
	return true
}

// throw throws a ball. It is fair if its own cooldown permits it.
func (c *windowClient) throw(angle float32) {
	for n := 0; ; n++ {
		if c.next = (c.next + 1) % 1000; c.throws[core.FirstTemporary+c.next].at == 0 {
			break
		}
		if n > 1000 {
			c.fail("it has no temporary number left")
		}
	}
	action, err := c.w.d.codec.Action(0, core.F32(angle), core.EntityID(core.FirstTemporary+c.next))
	if err != nil {
		c.fail("%v", err)
	}
	c.throws[core.FirstTemporary+c.next] = windowThrow{c.w.n, c.tick(), c.cooldown == 0}
	if c.cooldown == 0 {
		c.cooldown = arena.BallCooldown * windowRate / 20
	}
	c.say(&core.Message{Kind: core.KindActionDo, Tick: c.tick(), Action: action})
}

// put has the game put it somewhere else.
func (c *windowClient) put(x, y float64) {
	id := c.w.h.main.sim.ByWire(c.own)
	c.w.will(func(sim *world.World) { sim.Place(id, x, y) })
}

// body is what the world has of its own entity.
func (c *windowClient) body() *world.Body {
	return c.w.h.main.sim.World().Body(c.w.h.main.sim.ByWire(c.own))
}
