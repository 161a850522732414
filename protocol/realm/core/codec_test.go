package core

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/wire"
)

// T1: what is written is read again, from its sender only, and what is read is written as it
// came. One Message reads all, so that what stays of the one before would show. There are
// 1,000,000 of each kind in the gate, and a fiftieth of that in every run.
func TestMessagesRoundTrip(t *testing.T) {
	t.Parallel()
	kit.Spread(t, promise.Keeps(t, "T1", "realm", kit.Tier(20_000, 1_000_000, 1_000_000)), func(r *rand.Rand, n int) {
		one := maker{Rand: r}
		var got Message
		var b, again []byte
		for range n {
			for kind := KindPing; kind <= KindChunksUpdate; kind++ {
				want := one.message(kind)
				b = testCodec.AppendTo(b[:0], &want)
				for from := range fromBoth + 1 {
					ok := testCodec.Parse(from, b, &got)
					if ok != (kind.Senders()&from != 0) || ok && !same(&got, &want) {
						t.Errorf("%v from %v: %x\ngot  %+v: %v\nwant %+v", kind, from, b, got, testCodec.ParseErr(from, b, &got), want)
						return
					}
					if !ok {
						continue
					}
					if again = testCodec.AppendTo(again[:0], &got); !bytes.Equal(again, b) {
						t.Errorf("%v: read  %x\nwrote %x", kind, b, again)
						return
					}
				}
				if kind.HasTick() && want.Tick != oracleTick(b) {
					t.Errorf("%v: tick %d in %x", kind, got.Tick, b)
					return
				}
			}
		}
	})
}

