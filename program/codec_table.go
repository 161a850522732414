package program

import (
	"fmt"
	"maps"
	"slices"
)

// A table is the JSON of a dialect's packets: which fields each kind has. P is what the dialect's own codec reads and
// writes.
type table[P any, K kind] struct {
	label string // of the field that names the kind
	kind  func(p *P) *K
	kinds map[K]fields[P]
}

type kind interface {
	~uint8
	String() string
}

// newCodec makes a dialect's codec of the JSON of its packets and of the two functions that its own codec has.
func newCodec[P any](name string, of shape[P], parse func(p *P, from side, channel string, b []byte) error,
	bytes func(p *P, from side, channel string) ([]byte, error), channels ...string) codec {
	decode := func(from side, channel string, b []byte) (any, error) {
		var p P
		if err := parse(&p, from, channel, b); err != nil {
			return nil, err
		}
		return of.show(&p), nil
	}
	encode := func(from side, channel string, line []byte) ([]byte, error) {
		var p P
		var said members
		if err := takeJSON("", line, &said); err != nil {
			return nil, err
		}
		if err := of.take(&p, said); err != nil {
			return nil, err
		}
		b, err := bytes(&p, from, channel)
		if err != nil {
			return nil, err
		}
		// What is left to be wrong is wrong in the bytes too, and parse has words for it.
		return b, parse(&p, from, channel, b)
	}
	return codec{Name: name, Channels: channels, Decode: decode, Encode: encode}
}

func (t *table[P, K]) show(p *P) object {
	of := *t.kind(p)
	return append(object{{t.label, of.String()}}, t.kinds[of].show(p)...)
}

func (t *table[P, K]) take(p *P, said members) error {
	of, err := t.named(said.text(t.label))
	if err != nil {
		return err
	}
	*t.kind(p) = of
	known := t.kinds[of]
	for _, name := range said.names() { // a field that is misspelt, or of another kind, must not be lost
		switch text := string(said[name]); {
		case name == t.label || known.has(name):
		case !t.knows(name):
			return fmt.Errorf("json: unknown field %q; decode shows the names of the fields", name)
		case text != `""` && text != "0" && text != "false":
			return fmt.Errorf("%s: %s has no such field; leave it out", name, of)
		}
	}
	return known.takeKnown(p, said)
}

func (t *table[P, K]) named(text []byte) (K, error) {
	var name string
	if err := takeJSON(t.label, text, &name); err != nil {
		return 0, err
	}
	kinds := slices.Sorted(maps.Keys(t.kinds))
	if text == nil {
		return 0, fmt.Errorf("%s: the field is missing; it must be %s", t.label, sentenceList(namesOf(kinds), "or"))
	}
	return named(t.label, t.label, name, kinds)
}

func (t *table[P, K]) knows(name string) bool {
	for _, known := range t.kinds {
		if known.has(name) {
			return true
		}
	}
	return false
}
