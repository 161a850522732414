package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"parley/internal/pace"
	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/world"
)

// Duplex serves the world over duplex. Each entity is an element whose SID is its number, and a player's id is the number of
// its own entity. Motion goes over the feed; new and removed entities go over main. Clients act, speak and ask for terrain
// with queries.
type Duplex struct {
	service
	server *duplex.Server

	// numbers are reserved for players who have not joined yet: the world is the hub's, and connections come at any time. Those
	// of players who never joined go back to numbers at once: nobody else was told of them, so they need no rest. For released
	// there was no room. The number of a player who has joined is the hub's, until its seat has left.
	numbers  chan int16
	mu       sync.Mutex
	released []int16

	scene *duplex.Scene // while the hub visits

	// Owned by the server's loop.
	seats map[*duplex.Conn]*duplexSeat
	room  int // players who may enter before the next tick
}

// duplexStage is a room over duplex.
type duplexStage struct {
	*side
	d      *Duplex
	scene  *duplex.Scene
	mirror *world.View // of the whole world
}

type duplexSeat struct {
	Seat
	path
	conn *duplex.Conn

	chooses bool // its path is narrow: what it is told is chosen by its view, and not all that changes
}

func (s *duplexSeat) wanted(i int) (world.ChunkPlace, bool) {
	if s.measure(s.room.sim.Tick(), s.conn); !s.mayBulk() {
		return world.ChunkPlace{}, false
	}
	return s.Seat.wanted(i)
}

// DuplexConfig sets up the dialect.
type DuplexConfig struct {
	Addr string
	Log  *slog.Logger
}

// spareNumbers is how many numbers are kept ready for players who come between two ticks. One
// more is told that the server is full, and tries again.
const spareNumbers = 256

// NewDuplex starts to serve the world over duplex.
func NewDuplex(h *Hub, c DuplexConfig) (*Duplex, error) {
	d, config := newDuplex(h, c)
	server, err := duplex.Listen(c.Addr, config, d.handle)
	if err != nil {
		return nil, err
	}
	d.server, d.loop, d.scene = server, server.Do, server.Scene()
	h.Add(d)
	return d, nil
}

// newDuplex returns the dialect without a server, and how its server is to be.
func newDuplex(h *Hub, c DuplexConfig) (*Duplex, duplex.Config) {
	d := &Duplex{
		service: newService(h, "duplex", plainSize),
		numbers: make(chan int16, spareNumbers), seats: map[*duplex.Conn]*duplexSeat{},
	}
	d.refill()
	d.room = h.main.room()
	waiting := 0
	if h.cfg.PerAddress < 0 {
		waiting = -1
	}
	return d, duplex.Config{
		Schema: schema.Duplex(h.Schema()), MaxPlayers: h.cfg.MaxPlayers, TakeID: d.takeNumber, FreeID: d.freeNumber,
		Judge: func(c *duplex.Conn, pass []byte) {
			status, answer := d.judge(c, pass)
			if !answer {
				status = duplexcore.NoReply
			}
			c.AnswerPass(status, 0, nil)
		},
		Enter: d.mayEnter, WaitingPerAddress: waiting, Log: c.Log,
	}
}

// Addr returns the address of main.
func (d *Duplex) Addr() netip.AddrPort { return d.server.Addr() }

// FeedAddr returns the address of the feed.
func (d *Duplex) FeedAddr() netip.AddrPort { return d.server.FeedAddr() }

// Stats returns the server's counters.
func (d *Duplex) Stats() duplex.ServerStats { return d.server.Stats() }

// Shutdown says goodbye to all players, in a line of chat, as duplex has no goodbye message.
func (d *Duplex) Shutdown(ctx context.Context) error {
	_ = d.loop(func() { // if it fails nobody is there
		for _, s := range d.seats {
			d.say(s, message.ServerName, []byte(closingLine))
		}
	})
	return d.server.Shutdown(ctx)
}

func (d *Duplex) view() world.ViewConfig {
	return world.ViewConfig{Radius: d.hub.cfg.Sight, BytesPerTick: -1, Reliable: true, SightOnly: true}
}

// refill reserves numbers. It runs on the hub's goroutine.
func (d *Duplex) refill() {
	d.mu.Lock()
	for _, n := range d.released {
		d.hub.main.sim.Release(uint16(n))
	}
	d.released = d.released[:0]
	d.mu.Unlock()
	for len(d.numbers) < cap(d.numbers) {
		n := d.hub.main.sim.Reserve()
		if n == 0 {
			return
		}
		select {
		case d.numbers <- int16(n):
		default: // the loop has given one back meanwhile: the hub waits for nobody
			d.hub.main.sim.Release(n)
			return
		}
	}
}

