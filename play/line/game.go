package line

import (
	"errors"
	"fmt"
	"slices"

	"parley/play/message"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
	"parley/world"
)

// enters looks at the world that a server tells, if it could be read. One of another game ends the connection.
func (c *Conn) enters(w message.World, ok bool) {
	if !ok {
		return
	}
	if own := c.line.cfg.Schema.Fingerprint(); w.Fingerprint != own {
		c.differs(fmt.Sprintf("its schema has the fingerprint %016x", w.Fingerprint))
		return
	}
	c.sees()
}

// differs notes that the server runs another game, and ends the connection: nothing that it tells means anything here.
func (c *Conn) differs(how string) {
	if c.other == nil {
		c.other = c.otherGame(how)
		c.hanging.Go(c.hangUp) // the events that wait are read meanwhile
	}
}

func (c *Conn) otherGame(how string) error {
	cfg := &c.line.cfg
	return fmt.Errorf("client: %w: at %v %s, and the schema of the game %q here has %016x: join with the server's game, or update the older of the two",
		ErrOtherGame, c.at, how, cfg.Game, cfg.Schema.Fingerprint())
}

// misread returns the error of a connection of realm that has ended because the client could not read what it was told: that is what
// another game's messages look like to the dialect. Other errors stay as they are.
func (c *Conn) misread(why error) error {
	var end realm.Close
	if errors.As(why, &end) && end.Reason == core.ReasonProtocol {
		return fmt.Errorf("%w: %w", c.otherGame("what it tells does not fit"), why)
	}
	return why
}

// fits looks at the records of a dialect that does not tell its world, and ends the connection if they are not of this game.
func (c *Conn) fits(b []byte, o world.Order) bool {
	for rec := range message.Records(b, o) {
		if len(rec.Fields) == 0 { // it is gone
			continue
		}
		if k := c.line.cfg.Schema.Kind(rec.Kind); k == nil || !fitsKind(k, rec.Fields, o) {
			c.differs(fmt.Sprintf("an entity of kind %d has other fields", rec.Kind))
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

// fitsBlock looks at a new entity of realm, which tells neither its world nor the types of what it says. What has the same shape in
// both games passes.
func (c *Conn) fitsBlock(e *core.Entity) bool {
	cfg := &c.line.cfg
	k := cfg.Schema.Kind(int(e.Type) + cfg.FirstType)
	fits := k != nil && e.Has&core.HasType != 0 && k.HasBody == (e.Has&core.HasPosition != 0)
	if fits && e.Has&core.HasObject != 0 {
		for id := range e.Attributes.All() {
			fits = fits && slices.ContainsFunc(k.Fields, func(f world.Field) bool { return !f.InBody && f.Attr == id })
		}
	}
	if !fits {
		c.differs(fmt.Sprintf("an entity of type %d has other fields", e.Type))
	}
	return fits
}
