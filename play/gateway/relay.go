package gateway

import (
	"context"
	"log/slog"
	"net/netip"
	"unicode/utf8"

	"parley/internal/way"
	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/world"
)

// Relay serves the world over relay. Participants exchange packages as they like. Packages to and
// from the server are about the world. Their first byte is their kind.
type Relay struct {
	service
	server  *relay.Server
	seats   map[*relay.Peer]*relaySeat // owned by the server's loop
	answer  []byte                     // scratch
	newRoom func() *relaycore.Room
}

type relaySeat struct {
	Seat
	newcomer *relaycore.Newcomer
	peer     *relay.Peer // nil until it is let in
	stage    *relayStage // the room that it was let into
	you      uint16      // what was said last of which entity is its own

	// Nothing confirms an unreliable package. So each counts as lost after a second, and its
	// values come again at their newest; and what has gone is said a few times. Both are within
	// the bytes that a tick may use: where the path is narrow, they come later.
	packets []relayPacket // under way, the oldest first
	gone    []relayGone
}

type relayPacket struct {
	number uint64
	tick   uint64
}

// relayGone is an entity that left sight, to be said again.
type relayGone struct {
	entity uint16
	record [message.RecordBytes]byte
	left   int
	next   uint64 // the tick of the next time
}

const (
	// relayGoneTimes is how often it is said that an entity is gone: with every third
	// package lost, one client in 2,000 does not hear of it, and knows by the entity's
	// silence: what lives is told each second.
	relayGoneTimes = 7
	relayGoneEvery = 4 // ticks
)

// RelayConfig sets up the dialect.
type RelayConfig struct {
	Addr string

	// Unproven admits an address with its first package, for clients that do not answer a
	// challenge: see relay.OpenConfig.
	Unproven bool

	Log *slog.Logger
}

// NewRelay starts to serve the world over relay.
func NewRelay(h *Hub, c RelayConfig) (*Relay, error) {
	d := &Relay{service: newService(h, "relay", "udp", plainSize), seats: map[*relay.Peer]*relaySeat{}}
	config := relay.Config{
		MaxPeers: 2 * h.cfg.MaxPlayers, Sessions: h.inBrowsers("relay"), Banned: h.cfg.Banned, Log: c.Log,
		Lobby: relaycore.NewEntryLobby(relaycore.EntryConfig{Unproven: c.Unproven, GameCodes: message.RelaySay + 1}),
	}
	server, err := relay.Listen(c.Addr, config, d.handle)
	if err != nil {
		return nil, err
	}
	d.server, d.loop, d.newRoom = server, server.Do, server.NewRoom
	h.Add(d)
	return d, nil
}

// Addr returns the address of the server.
func (d *Relay) Addr() netip.AddrPort { return d.server.Addr() }

// Stats returns the server's counters.
func (d *Relay) Stats() relay.ServerStats { return d.server.Stats() }

// Shutdown says goodbye to all players, in a line of chat, as relay's own goodbye has no text.
func (d *Relay) Shutdown(ctx context.Context) error {
	_ = d.loop(func() { // if it fails nobody is there
		for _, s := range d.seats {
			d.say(s, message.ServerName, []byte(closingLine))
		}
	})
	return d.server.Shutdown(ctx)
}

func (d *Relay) view() world.ViewConfig { return world.ViewConfig{Radius: d.hub.cfg.Sight} }

// handle runs on the loop.
func (d *Relay) handle(p *relay.Peer, ev relay.Event) {
	switch ev.Kind {
	case relaycore.EventPass:
		d.judge(ev.Newcomer, "")
	case relay.EventLeft:
		if s := d.seats[p]; s != nil {
			delete(d.seats, p)
			if s.stage.far != nil {
				s.stage.far.left(s)
			}
			s.leave(ev.Goodbye)
		}
	case relaycore.EventAcked:
		if s := d.seats[p]; s != nil {
			s.ask(&request{ask: askKnown}, true)
		}
	case relay.EventPackage:
		if s := d.seats[p]; s != nil {
			d.read(s, ev.Package.Payload)
		}
	}
}

// judge looks at the pass of a newcomer, and has the hub decide.
func (d *Relay) judge(n *relaycore.Newcomer, name string) {
	s := &relaySeat{newcomer: n}
	s.connect(d, s, n.Source(), way.KindOf(n.Addr().Addr()).String(), d.hub.number(&s.logNumber))
	var err error
	if s.pass, err = d.hub.gate.Judge(s.from, n.Pass()); err != nil {
		d.hub.logRefusal(&s.Seat, err)
		if err != RefusedSilence {
			n.Refuse(err.Error())
		}
		return
	}
	s.enter(name)
}

