package picture

import (
	"time"

	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/world"
)

// Relay reads what a server tells over relay, and writes what the player does.
type Relay struct {
	core   *Core
	send   func(mode relay.Mode, to relaycore.Target, payload []byte) error
	values []world.Value
	buf    []byte
	swept  uint64 // the tick in which it last looked for silent entities
}

// relaySilence is after how many seconds an entity counts as gone of which nothing was told: its end may have been lost, and what lives is told
// each second, or every two seconds on a narrow path.
const relaySilence = 10

// NewRelay makes a reader for a new connection of a core. send must not block.
func NewRelay(c *Core, send func(mode relay.Mode, to relaycore.Target, payload []byte) error) *Relay {
	r := &Relay{core: c, send: send}
	c.voice = r
	return r
}

// Read takes an event of the connection.
func (r *Relay) Read(now time.Time, ev relay.Event) {
	if ev.Kind != relay.EventPackage || !ev.Package.Server || len(ev.Package.Payload) == 0 {
		return
	}
	c := r.core
	switch what, b := ev.Package.Payload[0], ev.Package.Payload[1:]; what {
	case message.RelayWorld:
		w, ok := message.ParseWorld(b, message.Big)
		c.entered(now, w, ok)
		_ = r.send(relay.Unordered, relay.ToServer, []byte{message.RelayWho}) // without it there are no names
	case message.RelayYou:
		if wire, ok := message.ParseRelayYou(b); ok {
			c.you(wire)
		}
	case message.RelayEntities: // before the first stamp has arrived
		r.records(c.newest, b)
	case message.RelayTick:
		if f, rest, ok := message.ParseFate(b, message.Big); ok {
			r.records(c.tickOf(f.Tick), rest)
			c.fate(now, f, false)
			r.silent()
		}
	case message.RelayDone:
		if d, ok := message.ParseRelayDone(c.schema, b); ok {
			c.acted(d.Entity, 0, d.Action, d.Params[:len(d.Action.Fields)])
		}
	case message.RelaySaid:
		c.said(message.ParseSaid(b))
	case message.RelayMembers:
		c.members(b, message.Big)
	}
}

// records takes the entities of a package.
func (r *Relay) records(tick uint64, b []byte) {
	r.values = r.core.records(tick, b, message.Big, r.values)
}

// records takes records of stamp and relay. values is memory that it may use, which it returns.
func (c *Core) records(tick uint64, b []byte, o world.Order, values []world.Value) []world.Value {
	for rec := range message.Records(b, o) {
		if len(rec.Fields) == 0 {
			c.gone(tick, rec.Entity)
			continue
		}
		k := c.schema.Kind(rec.Kind)
		if k == nil {
			continue
		}
		values = append(values[:0], make([]world.Value, len(k.Fields))...)
		if rest, ok := message.ParseFields(values, k.Fields, rec.Fields, o); ok && len(rest) == 0 {
			c.put(tick, rec.Entity, k, values, 0)
		}
	}
	return values
}

// silent lets go of entities of which nothing was told for long, once a second.
func (r *Relay) silent() {
	c := r.core
	second := uint64(time.Second / c.period)
	if c.newest < r.swept+second {
		return
	}
	r.swept = c.newest
	for _, t := range c.list {
		if !t.last().gone && t.last().tick+relaySilence*second < c.newest {
			c.gone(c.newest, t.wire)
		}
	}
}

func (r *Relay) steer(_ time.Time, angle, norm float32, s message.Stamp) error {
	r.buf = message.AppendSteer(append(r.buf[:0], message.RelaySteer), angle, norm, message.Big)
	return r.send(relay.Unreliable, relay.ToServer, s.AppendTo(r.buf, message.Big))
}

// act sends an action reliably, and a copy of it that waits for nobody: of the two, the server does the first that comes.
func (r *Relay) act(_ time.Time, a *world.Action, params []world.Value, s message.Stamp, again bool) error {
	r.buf = message.AppendAct(append(r.buf[:0], message.RelayAct), a, params, message.Big)
	r.buf = s.AppendTo(r.buf, message.Big)
	if again {
		return r.send(relay.Unreliable, relay.ToServer, r.buf)
	}
	err := r.send(relay.Unordered, relay.ToServer, r.buf)
	if err == nil {
		_ = r.send(relay.Unreliable, relay.ToServer, r.buf) // the first is on its way
	}
	return err
}

func (r *Relay) say(text string) error {
	return r.send(relay.SemiOrdered, relay.ToServer, append([]byte{message.RelaySay}, text...))
}