// T1: what lists hold is what was put into them.
func TestListsHoldWhatWasPutIn(t *testing.T) {
	t.Parallel()
	kit.Spread(t, promise.Keeps(t, "T1", "realm", kit.Tier(20_000, 1_000_000, 1_000_000)), func(r *rand.Rand, n int) {
		one := maker{Rand: r}
		for range n {
			one.raw = one.raw[:0]
			if err := checkLists(&one); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for _, tt := range []struct {
		name string
		v    Value
		ok   func(Value) bool
	}{
		{"u8", U8(200), func(v Value) bool { return v.Uint() == 200 }},
		{"u64", U64(1 << 63), func(v Value) bool { return v.Uint() == 1<<63 }},
		{"i8", I8(-3), func(v Value) bool { return v.Int() == -3 }},
		{"i16", I16(-300), func(v Value) bool { return v.Int() == -300 }},
		{"i64", I64(math.MinInt64), func(v Value) bool { return v.Int() == math.MinInt64 }},
		{"f32", F32(-1.25), func(v Value) bool { return v.Float() == -1.25 }},
		{"f64", F64(1e300), func(v Value) bool { return v.Float() == 1e300 }},
		{"str", Str([]byte("é")), func(v Value) bool { return string(v.Text()) == "é" }},
		{"entity", EntityID(64536), func(v Value) bool { return v.Uint() == 64536 }},
		{"position", At(Position{-2, 3, 4, 5}), func(v Value) bool { return v.Position() == Position{-2, 3, 4, 5} }},
	} {
		r := wire.Big(tt.v.appendTo(nil))
		if got := readValue(&r, tt.v.Type()); !r.Done() || !tt.ok(got) || !tt.ok(tt.v) || got.Type().String() != tt.name {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.v)
		}
	}
}

// checkLists fills a list of each sort and reads it again.
func checkLists(one *maker) error {
	var blocks [3]Entity
	var done [3]Done
	var cells [3]Cell
	var chunks [3]Chunk
	var ids [3]ChunkID
	n := one.IntN(4)
	for i := range n {
		v := one.Uint64()
		blocks[i], done[i], chunks[i] = one.entity(), Done{uint16(v), one.action()}, one.chunk()
		cells[i], ids[i] = Cell{uint8(v >> 16), uint8(v >> 24), uint8(v >> 32)}, ChunkID{int16(v), int16(v >> 40)}
	}
	var m Message
	var errs [5]error
	m.Entities, errs[0] = testCodec.Entities(blocks[:n]...)
	m.Actions, errs[1] = testCodec.Actions(done[:n]...)
	m.Chunk.Cells, errs[2] = MakeCells(cells[:n]...)
	m.Chunks, errs[3] = MakeChunks(chunks[:n]...)
	m.Wanted, errs[4] = MakeWanted(ids[:n]...)
	if errs != [5]error{} {
		return errors.Join(errs[:]...)
	}
	for _, got := range [5]int{m.Entities.Len(), m.Actions.Len(), m.Chunk.Cells.Len(), m.Chunks.Len(), m.Wanted.Len()} {
		if got != n {
			return fmt.Errorf("%d of %d elements", got, n)
		}
	}
	i := 0
	for e := range m.Entities.All() {
		if !sameEntity(e, &blocks[i]) {
			return fmt.Errorf("got %+v, want %+v", e, blocks[i])
		}
		i++
	}
	for d := range m.Actions.All() {
		if want := done[i-n]; d.By != want.By || d.Action.ID != want.Action.ID || !bytes.Equal(d.Action.Params.raw, want.Action.Params.raw) {
			return fmt.Errorf("got %+v, want %+v", d, want)
		}
		for j, f := range testCodec.actions[d.Action.ID] {
			if v := d.Action.Params.Get(j); v.Type() != f.Type {
				return fmt.Errorf("parameter %d of action %d is a %v", j, d.Action.ID, v.Type())
			}
		}
		i++
	}
	for c := range m.Chunk.Cells.All() {
		if c != cells[i-2*n] {
			return fmt.Errorf("got %+v, want %+v", c, cells[i-2*n])
		}
		i++
	}
	for c := range m.Chunks.All() {
		if !sameChunk(c, chunks[i-3*n]) {
			return fmt.Errorf("got %+v, want %+v", c, chunks[i-3*n])
		}
		i++
	}
	for id := range m.Wanted.All() {
		if id != ids[i-4*n] {
			return fmt.Errorf("got %+v, want %+v", id, ids[i-4*n])
		}
		i++
	}
	if i != 5*n {
		return fmt.Errorf("%d elements were read of %d", i, 5*n)
	}
	return nil
}

// T2: nothing that ends early is read, and nothing that goes on too long: 100,000 of each
// kind in the gate, and 40,000 in every run.
func TestEveryPrefixAndEveryLongerMessageIsRefused(t *testing.T) {
	t.Parallel()
	kit.Spread(t, promise.Keeps(t, "T2", "realm", kit.Tier(5000, 100_000, 1_000_000)), func(r *rand.Rand, n int) {
		one := maker{Rand: r}
		var got Message
		var b []byte
		for range n {
			for kind := KindPing; kind <= KindChunksUpdate; kind++ {
				m := one.message(kind)
				b = testCodec.AppendTo(b[:0], &m)
				from := sides(kind)[0]
				for n := range b {
					if testCodec.Parse(from, b[:n:n], &got) {
						t.Errorf("%v %x: its first %d bytes were accepted", kind, b, n)
						return
					}
				}
				if b = append(b, byte(r.Uint64())); testCodec.Parse(from, b, &got) {
					t.Errorf("%v %x: accepted with a byte more", kind, b)
					return
				}
			}
		}
	})
}

// T3: random bytes, half of them from valid messages with something changed, from both sides. Nothing panics, the oracle says
// the same of each, and what is accepted is canonical.
func TestRandomBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	var valid [][]byte
	for i := range 110 {
		m := randomMessage(r, KindPing+Kind(i%22))
		valid = append(valid, testCodec.AppendTo(nil, &m))
	}
	out := make([]byte, 0, 4096)
	var got Message
	kit.RandomBytes(t, "realm", valid, 16, func(in []byte, _ uint64) (accepted int) {
		for _, from := range []Side{FromClient, FromServer} {
			ok := testCodec.Parse(from, in, &got)
			if n, whole := oracle(from, in); ok != (whole && n == len(in)) {
				t.Fatalf("%x from a %v: accepted %t, and the oracle has %d bytes, %t", in, from, ok, n, whole)
			}
			if !ok {
				if got.Kind != 0 {
					t.Fatalf("%x from a %v: refused, and yet a %v", in, from, got.Kind)
				}
				continue
			}
			accepted = 1
			if out = testCodec.AppendTo(out[:0], &got); !bytes.Equal(out, in) {
				t.Fatalf("read  %x\nwrote %x", in, out)
			}
		}
		return accepted
	})
}

// T5: counts and sizes that claim more than there is, or than a message may hold, are refused
// before anything is made for them.
func TestLyingNumbers(t *testing.T) {
	promise.Keeps(t, "T5", "realm", 1)
	numbers := []uint64{0, 1, 2, 254, 255, 256, 1 << 15, 1<<16 - 2, 1<<16 - 1}
	var m Message
	for _, tt := range []struct {
		name string
		from Side
		head []byte // up to the number
		size int    // of the number
		each int    // bytes of an element
	}{
		{"wanted chunks", FromClient, []byte{9}, 1, 4},
		{"entities", FromServer, []byte{10, 0, 0}, 2, 3},
		{"attributes", FromClient, []byte{11, 0, 0, 0, 1, 1}, 2, 3},
		{"actions", FromServer, []byte{12, 0, 0}, 2, 4},
		{"chunks", FromServer, []byte{21, 0, 0}, 2, 7},
		{"cells", FromServer, []byte{8, 0, 0, 0, 0, 0, 0, 1}, 2, 3},
		{"a name", FromClient, []byte{3}, 2, 1},
		{"a text", FromClient, []byte{16}, 2, 1},
	} {
		for _, n := range numbers {
			if tt.size == 1 && n > 255 {
				continue
			}
			for _, have := range []int{0, 1, 64} {
				b := bytes.Clone(tt.head)
				if tt.size == 2 {
					b = append(b, byte(n>>8))
				}
				b = append(b, byte(n))
				b = append(b, make([]byte, have)...)
				whole, ok := oracle(tt.from, b)
				allocated := testing.AllocsPerRun(1, func() {
					if got := testCodec.Parse(tt.from, b, &m); got != (ok && whole == len(b)) {
						t.Errorf("%s: %d claimed, %d bytes there: accepted %t", tt.name, n, have, got)
					}
				})
				if allocated != 0 && !kit.Race {
					t.Errorf("%s: %d claimed, %d bytes there: %v allocations", tt.name, n, have, allocated)
				}
				// A stream does not wait for what cannot come.
				s := NewStream(testCodec, tt.from)
				s.limit(4096)
				if _, done := s.Next(b, &m); !done && int(n)*tt.each > 4096 && s.Err() == nil {
					t.Errorf("%s: a stream with a limit of 4,096 waits for %d", tt.name, n)
				}
			}
		}
	}
}

// T7: every float on the wire, of the layout and of the schema: NaN and infinities are
// refused, all else is as it was.
func TestFloats(t *testing.T) {
	promise.Keeps(t, "T7", "realm", 1)
	values := []struct {
		v  float64
		ok bool
	}{{math.NaN(), false}, {math.Inf(1), false}, {math.Inf(-1), false}, {math.Copysign(0, -1), true},
		{math.MaxFloat32, true}, {-math.MaxFloat32, true}, {math.SmallestNonzeroFloat32, true}, {1.5, true}}
	action := func(id uint16, at int, v Value) Message {
		var params []Value
		for i, f := range testSchema.Actions[id] {
			if i == at {
				params = append(params, v)
			} else {
				params = append(params, Value{typ: f.Type})
			}
		}
		return Message{Kind: KindActionDo, Action: Action{id, Fields{testSchema.Actions[id], func() (raw []byte) {
			for _, p := range params {
				raw = p.appendTo(raw)
			}
			return raw
		}()}}}
	}
	attribute := func(id uint16, v Value) Message {
		raw := v.appendTo([]byte{byte(id >> 8), byte(id)})
		return Message{Kind: KindEntityUpdate, Entity: Entity{Has: HasObject, Attributes: Attributes{testCodec, 1, raw}}}
	}
	for _, tt := range values {
		for name, m := range map[string]Message{
			"speed angle": {Kind: KindEntityUpdate, Entity: Entity{Has: HasSpeedAngle, SpeedAngle: float32(tt.v)}},
			"speed norm":  {Kind: KindEntityUpdate, Entity: Entity{Has: HasSpeedNorm, SpeedNorm: float32(tt.v)}},
			"f32 action":  action(0, 0, F32(float32(tt.v))),
			"f64 action":  action(8, 2, F64(tt.v)),
			"f32":         attribute(107, F32(float32(tt.v))),
			"f64":         attribute(108, F64(tt.v)),
		} {
			var got Message
			if ok := testCodec.Parse(FromClient, testCodec.AppendTo(nil, &m), &got); ok != tt.ok || ok && !same(&got, &m) {
				t.Errorf("%s %v: accepted %t, want %t", name, tt.v, ok, tt.ok)
			}
		}
		if _, err := testCodec.Attributes(Attribute{107, F32(float32(tt.v))}); (err == nil) != tt.ok {
			t.Errorf("attribute %v: %v", tt.v, err)
		}
		if _, err := testCodec.Entities(Entity{SpeedNorm: float32(tt.v)}); (err == nil) != tt.ok {
			t.Errorf("entity %v: %v", tt.v, err)
		}
	}
}

// Every error is a *wire.Error, and says what is wrong where.
func TestErrorsNameFieldAndOffset(t *testing.T) {
	for _, tt := range []struct {
		name string
		from Side
		b    []byte
		want string
	}{
		{"nothing", FromClient, nil, "type: 1 byte wanted at offset 0, 0 left"},
		{"an unknown type", FromClient, []byte{22}, "type: no such type at offset 0"},
		{"the last type", FromClient, []byte{255}, "type: no such type at offset 0"},
		{"a login from a server", FromServer, []byte{3}, "type: only a client sends this message at offset 0"},
		{"a config from a client", FromClient, []byte{19}, "type: only a server sends this message at offset 0"},
		{"a ping from nobody", 0, []byte{0}, "type: the sender is unset at offset 0"},
		{"exit code 8", FromClient, []byte{2, 8}, "exit code: no such code at offset 1"},
		{"half a tick", FromServer, []byte{15, 0}, "tick: 2 bytes wanted at offset 1, 1 left"},
		{"a text past the end", FromClient, []byte{16, 0, 5, 'a'}, "text: 5 bytes wanted at offset 3, 1 left"},
		{"a text that is not UTF-8", FromClient, []byte{16, 0, 2, 0xc3, 0x28}, "text: not UTF-8 at offset 3"},
		{"bit 3", FromClient, []byte{11, 0, 5, 0, 1, 0x10}, "bitfield: bit 3 has no meaning at offset 5"},
		{"bit 4", FromClient, []byte{11, 0, 5, 0, 1, 0x08}, "bitfield: bit 4 has no meaning at offset 5"},
		{"an unknown attribute", FromClient, []byte{11, 0, 5, 0, 1, 1, 0, 1, 0x7f, 0xff, 0, 0}, "attributes[0].attribute: the schema has no such attribute at offset 8"},
		{"an unknown action", FromClient, []byte{13, 0, 5, 0, 1, 0}, "action: the schema has no such action at offset 3"},
		{"a second entity cut short", FromServer, []byte{10, 0, 6, 0, 2, 0, 1, 0, 0, 2, 0x20, 0}, "entities[1].speed norm: 4 bytes wanted at offset 11, 1 left"},
		{"its attribute", FromServer, []byte{10, 0, 6, 0, 1, 0, 1, 1, 0, 2, 0, 0, 0, 0, 0, 1}, "entities[0].attributes[1].value: 2 bytes wanted at offset 16, 0 left"},
		{"a parameter", FromServer, []byte{12, 0, 6, 0, 1, 0, 1, 0, 0, 0x7f, 0x80, 0, 0}, "actions[0].parameters[0].value: not a finite number at offset 9"},
		{"a cell", FromServer, []byte{21, 0, 6, 0, 1, 0, 0, 0, 0, 0, 0, 1, 7}, "chunks[0].cells: 3 bytes wanted at offset 12, 1 left"},
		{"more", FromClient, []byte{0, 0}, "1 byte left over at offset 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m Message
			err := testCodec.ParseErr(tt.from, tt.b, &m)
			if e := (*wire.Error)(nil); err == nil || err.Error() != tt.want || !errors.As(err, &e) || m.Kind != 0 {
				t.Errorf("%x: got %v, want %s", tt.b, err, tt.want)
			}
		})
	}
}

