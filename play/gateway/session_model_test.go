package gateway

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/play/message"
	relaycore "parley/protocol/relay/core"
	"parley/world"
)

// T69, and the sequences of T68: a hub with several dialects and rooms against a model of the page (entry). The model says of
// each connection what it is told and whose player it is. Besides, what the hub keeps is compared with what it should keep, after
// every turn: seats, tokens, names, places of addresses, bodies and their numbers.

// booth is a dialect without a wire, by any name.
type booth struct {
	desk
	name string
}

func (b *booth) Name() string        { return b.name }
func (b *booth) stage(s *side) stage { return boothStage{s} }
func (b *booth) view() world.ViewConfig {
	return world.ViewConfig{Radius: -1, BytesPerTick: -1, Reliable: true}
}

type boothStage struct{ *side }

func (boothStage) end() {}

func (x boothStage) publish() {
	for _, s := range x.seats {
		if s.kicked != nil {
			if !s.told {
				s.told = true
				s.own.refuse(s.kicked)
			}
			continue
		}
		for s.view.Next() != nil {
			s.view.Take(1)
		}
	}
}

// visitor is a connection at a booth, what it was told, and what the model says that it should have been told.
type visitor struct {
	Seat
	nr    int
	bytes []byte // its pass, nil if it shows none

	heard, ought       []string // refusals, and why it had to go
	welcomes, expected int      // how often it was welcomed
	verdicts, answers  []string // on passes that it asked about
	sent               bool     // it has asked to enter
	asks               bool     // it waits for a verdict
	closes             int      // turns until the hub hears that it is over; 0 if it is not closing
	over               bool     // the hub was told that it has left
	parted             bool     // it has said goodbye; the hub may have yet to read of it

	// The model's.
	body  *body  // the player that it is
	at    *place // where it was let in, or its pass found good
	sure  [2]int // how much of ought and expected it has heard for sure: who leaves does not hear the rest
	acked bool   // its client has shown that it has a token
	goal  uint16 // the number that it was told to have
}

func (v *visitor) refuse(why error) {
	v.heard = append(v.heard, why.Error())
	v.closing()
}

// closing has the hub hear soon that the connection is over.
func (v *visitor) closing() {
	if v.closes == 0 && !v.over {
		v.closes = 1 + v.nr%3
	}
}

func (v *visitor) welcome() { v.welcomes++ }

func (v *visitor) consider() {
	v.asks = false
	if v.verdict != nil {
		v.verdicts = append(v.verdicts, v.verdict.Error())
	} else {
		v.verdicts = append(v.verdicts, fmt.Sprint("sid ", v.sid))
		v.goal = v.sid
	}
}

// model is what the page says of a hub.
type model struct {
	t      *testing.T
	rand   *rand.Rand
	h      *Hub
	booths []*booth
	places map[string]*place
	conns  []*visitor
	spent  map[string]bool
	stock  [][]byte // tickets that are good, some used
	tokens []message.Token
	turn   int
	clock  time.Time
	seq    int
	boom   map[string]bool // rooms whose next step panics, by mode
	script []string        // what was done, for who reads a failure
	limit  int
	most   int
	key    bool
	hold   uint64 // ticks
}

var modelRooms = []string{"main", "open", "shut", "tiny"}

func newModel(t *testing.T, rng *rand.Rand, key bool, hold uint64) *model {
	m := &model{hold: hold, t: t, rand: rng, places: map[string]*place{}, spent: map[string]bool{}, boom: map[string]bool{}, limit: 3, most: 9, key: key}
	g := pawnGame()
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		if m.boom[w.Mode()] {
			delete(m.boom, w.Mode())
			panic("as the model says")
		}
		step(w, in)
	}
	c := Config{Game: g, PerAddress: m.limit, MaxPlayers: m.most, Hold: time.Duration(hold) * 50 * time.Millisecond, World: world.Config{Mode: "main"}, Log: slog.New(slog.DiscardHandler)}
	if hold == 0 {
		c.Hold = -1
	}
	if key {
		c.TicketKey = testKey
	}
	m.h = must(New(c))
	m.clock = time.Unix(1_800_000_000, 0)
	m.h.gate.clock = func() time.Time { return m.clock }
	m.h.gate.spent.clock = m.h.gate.clock
	m.h.now = m.clock
	for i := range 3 {
		b := &booth{name: fmt.Sprint("booth-", i)}
		m.booths = append(m.booths, b)
		m.h.Add(b)
	}
	m.places["main"] = &place{room: m.h.main, max: m.most, closed: key}
	return m
}

