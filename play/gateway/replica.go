package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"time"

	"parley/internal/pace"
	"parley/internal/way"
	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/replica"
	"parley/world"
)

// Replica serves the world over replica: entities are replicated, and everything else is a message.
// One Store holds the entities of all rooms. Views decide which of them each client sees.
type Replica struct {
	service
	server *replica.Server
	store  *replica.Store // the server's

	// Owned by the server's loop.
	seats   map[*replica.Conn]*replicaSeat
	kinds   []uint16                     // their links
	spare   map[uint16][]*replica.Entity // that no one sees any more, by kind
	told    *world.View                  // of the player who is being told
	own     world.ID                     // and its own entity
	urgency func(*replica.Entity) uint32 // to that player
}

// replicaStage is a room over replica.
type replicaStage struct {
	*side
	d        *Replica
	entities map[world.ID]*replica.Entity
	gone     map[world.ID]*replica.Entity // in this tick
}

type replicaSeat struct {
	Seat
	path
	conn    *replica.Conn
	entered bool
	refused error        // its pass was no good
	you     message.Link // what `parley.you` said last
	known   bool         // and that it said something
}

// Pace returns what is known of the path: the budget is that of the tick before, as replica asks for it when it replicates. On a
// path that is not narrow the congestion window bounds what is under way.
func (s *replicaSeat) Pace() (budget, unacked int) {
	if s.estimate.Rate == 0 {
		return pace.Unlimited, 0
	}
	return s.estimate.Budget, s.conn.Unacked()
}

func (s *replicaSeat) wanted(i int) (world.ChunkPlace, bool) {
	if s.measure(s.room.sim.Tick(), s); !s.mayBulk() {
		return world.ChunkPlace{}, false
	}
	return s.Seat.wanted(i)
}

// ReplicaConfig sets up the dialect.
type ReplicaConfig struct {
	Addr string
	Log  *slog.Logger
}

// NewReplica starts to serve the world over replica.
func NewReplica(h *Hub, c ReplicaConfig) (*Replica, error) {
	d := newReplica(h)
	server, err := replica.Listen(c.Addr, replica.Config{MaxConns: 2 * h.cfg.MaxPlayers, EnterWithin: 10 * time.Second, Sessions: h.inBrowsers("replica"), Banned: h.cfg.Banned, Log: c.Log}, d.handle)
	if err != nil {
		return nil, err
	}
	d.server, d.store, d.loop = server, server.Store(), server.Do
	// A client that is faster than this gets the kinds in a further table.
	server.Do(func() { err = d.declare(d.store) })
	if err != nil {
		server.Close()
		return nil, fmt.Errorf("gateway: replica: %w", err)
	}
	h.Add(d)
	return d, nil
}

// newReplica returns the dialect without a server.
func newReplica(h *Hub) *Replica {
	d := &Replica{service: service{hub: h, name: "replica", carrier: "udp", inbox: inbox{knock: h.knock}}, seats: map[*replica.Conn]*replicaSeat{}, spare: map[uint16][]*replica.Entity{}}
	d.urgency = d.matters
	return d
}

// Addr returns the address of the server.
func (d *Replica) Addr() netip.AddrPort { return d.server.Addr() }

// Stats returns the server's counters.
func (d *Replica) Stats() replica.ServerStats { return d.server.Stats() }

// FieldBytes returns the bytes of entities' fields that were sent, which the Store counts.
func (d *Replica) FieldBytes() (b FieldBytes) {
	_ = d.loop(func() { // a closed server has none
		for _, k := range d.hub.Schema().Kinds {
			for i := range k.Fields {
				at, shared := message.VariableOf(k, i)
				b.rows = append(b.rows, fieldRow{k.Name, k.Fields[i].Name, d.store.SentBytes(d.kinds[k.Index()], at) / uint64(shared)})
			}
		}
	})
	return b
}

// Shutdown says goodbye to all players.
func (d *Replica) Shutdown(ctx context.Context) error { return d.server.Shutdown(ctx) }

func (d *Replica) view() world.ViewConfig {
	// "at most 256 entities of a kind are visible to one client; the game chooses which by
	// interest (nearest first by default)". The Store has the values.
	return world.ViewConfig{Radius: d.hub.cfg.Sight, MaxPerKind: 256, BytesPerTick: -1, Reliable: true, SightOnly: true}
}

// declare links the kinds of the game.
func (d *Replica) declare(store *replica.Store) error {
	for _, k := range d.hub.Schema().Kinds {
		link, err := store.AddKind(k.Name, schema.Replica(k)...)
		if err != nil {
			return fmt.Errorf("kind %s: %w", k.Name, err)
		}
		d.kinds = append(d.kinds, link)
	}
	return nil
}

