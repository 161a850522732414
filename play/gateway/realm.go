package gateway

import (
	"context"
	"errors"
	"iter"
	"net/netip"
	"time"

	"parley/account"
	"parley/internal/pace"
	"parley/play/schema"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
	"parley/world"
)

// Realm serves the world over realm: accounts, entities with attributes, actions with rollback, terrain and chat.
type Realm struct {
	service
	cfg    RealmConfig
	server *realm.Server
	codec  *core.Codec
	typed  []uint64 // by kind: the fields whose type in realm depends on the kind

	mux *core.Mux // while the hub visits

	// Owned by the server's loop.
	attributes []core.Attribute
	blocks     []core.Entity
	values     []core.Value
	raw        []byte      // attributes, entities and texts of one player's messages
	done       []realmDone // of this tick
	doneRaw    []byte      // their bytes
}

// realmStage is a room over realm. Its fields are owned by the server's loop.
type realmStage struct {
	*side
	d        *Realm
	group    *core.Group
	skipped  uint64                    // the ticks that the room has let go: realm's clients count them
	lastTick uint64                    // the tick that clients were last told
	wires    map[world.PlayerID]uint16 // of the others' own entities, to tell that they left
}

type realmSeat struct {
	Seat
	path
	conn    *realm.Conn
	playing bool   // it has entered
	banned  bool   // or its account is deleted: its seat is not held
	since   uint64 // the tick that its login_response told

	told   core.Position // where it was told that its own entity is
	claims bool          // it says itself where that is

	at    *realmStage       // where it is, as the loop sees it
	temps map[uint16]uint32 // the tag of the action that each temporary number waits for
	tags  uint16            // the number of the last tag
}

// waits reports whether the player waits for a chunk. Before it has entered, it waits for the chunk that it is to enter in.
func (s *realmSeat) waits() bool {
	if !s.playing {
		return s.player != nil && s.kicked == nil
	}
	return s.conn.WantsChunks()
}

func (s *realmSeat) wanted(i int) (world.ChunkPlace, bool) {
	r := s.room
	if s.playing {
		if s.measure(r.sim.Tick(), s.conn); !s.mayBulk() {
			return world.ChunkPlace{}, false
		}
		if b := r.sim.World().Body(r.entityOf(s.player)); b != nil {
			if bx, by, x, y, ok := world.Locate(b.X, b.Y); ok {
				s.conn.Nearest(i, core.Position{BX: bx, BY: by, X: x, Y: y})
			}
		}
		id, ok := s.conn.WantedChunk(i)
		return world.ChunkPlace{BX: id.BX, BY: id.BY}, ok
	}
	own := r.entityOf(s.player)
	if i > 0 || r.sim.Wire(own) == 0 {
		return world.ChunkPlace{}, false
	}
	b := r.sim.World().Body(own)
	if b == nil {
		return world.ChunkPlace{}, true // it is told to be nowhere, which is there
	}
	bx, by, _, _, _ := world.Locate(b.X, b.Y)
	return world.ChunkPlace{BX: bx, BY: by}, true
}

// realmDone is something that was done, and how all who see it are told.
type realmDone struct {
	by    world.ID
	tick  uint64 // as clients count
	frame core.Frame
}

// RealmConfig sets up the dialect.
type RealmConfig struct {
	// Server sets up the server of realm. Its schema, tick rate, rollback and terrain come from the game.
	Server realm.Config
	Addr   string

	// Accounts logs players in. nil admits everybody, by any name that is not in use.
	Accounts *Accounts

	// FirstType is the number of the kind whose type is 0 on the wire. Default 0: type numbers equal kind numbers.
	FirstType int
}

// NewRealm starts to serve the world over realm.
func NewRealm(h *Hub, c RealmConfig) (*Realm, error) {
	d, s, err := newRealm(h, c)
	if err != nil {
		return nil, err
	}
	if d.server, err = realm.Listen(c.Addr, s, d.handle); err != nil {
		return nil, err
	}
	d.loop, d.mux = d.server.Do, d.server.Mux()
	h.Add(d)
	return d, nil
}

