package core

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Errors of values that cannot be written.
var (
	// ErrUnknown means that the schema has no such attribute or action.
	ErrUnknown = errors.New("realm: not in the schema")
	// ErrType means that a value does not have the schema's type, or that there are too many or
	// too few values.
	ErrType = errors.New("realm: a value differs from the type in the schema")
	// ErrValue means a float that is NaN or infinite, or a text that is too long or not UTF-8.
	ErrValue = errors.New("realm: a value cannot be sent: a number is NaN or infinite, or a text is too long or not UTF-8")
	// ErrTooMany means that a list has more elements than its count can hold.
	ErrTooMany = errors.New("realm: too many elements")
)

// Schema gives the types of a game's attributes, actions and additions to config, as the wire
// does not: "attribute values and action parameters have no length on the wire: their types come
// from the game's schema". Both ends of a connection must have the same Schema. The zero Schema
// has no attributes, actions or additions. Schema must not be changed after use.
type Schema struct {
	// Attributes are the attributes of entities (the object bit), by number.
	Attributes map[uint16]Field

	// TypedAttributes are those whose type depends on the type of the entity, by the entity's type and by number. A block
	// that has such an attribute has the type bit too, or cannot be read. No number is in both maps.
	TypedAttributes map[uint16]map[uint16]Field

	// Actions are the parameters of each action, by number.
	Actions map[uint16][]Field

	// Config has the fields that the game adds to the config message.
	Config []Field
}

// A Field is the type of a value, and a name for people to read.
type Field struct {
	Name string
	Type Type
}

// Codec reads and writes the messages of one game. It does not change, and is safe for use by
// several goroutines.
type Codec struct {
	attributes map[uint16]Field
	actions    map[uint16][]Field
	config     []Field

	of map[uint16]*Codec // by the type of the entity: this codec with that type's attributes; nil in those
}

// NewCodec returns the codec of a schema. It panics if a field's type is unset, which is a
// mistake in the program.
func NewCodec(s Schema) *Codec {
	c := &Codec{attributes: map[uint16]Field{}, actions: map[uint16][]Field{}, config: slices.Clone(s.Config)}
	mustKnow("config", s.Config)
	for id, f := range s.Attributes {
		mustKnow(fmt.Sprintf("attribute %d", id), []Field{f})
		c.attributes[id] = f
	}
	for id, params := range s.Actions {
		mustKnow(fmt.Sprintf("action %d", id), params)
		c.actions[id] = slices.Clone(params)
	}
	for typ, attributes := range s.TypedAttributes {
		if c.of == nil {
			c.of = map[uint16]*Codec{}
		}
		own := &Codec{attributes: maps.Clone(c.attributes), actions: c.actions, config: c.config}
		for id, f := range attributes {
			mustKnow(fmt.Sprintf("attribute %d of type %d", id, typ), []Field{f})
			own.attributes[id] = f
		}
		c.of[typ] = own
	}
	return c
}

// Of returns the codec for the attributes of entities of a type: c itself if no attribute depends on it.
func (c *Codec) Of(typ uint16) *Codec {
	if own := c.of[typ]; own != nil {
		return own
	}
	return c
}

func mustKnow(what string, fields []Field) {
	for _, f := range fields {
		if !f.Type.known() {
			panic(fmt.Sprintf("realm: the schema gives no type for %q of %s", f.Name, what))
		}
	}
}

// Attribute returns the schema's field of an attribute.
func (c *Codec) Attribute(id uint16) (Field, bool) {
	f, ok := c.attributes[id]
	return f, ok
}

// ActionFields returns the parameters of an action. They must not be changed.
func (c *Codec) ActionFields(id uint16) ([]Field, bool) {
	f, ok := c.actions[id]
	return f, ok
}

// ConfigFields returns the fields that the game adds to config. They must not be changed.
func (c *Codec) ConfigFields() []Field { return c.config }
