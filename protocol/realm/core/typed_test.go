package core

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/internal/kit"
)

// typedCodec has an attribute 0 that is a number in type 1 and a text in type 2, and one that both have.
var typedCodec = NewCodec(Schema{
	Attributes: map[uint16]Field{5: {Name: "heat", Type: TypeU16}},
	TypedAttributes: map[uint16]map[uint16]Field{
		1: {0: {Name: "legs", Type: TypeU8}},
		2: {0: {Name: "name", Type: TypeStr}},
	},
})

// randomTyped returns a block with attributes of its type. It has the type if it needs it, and else now and then.
func randomTyped(r *rand.Rand, id uint16) Entity {
	e := Entity{ID: id, Type: 1 + id%2, Has: HasObject}
	var list []Attribute
	if r.IntN(2) == 0 {
		e.Has |= HasType
		v := U8(uint8(r.Uint32()))
		if e.Type == 2 {
			v = Str([]byte(strings.Repeat("x", r.IntN(5))))
		}
		list = append(list, Attribute{0, v})
	}
	for range r.IntN(3) {
		list = append(list, Attribute{5, U16(uint16(r.Uint32()))})
	}
	if r.IntN(4) == 0 {
		e.Has |= HasType
	}
	e.Attributes, _ = typedCodec.Of(e.Type).Attributes(list...)
	return e
}

func showTyped(list Entities) (s string) {
	for e := range list.All() {
		s += fmt.Sprint(e.ID, " ")
		for id, v := range e.Attributes.All() {
			s += fmt.Sprintf("%d=%x ", id, v.appendTo(nil))
		}
	}
	return s
}

// An attribute whose type depends on that of the entity is read by the type in its block, however the bytes come.
func TestAttributesOfAType(t *testing.T) {
	r := kit.Rand(t)
	for range kit.Rounds(2000, 100_000) {
		var blocks []Entity
		want := ""
		for range r.IntN(5) {
			blocks = append(blocks, randomTyped(r, uint16(r.IntN(6))))
			one, err := typedCodec.Entities(blocks[len(blocks)-1])
			if err != nil {
				t.Fatal(err)
			}
			want += showTyped(one)
		}
		list, _ := typedCodec.Entities(blocks...)
		b := typedCodec.AppendTo(nil, &Message{Kind: KindEntitiesUpdate, Entities: list})
		var m Message
		if err := typedCodec.ParseErr(FromServer, b, &m); err != nil || showTyped(m.Entities) != want || !bytes.Equal(typedCodec.AppendTo(nil, &m), b) {
			t.Fatalf("%x: %v\ngot  %s\nwant %s", b, err, showTyped(m.Entities), want)
		}
		in := NewStream(typedCodec, FromServer)
		for i := range b {
			_, ok := in.Next(b[i:i+1], &m)
			if ok != (i == len(b)-1) || in.Err() != nil {
				t.Fatalf("byte %d of %x: whole is %t, %v", i, b, ok, in.Err())
			}
		}
		if showTyped(m.Entities) != want {
			t.Fatalf("%x: got  %s\nwant %s", b, showTyped(m.Entities), want)
		}
	}
}

// Without the type, or with that of a type that has no such attribute, the block cannot be read and says why.
func TestAnAttributeWithoutItsType(t *testing.T) {
	for _, tt := range []struct {
		hex  []byte
		want string
	}{
		{[]byte{11, 0, 0, 0, 7, 0x01, 0, 1, 0, 0, 9}, "of some types of entities"},
		{[]byte{11, 0, 0, 0, 7, 0x05, 0, 3, 0, 1, 0, 0, 9}, "of some types of entities"},
		{[]byte{11, 0, 0, 0, 7, 0x05, 0, 1, 0, 1, 0, 9, 9}, "no such attribute"},
		{[]byte{11, 0, 0, 0, 7, 0x05, 0, 1, 0, 1, 0, 0, 9}, ""},
		{[]byte{11, 0, 0, 0, 7, 0x01, 0, 1, 0, 5, 0, 9}, ""},
	} {
		var m Message
		err := typedCodec.ParseErr(FromClient, tt.hex, &m)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%x: %v, want %q", tt.hex, err, tt.want)
		}
	}
	if _, err := typedCodec.Attributes(Attribute{0, U8(1)}); err != ErrUnknown {
		t.Errorf("got %v", err)
	}
	if _, err := typedCodec.Of(2).Attributes(Attribute{0, U8(1)}); err != ErrType {
		t.Errorf("got %v", err)
	}
	if typedCodec.Of(9) != typedCodec {
		t.Error("a type without attributes of its own has a codec of its own")
	}
}

// What is left of an update can still be read, and the newest values are the same.
func TestCoalescingKeepsTypes(t *testing.T) {
	r := kit.Rand(t)
	s := &Shared{}
	see := func(o *outbox) map[string]string {
		known := map[string]string{}
		for i := range o.list.Len() {
			var m Message
			if err := typedCodec.ParseErr(FromServer, (*o.list.At(i)).b, &m); err != nil {
				t.Fatalf("%x: %v", (*o.list.At(i)).b, err)
			}
			for e := range m.Entities.All() {
				for id, v := range e.Attributes.All() {
					known[fmt.Sprint(e.ID, id)] = fmt.Sprintf("%x", v.appendTo(nil))
				}
			}
		}
		return known
	}
	merged := 0
	for range kit.Rounds(2000, 100_000) {
		var o outbox
		for tick := range 1 + r.IntN(8) {
			list, _ := typedCodec.Entities(randomTyped(r, uint16(r.IntN(3))), randomTyped(r, uint16(r.IntN(3))))
			f := s.frame(typedCodec, &Message{Kind: KindEntitiesUpdate, Tick: uint16(tick), Entities: list})
			o.put(f)
			s.release(f)
		}
		want, before := see(&o), o.held
		o.coalesce(typedCodec, s)
		merged += before - o.held
		if got := see(&o); fmt.Sprint(got) != fmt.Sprint(want) || o.held > before {
			t.Fatalf("got  %v\nwant %v\n%d held, %d before", got, want, o.held, before)
		}
		o.close(s)
	}
	if merged == 0 {
		t.Error("nothing was ever merged")
	}
}