// newRealm returns the dialect without a server, and how its server is to be.
func newRealm(h *Hub, c RealmConfig) (*Realm, realm.Config, error) {
	s := c.Server
	game := schema.Realm(h.Schema(), c.FirstType)
	game.Config = c.Server.Schema.Config
	d := &Realm{service: newService(h, "realm", "tls", realmSize), cfg: c, codec: core.NewCodec(game), typed: schema.RealmTyped(h.Schema())}
	s.Schema, s.TickRate, s.MaxPlayers, s.OwnChat = game, h.cfg.TickRate, h.cfg.MaxPlayers, true
	s.TerrainByTurn = true
	s.Banned, s.Proxies, s.Sessions = h.cfg.Banned, h.cfg.Proxies, h.inBrowsers("realm")
	if s.Plain {
		d.carrier = "tcp"
	}
	if s.MaxRollbackTicks = h.main.sim.Config().MaxRollbackTicks; s.MaxRollbackTicks == 0 {
		s.MaxRollbackTicks = -1
	}
	if c.Accounts != nil {
		s.Accounts = c.Accounts
	}
	if h.cfg.PerAddress < 0 && s.WaitingPerAddress == 0 {
		s.WaitingPerAddress = -1
	}
	return d, s, nil
}

// Addr returns the address of the server.
func (d *Realm) Addr() netip.AddrPort { return d.server.Addr() }

// TimeAddr returns the address of the time server.
func (d *Realm) TimeAddr() netip.AddrPort { return d.server.TimeAddr() }

// Stats returns the server's counters.
func (d *Realm) Stats() realm.ServerStats { return d.server.Stats() }

// Shutdown says goodbye to all players.
func (d *Realm) Shutdown(ctx context.Context) error { return d.server.Shutdown(ctx) }

// SessionEnded removes the player of a session whose account was banned or deleted. It is account.Config.OnEnd.
func (d *Realm) SessionEnded(s *account.Session, why account.EndReason) {
	name := d.cfg.Accounts.nameOf(s)
	code, text := core.ExitClientKicked, errors.New(why.String())
	if why == account.EndBanned {
		code, text = core.ExitClientBanned, banned(s.Ban().Reason)
	}
	_ = d.server.Do(func() {
		if c := d.mux.Holder(name); name != "" && c != nil {
			s, ok := c.Owner.(*realmSeat)
			if !ok {
				c.Close(code, text.Error())
				return
			}
			s.banned = s.banned || why != account.EndClosed
			s.sendAway(text, code)
		}
	})
}

func (d *Realm) view() world.ViewConfig {
	// The path alone bounds what a player is told: see tell. Clients move bodies by their speed.
	return world.ViewConfig{
		Radius: d.hub.cfg.Sight, BytesPerTick: -1, Reliable: true, PredictTicks: realmPredict,
		Countdowns: true, CorrectTicks: max(1, d.hub.cfg.TickRate/correctionsASecond),
	}
}

// handle runs on the loop.
func (d *Realm) handle(c *realm.Conn, ev realm.Event) {
	s, _ := c.Owner.(*realmSeat)
	switch ev.Kind {
	case realm.EventRegister: // without accounts there is nothing to register
		c.AnswerRegister(ev.Question, core.RegisterDisabled)
	case realm.EventLogin:
		c.AnswerLogin(ev.Question, realm.LoginOK)
	case realm.EventEnter:
		if d.cfg.Accounts != nil && d.cfg.Accounts.isBanned(ev.Question.Name) {
			c.Close(core.ExitClientBanned, "banned")
			return
		}
		if s != nil { // the server has refused it by itself
			s.leave(true)
		}
		s = &realmSeat{conn: c}
		s.connect(d, s, c.Peer(), d.hub.carrierOf(d.name, c.Peer(), d.carrier), d.hub.number(&c.LogNumber))
		s.account = d.cfg.Accounts != nil
		s.name, s.wants = ev.Question.Name, ev.Question.Room
		c.Owner = s
		s.enter(s.name)
	case realm.EventMessage:
		if s != nil {
			d.message(s, ev)
		}
	case realm.EventRefused:
		if s != nil {
			if ev.Message.Kind == core.KindActionDo {
				d.free(s, temporaryOf(ev.Message.Action.Params))
			} else {
				r := request{ask: askCorrect}
				if x := s.at; x != nil && ev.Tick < x.lastTick {
					r.tick = max(ev.Tick, x.skipped) - x.skipped
				}
				s.ask(&r, true)
			}
		}
	case realm.EventClosed:
		if s != nil {
			s.leave(ev.Goodbye || s.banned)
		}
	}
}