func (m *model) note(format string, args ...any) {
	m.script = append(m.script, fmt.Sprintf("%d: ", m.turn)+fmt.Sprintf(format, args...))
}

func (m *model) fail(format string, args ...any) {
	m.t.Helper()
	for _, line := range m.script {
		m.t.Log(line)
	}
	m.t.Fatalf(format, args...)
}

// open opens a room.
func (m *model) open(name string) {
	if m.places[name] != nil {
		return
	}
	s := Settings{Name: name, Idle: -1, Mode: name}
	p := &place{max: m.most, closed: m.key}
	switch name {
	case "shut":
		s.Closed, s.Accounts = true, []string{"Bob"}
		p.closed, p.list = true, "bob"
	case "tiny":
		s.MaxPlayers, p.max = 2, 2
	}
	p.room = must(m.h.Open(s))
	m.places[name] = p
	m.note("open %s", name)
}

// modelAddrs are where connections come from.
var modelAddrs = []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("198.51.100.9")}

// pass makes a pass of any kind, and says what the gate's answer is.
func (m *model) pass() []byte {
	room := append(modelRooms, "tiny", "tiny", "none")[m.rand.IntN(len(modelRooms)+3)]
	switch m.rand.IntN(12) {
	case 0:
		return nil
	case 1, 2:
		return message.AppendRoomPass(nil, room, []string{"", "ann", "Ann", "server"}[m.rand.IntN(4)])
	case 3, 4, 5:
		if n := len(m.tokens); n > 0 { // the newest are the most interesting
			return message.AppendSessionPass(nil, m.tokens[max(0, n-1-m.rand.IntN(6))])
		}
		return message.AppendSessionPass(nil, message.Token{1, 2, 3})
	case 6:
		if len(m.stock) > 0 {
			return m.stock[m.rand.IntN(len(m.stock))]
		}
		fallthrough
	case 7, 8:
		if room == "main" && m.rand.IntN(2) == 0 {
			room = ""
		}
		ticket := must(testKey.Issue(relaycore.Ticket{Serial: m.serial(), Room: room, Name: "tess", Expires: m.clock.Add(time.Duration(m.rand.IntN(60)-10) * time.Minute)}))
		m.stock = append(m.stock, ticket)
		return ticket
	case 9:
		forged := must(testKey.Issue(relaycore.Ticket{Serial: m.serial(), Room: room, Name: "eve", Expires: m.clock.Add(time.Hour)}))
		forged[m.rand.IntN(len(forged)-1)+1] ^= byte(1 + m.rand.IntN(255))
		return forged
	case 10:
		b := make([]byte, m.rand.IntN(64))
		for i := range b {
			b[i] = byte(m.rand.Uint32())
		}
		if len(b) > 0 && m.rand.IntN(2) == 0 {
			b[0] = "TRS"[m.rand.IntN(3)]
		}
		return b
	}
	return nil
}

func (m *model) serial() (s [16]byte) {
	for i := range s {
		s[i] = byte(m.rand.Uint32())
	}
	return s
}

// connect has somebody come, at a booth, and do the first thing.
func (m *model) connect() {
	b := m.booths[m.rand.IntN(len(m.booths))]
	v := &visitor{nr: len(m.conns)}
	v.own, v.dialect, v.from = v, b, modelAddrs[m.rand.IntN(len(modelAddrs))]
	m.conns = append(m.conns, v)
	if m.rand.IntN(8) == 0 {
		m.account(v)
		return
	}
	if b.name == "booth-2" && m.rand.IntN(2) == 0 { // as duplex: it asks first
		m.ask(v)
		return
	}
	v.bytes = m.pass()
	if !m.shows(v) {
		return
	}
	if v.bytes == nil && b.name == "booth-2" && !m.places["main"].slow { // as duplex: it has a number before it enters
		if n := m.h.main.sim.Reserve(); n != 0 {
			v.number, v.reserved, v.lent = n, true, true
		}
	}
	m.enters(v)
}

// shows has the gate judge a connection's pass, as its dialect does.
func (m *model) shows(v *visitor) bool {
	want := m.judge(v.bytes)
	p, err := m.h.gate.Judge(v.from, v.bytes)
	if (err == nil) != (want == nil) || err != nil && err != want {
		m.fail("visitor %d with the pass %x: the gate says %v, want %v", v.nr, v.bytes, err, want)
	}
	m.note("visitor %d from %v at %s shows %.20x: %v", v.nr, v.from, v.dialect.Name(), v.bytes, err)
	v.pass = p
	if err != nil {
		v.over = true
		return false
	}
	return true
}