// welcome makes the newcomer a participant, and tells it how to come back, and of what world it is.
func (s *relaySeat) welcome() {
	d := s.dialect.(*Relay)
	s.stage = s.side.stage.(*relayStage)
	peer, err := s.newcomer.Admit(s.stage.peers, s.player.Name)
	if err != nil { // it has not waited, or is told
		s.leave(false)
		return
	}
	s.peer, peer.LogNumber = peer, s.logNumber
	d.seats[peer] = s
	d.buf = s.session().AppendTo(append(d.buf[:0], message.RelaySession), message.Big)
	d.inbox.sent(peer.SendTagged(relay.Unordered, d.buf, 1))
	d.send(s, relay.Unordered, s.world().AppendTo(append(d.buf[:0], message.RelayWorld), message.Big))
}

// read takes a payload for the server. What means nothing is left alone.
func (d *Relay) read(s *relaySeat, b []byte) {
	if len(b) == 0 {
		d.inbox.unread()
		return
	}
	var r request
	ok := false
	switch what, b := b[0], b[1:]; what {
	case message.RelaySteer:
		r.ask = askSteer
		r.steer, r.stamp, r.stamped, ok = message.ParseStampedSteer(b, message.Big)
	case message.RelayAct:
		r.ask = askAct
		r.action, r.params, r.stamp, r.stamped, ok = message.ParseStampedAct(d.hub.Schema(), b, message.Big)
	case message.RelaySay:
		r.ask, r.line, ok = askSay, b, true
	case message.RelayWho:
		r.ask, ok = askFor(b)
	}
	s.ask(&r, ok)
}

// relayStage is a room over relay.
type relayStage struct {
	*side
	d     *Relay
	peers *relaycore.Room
	far   farPeers // nil unless other servers run the room too
}

func (d *Relay) stage(s *side) stage {
	x := &relayStage{side: s, d: d, peers: d.newRoom()}
	if s.room.shared != nil {
		x.far = s.room.shared.far(x)
	}
	return x
}

func (x *relayStage) publish() {
	if !x.d.open {
		return
	}
	if x.far != nil {
		x.far.count(x.peers.Len())
	}
	for i := range x.seats {
		if s := x.inTurn(i).own.(*relaySeat); s.peer != nil {
			x.d.tell(x.room, s)
		}
	}
}

func (x *relayStage) end() {
	if x.far != nil {
		x.far.end()
	}
	x.peers.Close("the room has ended")
}

// refuse says why, and closes the connection.
func (s *relaySeat) refuse(why error) {
	if s.peer == nil {
		if why == RefusedSilence {
			return
		}
		s.newcomer.Refuse(why.Error())
		s.leave(true)
		return
	}
	d := s.dialect.(*Relay)
	text := cutText([]byte(why.Error()), maxChat)
	if _, ok := why.(banned); ok { // nothing that it confirms is heard any more, so that nothing is waited for
		d.send(s, relay.Unreliable, message.AppendSaid(append(d.buf[:0], message.RelaySaid), message.ServerName, text))
		s.peer.Remove(relaycore.Close{Reason: relaycore.ReasonClosed, Text: why.Error()})
		return
	}
	d.say(s, message.ServerName, text)
	s.peer.Close(why.Error())
}

func (d *Relay) tell(r *Room, s *relaySeat) {
	if s.kicked != nil {
		if !s.told {
			s.told = true
			s.refuse(s.kicked)
		}
		return
	}
	budget := s.peer.Budget()
	rtt := s.estimate.RTT
	if s.looked { // to measure it costs the path a package
		s.looked, rtt = false, s.peer.RTT()
	}
	s.estimate = s.peer.Path()
	s.estimate.RTT = rtt
	in, out := s.peer.Bytes()
	s.moved(unwrap(s.traffic.In, in), unwrap(s.traffic.Out, out))
	d.you(r, s)
	d.entities(r, s, budget)
	s.upto = r.sim.Tick()
	for i := range r.sim.Events() {
		ev := &r.sim.Events()[i]
		if ev.Kind == world.ActionDone && ev.Wire != 0 && s.view.Sees(ev.Entity) {
			d.send(s, relay.Unordered, message.AppendRelayDone(append(d.buf[:0], message.RelayDone), ev))
		}
	}
	for _, l := range s.lines() {
		d.say(s, l.Name, l.Text)
	}
	if to := s.going(); to != nil {
		d.send(s, relay.SemiOrdered, append(append(d.buf[:0], message.RelayMoved), to...))
	}
	if s.hasNews() {
		d.buf = s.appendMembers(append(d.buf[:0], message.RelayMembers), message.Big, s.rollBytes(), maxRoll)
		if len(d.buf) > 1 && s.peer.Send(relay.SemiOrdered, d.buf) != nil {
			s.roll.untold() // in the next tick
		}
	}
}

// say has a player read a line of chat.
func (d *Relay) say(s *relaySeat, name string, text []byte) {
	text = cutText(text, relay.MaxPayload-2-len(name))
	d.send(s, relay.SemiOrdered, message.AppendSaid(append(d.buf[:0], message.RelaySaid), name, text))
}

