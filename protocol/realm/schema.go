package realm

import (
	"errors"
	"fmt"
	"slices"
)

// What is wrong with values that are to be written.
var (
	// ErrUnknown: the schema has no such attribute or action.
	ErrUnknown = errors.New("realm: not in the schema")
	// ErrType: a value has another type than the schema gives, or there are too many or too few.
	ErrType = errors.New("realm: not the type of the schema")
	// ErrValue: a float that is NaN or infinite, or a text that is too long or not UTF-8.
	ErrValue = errors.New("realm: no value that may be sent")
	// ErrTooMany: a list has more elements than its count can say.
	ErrTooMany = errors.New("realm: too many elements")
)

// Schema says what a game's attributes, actions and additions to config look like, as
// nothing on the wire does: "attribute values and action parameters have no length on the
// wire: their types come from the game's schema". Both ends of a connection must have the
// same one. The zero Schema has none of them. It is not changed after use.
type Schema struct {
	// Attributes are what the object bit of an entity carries, by number.
	Attributes map[uint16]Field

	// Actions are the parameters of each action, by number.
	Actions map[uint16][]Field

	// Config is what the game adds to the config message.
	Config []Field
}

// A Field is a value's name, which is for people, and its type.
type Field struct {
	Name string
	Type Type
}

// Codec reads and writes the messages of one game. It is made once, and is safe for use by
// several goroutines as nothing of it changes.
type Codec struct {
	attributes map[uint16]Field
	actions    map[uint16][]Field
	config     []Field
}

// NewCodec returns the codec of a schema. It panics if a field's type is unset: that is the
// program's mistake, and nothing could be read.
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
	return c
}

func mustKnow(what string, fields []Field) {
	for _, f := range fields {
		if !f.Type.known() {
			panic(fmt.Sprintf("realm: the schema gives no type for %q of %s", f.Name, what))
		}
	}
}

// Attribute returns what the schema says of an attribute.
func (c *Codec) Attribute(id uint16) (Field, bool) {
	f, ok := c.attributes[id]
	return f, ok
}

// ActionFields returns the parameters of an action. They are not to be changed.
func (c *Codec) ActionFields(id uint16) ([]Field, bool) {
	f, ok := c.actions[id]
	return f, ok
}

// ConfigFields returns what the game adds to config. They are not to be changed.
func (c *Codec) ConfigFields() []Field { return c.config }