// ask has a connection ask what a pass is worth.
func (m *model) ask(v *visitor) {
	v.bytes = m.pass()
	want := m.judge(v.bytes)
	p, err := m.h.gate.Judge(v.from, v.bytes)
	if (err == nil) != (want == nil) || err != nil && err != want {
		m.fail("visitor %d asks with the pass %x: the gate says %v, want %v", v.nr, v.bytes, err, want)
	}
	m.note("visitor %d from %v asks with %.20x: %v", v.nr, v.from, v.bytes, err)
	v.pass, v.goal = nil, 0
	if err != nil {
		return
	}
	v.asks = true
	v.dialect.requests().put(request{seat: &v.Seat, ask: askConsider, pass: p})
}

// enters has a connection ask to enter.
func (m *model) enters(v *visitor) {
	v.sent = true
	m.note("visitor %d enters", v.nr)
	v.dialect.requests().put(request{seat: &v.Seat, ask: askEnter, name: v.name})
}

// account logs an account in that is not there.
func (m *model) account(v *visitor) {
	name := []string{"bob", "eve"}[m.rand.IntN(2)]
	for _, o := range m.conns {
		if o.account && !o.over && o.name == name { // "already connected"
			v.over = true
			return
		}
	}
	v.account, v.name = true, name
	v.wants = modelRooms[m.rand.IntN(len(modelRooms))]
	m.note("visitor %d from %v is %s@%s", v.nr, v.from, name, v.wants)
	m.enters(v)
}

// act has a connection do something.
func (m *model) act() {
	if len(m.conns) == 0 {
		return
	}
	v := m.conns[max(0, len(m.conns)-1-m.rand.IntN(12))]
	put := func(ask ask, bye bool) { v.dialect.requests().put(request{seat: &v.Seat, ask: ask, bye: bye}) }
	switch {
	case v.over || v.closes != 0 || v.asks:
	case !v.sent:
		switch m.rand.IntN(4) {
		case 0:
			m.note("visitor %d drops before it entered", v.nr)
			put(askLeave, false)
			v.closes = -1
		case 1:
			m.ask(v)
		default:
			if v.goal != 0 && !v.expired(m.clock) {
				m.enters(v)
			}
		}
	default:
		switch m.rand.IntN(8) {
		case 0, 1:
			m.note("visitor %d drops", v.nr)
			put(askLeave, false)
			v.closes = -1
		case 2:
			m.note("visitor %d says goodbye", v.nr)
			put(askLeave, true)
			v.closes, v.parted = -1, true
		case 3, 4, 5, 6, 7:
			if v.welcomes > 0 && !v.account {
				m.note("visitor %d acknowledges", v.nr)
				put(askKnown, false)
			}
		}
	}
}

// expired reports whether the connection's ticket has expired since it was found good.
func (v *visitor) expired(now time.Time) bool {
	return v.pass != nil && v.pass.Kind == message.PassTicket && v.pass.expires <= now.Unix()
}

// step is one turn of the hub: what was asked is done, worlds go on, and all are told.
func (m *model) step() {
	h := m.h
	m.turn++
	h.now = m.clock
	for _, p := range m.places {
		p.slow, p.told, p.asleep = false, false, p.room.state == roomAsleep
	}
	h.due = append(h.due[:0], h.awake...)
	var slow []*Room
	// The model does the same with what waits in the inboxes.
	m.endHolds()
	if m.rand.IntN(12) == 0 {
		m.kick()
	}
	if m.rand.IntN(40) == 0 {
		m.ban()
	}
	for _, r := range h.awake {
		if m.rand.IntN(6) == 0 {
			m.places[r.Name()].slow = true
			slow = append(slow, r)
			m.note("%s is slow", r.Name())
		}
	}
	broken := ""
	if m.rand.IntN(40) == 0 && len(h.awake) > 1 {
		if r := h.awake[m.rand.IntN(len(h.awake))]; r != h.main {
			broken = r.Name()
			m.boom[broken] = true
			m.note("%s panics", broken)
		}
	}
	for _, d := range m.booths {
		for i := range d.inbox.list {
			m.ought(&d.inbox.list[i])
		}
	}
	h.due = slices.DeleteFunc(h.due, func(r *Room) bool { return slices.Contains(slow, r) })
	for _, r := range slow {
		r.begin()
		r.state = roomStepping
	}
	h.take(h.due)
	h.run(h.due)
	h.tell()
	h.ran = h.ran[:0]
	for _, r := range slow {
		r.step()
		h.returned(r)
	}
	h.tell()
	h.ran = h.ran[:0]
	h.tell() // what was done late has its answers
	if m.places[broken] != nil {
		m.end(broken, errRoomBroke)
	}
	m.tell()
	for _, r := range slow {
		if p := m.places[r.Name()]; p != nil {
			p.told = true
			for _, fn := range p.late {
				fn()
			}
			p.late = nil
		}
	}
	m.tell()
	h.rest(m.clock)
	m.clock = m.clock.Add(time.Minute)
}