func (d *Relay) send(s *relaySeat, mode relay.Mode, b []byte) bool {
	d.buf = b
	return d.inbox.sent(s.peer.Send(mode, b))
}

// you says which entity is the player's own, whenever that has changed.
func (d *Relay) you(r *Room, s *relaySeat) {
	if wire := r.sim.Wire(r.entityOf(s.player)); wire != 0 && wire != s.you {
		if d.send(s, relay.SemiOrdered, message.AppendRelayYou(append(d.buf[:0], message.RelayYou), wire)) {
			s.you = wire
		}
	}
}

// entities sends what has changed, what is said again and what is gone, within a tick's budget.
func (d *Relay) entities(r *Room, s *relaySeat, budget int) {
	now := r.sim.Tick()
	for len(s.packets) > 0 && now-s.packets[0].tick >= uint64(r.hub.cfg.TickRate) {
		s.view.Lost(s.packets[0].number)
		s.packets = append(s.packets[:0], s.packets[1:]...)
	}
	b := d.begin(s)
	head := len(b)
	allowed := recordBytes(budget, relay.MaxPayload-head, ipBytes+relaycore.HeaderBytes+head)
	own := world.ID(0)
	if s.answers || s.stamps != nil {
		own = r.entityOf(s.player)
	}
	told := false // the own entity
	if s.stamps != nil {
		b, told = d.first(s, b)
		allowed = max(allowed-(len(b)-head), 0)
	}
	for i := 0; i < len(s.gone); {
		g := &s.gone[i]
		if g.next > now || allowed < len(g.record) {
			i++
			continue
		}
		allowed -= len(g.record)
		if len(b)+len(g.record) > relay.MaxPayload {
			d.send(s, relay.Unreliable, b)
			b = d.begin(s)
		}
		b = append(b, g.record[:]...)
		if g.left--; g.left > 0 {
			g.next = now + relayGoneEvery
			i++
			continue
		}
		s.gone = append(s.gone[:i], s.gone[i+1:]...)
	}
	s.view.Allow(allowed)
	opened := false
	for c := s.view.Next(); c != nil; c = s.view.Next() {
		was := len(b)
		isTold := told && c.ID == own && c.What != world.Left
		if !isTold {
			var ok bool
			if b, ok = message.AppendRecord(b, c, message.Big, relay.MaxPayload); !ok {
				d.send(s, relay.Unreliable, b)
				b, opened = d.begin(s), false
				continue
			}
		}
		if c.What == world.Left {
			s.lose(c.Entity, b[was:], now)
			s.view.TakeSure(len(b) - was)
			continue
		}
		s.forget(c.Entity)
		if !opened {
			opened = true
			s.packets = append(s.packets, relayPacket{s.view.Open(), now})
		}
		if !isTold {
			d.costs.whole(c, 1)
		}
		if c.ID == own && s.answers && !isTold {
			d.answer = append(append(d.answer[:0], message.RelayEntities), b[was:]...)
			s.peer.Repeat(d.answer)
		}
		s.view.Take(len(b) - was)
	}
	if len(b) > head || s.stamps != nil {
		d.send(s, relay.Unreliable, b)
	}
}

// begin begins a package of records. A client that sends stamps is told in each of what tick it is.
func (d *Relay) begin(s *relaySeat) []byte {
	f, ok := s.fate()
	if !ok {
		return append(d.buf[:0], message.RelayEntities)
	}
	return f.AppendTo(append(d.buf[:0], message.RelayTick), message.Big)
}

// first puts the own entity of a client that sends stamps behind the fate, whether or not it has changed: the client compares it
// with what it has predicted, and nothing confirms a package. It reports false if there is none.
func (d *Relay) first(s *relaySeat, b []byte) ([]byte, bool) {
	c, ok := s.view.Own()
	if ok {
		b, ok = message.AppendRecord(b, &c, message.Big, relay.MaxPayload)
	}
	if ok {
		d.costs.whole(&c, 1)
	}
	if ok && s.answers {
		d.answer = append(d.answer[:0], b...)
		s.peer.Repeat(d.answer)
	}
	return b, ok
}

// lose has it said again that an entity is gone.
func (s *relaySeat) lose(entity uint16, record []byte, now uint64) {
	g := relayGone{entity: entity, left: relayGoneTimes - 1, next: now + relayGoneEvery}
	copy(g.record[:], record)
	s.gone = append(s.gone, g)
}

// forget stops saying that an entity is gone which is in sight again.
func (s *relaySeat) forget(wire uint16) {
	for i := range s.gone {
		if s.gone[i].entity == wire {
			s.gone = append(s.gone[:i], s.gone[i+1:]...)
			return
		}
	}
}

// cutText returns what of a text fits into n bytes, in whole characters.
func cutText(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