// handle reads what a client sent. It runs on the loop.
func (d *Replica) handle(c *replica.Conn, ev replica.Event) {
	switch ev.Kind {
	case replica.EventConnected:
		s := &replicaSeat{conn: c}
		s.connect(d, s, c.Source(), way.KindOf(c.Peer().Addr()).String(), d.hub.number(&c.LogNumber))
		d.seats[c] = s
	case replica.EventClosed:
		if s := d.seats[c]; s != nil {
			delete(d.seats, c)
			s.leave(ev.Goodbye)
		}
	case replica.EventAcked:
		if s := d.seats[c]; s != nil {
			s.ask(&request{ask: askKnown}, true)
		}
	case replica.EventLinked:
		switch s := d.seats[c]; {
		case s.refused != nil: // its pass had no answer, but it gets no place either
			c.Close(string(RefusedTicket))
		case !s.entered:
			s.entered = true
			s.enter("")
		}
	case replica.EventMessage:
		d.message(d.seats[c], ev)
	}
}

// message reads a message: one of four names, or an action's.
func (d *Replica) message(s *replicaSeat, ev replica.Event) {
	var r request
	ok := false
	switch name := string(ev.Name); name {
	case message.ReplicaPass:
		d.present(s, ev.Data)
		return
	case message.ReplicaSteer:
		r.ask = askSteer
		r.steer, r.stamp, r.stamped, ok = message.ParseStampedSteer(ev.Data, message.Little)
	case message.ReplicaChat:
		r.ask, r.line, ok = askSay, ev.Data, true
	case message.ReplicaTerrain:
		r.ask = askTerrain
		r.place, ok = message.ParsePlace(ev.Data, message.Little)
	case message.ReplicaMembers:
		r.ask, ok = askFor(ev.Data)
	default:
		if r.action = d.hub.Schema().ActionNamed(name); r.action != nil {
			r.ask = askAct
			r.params, r.stamp, r.stamped, ok = message.ParseStampedParams(r.action, ev.Data, message.Little)
		}
	}
	s.ask(&r, ok)
}

// present takes a pass. It counts before the link is accepted, which is when the player enters.
func (d *Replica) present(s *replicaSeat, pass []byte) {
	if s.entered || s.refused != nil {
		return
	}
	if s.pass, s.refused = d.hub.gate.Judge(s.from, pass); s.refused != nil && s.refused != RefusedSilence {
		s.conn.Close(s.refused.Error())
	}
}

func (d *Replica) stage(s *side) stage {
	s.copies = true
	return &replicaStage{side: s, d: d, entities: map[world.ID]*replica.Entity{}, gone: map[world.ID]*replica.Entity{}}
}

func (x *replicaStage) publish() {
	if !x.d.open || x.idle() {
		return
	}
	x.store(x.d.store)
	for i := range x.seats {
		x.tell(x.inTurn(i).own.(*replicaSeat))
	}
	x.forget()
}

// end gives the entities back: all who saw them are gone.
func (x *replicaStage) end() {
	maps.Copy(x.gone, x.entities)
	x.forget()
}

// refuse closes the connection, and says why.
func (s *replicaSeat) refuse(why error) { s.conn.Close(why.Error()) }

// welcome tells a player how to come back, and of what world it is.
func (s *replicaSeat) welcome() {
	d := s.dialect.(*Replica)
	d.buf = s.session().AppendTo(d.buf[:0], message.Little)
	d.inbox.sent(s.conn.SendTagged(message.ReplicaSession, d.buf, 1))
	d.buf = s.world().AppendTo(d.buf[:0], message.Little)
	d.inbox.sent(s.conn.SendReserved(replica.Ordered, message.ReplicaWorld, d.buf))
}

// store brings the Store to the newest state of the world. What no one sees costs a value
// and no packet.
func (x *replicaStage) store(store *replica.Store) {
	d := x.d
	x.mirror.Update()
	for c := x.mirror.Next(); c != nil; c = x.mirror.Next() {
		e := x.entities[c.ID]
		switch {
		case c.What == world.Left:
			if e != nil {
				x.gone[c.ID] = e
				delete(x.entities, c.ID)
			}
		case e == nil:
			if e = d.take(store, d.kinds[c.Kind.Index()]); e == nil {
				break
			}
			x.entities[c.ID], e.Tag = e, uint64(c.ID)
			d.buf = world.UintValue(world.U16, uint64(c.Entity)).AppendTo(d.buf[:0], message.Little)
			e.Set(0, d.buf)
			d.set(e, c)
		default:
			d.set(e, c)
		}
		x.mirror.Take(0)
	}
}

// take returns an entity of the Store that no one sees.
func (d *Replica) take(store *replica.Store, kind uint16) *replica.Entity {
	if list := d.spare[kind]; len(list) > 0 {
		d.spare[kind] = list[:len(list)-1]
		return list[len(list)-1]
	}
	e, err := store.NewEntity(kind)
	if err != nil {
		return nil
	}
	return e
}

// forget lets go of what is gone, when all who saw it have been told: each has it hidden, so it may
// be another's from now on.
func (x *replicaStage) forget() {
	for _, e := range x.gone {
		x.d.spare[e.Kind()] = append(x.d.spare[e.Kind()], e)
	}
	clear(x.gone)
}