// ought is what becomes of a request.
func (m *model) ought(q *request) {
	v := q.seat.own.(*visitor)
	switch q.ask {
	case askEnter:
		if !v.over {
			m.enter(v)
		}
	case askLeave:
		if !v.over {
			m.leave(v, q.bye)
		}
	case askKnown:
		m.know(v)
	case askConsider:
		v.pass = q.pass
		m.consider(v)
	}
}

// learn has the model know the numbers that only the hub can choose: tokens, ids, entities.
func (m *model) learn() {
	for _, p := range m.places {
		for _, b := range p.bodies {
			for _, v := range b.fresh {
				if v.player == nil {
					m.fail("visitor %d is nobody, told %q", v.nr, v.heard)
				}
				if b.id = v.player.ID; b.account == "" {
					m.tokens = append(m.tokens, v.token)
					b.tokens = append(b.tokens, sha256.Sum256(v.token[:]))
				}
			}
			b.fresh = nil
		}
	}
}

// close has the hub hear of connections that are over.
func (m *model) close() {
	for _, v := range m.conns {
		if v.closes > 0 {
			if v.closes--; v.closes == 0 {
				v.closes = -1
				v.dialect.requests().put(request{seat: &v.Seat, ask: askLeave})
			}
		}
	}
}

// check compares the hub with the model.
func (m *model) check() {
	m.t.Helper()
	h := m.h
	for _, v := range m.conns {
		if !slices.Equal(v.heard, v.ought) {
			m.fail("visitor %d was told %q, want %q", v.nr, v.heard, v.ought)
		}
		if v.welcomes != v.expected {
			m.fail("visitor %d was welcomed %d times, want %d, at %+v", v.nr, v.welcomes, v.expected, v.at)
		}
		for i, want := range v.answers {
			if i >= len(v.verdicts) || v.verdicts[i] != want && (want != "sid" || v.verdicts[i][:3] != want) {
				m.fail("visitor %d asked, and the answers are %q, want %q", v.nr, v.verdicts, v.answers)
			}
		}
		if b := v.body; b != nil && (v.player == nil || v.player.ID != b.id || v.player.seat != &v.Seat) && !v.over {
			m.fail("visitor %d is %+v, want player %d", v.nr, v.player, b.id)
		}
	}
	if len(h.rooms) != len(m.places) || h.players != m.players() || h.spending != 0 {
		m.fail("%d rooms, %d players, %d being spent; want %d and %d", len(h.rooms), h.players, h.spending, len(m.places), m.players())
	}
	sessions, crowd := 0, map[netip.Addr]int{}
	for name, p := range m.places {
		m.checkRoom(name, p)
		for _, b := range p.bodies {
			crowd[b.from]++
			for _, hash := range b.tokens {
				sessions++
				if h.sessions[hash] != p.room {
					m.fail("a token of player %d in %s is not known", b.id, name)
				}
			}
		}
	}
	if n := len(h.sessions); n != sessions {
		m.fail("%d sessions, want %d", n, sessions)
	}
	for _, from := range modelAddrs {
		if got := h.crowd.Of(from); got != crowd[from] || got > m.limit {
			m.fail("%v has %d places, want %d of at most %d", from, got, crowd[from], m.limit)
		}
	}
}