// message reads what a player sent.
func (d *Realm) message(s *realmSeat, ev realm.Event) {
	m := ev.Message
	r := request{tick: ev.Tick}
	if x := s.at; x != nil {
		r.tick = max(ev.Tick, x.skipped) - x.skipped
	}
	ok := false
	switch m.Kind {
	case core.KindEntityUpdate:
		r.ask, r.entity, r.steer, ok = askSteer, m.Entity.ID, steeringOf(&m.Entity), true
		if r.steer.HasPlace && m.Entity.ID == s.conn.Entity() {
			s.claims = true
			r.steer.Told = m.Entity.Position == s.told
		}
	case core.KindActionDo:
		temporary := temporaryOf(m.Action.Params)
		if r.action = d.hub.Schema().Action(int(m.Action.ID)); r.action != nil {
			r.ask, r.tag = askAct, s.await(temporary)
			r.params, ok = paramsOf(r.action, m.Action.Params)
		}
		if !s.ask(&r, ok) {
			d.free(s, temporary)
		}
		return
	case core.KindChatSend:
		r.ask, r.line, ok = askSay, m.Text, true
	}
	s.ask(&r, ok)
}

func steeringOf(e *core.Entity) (st world.Steering) {
	if st.HasPlace = e.Has&core.HasPosition != 0; st.HasPlace {
		st.X, st.Y = world.Place(e.Position.BX, e.Position.BY, e.Position.X, e.Position.Y)
		st.Cell = true
	}
	st.HasAngle, st.Angle = e.Has&core.HasSpeedAngle != 0, e.SpeedAngle
	st.HasNorm, st.Norm = e.Has&core.HasSpeedNorm != 0, e.SpeedNorm
	return st
}

func paramsOf(a *world.Action, fields core.Fields) (params [world.MaxParams]world.Value, ok bool) {
	if fields.Len() != len(a.Fields) {
		return params, false
	}
	for i := range a.Fields {
		if params[i], ok = schema.FromRealm(&a.Fields[i], fields.Get(i)); !ok {
			return params, false
		}
	}
	return params, true
}

func (d *Realm) stage(s *side) stage {
	x := &realmStage{side: s, d: d, wires: map[world.PlayerID]uint16{}}
	x.group = d.mux.NewGroup(core.GroupConfig{Terrain: &s.room.land})
	return x
}

// lastTick is the tick that a player was last told, as clients count.
func (s *realmSeat) lastTick() uint16 {
	if s.at == nil {
		return 0
	}
	return uint16(s.at.lastTick)
}

func (x *realmStage) publish() {
	d, r := x.d, x.room
	if !d.open {
		return
	}
	m := x.group
	due := r.due
	if due.IsZero() {
		due = time.Now()
	}
	x.skipped = r.skipped
	x.lastTick = r.sim.Tick() + x.skipped
	m.BeginTick(due, x.lastTick)
	for _, p := range r.sim.ChangedChunks() {
		id := core.ChunkID{BX: p.BX, BY: p.BY}
		for c := range m.Conns() {
			if c.Playing() {
				c.ChunkChanged(id)
			}
		}
	}
	x.comings(m)
	x.encodeDone(d.mux)
	for i := range x.seats {
		x.tell(x.inTurn(i).own.(*realmSeat))
	}
	for i := range r.said {
		m.Say(r.said[i].Entity, r.said[i].Text)
	}
	for i := range d.done {
		d.mux.Release(d.done[i].frame)
	}
}

func (x *realmStage) end() { x.group.Close(core.ExitClientKicked, "the room has ended") }

// wireTick is a tick of the world as realm's clients count it.
func (x *realmStage) wireTick(tick uint64) uint16 { return uint16(tick + x.skipped) }

// comings tells of players of other dialects who came and went; the server itself tells of
// its own.
func (x *realmStage) comings(m *core.Group) {
	r := x.room
	for i := range r.sim.Events() {
		ev := &r.sim.Events()[i]
		p := r.players[ev.Player]
		switch {
		case ev.Kind == world.PlayerJoined && p != nil && p.Dialect != x.d.Name() && ev.Wire != 0:
			x.wires[ev.Player] = ev.Wire
			m.Broadcast(&core.Message{Kind: core.KindMetaAction, Tick: x.wireTick(ev.Tick), ID: ev.Wire, Code: uint8(core.MetaPlayerJoined), Name: []byte(p.Name)}, nil)
		case ev.Kind == world.PlayerLeft && x.wires[ev.Player] != 0:
			m.Broadcast(&core.Message{Kind: core.KindMetaAction, Tick: x.wireTick(ev.Tick), ID: x.wires[ev.Player], Code: uint8(core.MetaPlayerLeft)}, nil)
			delete(x.wires, ev.Player)
		}
	}
}

