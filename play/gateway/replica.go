package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"parley/internal/pace"
	"parley/play/message"
	"parley/protocol/replica"
	"parley/protocol/replica/core"
	"parley/world"
)

// Replica serves the world over replica: entities are replicated, and everything else is a message.
// One Store holds all entities. Views decide which of them each client sees.
type Replica struct {
	service
	server *replica.Server

	// Owned by the server's loop.
	seats    map[*replica.Conn]*replicaSeat
	kinds    map[*world.Kind]uint16 // their links
	entities map[world.ID]*replica.Entity
	gone     map[world.ID]*replica.Entity // in this tick
	spare    map[uint16][]*replica.Entity // that no one sees any more, by kind
	mirror   *world.View                  // of the whole world; while the hub publishes
	told     *world.View                  // of the player who is being told
	own      world.ID                     // and its own entity
	urgency  func(*replica.Entity) uint32 // to that player
}

type replicaSeat struct {
	Seat
	path
	conn    *replica.Conn
	entered bool
	refused bool         // its pass was no good
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
	if s.measure(s.dialect.(*Replica).hub.sim.Tick(), s); !s.mayBulk() {
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
	d := &Replica{
		service: service{hub: h, name: "replica"}, seats: map[*replica.Conn]*replicaSeat{},
		kinds: map[*world.Kind]uint16{}, entities: map[world.ID]*replica.Entity{}, gone: map[world.ID]*replica.Entity{}, spare: map[uint16][]*replica.Entity{}, mirror: h.mirror(),
	}
	d.urgency = d.matters
	server, err := replica.Listen(c.Addr, replica.Config{MaxConns: 2 * h.cfg.MaxPlayers, EnterWithin: 10 * time.Second, Log: c.Log}, d.handle)
	if err != nil {
		return nil, err
	}
	d.server, d.loop = server, server.Do
	// A client that is faster than this gets the kinds in a further table.
	server.Do(func() { err = d.declare(server.Store()) })
	if err != nil {
		server.Close()
		return nil, fmt.Errorf("gateway: replica: %w", err)
	}
	h.Add(d)
	return d, nil
}

// Addr returns the address of the server.
func (d *Replica) Addr() netip.AddrPort { return d.server.Addr() }

// Stats returns the server's counters.
func (d *Replica) Stats() replica.ServerStats { return d.server.Stats() }

// FieldBytes returns the bytes of entities' fields that were sent, which the Store counts.
func (d *Replica) FieldBytes() (b FieldBytes) {
	_ = d.loop(func() { // a closed server has none
		for _, k := range d.hub.sim.Schema().Kinds {
			for i := range k.Fields {
				at, shared := message.VariableOf(k, i)
				b.rows = append(b.rows, fieldRow{k.Name, k.Fields[i].Name, d.server.Store().SentBytes(d.kinds[k], at) / uint64(shared)})
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

// replicaTypes are the types of the world as replica has them.
var replicaTypes = [...]core.DataType{
	world.Bool: core.DataUchar, world.U8: core.DataUchar, world.U16: core.DataUshort, world.U32: core.DataUint,
	world.U64: core.DataUint64, world.I8: core.DataChar, world.I16: core.DataShort, world.I32: core.DataInt,
	world.I64: core.DataInt64, world.F32: core.DataFloat, world.F64: core.DataDouble, world.Text: core.DataChars,
	world.Entity: core.DataUshort,
}

// declare links the kinds of the game.
func (d *Replica) declare(store *replica.Store) error {
	for _, k := range d.hub.sim.Schema().Kinds {
		var variables []core.Variable
		for _, v := range message.Variables(k) {
			variables = append(variables, core.Variable{Name: v.Name, Type: replicaTypes[v.Type]})
		}
		link, err := store.AddKind(k.Name, variables...)
		if err != nil {
			return fmt.Errorf("kind %s: %w", k.Name, err)
		}
		d.kinds[k] = link
	}
	return nil
}

// handle reads what a client sent. It runs on the loop.
func (d *Replica) handle(c *replica.Conn, ev replica.Event) {
	switch ev.Kind {
	case replica.EventConnected:
		s := &replicaSeat{conn: c}
		s.dialect, s.own, s.from = d, s, c.Peer().Addr()
		d.seats[c] = s
	case replica.EventClosed:
		if s := d.seats[c]; s != nil {
			delete(d.seats, c)
			s.leave()
		}
	case replica.EventLinked:
		switch s := d.seats[c]; {
		case s.refused: // its pass had no answer, but it gets no place either
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
		r.steer, ok = message.ParseSteer(ev.Data, message.Little)
	case message.ReplicaChat:
		r.ask, r.line, ok = askSay, ev.Data, true
	case message.ReplicaTerrain:
		r.ask = askTerrain
		r.place, ok = message.ParsePlace(ev.Data, message.Little)
	default:
		if r.action = d.hub.sim.Schema().ActionNamed(name); r.action != nil {
			r.ask = askAct
			r.params, ok = message.ParseParams(r.action, ev.Data, message.Little)
		}
	}
	s.ask(&r, ok)
}

// present takes a pass. It counts before the link is accepted, which is when the player enters.
func (d *Replica) present(s *replicaSeat, pass []byte) {
	if s.entered || s.refused {
		return
	}
	var err error
	if s.pass, err = d.hub.gate.Judge(s.from, pass); err != nil {
		s.refused = true
		if err != RefusedSilence {
			s.conn.Close(err.Error())
		}
	}
}

// publish tells the players of this dialect what the tick brought.
func (d *Replica) publish(h *Hub) {
	if !d.open || h.idle(d) {
		return
	}
	d.store(d.server.Store())
	seats := h.seats[d.Name()]
	for i := range seats {
		d.tell(h, h.inTurn(seats, i).own.(*replicaSeat))
	}
	d.forget()
}

// store brings the Store to the newest state of the world. What no one sees costs a value
// and no packet.
func (d *Replica) store(store *replica.Store) {
	d.mirror.Update()
	for c := d.mirror.Next(); c != nil; c = d.mirror.Next() {
		e := d.entities[c.ID]
		switch {
		case c.What == world.Left:
			if e != nil {
				d.gone[c.ID] = e
				delete(d.entities, c.ID)
			}
		case e == nil:
			if e = d.take(store, d.kinds[c.Kind]); e == nil {
				break
			}
			d.entities[c.ID], e.Tag = e, uint64(c.ID)
			d.buf = world.UintValue(world.U16, uint64(c.Entity)).AppendTo(d.buf[:0], message.Little)
			e.Set(0, d.buf)
			d.set(e, c)
		default:
			d.set(e, c)
		}
		d.mirror.Take(0)
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
func (d *Replica) forget() {
	for _, e := range d.gone {
		d.spare[e.Kind()] = append(d.spare[e.Kind()], e)
	}
	clear(d.gone)
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
func (d *Replica) tell(h *Hub, s *replicaSeat) {
	if s.kicked != "" {
		s.conn.Close(s.kicked)
		return
	}
	for c := s.view.Next(); c != nil; c = s.view.Next() {
		e := d.entities[c.ID]
		if was := d.gone[c.ID]; was != nil && c.What == world.Left {
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
	d.you(h, s)
	for i := range h.sim.Events() {
		if ev := &h.sim.Events()[i]; ev.Kind == world.ActionDone {
			d.action(s, ev)
		}
	}
	for i := range h.said {
		d.buf = message.AppendSaid(d.buf[:0], h.said[i].Name, h.said[i].Text)
		d.inbox.sent(s.conn.Send(replica.Ordered, message.ReplicaChat, d.buf))
	}
	if s.measure(h.sim.Tick(), s); s.budget != pace.Unlimited {
		s.share(s.waits()) // what a chunk takes is taken from values by the path itself
	}
	for a, ok := s.nextChunk(); ok; a, ok = s.nextChunk() {
		d.buf = h.land.appendTo(d.buf[:0], a.place, message.Little)
		err := s.conn.Send(replica.Ordered, message.ReplicaTerrain, d.buf)
		if errors.Is(err, replica.ErrWindowFull) {
			break // at the next tick
		}
		s.sentChunk(len(d.buf))
		s.sentBulk(len(d.buf))
		d.inbox.sent(err)
	}
	d.told, d.own = s.view, h.entityOf(s.player)
	if s.answers {
		s.conn.Answer(d.entities[d.own])
	}
	s.conn.ReplicateBy(replicaBudget, d.urgency)
	s.estimate = s.conn.Path()
}

// matters returns how urgent an entity is to the player who is being told, if its path does not take all: the own one comes
// first, then what is near.
func (d *Replica) matters(e *replica.Entity) uint32 {
	if id := world.ID(e.Tag); id != d.own {
		return d.told.Nearness(id)
	}
	return replica.Own
}

// you says which entity is the player's own, again whenever that has changed.
func (d *Replica) you(h *Hub, s *replicaSeat) {
	you, ok := d.link(s, h.entityOf(s.player))
	if !ok || s.known && you == s.you {
		return
	}
	d.buf = you.AppendTo(d.buf[:0])
	if s.conn.SendReserved(replica.Ordered, message.ReplicaYou, d.buf) == nil {
		s.you, s.known = you, true
	}
}

// action tells of something that was done by someone in sight.
func (d *Replica) action(s *replicaSeat, ev *world.Event) {
	if actor, ok := d.link(s, ev.Entity); ok {
		d.buf = message.AppendReplicaDone(d.buf[:0], actor, ev)
		d.inbox.sent(s.conn.Send(replica.Reliable, ev.Action.Name, d.buf))
	}
}

// link returns what a player's client calls an entity, if it sees it.
func (d *Replica) link(s *replicaSeat, id world.ID) (message.Link, bool) {
	e := d.entities[id]
	if e == nil {
		return message.Link{}, false
	}
	slot, ok := s.conn.Sees(e)
	return message.Link{Kind: e.Kind(), ID: slot}, ok
}