func (m *model) checkRoom(name string, p *place) {
	m.t.Helper()
	r := p.room
	if len(r.players) != len(p.bodies) || len(r.away) != len(p.away) || r.entering != 0 {
		m.fail("%s has %d players, %d of them away, %d entering; want %d and %d", name, len(r.players), len(r.away), r.entering, len(p.bodies), len(p.away))
	}
	seats, names := 0, map[string]bool{}
	for _, side := range r.sides {
		if side == nil {
			continue
		}
		for _, s := range side.seats {
			if seats++; s.player == nil || s.player.seat != s || s.left {
				m.fail("%s has a seat of nobody: %+v", name, s.player)
			}
		}
	}
	if seats != len(p.bodies)-len(p.away) {
		m.fail("%s has %d seats for %d players, %d of them away", name, seats, len(p.bodies), len(p.away))
	}
	wires := map[uint16]bool{}
	for _, b := range p.bodies {
		o := r.players[b.id]
		if o == nil || (o.seat == nil) != (b.conn == nil) || o.seat != nil && o.seat != &b.conn.Seat || names[o.Name] {
			m.fail("%s: player %d is %+v", name, b.id, o)
		}
		names[o.Name] = true
		if b.born > m.turn {
			continue
		}
		id := r.entityOf(o)
		wire := r.sim.Wire(id)
		if b.entity == 0 {
			b.entity, b.wire = id, wire
			if want := b.conn; want != nil && want.goal != 0 && want.goal != wire {
				m.fail("%s: player %d has the number %d, and was told %d", name, b.id, wire, want.goal)
			}
		}
		if id == 0 || wire == 0 || id != b.entity || wire != b.wire || wires[wire] {
			m.fail("%s: the body of player %d is %d by the number %d, and was %d by %d", name, b.id, id, wire, b.entity, b.wire)
		}
		wires[wire] = true
	}
	if p.slow || p.asleep || p.left == m.turn {
		return // what came during the step is yet to be done
	}
	bodies := 0
	for range world.All[pawn](r.sim.World()) {
		bodies++
	}
	if bodies != len(p.bodies) {
		m.fail("%s has %d bodies of %d players", name, bodies, len(p.bodies))
	}
}

// sequence has things happen, and everybody leave at the end.
func (m *model) sequence(turns int) {
	m.seq++
	m.script = m.script[:0]
	for range turns {
		for _, name := range modelRooms[1:] {
			if m.rand.IntN(4) == 0 {
				m.open(name)
			}
		}
		if m.rand.IntN(30) == 0 {
			name := modelRooms[1+m.rand.IntN(len(modelRooms)-1)]
			if m.places[name] != nil {
				m.note("close %s", name)
				if err := m.h.CloseRoom(name); err != nil {
					m.fail("closing %s: %v", name, err)
				}
				m.end(name, errRoomClosed)
			}
		}
		for range m.rand.IntN(4) {
			m.connect()
		}
		for range m.rand.IntN(4) {
			m.act()
		}
		m.move()
	}
	for _, v := range m.conns {
		if !v.over && v.closes == 0 {
			m.note("visitor %d drops at the end", v.nr)
			v.closes = -1
			v.parted = m.rand.IntN(2) == 0
			v.dialect.requests().put(request{seat: &v.Seat, ask: askLeave, bye: v.parted})
		}
	}
	for range 5 + 2*m.hold { // until all holds are over
		m.move()
	}
	if m.players() > 0 || m.h.crowd.Len() != 0 || len(m.h.sessions) != 0 || len(m.h.main.names) != 0 {
		m.fail("at the end there are %d players, %d places taken, %d sessions, %d names", m.players(), m.h.crowd.Len(), len(m.h.sessions), len(m.h.main.names))
	}
	for _, v := range m.conns {
		if v.number != 0 && v.reserved && v.room.state != roomEnded {
			m.fail("visitor %d has left with the number %d", v.nr, v.number)
		}
	}
	for name, p := range m.places { // a room that nobody has seen has all its numbers
		p.room.sim.Rest()
		n := p.room.sim.Reserve()
		p.room.sim.Release(n)
		if p.room.sim.Rest(); n != 1 {
			m.fail("%s: the first number that is free is %d", name, n)
		}
	}
	m.conns, m.tokens = nil, nil
	for _, p := range m.places {
		p.bodies, p.away = nil, nil
	}
}

func (m *model) move() {
	m.close()
	m.step()
	m.learn()
	m.check()
}

func TestSessionsAgainstAModel(t *testing.T) {
	rng := kit.Rand(t)
	var m *model
	for i := range promise.Keeps(t, "T69", "gateway", promise.Tier(400, 10_000, 100_000)) {
		if i%100 == 0 {
			m = newModel(t, rng, i%200 == 0, 5)
		}
		m.sequence(30)
	}
}

// T68: random passes in random orders, at connections of any state. No seat is held, so that a sequence is short.
func TestPassesAgainstAModel(t *testing.T) {
	rng := kit.Rand(t)
	var m *model
	for i := range promise.Keeps(t, "T68", "gateway", promise.Tier(3000, 100_000, 1_000_000)) {
		if i%500 == 0 {
			m = newModel(t, rng, i%1000 == 0, 0)
		}
		m.sequence(1 + rng.IntN(4))
	}
}