// tell sends one player what it sees, and lets it in first.
func (x *realmStage) tell(s *realmSeat) {
	d, r := x.d, x.room
	if s.kicked != nil {
		s.sendAway(s.kicked, exitCode(s.kicked))
		return
	}
	if !s.playing {
		x.enter(s)
		return
	}
	tick := x.wireTick(r.sim.Tick())
	x.name(s)
	d.blocks, d.raw = d.blocks[:0], d.raw[:0]
	if s.claims {
		s.view.OwnMoves()
	}
	s.measure(r.sim.Tick(), s.conn)
	s.estimate = s.conn.Path()
	s.moved(s.conn.Bytes())
	narrow := s.budget != pace.Unlimited
	if narrow {
		// What the path cannot take now waits in the view, where it becomes its newest, and not in a queue.
		s.view.Allow(s.share(s.waits()))
	}
	for c := s.view.Next(); c != nil; c = s.view.Next() {
		bytes := 1
		if c.What != world.Left && c.Mask&(1<<world.FieldX|1<<world.FieldY) != 0 && c.Entity == s.conn.Entity() && c.Kind.HasBody {
			s.told = d.place(c)
		}
		switch c.What {
		case world.Entered:
			e := d.block(c)
			if narrow {
				bytes = tickedBytes + e.Size()
			}
			s.conn.Send(&core.Message{Kind: core.KindEntityCreate, Tick: tick, Entity: e})
		case world.Left:
			bytes = tickedBytes + 2
			s.conn.Send(&core.Message{Kind: core.KindEntityDestroy, Tick: tick, ID: c.Entity})
		default:
			if c.Mask != 0 {
				d.blocks = append(d.blocks, d.block(c))
				if narrow {
					bytes = d.blocks[len(d.blocks)-1].Size()
				}
			}
		}
		s.view.Take(bytes)
	}
	if len(d.blocks) > 0 {
		var list core.Entities
		var err error
		if d.raw, list, err = d.codec.AppendEntities(d.raw, d.blocks...); err == nil {
			s.conn.Send(&core.Message{Kind: core.KindEntitiesUpdate, Tick: tick, Entities: list})
		}
	}
	d.actions(s)
	if d.cfg.Server.FollowSight {
		if b := r.sim.World().Body(r.entityOf(s.player)); b != nil {
			bx, by, x, y, _ := world.Locate(b.X, b.Y)
			s.conn.LookFrom(core.Position{BX: bx, BY: by, X: x, Y: y})
		}
	}
	if s.granted > 0 {
		before := s.conn.Queued()
		s.conn.SendChunks(s.granted)
		s.sentBulk(s.conn.Queued() - before)
	}
}

// tickedBytes is what a message of realm has before its content: type and tick.
const tickedBytes = 3

// refuse tells a player that it is not let in, and gives up its seat: the connection stays, and its next log-in has another.
func (s *realmSeat) refuse(why error) {
	switch {
	case s.conn.Owner != s:
	case s.player != nil && s.playing:
		s.sendAway(why, exitCode(why))
	case exitCode(why) == core.ExitClientBanned:
		s.conn.Close(core.ExitClientBanned, why.Error())
	default:
		s.conn.Owner = nil
		s.conn.Refuse(s.dialect.(*Realm).codeOf(why))
		s.leave(true)
	}
}

// sendAway closes the connection of a player. The exit has a code and no words, so a line of chat has the reason.
func (s *realmSeat) sendAway(why error, code core.ExitCode) {
	if s.playing {
		s.conn.Send(&core.Message{Kind: core.KindChatReceive, Tick: s.lastTick(), Text: cutText([]byte(why.Error()), maxChat)})
	}
	s.conn.Close(code, why.Error())
}

// exitCode is the code with which a player is sent away.
func exitCode(why error) core.ExitCode {
	switch {
	case errors.As(why, new(banned)):
		return core.ExitClientBanned
	case why == errDrained:
		return core.ExitServerClosed
	}
	return core.ExitClientKicked
}

// codeOf returns the log-in's answer to a refusal: a room that is not there, or does not list the account, is answered "as for an
// unknown name" (entry).
func (d *Realm) codeOf(why error) core.LoginCode {
	if why != RefusedRoom {
		return core.LoginPlayerLimitReached
	}
	if d.cfg.Accounts == nil {
		return core.LoginUnknownPseudo
	}
	return d.cfg.Accounts.Unknown()
}

