package picture

import (
	"slices"
	"time"

	"parley/play/message"
	"parley/protocol/duplex"
	"parley/world"
)

// Duplex reads what a server tells over duplex, and writes what the player does.
//
// The fate of a tick is the first of its tick on the feed, and what follows is of the same tick. If the fate is lost, the time tells that
// the tick is another one. What main brings has no tick, and may be older than what the feed has brought.
type Duplex struct {
	core   *Core
	out    DuplexSend
	feed   bool
	fated  time.Time // when the newest fate came
	values []world.Value
	buf    []byte
}

// DuplexSend is how a Duplex sends. None of it may block. Query need not wait for the reply.
type DuplexSend struct {
	Update func(sid int16, data []byte) error // on the feed
	Sync   func(sid int16, data []byte) error // on main
	Query  func(code uint8, data []byte) error
}

// NewDuplex makes a reader for a new connection of a core, whose player id is known, and which has a feed or not.
func NewDuplex(c *Core, player int16, feed bool, out DuplexSend) *Duplex {
	d := &Duplex{core: c, out: out, feed: feed}
	c.voice = d
	if player > 0 {
		c.you(uint16(player))
	}
	return d
}

// Read takes an event of the connection.
func (d *Duplex) Read(now time.Time, ev duplex.Event) {
	c := d.core
	switch {
	case ev.Kind == duplex.EventJoined, ev.Kind == duplex.EventFeed:
		if d.feed = ev.Up; !d.feed {
			c.ahead = false
		}
	case ev.Kind == duplex.EventGone:
		c.gone(d.now(now), uint16(ev.SID))
	case ev.Kind == duplex.EventUpdate && ev.SID == message.DuplexTick:
		d.fate(now, ev.Data)
	case ev.Kind == duplex.EventUpdate && ev.SID > 0:
		d.update(now, uint16(ev.SID), ev.Data)
	case ev.Kind == duplex.EventSync && ev.SID > 0:
		d.sync(now, uint16(ev.SID), ev.Data)
	case ev.Kind == duplex.EventSync:
		d.moment(now, ev.SID, ev.Data)
	}
}

// moment reads what is no entity.
func (d *Duplex) moment(now time.Time, sid int16, b []byte) {
	c := d.core
	switch sid {
	case message.DuplexWorld:
		w, ok := message.ParseWorld(b, message.Big)
		c.entered(now, w, ok)
		_ = d.out.Query(message.DuplexRoster, nil) // without it there are no names
	case message.DuplexSaid:
		c.said(message.ParseDuplexSaid(b))
	case message.DuplexDone:
		if m, ok := message.ParseDuplexDone(c.schema, b); ok {
			tick := c.newest&^0xffff | uint64(m.Tick&0xffff)
			if tick > c.newest+1<<15 && tick >= 1<<16 {
				tick -= 1 << 16
			}
			c.acted(m.Entity, tick, m.Action, m.Params[:len(m.Action.Fields)])
		}
	case message.DuplexMember:
		c.members(b, message.Big)
	}
}

// fate reads the fate of a tick, and the own entity.
func (d *Duplex) fate(now time.Time, b []byte) {
	c := d.core
	f, own, ok := message.ParseFate(b, message.Big)
	if !ok {
		return
	}
	if tick := c.tickOf(f.Tick); c.own != 0 && (!c.begun || tick > c.newest) {
		d.fated = now
		d.element(own, func(k *world.Kind) { c.put(tick, c.own, k, d.values, 0) })
	}
	c.fate(now, f, true) // others follow
}

// now is the tick that the feed is at.
func (d *Duplex) now(now time.Time) uint64 {
	c := d.core
	if d.fated.IsZero() || !d.feed {
		return c.assumed(now)
	}
	if late := now.Sub(d.fated); late > c.period/2 {
		return c.newest + uint64(min((late+c.period/2)/c.period, maxRun))
	}
	return c.newest
}

// update reads the values of an entity on the feed. A value that comes twice is sent twice, and another one of the same tick is of the next.
func (d *Duplex) update(now time.Time, wire uint16, b []byte) {
	c := d.core
	d.element(b, func(k *world.Kind) {
		tick := d.now(now)
		if t := c.tracks[wire]; t != nil && len(t.samples) > 0 && t.last().tick >= tick {
			if slices.Equal(t.last().values, d.values) {
				return
			}
			tick = t.last().tick + 1
		}
		if wire != c.own || !c.ahead {
			c.put(tick, wire, k, d.values, 0)
		}
	})
}

// sync reads the values of an entity on main: one that comes into sight, and all of them now and then. Without a feed they are all that comes.
func (d *Duplex) sync(now time.Time, wire uint16, b []byte) {
	c := d.core
	tick := d.now(now)
	d.element(b, func(k *world.Kind) {
		const silent = 5 // ticks after which the feed has lost the last value
		if t := c.tracks[wire]; d.feed && t != nil && len(t.samples) > 0 && !t.last().gone && t.last().tick+silent > tick {
			return
		}
		c.put(tick, wire, k, d.values, 0)
		if !d.feed {
			c.hears(now, tick)
		}
	})
}

// element reads "kind u8, fields", and calls put if it could be read.
func (d *Duplex) element(b []byte, put func(k *world.Kind)) {
	kind, fields, ok := message.ParseElement(b)
	k := d.core.schema.Kind(kind)
	if !ok || k == nil {
		return
	}
	d.values = append(d.values[:0], make([]world.Value, len(k.Fields))...)
	if rest, ok := message.ParseFields(d.values, k.Fields, fields, message.Big); ok && len(rest) == 0 {
		put(k)
	}
}

func (d *Duplex) steer(_ time.Time, angle, norm float32, s message.Stamp) error {
	d.buf = message.AppendDuplexSteer(d.buf[:0], s, angle, norm)
	if d.feed {
		return d.out.Update(message.DuplexSteer, d.buf)
	}
	return d.out.Sync(message.DuplexSteer, d.buf)
}

// act asks for an action. Main loses nothing, so that a copy is of no use.
func (d *Duplex) act(_ time.Time, a *world.Action, params []world.Value, s message.Stamp, again bool) error {
	if again {
		return nil
	}
	d.buf = message.AppendDuplexAct(d.buf[:0], a, s, params)
	return d.out.Query(message.DuplexStamped, d.buf)
}

func (d *Duplex) say(text string) error {
	return d.out.Query(message.DuplexSay, message.AppendSized(nil, []byte(text)))
}
