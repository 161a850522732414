package core

import (
	"net/netip"

	"parley/internal/pace"
)

// The calls of a Conn are made now, which is the time of the newest call of the Mux's
// Handle* or Advance.

// Peer returns the client's address.
func (c *Conn) Peer() netip.AddrPort { return c.endpoint.peer }

// Stats returns the counters.
func (c *Conn) Stats() Stats { return c.endpoint.stats }

// Bytes returns how many bytes of payload have come from the client, and how many were sent to it.
func (c *Conn) Bytes() (in, out uint64) { return c.in, c.endpoint.stats.OutBytes }

// Queued returns how many bytes wait to be written, including the overhead of each message.
func (c *Conn) Queued() int { return c.endpoint.Queued() }

// Pace returns how many bytes the tick that begins now may send to this client, and how many the client is not known to have
// of those that were sent before. A budget of pace.Unlimited means that the path is not known to be narrow. Call it once a
// tick, before the tick sends anything.
func (c *Conn) Pace() (budget, unacked int) {
	queued := c.endpoint.out.held
	if c.mux.hooks.Pace == nil {
		return pace.Unlimited, queued
	}
	budget, unacked, probe := c.mux.hooks.Pace(c.mux.now, c)
	if probe && c.Playing() {
		// A system may acknowledge bytes only after 40 ms and more, which looks like a queue. The pong brings an
		// acknowledgement at once.
		c.endpoint.send(c.mux.now, &Message{Kind: KindPing})
		c.mux.touch(c)
	}
	if budget != pace.Unlimited {
		budget = max(budget-queued, 0) // what is queued goes first
	}
	return budget, unacked + queued
}

// Path returns what is known of the path to this client.
func (c *Conn) Path() pace.Estimate {
	if c.mux.hooks.Estimate == nil {
		return pace.Estimate{Budget: pace.Unlimited}
	}
	return c.mux.hooks.Estimate(c)
}

// Account returns the player's name, as given at the log-in, or "" if it has not entered the game.
func (c *Conn) Account() string { return c.endpoint.server.account }

// Entity returns the player's own entity.
func (c *Conn) Entity() uint16 { return c.endpoint.server.entity }

// Version returns the client's version of the protocol.
func (c *Conn) Version() uint16 { return c.endpoint.server.version }

// Playing reports whether the player is in the game.
func (c *Conn) Playing() bool { return c.endpoint.state == StatePlaying }

// AnswerRegister answers an EventRegister. It returns false if the client no longer waits for it.
func (c *Conn) AnswerRegister(q Question, code RegisterCode) bool {
	defer c.mux.touch(c)
	return c.endpoint.answerRegister(c.mux.now, q.Number, code)
}

// AnswerLogin answers an EventLogin. With LoginOK, the next event is EventEnter. AnswerLogin returns
// false if the client no longer waits for the answer, or was told that the server is full: then close
// the session that was opened for the account.
//
// With LoginAlreadyConnected, which must mean that the password is right, the connection that has the session is asked first
// whether it is there. If it does not answer within 2 s, it is closed, and the EventLogin comes again.
func (c *Conn) AnswerLogin(q Question, code LoginCode) bool {
	m := c.mux
	defer m.touch(c)
	switch {
	case code == LoginOK && m.players >= m.cfg.MaxPlayers:
		c.endpoint.answerLogin(m.now, q.Number, LoginPlayerLimitReached)
		return false
	case code == LoginAlreadyConnected && c.endpoint.pending(q.Number, EventLogin) && m.challenge(c, q):
		return true
	}
	ok := c.endpoint.answerLogin(m.now, q.Number, code)
	if ok && code == LoginOK {
		m.hold(c, q.Name)
	}
	return ok
}

// Refuse answers an EventEnter: the player does not enter, and leaves the group that it was placed in. It returns false if
// there is no such event to answer. LoginUnknownPseudo is for a room that does not exist or does not admit the account.
func (c *Conn) Refuse(code LoginCode) bool {
	m := c.mux
	defer m.touch(c)
	if !c.endpoint.refuseEntry(m.now, code) {
		return false
	}
	c.displace()
	c.group = nil
	m.unhold(c)
	if m.hooks.Refused != nil {
		m.hooks.Refused(c)
	}
	m.askAgain(&c.probe)
	c.probe = probe{}
	return true
}

// Enter answers an EventEnter: the player is in the game, and all players of its group are told. The error is
// ErrState if there is no such event to answer, or ErrTemporary or ErrValue if the entity is
// invalid.
func (c *Conn) Enter(en Entry) error {
	m := c.mux
	switch {
	case c.endpoint.state != StateEntering:
		return ErrState
	case en.Entity.ID >= FirstTemporary:
		return ErrTemporary
	case en.Entity.check() != nil:
		return ErrValue
	case m.players >= m.cfg.MaxPlayers:
		c.Refuse(LoginPlayerLimitReached)
		return ErrState
	case c.place == nowhere && c.Place(m.main) != nil:
		c.Refuse(LoginUnknownPseudo)
		return ErrState
	}
	g := c.group
	c.played = true
	g.players++
	m.players++
	m.stats.Entered++
	c.endpoint.enter(m.now, &en)
	if m.hooks.Entered != nil {
		m.hooks.Entered(c)
	}
	m.touch(c)
	g.broadcast(&Message{Kind: KindMetaAction, Tick: uint16(g.Tick(m.now)), ID: en.Entity.ID, Code: uint8(MetaPlayerJoined),
		Name: []byte(c.endpoint.server.account)})
	c.endpoint.question(m.now)
	m.touch(c)
	return nil
}

