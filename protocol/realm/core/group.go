package core

import (
	"iter"
	"slices"
	"time"
)

// Group is the players of one world of a Mux: it has its own ticks, terrain and chat, and tells its players of each other's
// coming and going, and nobody else. A server that hosts many rooms has a Group for each. Its calls cost what its own
// connections cost, however many others the Mux has. The Mux keeps no list of its groups: one without connections costs
// nothing.
//
// Every Mux has one group to begin with, Mux.Main. A connection that enters without Conn.Place is in that one.
type Group struct {
	mux     *Mux
	terrain TerrainSource
	conns   []*Conn // Conn.place is the index of each
	players int
	closed  bool

	begun  bool // BeginTick was called
	tick   uint64
	tickAt uint64
}

// GroupConfig sets up a Group. The zero GroupConfig is usable.
type GroupConfig struct {
	// Terrain returns the chunks of the group's world. Without it, its players get no chunks.
	Terrain TerrainSource
}

// nowhere is the place of a connection that is in no group.
const nowhere = -1

// NewGroup returns a group without connections.
func (m *Mux) NewGroup(c GroupConfig) *Group { return &Group{mux: m, terrain: c.Terrain} }

// Main returns the group of the connections that were placed in no other. Its terrain is Config.Terrain.
func (m *Mux) Main() *Group { return m.main }

// Place puts a connection into a group, after its EventEnter and before Enter. Until Enter it may be placed again. The error
// is ErrState if the connection is not about to enter, and ErrClosed if the group is closed.
func (c *Conn) Place(g *Group) error {
	switch {
	case c.endpoint.state != StateEntering:
		return ErrState
	case g.closed:
		return ErrClosed
	}
	c.displace()
	c.group, c.place = g, len(g.conns)
	g.conns = append(g.conns, c)
	return nil
}

// displace takes a connection out of its group's list. It still belongs to the group, which is told that it left.
func (c *Conn) displace() {
	if c.place == nowhere {
		return
	}
	g := c.group
	end := len(g.conns) - 1
	g.conns[c.place] = g.conns[end]
	g.conns[c.place].place = c.place
	g.conns[end] = nil
	g.conns = g.conns[:end]
	c.place = nowhere
	if c.played {
		g.players--
	}
}

// world returns the connection's group, the main one if it has none yet.
func (c *Conn) world() *Group {
	if c.group == nil {
		return c.mux.main
	}
	return c.group
}

// Len returns the number of connections that were placed in the group, those that have not entered yet included.
func (g *Group) Len() int { return len(g.conns) }

// Players returns the number of players in the group.
func (g *Group) Players() int { return g.players }

// Conns yields the connections that were placed in the group. None may be placed or refused meanwhile.
func (g *Group) Conns() iter.Seq[*Conn] { return slices.Values(g.conns) }

// Tick returns the present tick: that of the latest BeginTick. Without any BeginTick, it follows from the
// clock and the tick rate.
func (g *Group) Tick(now time.Time) uint64 {
	tick, _ := g.tickStart(now)
	return tick
}

// BeginTick tells the group which tick of its game begins, and when it was due: now, or in the past if the
// game is behind the clock. Without any BeginTick, ticks are counted by the clock.
func (g *Group) BeginTick(due time.Time, tick uint64) {
	g.begun, g.tick, g.tickAt = true, tick, g.mux.Unix(due)
}

// dueTick returns the tick of now by the clock, as clients count, and when it began. A game that is
// behind has yet to come to it.
func (g *Group) dueTick(now time.Time) (tick, start uint64) {
	if !g.begun {
		return g.tickStart(now)
	}
	ticks := g.mux.ticks.From(g.tick, g.tickAt)
	tick = max(g.tick, ticks.TickAt(g.mux.Unix(now)))
	return tick, ticks.Start(tick)
}

// tickStart returns the tick of now, and when it began.
func (g *Group) tickStart(now time.Time) (tick, start uint64) {
	if g.begun {
		return g.tick, g.tickAt
	}
	tick = g.mux.ticks.TickAt(g.mux.Unix(now))
	return tick, g.mux.ticks.Start(tick)
}

// Broadcast encodes a message once and sends it to all players of the group, or, if to is set, to those for whom
// it returns true. See Mux.Encode.
func (g *Group) Broadcast(msg *Message, to func(c *Conn) bool) error {
	f, err := g.mux.Encode(msg)
	if err != nil {
		return err
	}
	g.deliver(f.f, to)
	g.mux.Release(f)
	return nil
}

// Say broadcasts a line of chat by an entity to the group.
func (g *Group) Say(entity uint16, text []byte) {
	g.broadcast(&Message{Kind: KindChatReceive, Tick: uint16(g.Tick(g.mux.now)), ID: entity, Text: text})
}

// broadcast is Broadcast of what the core itself has to say.
func (g *Group) broadcast(msg *Message) {
	if g.players == 0 {
		return
	}
	f := g.mux.shared.frame(g.mux.cfg.codec, msg)
	g.deliver(f, nil)
	g.mux.shared.release(f)
}

func (g *Group) deliver(f *frame, to func(c *Conn) bool) {
	m := g.mux
	m.stats.Broadcast++
	for _, c := range g.conns {
		if c.endpoint.state == StatePlaying && (to == nil || to(c)) {
			c.endpoint.enqueue(m.now, f)
			m.touch(c)
			m.stats.Receivers++
		}
	}
}

// Close ends the group: its world is over. Its players are told goodbye with an exit code, as by Conn.Close. Log-ins that
// were about to enter are refused as if they had named no account: a room that is gone is like one that never was.
// Place returns ErrClosed from then on. A second call has no effect.
func (g *Group) Close(code ExitCode, text string) {
	g.closed = true
	for _, c := range slices.Backward(g.conns) { // a refused one is taken out, and the last one takes its place
		if c.endpoint.state == StateEntering {
			c.Refuse(LoginUnknownPseudo)
			continue
		}
		c.Close(code, text)
	}
}