func TestMistakesOfTheProgram(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"an unknown attribute", second(testCodec.Attributes(Attribute{9, U16(1)})), ErrUnknown},
		{"an attribute of another type", second(testCodec.Attributes(Attribute{1, U8(1)})), ErrType},
		{"an unknown action", second(testCodec.Action(9)), ErrUnknown},
		{"too few parameters", second(testCodec.Action(0, F32(1))), ErrType},
		{"a text that is not UTF-8", second(testCodec.Attributes(Attribute{109, Str([]byte{0xff})})), ErrValue},
		{"a text that is too long", second(testCodec.Attributes(Attribute{109, Str(make([]byte, 1<<16))})), ErrValue},
		{"too many entities", second(testCodec.Entities(make([]Entity, 1<<16)...)), ErrTooMany},
		{"too many actions", second(testCodec.Actions(make([]Done, 1<<16)...)), ErrTooMany},
		{"too many cells", second(MakeCells(make([]Cell, 1<<16)...)), ErrTooMany},
		{"too many chunks", second(MakeChunks(make([]Chunk, 1<<16)...)), ErrTooMany},
		{"too many wanted", second(MakeWanted(make([]ChunkID, 256)...)), ErrTooMany},
		{"bits that have no meaning", second(testCodec.Entities(Entity{Has: 0x10})), ErrValue},
		{"an action that was not made here", second(testCodec.Actions(Done{Action: Action{ID: 9}})), ErrUnknown},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
		}
	}
	for name, run := range map[string]func(){
		"a message without a kind": func() { testCodec.AppendTo(nil, &Message{}) },
		"a kind that is none":      func() { testCodec.AppendTo(nil, &Message{Kind: 23}) },
		"a type that is none":      func() { NewCodec(Schema{Config: []Field{{"x", 0}}}) },
	} {
		func() {
			defer func() {
				if got := recover(); got == nil || !strings.HasPrefix(got.(string), "realm: ") {
					t.Errorf("%s: recovered %v", name, got)
				}
			}()
			run()
		}()
	}
}