// takeNumber runs on the loop.
func (d *Duplex) takeNumber() int16 {
	select {
	case n := <-d.numbers:
		return n
	default:
		return 0
	}
}

// freeNumber gives a number back that no player has joined with. Else the hub does so when it has seen the player leave: what
// runs on the loop now is before that.
func (d *Duplex) freeNumber(n int16, joined bool) {
	if joined {
		return
	}
	select {
	case d.numbers <- n:
		return
	default:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.released = append(d.released, n)
}

// judge says what a pass is worth: "Status: 0 done, 3 denied (a bad, spent or expired ticket, a closed room), 6 full, 8 no such
// room or session, 14 malformed." It runs on the loop, as mayEnter.
func (d *Duplex) judge(c *duplex.Conn, data []byte) (status uint8, answer bool) {
	c.Owner = nil
	pass, _ := message.ParseSized(data) // the schema has seen to its size
	p, err := d.hub.gate.Judge(c.MainAddr().Addr(), pass)
	var why Refusal
	switch {
	case err == RefusedSilence:
		return message.DuplexRefused, false
	case err == RefusedTicket && !isTicket(pass):
		return message.DuplexMalformed, true
	case errors.As(err, &why):
		return why.Status(), true
	}
	c.Owner = p
	return message.DuplexOK, true
}

// isTicket reports whether bytes have the form of a ticket, whoever issued it.
func isTicket(pass []byte) bool {
	_, err := relay.TicketKey(nil).Check(time.Time{}, "", pass)
	return !errors.Is(err, relaycore.ErrTicketForm)
}

// mayEnter says why a player who would enter is told REFUSED, or nothing. The hub has the last word with the next tick.
func (d *Duplex) mayEnter(c *duplex.Conn) string {
	switch pass, _ := c.Owner.(*Pass); {
	case pass == nil && d.hub.gate.Wanted():
		return string(RefusedGuest)
	case d.room <= 0:
		return string(RefusedFull)
	}
	d.room--
	return ""
}

// handle runs on the loop.
func (d *Duplex) handle(c *duplex.Conn, ev duplex.Event) {
	s := d.seats[c]
	switch {
	case ev.Kind == duplex.EventJoined:
		s = &duplexSeat{conn: c}
		s.dialect, s.own, s.from = d, s, c.MainAddr().Addr()
		s.number, s.reserved = uint16(c.Player()), true
		s.pass, _ = c.Owner.(*Pass)
		d.seats[c] = s
		c.HideAll()
		s.enter("")
	case s == nil: // who has not joined can send nothing of the game
	case ev.Kind == duplex.EventClosed:
		delete(d.seats, c)
		s.leave()
	case ev.Kind == duplex.EventUpdate, ev.Kind == duplex.EventSync:
		// "UPDATE_MSG of own SID (SYNC_MSG without a feed): angle f32, norm f32"
		st, ok := message.ParseSteer(ev.Data, message.Big)
		s.ask(&request{ask: askSteer, steer: st}, ok && ev.SID == c.Player())
	case ev.Kind == duplex.EventQuery:
		d.query(s, ev)
	}
}

// query reads a query. Its reply comes with the next tick, or at once if it means nothing.
func (d *Duplex) query(s *duplexSeat, ev duplex.Event) {
	r := request{tag: ev.ID + 1} // 0 is no tag
	ok := false
	switch ev.Code {
	case message.DuplexAct:
		r.ask = askAct
		r.action, r.params, ok = message.ParseAct(d.hub.Schema(), ev.Data, message.Big)
	case message.DuplexSay:
		r.ask = askSay
		r.line, ok = message.ParseSized(ev.Data)
	case message.DuplexTerrain:
		r.ask = askTerrain
		r.place, ok = message.ParsePlace(ev.Data, message.Big)
	}
	if !s.ask(&r, ok) {
		s.conn.Reply(ev.ID, message.DuplexRefused, nil)
	}
}

func (d *Duplex) stage(s *side) stage {
	return &duplexStage{side: s, d: d, scene: d.scene, mirror: s.room.mirror()}
}

func (x *duplexStage) publish() {
	d := x.d
	d.room = x.room.room()
	if !d.open || x.idle() {
		return
	}
	x.elements()
	for _, s := range x.seats {
		x.look(s.own.(*duplexSeat))
	}
	x.scene.Flush()
	for i := range x.seats {
		d.tell(x.room, x.inTurn(i).own.(*duplexSeat))
	}
}

func (x *duplexStage) end() {}

// refuse tells somebody that it is not let in, or that its room has ended.
func (s *duplexSeat) refuse(why string) {
	if s.player == nil {
		s.conn.Refuse(why)
		return
	}
	s.dialect.(*Duplex).say(s, message.ServerName, cutText([]byte(why), maxChat))
	s.conn.Close(why)
}

// elements brings the elements to the newest state of the world. The newest values of each are counted when it next changes.
func (x *duplexStage) elements() {
	d := x.d
	x.mirror.Update()
	for c := x.mirror.Next(); c != nil; c = x.mirror.Next() {
		if told := x.scene.Told(int16(c.Entity)); told > 0 {
			d.costs.whole(c, told) // its value before this, which cost the same but for texts
		}
		if c.What == world.Left {
			x.scene.Remove(int16(c.Entity))
		} else {
			d.buf = message.AppendElement(d.buf[:0], c)
			x.scene.Set(int16(c.Entity), d.buf)
		}
		x.mirror.Take(0)
	}
}

// look notes what a player sees from now on. On a narrow path, the player is told what its view finds most urgent, and the
// rest waits in the view, where it becomes its newest. On any other, the scene tells all that changes.
func (x *duplexStage) look(s *duplexSeat) {
	d := x.d
	s.measure(x.room.sim.Tick(), s.conn)
	s.estimate = s.conn.Path()
	narrow := s.budget != pace.Unlimited
	if narrow {
		s.view.Allow(d.shares(s))
		if !s.chooses {
			s.chooses = true
			s.conn.Choose(true)
			s.view.SightOnly(false)
			s.conn.Tell(s.conn.Player()) // the view knows of changes from the next tick on
		}
	} else if s.chooses {
		s.conn.Choose(false) // before the view tells the rest: what has changed in this tick, the scene tells
	}
	if s.answers && s.estimate.Rate == 0 { // a narrow path has no room for that
		s.conn.Answer()
	}
	for c := s.view.Next(); c != nil; c = s.view.Next() {
		bytes := 1
		switch sid := int16(c.Entity); c.What {
		case world.Left:
			s.conn.Hide(sid)
		case world.Entered:
			s.conn.Show(sid)
			if data, ok := x.scene.Element(sid); ok {
				bytes = len(data)
			}
		default:
			bytes = s.conn.Tell(sid)
		}
		s.view.Take(bytes)
	}
	if s.chooses && !narrow { // by now it was told everything
		s.chooses = false
		s.view.SightOnly(true)
	}
}

// shares gives terrain and a sync of all elements their parts of a tick's budget, and returns the rest.
func (d *Duplex) shares(s *duplexSeat) (rest int) {
	rest = s.share(s.waits())
	if part := s.budget / syncShare; s.conn.Spread(part) {
		rest -= part
	}
	return rest
}

// tell sends one player what was done and said, and the replies to what it asked.
func (d *Duplex) tell(r *Room, s *duplexSeat) {
	if s.kicked != "" {
		if !s.told {
			s.told = true
			d.say(s, message.ServerName, cutText([]byte(s.kicked), maxChat))
		}
		s.conn.Close(s.kicked)
		return
	}
	for i := range r.sim.Events() {
		ev := &r.sim.Events()[i]
		if ev.Kind == world.ActionDone && ev.Wire != 0 && s.conn.Sees(int16(ev.Wire)) {
			d.buf = message.AppendDuplexDone(d.buf[:0], ev)
			d.inbox.sent(s.conn.Sync(message.DuplexDone, d.buf))
		}
	}
	for i := range r.said {
		d.say(s, r.said[i].Name, r.said[i].Text)
	}
	for _, res := range s.results {
		status := uint8(message.DuplexOK)
		if res.why.Refused() {
			status = uint8(res.why)
		}
		d.inbox.sent(s.conn.Reply(res.tag-1, status, nil))
	}
	for a, ok := s.nextChunk(); ok; a, ok = s.nextChunk() {
		d.buf = r.land.appendTo(d.buf[:0], a.place, message.Big)
		s.sentChunk(len(d.buf))
		s.sentBulk(len(d.buf))
		if len(d.buf) > duplexcore.MaxReplyData { // more cells differ than a message holds
			d.inbox.sent(s.conn.Reply(a.tag-1, message.DuplexRefused, nil))
		} else {
			d.inbox.sent(s.conn.Reply(a.tag-1, message.DuplexOK, d.buf))
		}
	}
}

// say has a player read a line of chat.
func (d *Duplex) say(s *duplexSeat, name string, text []byte) {
	d.buf = message.AppendDuplexSaid(d.buf[:0], name, text)
	d.inbox.sent(s.conn.Sync(message.DuplexSaid, d.buf))
}