// welcome puts the connection among those of its room.
func (s *realmSeat) welcome() {
	s.at = s.side.stage.(*realmStage)
	_ = s.conn.Place(s.at.group) // one that is over by now leaves
}

// encodeDone encodes what was done, once for all who see it.
func (x *realmStage) encodeDone(m *core.Mux) {
	d, r := x.d, x.room
	d.done, d.doneRaw = d.done[:0], d.doneRaw[:0]
	for i := range r.sim.Events() {
		ev := &r.sim.Events()[i]
		if ev.Kind != world.ActionDone || ev.Wire == 0 {
			continue
		}
		d.values = d.values[:0]
		for j := range ev.Action.Fields {
			d.values = append(d.values, schema.ToRealm(&ev.Action.Fields[j], ev.Params[j], &d.doneRaw))
		}
		var action core.Action
		var list core.Actions
		var err error
		if d.doneRaw, action, err = d.codec.AppendAction(d.doneRaw, uint16(ev.Action.Number), d.values...); err != nil {
			continue
		}
		if d.doneRaw, list, err = d.codec.AppendActions(d.doneRaw, core.Done{By: ev.Wire, Action: action}); err != nil {
			continue
		}
		if f, err := m.Encode(&core.Message{Kind: core.KindActionsDone, Tick: x.wireTick(ev.Tick), Actions: list}); err == nil {
			d.done = append(d.done, realmDone{ev.Entity, ev.Tick + x.skipped, f})
		}
	}
}

// actions tells of what was done in sight, one message an action: "what others see is
// actions_done with that tick". What was done before a player's log-in it is not told: its client counts
// from there.
func (d *Realm) actions(s *realmSeat) {
	for i := range d.done {
		if d.done[i].tick >= s.since && s.view.Sees(d.done[i].by) {
			s.conn.SendFrame(d.done[i].frame)
		}
	}
}

// enter lets a player in whose entity is there: its own, what it sees, and who else is
// in the game. A player whom the server refuses leaves the world again: it would stand there with nobody to steer it.
func (x *realmStage) enter(s *realmSeat) {
	d, r := x.d, x.room
	own := r.sim.Wire(r.entityOf(s.player))
	if own == 0 || s.granted == 0 {
		return // at the next tick, or when it is its turn to be sent terrain
	}
	var entry core.Entry
	d.blocks, d.raw = d.blocks[:0], d.raw[:0]
	for c := s.view.Next(); c != nil; c = s.view.Next() {
		if c.What == world.Entered {
			if c.Entity == own {
				entry.Entity = d.block(c)
			} else {
				d.blocks = append(d.blocks, d.block(c))
			}
		}
		s.view.Take(1)
	}
	if entry.Entity.ID == 0 {
		s.view.Correct(r.entityOf(s.player))
		return
	}
	entry.Sight = func(yield func(core.Entity) bool) {
		for i := range d.blocks {
			if !yield(d.blocks[i]) {
				return
			}
		}
	}
	entry.Players = x.others(s.player)
	if err := s.conn.Enter(entry); err != nil {
		if !errors.Is(err, realm.ErrState) { // else its connection is over, or was refused
			r.hub.log.Warn("a player's entity cannot be told, and it is not let in", "player", s.player.ID, "proto", d.Name(), "err", err)
		}
		s.refuse(RefusedFull)
		return
	}
	s.playing, s.since, s.told = true, r.sim.Tick()+x.skipped, entry.Entity.Position
	x.remind(s)
}

// remind tells a player who is back from another server what was said meanwhile. What was said in this tick all are told.
func (x *realmStage) remind(s *realmSeat) {
	if s.hears == 0 {
		return
	}
	lines, tick := s.lines(), x.wireTick(x.room.sim.Tick())
	for i := range len(lines) - len(x.room.said) {
		s.conn.Send(&core.Message{Kind: core.KindChatReceive, Tick: tick, ID: lines[i].Entity, Text: lines[i].Text})
	}
}

// others yields the players who are in the game, but one.
func (x *realmStage) others(but *Player) iter.Seq2[uint16, string] {
	r := x.room
	return func(yield func(uint16, string) bool) {
		for _, p := range r.Players() {
			if p == but {
				continue
			}
			if p.seat == nil {
				// it is away, and still there
			} else if seat, ok := p.seat.own.(*realmSeat); ok && !seat.playing {
				continue // it is announced when it enters
			}
			if wire := r.sim.Wire(r.entityOf(p)); wire != 0 && !yield(wire, p.Name) {
				return
			}
		}
	}
}
