package bots

import (
	"sync/atomic"

	"parley/play/line"
	"parley/play/message"
	"parley/world"
)

// ear listens to one connection of a player.
type ear struct {
	*Player
	conn   *line.Conn
	voice  voice
	memory memory // nil if the dialect's client has none
	stamps stamps

	// Under mu.
	sight Sight
	stale bool // memory has more
}

// stamps number the inputs of a connection.
type stamps struct {
	number atomic.Uint32 // of the last
	tick   atomic.Uint32 // that the server has run last, as far as the bot was told
}

// next returns the stamp of the next input. A bot does not predict, so it needs no lead: what it does now is for the next tick, or, if it comes
// after that, for the one that is next by then. A lead would be part of every latency that bots measure.
func (s *stamps) next() message.Stamp {
	tick := s.tick.Load()
	return message.Stamp{Number: s.number.Add(1), Tick: tick + 1, Shown: tick}
}

// listen returns what reads a new connection.
func (p *Player) listen(c *line.Conn) (r line.Reader) {
	e := &ear{Player: p, conn: c}
	e.sight.Things, e.sight.Players = map[uint16]Thing{}, map[uint16]string{}
	switch {
	case c.Replica != nil:
		r.Replica = newReplicaReader(e).read
	case c.Relay != nil:
		e.voice, r.Relay = relayVoice{e}, e.readRelay
	case c.Duplex != nil:
		e.voice, r.Duplex = duplexVoice{e}, e.readDuplex
		e.sight.You = uint16(c.Duplex.Player())
	case c.Realm != nil:
		v := realmVoice{c.Realm, new(atomic.Uint32)}
		e.voice, r.Realm = v, e.realmReader(v.you)
	case c.Stamp != nil:
		e.voice, r.Stamp = stampVoice{}, e.readStamp
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next = e; p.ear == nil {
		p.ear = e
	}
	return r
}

// learn changes what is known, and tells that something was told. What comes ahead of the word that the player is back is not
// told yet.
func (e *ear) learn(change func(v *Sight)) {
	e.mu.Lock()
	change(&e.sight)
	e.sight.Updates++
	present := e.ear == e
	e.mu.Unlock()
	if present {
		e.tell(Notice{Kind: Updated})
	}
}

// hear tells of a line of chat, if it could be read.
func (e *ear) hear(name, text []byte, ok bool) {
	if ok {
		e.tell(Notice{Kind: Said, Name: string(name), Text: string(text)})
	}
}

// watch tells of an action that was done, if it could be read.
func (e *ear) watch(d message.Done, ok bool) {
	if ok {
		e.tell(Notice{Kind: Acted, Entity: d.Entity})
	}
}

// enters notes the tick before the one that the world runs next, if it could be read.
func (e *ear) enters(w message.World, ok bool) {
	if ok {
		e.stamps.tick.Store(max(w.Tick, 1) - 1)
	}
}

// readFate notes the tick of a fate, and returns what is behind it.
func (e *ear) readFate(b []byte, o world.Order) (rest []byte) {
	f, rest, ok := message.ParseFate(b, o)
	if ok {
		e.stamps.tick.Store(f.Tick)
	}
	return rest
}

// readRecords reads what stamp and relay say of entities.
func (e *ear) readRecords(b []byte, o world.Order) {
	e.learn(func(v *Sight) {
		for rec := range message.Records(b, o) {
			if len(rec.Fields) == 0 {
				delete(v.Things, rec.Entity)
			} else if k := e.cfg.Schema.Kind(rec.Kind); k != nil {
				v.put(rec.Entity, k, rec.Fields, o)
			}
		}
	})
}

// put notes an entity of which b has all fields, in the order of the schema; a body's come first.
func (v *Sight) put(id uint16, k *world.Kind, b []byte, o world.Order) {
	t := Thing{Kind: k.Number}
	if k.HasBody {
		var body [world.FieldNorm + 1]world.Value
		if _, ok := message.ParseFields(body[:], k.Fields[:len(body)], b, o); !ok {
			return
		}
		t.X, t.Y = body[world.FieldX].Float(), body[world.FieldY].Float()
		t.Angle, t.Norm = float32(body[world.FieldAngle].Float()), float32(body[world.FieldNorm].Float())
	}
	v.Things[id] = t
}
