package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"

	"parley/internal/pace"
	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
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

	scene    *duplex.Scene // of the main room, while the hub visits
	newScene func() *duplex.Scene

	// Owned by the server's loop.
	seats map[*duplex.Conn]*duplexSeat
	room  int // players who may enter before the next tick
}

// duplexStage is a room over duplex.
type duplexStage struct {
	*side
	d     *Duplex
	scene *duplex.Scene
}

type duplexSeat struct {
	Seat
	path
	conn *duplex.Conn

	feedIn, feedOut uint64 // bytes so far

	bye     bool // the client has said goodbye
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
	d.server, d.loop, d.scene, d.newScene = server, server.Do, server.Scene(), server.NewScene
	h.Add(d)
	return d, nil
}

// newDuplex returns the dialect without a server, and how its server is to be.
func newDuplex(h *Hub, c DuplexConfig) (*Duplex, duplex.Config) {
	d := &Duplex{
		service: newService(h, "duplex", "tcp", plainSize),
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
		Judge: d.judge, Enter: d.mayEnter, WaitingPerAddress: waiting, Sessions: h.inBrowsers("duplex"), Banned: h.cfg.Banned, Proxies: h.cfg.Proxies, Log: c.Log,
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
	if !d.hub.main.quiet() {
		return
	}
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
	if len(d.numbers) < cap(d.numbers)/2 {
		d.hub.rouse() // it refills them
	}
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

// seat returns the seat of a connection.
func (d *Duplex) seat(c *duplex.Conn) *duplexSeat {
	s, ok := c.Owner.(*duplexSeat)
	if !ok {
		s = &duplexSeat{conn: c}
		s.connect(d, s, c.MainAddr(), d.hub.carrierOf(d.name, c.MainAddr(), d.carrier), d.hub.number(&c.LogNumber))
		c.Owner = s
	}
	return s
}

// judge has the hub say what a pass is worth: "Status: 0 done, 3 denied (a bad, spent or expired ticket, a closed room), 6 full,
// 8 no such room or session, 14 malformed." It runs on the loop, as mayEnter.
func (d *Duplex) judge(c *duplex.Conn, data []byte) {
	s := d.seat(c)
	s.pass = nil
	pass, _ := message.ParseSized(data) // the schema has seen to its size
	p, err := d.hub.gate.Judge(s.from, pass)
	if err != nil {
		s.answerPass(err)
		return
	}
	s.ask(&request{ask: askConsider, pass: p}, true)
}

// consider tells the client what its pass is worth.
func (s *duplexSeat) consider() {
	if s.verdict != nil {
		s.answerPass(s.verdict)
		return
	}
	s.side = s.room.side(s.dialect)
	s.side.open()
	s.conn.AnswerPass(message.DuplexOK, int16(s.sid), s.side.stage.(*duplexStage).scene)
}

func (s *duplexSeat) answerPass(why error) {
	var refusal Refusal
	status := uint8(message.DuplexRefused)
	switch {
	case why == RefusedSilence:
		status = duplexcore.NoReply
	case errors.As(why, &refusal):
		status = refusal.Status()
	}
	s.conn.AnswerPass(status, 0, nil)
}

// mayEnter says why a player who would enter without a pass is told REFUSED, or nothing. The hub has the last word with the next
// tick.
func (d *Duplex) mayEnter(c *duplex.Conn) string {
	switch {
	case c.Showed():
		return ""
	case d.hub.gate.Wanted():
		return string(RefusedGuest)
	case d.room <= 0:
		return string(RefusedFull)
	}
	d.room--
	return ""
}

// handle runs on the loop.
func (d *Duplex) handle(c *duplex.Conn, ev duplex.Event) {
	s, _ := c.Owner.(*duplexSeat)
	switch {
	case ev.Kind == duplex.EventJoined:
		s = d.seat(c)
		d.seats[c] = s
		if !c.Showed() {
			s.number, s.reserved, s.lent = uint16(c.Player()), true, true
		}
		c.HideAll()
		s.enter("")
	case s == nil: // who has not joined can send nothing of the game
	case ev.Kind == duplex.EventClosed:
		delete(d.seats, c)
		s.leave(s.bye)
	case ev.Kind == duplex.EventSignal:
		s.bye = s.bye || ev.Code == message.DuplexGoodbye
	case ev.Kind == duplex.EventUpdate, ev.Kind == duplex.EventSync:
		d.steer(s, ev)
	case ev.Kind == duplex.EventQuery:
		d.query(s, ev)
	}
}

// steer reads "UPDATE_MSG of own SID (SYNC_MSG without a feed): angle f32, norm f32", or one with a stamp.
func (d *Duplex) steer(s *duplexSeat, ev duplex.Event) {
	r, ok := request{ask: askSteer}, false
	switch ev.SID {
	case s.conn.Player():
		r.steer, ok = message.ParseSteer(ev.Data, message.Big)
	case message.DuplexSteer:
		r.stamp, r.steer, ok = message.ParseDuplexSteer(ev.Data)
		r.stamped = true
	}
	s.ask(&r, ok)
}

// query reads a query. Its reply comes with the next tick, or at once if it means nothing.
func (d *Duplex) query(s *duplexSeat, ev duplex.Event) {
	r := request{tag: ev.ID + 1} // 0 is no tag
	ok := false
	switch ev.Code {
	case message.DuplexAct:
		r.ask = askAct
		r.action, r.params, ok = message.ParseAct(d.hub.Schema(), ev.Data, message.Big)
	case message.DuplexStamped:
		r.ask, r.stamped = askAct, true
		r.action, r.stamp, r.params, ok = message.ParseDuplexAct(d.hub.Schema(), ev.Data)
	case message.DuplexSay:
		r.ask = askSay
		r.line, ok = message.ParseSized(ev.Data)
	case message.DuplexTerrain:
		r.ask = askTerrain
		r.place, ok = message.ParsePlace(ev.Data, message.Big)
	case message.DuplexConfirm:
		r.ask, ok = askKnown, true
	case message.DuplexRoster:
		r.ask, ok = askMembers, true
	case message.DuplexVias:
		r.ask, ok = askVias, true
	}
	switch {
	case !s.ask(&r, ok):
		s.conn.Reply(ev.ID, message.DuplexRefused, nil)
	case r.ask == askKnown || r.ask == askMembers || r.ask == askVias: // nothing is decided about it
		s.conn.Reply(ev.ID, message.DuplexOK, nil)
	}
}

func (d *Duplex) stage(s *side) stage {
	s.copies = true
	if s.room == d.hub.main { // where clients are that show no pass
		return &duplexStage{side: s, d: d, scene: d.scene}
	}
	return &duplexStage{side: s, d: d, scene: d.newScene()}
}

func (x *duplexStage) publish() {
	d := x.d
	if x.room == d.hub.main {
		d.room = x.room.room()
	}
	if !d.open || x.idle() {
		return
	}
	x.elements()
	for _, s := range x.seats {
		x.fate(s.own.(*duplexSeat))
		x.look(s.own.(*duplexSeat))
	}
	x.scene.Flush()
	for i := range x.seats {
		d.tell(x.room, x.inTurn(i).own.(*duplexSeat))
	}
}

func (x *duplexStage) end() {
	x.scene.Close()
	if x.scene == x.d.scene { // of the main room, which may have begun anew
		x.d.room = x.d.hub.main.room()
	}
}

// welcome tells a client that has shown a pass how to come back, and of what world it is.
func (s *duplexSeat) welcome() {
	if !s.conn.Showed() {
		return
	}
	d := s.dialect.(*Duplex)
	d.buf = s.session().AppendTo(d.buf[:0], message.Big)
	d.inbox.sent(s.conn.Sync(message.DuplexSession, d.buf))
	d.buf = s.world().AppendTo(d.buf[:0], message.Big)
	d.inbox.sent(s.conn.Sync(message.DuplexWorld, d.buf))
}

// refuse tells somebody that it is not let in, or that its room has ended.
func (s *duplexSeat) refuse(why error) {
	if s.player == nil {
		s.conn.Refuse(why.Error())
		return
	}
	s.dialect.(*Duplex).say(s, message.ServerName, cutText([]byte(why.Error()), maxChat))
	s.conn.Close(why.Error())
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
	in, out, feedIn, feedOut := duplexcore.BytesOf(s.conn)
	s.feedIn, s.feedOut = unwrap(s.feedIn, feedIn), unwrap(s.feedOut, feedOut)
	s.moved(in+s.feedIn, out+s.feedOut)
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

// fate tells a client that sends stamps what has become of its inputs, and where that has left its own entity. It is the first of its
// tick on the feed: values have no tick of their own. Without a feed the client is told nothing: what main brings is late when it comes.
func (x *duplexStage) fate(s *duplexSeat) {
	s.upto = x.room.sim.Tick()
	f, ok := s.fate()
	if !ok || !s.conn.FeedUp() {
		return
	}
	own, ok := x.scene.Element(s.conn.Player())
	if !ok {
		return // it has no body at the moment
	}
	d := x.d
	d.buf = append(f.AppendTo(d.buf[:0], message.Big), own...)
	d.inbox.sent(s.conn.Update(message.DuplexTick, d.buf))
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
	if s.kicked != nil {
		if !s.told {
			s.told = true
			s.refuse(s.kicked)
		}
		return
	}
	for i := range r.sim.Events() {
		ev := &r.sim.Events()[i]
		if ev.Kind == world.ActionDone && ev.Wire != 0 && s.conn.Sees(int16(ev.Wire)) {
			d.buf = message.AppendDuplexDone(d.buf[:0], ev)
			d.inbox.sent(s.conn.Sync(message.DuplexDone, d.buf))
		}
	}
	for _, l := range s.lines() {
		d.say(s, l.Name, l.Text)
	}
	if to := s.going(); to != nil && s.conn.Showed() {
		d.buf = message.AppendSized(d.buf[:0], to)
		d.inbox.sent(s.conn.Sync(message.DuplexMoved, d.buf))
	}
	d.members(s)
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

// members tells a player who is there, as far as a tick may.
func (d *Duplex) members(s *duplexSeat) {
	for left := s.rollBytes(); left > 0 && s.hasNews(); left -= len(d.buf) {
		d.buf = s.appendMembers(d.buf[:0], message.Big, left, 1)
		if len(d.buf) == 0 {
			return
		}
		sid := int16(message.DuplexMember)
		if s.roll.vias {
			sid = message.DuplexVia
		}
		if s.conn.Sync(sid, d.buf) != nil {
			s.roll.untold() // in the next tick
			return
		}
	}
}

// say has a player read a line of chat.
func (d *Duplex) say(s *duplexSeat, name string, text []byte) {
	d.buf = message.AppendDuplexSaid(d.buf[:0], name, text)
	d.inbox.sent(s.conn.Sync(message.DuplexSaid, d.buf))
}