// set gives the variables of an entity their values.
func (d *Replica) set(e *replica.Entity, c *world.Change) {
	for i := range world.Fields(c.Mask) {
		at, _ := message.VariableOf(c.Kind, i)
		d.buf = message.AppendVariable(d.buf[:0], c, i)
		e.Set(at, d.buf)
	}
}

// tell sends one player what it sees, what was done and said, and the terrain that it asked
// for.
func (x *replicaStage) tell(s *replicaSeat) {
	d, r := x.d, x.room
	if s.kicked != nil {
		s.refuse(s.kicked)
		return
	}
	for c := s.view.Next(); c != nil; c = s.view.Next() {
		e := x.entities[c.ID]
		if was := x.gone[c.ID]; was != nil && c.What == world.Left {
			e = was
		}
		switch {
		case e == nil:
		case c.What == world.Left:
			s.conn.Hide(e)
		default:
			if s.conn.Show(e) != nil {
				s.view.Skip() // a slot is free when the client knows that another is gone
				continue
			}
		}
		s.view.Take(1)
	}
	x.you(s)
	for i := range r.sim.Events() {
		if ev := &r.sim.Events()[i]; ev.Kind == world.ActionDone {
			x.action(s, ev)
		}
	}
	for _, l := range s.lines() {
		d.buf = message.AppendSaid(d.buf[:0], l.Name, l.Text)
		d.inbox.sent(s.conn.Send(replica.Ordered, message.ReplicaChat, d.buf))
	}
	if to := s.going(); to != nil {
		d.inbox.sent(s.conn.SendReserved(replica.Reliable, message.ReplicaMoved, to))
	}
	if s.hasNews() {
		d.buf = s.appendMembers(d.buf[:0], message.Little, s.rollBytes(), maxRoll)
		if len(d.buf) > 0 && s.conn.SendReserved(replica.Ordered, message.ReplicaMembers, d.buf) != nil {
			s.roll.untold() // in the next tick
		}
	}
	if s.measure(r.sim.Tick(), s); s.budget != pace.Unlimited {
		s.share(s.waits()) // what a chunk takes is taken from values by the path itself
	}
	for a, ok := s.nextChunk(); ok; a, ok = s.nextChunk() {
		d.buf = r.land.appendTo(d.buf[:0], a.place, message.Little)
		err := s.conn.Send(replica.Ordered, message.ReplicaTerrain, d.buf)
		if errors.Is(err, replica.ErrWindowFull) {
			break // at the next tick
		}
		s.sentChunk(len(d.buf))
		s.sentBulk(len(d.buf))
		d.inbox.sent(err)
	}
	if f, ok := s.fate(); ok { // before the values: the packet of the first has it
		d.buf = f.AppendTo(d.buf[:0], message.Little)
		d.inbox.sent(s.conn.SendReserved(replica.Unreliable, message.ReplicaTick, d.buf))
	}
	s.upto = r.sim.Tick()
	d.told, d.own = s.view, r.entityOf(s.player)
	if s.answers {
		s.conn.Answer(x.entities[d.own])
	}
	s.conn.ReplicateBy(replicaBudget, d.urgency)
	s.estimate = s.conn.Path()
	s.estimate.RTT = s.conn.RTT()
	in, out := s.conn.Bytes()
	s.moved(unwrap(s.traffic.In, in), unwrap(s.traffic.Out, out))
}

// matters returns how urgent an entity is to the player who is being told, if its path does not take all: the own one comes
// first, then what is near.
func (d *Replica) matters(e *replica.Entity) uint32 {
	if id := world.ID(e.Tag); id != d.own {
		return d.told.Nearness(id)
	}
	return replica.Own
}

// you says which entity is the player's own, again whenever that has changed: once the client has its values, as it may look at
// them at once.
func (x *replicaStage) you(s *replicaSeat) {
	d := x.d
	own := x.room.entityOf(s.player)
	you, ok := x.link(s, own)
	if !ok || s.known && you == s.you || !s.conn.Knows(x.entities[own]) {
		return
	}
	d.buf = you.AppendTo(d.buf[:0])
	if s.conn.SendReserved(replica.Ordered, message.ReplicaYou, d.buf) == nil {
		s.you, s.known = you, true
	}
}

// action tells of something that was done by someone in sight.
func (x *replicaStage) action(s *replicaSeat, ev *world.Event) {
	d := x.d
	if actor, ok := x.link(s, ev.Entity); ok {
		d.buf = message.AppendReplicaDone(d.buf[:0], actor, ev)
		d.inbox.sent(s.conn.Send(replica.Reliable, ev.Action.Name, d.buf))
	}
}

// link returns what a player's client calls an entity, if it sees it.
func (x *replicaStage) link(s *replicaSeat, id world.ID) (message.Link, bool) {
	e := x.entities[id]
	if e == nil {
		return message.Link{}, false
	}
	slot, ok := s.conn.Sees(e)
	return message.Link{Kind: e.Kind(), ID: slot}, ok
}
