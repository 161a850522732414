package line

import (
	"fmt"

	"parley/play/message"
	"parley/world"
)

// enters looks at the world that a server tells, if it could be read. One of another game ends the connection.
func (c *Conn) enters(w message.World, ok bool) {
	if !ok {
		return
	}
	if own := c.line.cfg.Schema.Fingerprint(); w.Fingerprint != own {
		c.differs(fmt.Sprintf("the fingerprint of its schema is %016x", w.Fingerprint))
		return
	}
	c.sees()
}

// differs notes that the server runs another game, and ends the connection: nothing that it tells means anything here.
func (c *Conn) differs(how string) {
	if c.other != nil {
		return
	}
	cfg := &c.line.cfg
	c.other = fmt.Errorf("client: %w: at %v %s, that of the game %q is %016x: join with the server's game, or update the older of the two",
		ErrOtherGame, c.at, how, cfg.Game, cfg.Schema.Fingerprint())
	go c.hangUp() // the events that wait are read meanwhile
}

// fits looks at the records of a dialect that does not tell its world, and ends the connection if they are not of this game.
func (c *Conn) fits(b []byte, o world.Order) bool {
	for rec := range message.Records(b, o) {
		if len(rec.Fields) == 0 { // it is gone
			continue
		}
		if k := c.line.cfg.Schema.Kind(rec.Kind); k == nil || !fitsKind(k, rec.Fields, o) {
			c.differs(fmt.Sprintf("an entity of kind %d does not fit the schema", rec.Kind))
			return false
		}
	}
	return true
}

// fitsKind reports whether b has the fields of a kind and nothing else.
func fitsKind(k *world.Kind, b []byte, o world.Order) bool {
	for i := range k.Fields {
		_, n, ok := k.Fields[i].Parse(b, o)
		if !ok {
			return false
		}
		b = b[n:]
	}
	return len(b) == 0
}