func second[T any](_ T, err error) error { return err }

// The most common value is the default, so that the count always fits: also when all values
// are as common.
func TestAppendChunk(t *testing.T) {
	var even, sparse, back Terrain
	for i := range even {
		even[i] = byte(i % 256)
	}
	sparse[0xff00] = 9 // (0;255)
	for name, terrain := range map[string]*Terrain{"even": &even, "sparse": &sparse} {
		b := append([]byte{8, 0, 3}, AppendChunk(nil, -2, 3, terrain)...)
		var m Message
		if err := testCodec.ParseErr(FromServer, b, &m); err != nil || m.Chunk.BX != -2 || m.Chunk.BY != 3 {
			t.Fatalf("%s: %v, %+v", name, err, m.Chunk)
		}
		if m.Chunk.FillIn(&back); back != *terrain {
			t.Errorf("%s: another terrain came back", name)
		}
		if len(b)-3 > MaxChunk {
			t.Errorf("%s: %d bytes", name, len(b)-3)
		}
	}
	if got := AppendChunk(nil, 0, 0, &even); len(got) != MaxChunk {
		t.Errorf("the largest chunk has %d bytes, and MaxChunk is %d", len(got), MaxChunk)
	}
	if got, want := AppendChunk(nil, -2, 3, &sparse), []byte{0xff, 0xfe, 0, 3, 0, 0, 1, 0, 255, 9}; !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// What the game adds to config is read back, and is zero if it is not set.
func TestConfigExtension(t *testing.T) {
	c := NewCodec(Schema{Config: []Field{{"name", TypeStr}, {"gravity", TypeF32}}})
	ext, err := c.Extension(Str([]byte("arena")), F32(9.5))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Message{{Kind: KindConfig, Extension: ext}, {Kind: KindConfig}} {
		var got Message
		if err := c.ParseErr(FromServer, c.AppendTo(nil, &m), &got); err != nil || got.Extension.Len() != 2 {
			t.Fatal(err, got.Extension.Len())
		}
		if got.Extension.Get(1).Float() != 0 && string(got.Extension.Get(0).Text()) != "arena" {
			t.Errorf("%+v", got.Extension)
		}
	}
}

// T3, T41: nothing on the way of a message allocates.
func TestReadingAndWritingAllocateNothing(t *testing.T) {
	promise.Keeps(t, "T3 T41", "realm", 1)
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	r := kit.Rand(t)
	buf := make([]byte, 0, 4096)
	var got Message
	for kind := KindPing; kind <= KindChunksUpdate; kind++ {
		m := randomMessage(r, kind)
		b := testCodec.AppendTo(nil, &m)
		from := sides(kind)[0]
		sum := 0
		if n := testing.AllocsPerRun(100, func() {
			testCodec.Parse(from, b, &got)
			buf = testCodec.AppendTo(buf[:0], &got)
			testCodec.Parse(from, b[:len(b)-1], &got)
			for e := range got.Entities.All() {
				for id, v := range e.Attributes.All() {
					sum += int(id) + int(v.Uint())
				}
			}
			for d := range got.Actions.All() {
				for _, v := range d.Action.Params.All() {
					sum += int(v.Uint())
				}
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations", kind, n)
		}
	}
}