// Frame is an encoded message that may be sent to many connections. Release it with Mux.Release after use.
type Frame struct{ f *frame }

// gameKinds are what the program may send.
const gameKinds = 1<<KindMetaAction | 1<<KindChunkUpdate | 1<<KindEntitiesUpdate | 1<<KindActionsDone | 1<<KindEntityCreate |
	1<<KindEntityDestroy | 1<<KindChatReceive | 1<<KindEntityIDChange | 1<<KindChunksUpdate

// Encode encodes a message once for several connections. The error is ErrKind, ErrTemporary, ErrValue
// or ErrTooLarge.
func (m *Mux) Encode(msg *Message) (Frame, error) {
	switch {
	case gameKinds>>msg.Kind&1 == 0:
		return Frame{}, ErrKind
	case msg.Kind == KindEntityCreate && msg.Entity.ID >= FirstTemporary,
		msg.Kind == KindEntityIDChange && (msg.New >= FirstTemporary || msg.Old < FirstTemporary):
		return Frame{}, ErrTemporary
	}
	f := m.shared.frame(m.cfg.codec, msg)
	var read Message
	switch {
	case len(f.b) > MaxMessage:
		m.shared.release(f)
		return Frame{}, ErrTooLarge
	case !m.cfg.codec.Parse(FromServer, f.b, &read):
		m.shared.release(f)
		return Frame{}, ErrValue
	}
	return Frame{f}, nil
}

// Release gives up the caller's hold on a frame. Queues keep it as long as they need it.
func (m *Mux) Release(f Frame) { m.shared.release(f.f) }

// SendFrame sends an encoded message. The error is ErrClosed or ErrState.
func (c *Conn) SendFrame(f Frame) error {
	switch {
	case c.endpoint.state >= StateClosing:
		return ErrClosed
	case c.endpoint.state != StatePlaying:
		return ErrState
	}
	c.endpoint.enqueue(c.mux.now, f.f)
	c.mux.touch(c)
	return nil
}

// Send sends a message of the game to this client alone. See Encode and SendFrame.
func (c *Conn) Send(msg *Message) error {
	f, err := c.mux.Encode(msg)
	if err != nil {
		return err
	}
	defer c.mux.Release(f)
	return c.SendFrame(f)
}

// ChangeID tells this client the lasting id of an entity that it created under a temporary id.
func (c *Conn) ChangeID(temporary, real uint16) error {
	return c.Send(&Message{Kind: KindEntityIDChange, Old: temporary, New: real})
}

// ChunkChanged tells the connection that cells of a chunk in the player's sight have changed. The
// chunk is sent again when the client's budget allows it.
func (c *Conn) ChunkChanged(id ChunkID) {
	if c.endpoint.state != StatePlaying || c.group.terrain == nil {
		return
	}
	c.endpoint.wantChunk(id)
	c.mux.touch(c)
}

// LookFrom sets the player's position. With Config.FollowSight, chunks that are now within
// Config.SightRadius and were not before are sent.
func (c *Conn) LookFrom(at Position) {
	if c.endpoint.state != StatePlaying || c.group.terrain == nil || !c.endpoint.cfg.FollowSight {
		return
	}
	if was := c.endpoint.terrain.centre; at.BX != was.BX || at.BY != was.BY {
		c.endpoint.terrain.follow(ChunkID{at.BX, at.BY}, c.endpoint.cfg.SightRadius)
		c.mux.touch(c)
	}
}

// WantedChunk returns the chunk that the client will be sent after i others. It returns false if
// fewer are waiting, or if the client's budget or queue has no room now.
func (c *Conn) WantedChunk(i int) (ChunkID, bool) {
	if i >= c.endpoint.terrain.wanted.Len() || !c.endpoint.mayGetChunk(c.mux.now) {
		return ChunkID{}, false
	}
	return *c.endpoint.terrain.wanted.At(i), true
}

// WantsChunks reports whether the client waits for chunks, even if none may be sent now.
func (c *Conn) WantsChunks() bool {
	return c.endpoint.state == StatePlaying && c.endpoint.terrain.wanted.Len() > 0
}

// Nearest has the client be sent, after i others, the one of the chunks it waits for that is nearest to a place. On a path that takes little
// terrain that is the one that its player needs.
func (c *Conn) Nearest(i int, at Position) { c.endpoint.terrain.nearest(i, at) }

// SendChunks sends the client up to n of the chunks that it waits for, as its budget and queue
// allow. It is for Config.TerrainByTurn.
func (c *Conn) SendChunks(n int) {
	for n > 0 && c.endpoint.mayGetChunk(c.mux.now) {
		before := c.endpoint.terrain.wanted.Len()
		if !c.endpoint.sendChunks(c.mux.now, n, false) {
			break
		}
		n -= before - c.endpoint.terrain.wanted.Len()
	}
	c.mux.touch(c)
}

// Close says goodbye to this client with an exit code: ExitClientKicked, ExitClientBanned or
// ExitServerClosed.
func (c *Conn) Close(code ExitCode, text string) {
	c.endpoint.Close(c.mux.now, code, text)
	c.mux.touch(c)
}

// Cut ends the connection at once.
func (c *Conn) Cut(text string) {
	c.endpoint.Cut(c.mux.now, text)
	c.mux.touch(c)
}

// Broadcast is Group.Broadcast of the main group.
func (m *Mux) Broadcast(msg *Message, to func(c *Conn) bool) error { return m.main.Broadcast(msg, to) }

// Say is Group.Say of the main group.
func (m *Mux) Say(entity uint16, text []byte) { m.main.Say(entity, text) }
