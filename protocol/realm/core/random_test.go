package core

import (
	"bytes"
	"math"
	"math/rand/v2"
)

// A maker makes random messages. What it returns is valid until the next call of message, as
// its memory is used again: to make one is otherwise most of what a test costs.
type maker struct {
	*rand.Rand
	raw      []byte
	pairs    []Attribute
	values   []Value
	entities []Entity
	done     []Done
	chunks   []Chunk
}

// letters are of one to four bytes.
var letters = [16]string{"a", "z", "0", "9", " ", "_", "é", "漢", "🚀", "\x00", "A", "ß", "~", "\x7f", "߿", "\uffff"}

// text returns UTF-8 of up to n characters, at most 15.
func (r *maker) text(n int) []byte {
	v := r.Uint64()
	from := len(r.raw)
	for range v >> 60 % uint64(n+1) {
		r.raw = append(r.raw, letters[v&15]...)
		v >>= 4
	}
	return r.raw[from:len(r.raw):len(r.raw)]
}

func (r *maker) float() float64 {
	v := r.Uint64()
	switch v % 6 {
	case 0:
		return math.Copysign(0, -1)
	case 1:
		return math.SmallestNonzeroFloat32
	case 2:
		return -math.MaxFloat32
	}
	return float64(int64(v)) / (1 << 40)
}

func (r *maker) position() Position {
	v := r.Uint64()
	return Position{int16(v), int16(v >> 16), uint8(v >> 32), uint8(v >> 40)}
}

func (r *maker) value(t Type) Value {
	v := r.Uint64()
	switch t {
	case TypeU8:
		return U8(uint8(v))
	case TypeU16:
		return U16(uint16(v))
	case TypeU32:
		return U32(uint32(v))
	case TypeU64:
		return U64(v)
	case TypeI8:
		return I8(int8(v))
	case TypeI16:
		return I16(int16(v))
	case TypeI32:
		return I32(int32(v))
	case TypeI64:
		return I64(int64(v))
	case TypeF32:
		return F32(float32(r.float()))
	case TypeF64:
		return F64(r.float())
	case TypeStr:
		return Str(r.text(6))
	case TypeEntity:
		return EntityID(uint16(v))
	}
	return At(r.position())
}

var testAttributes = func() (ids []uint16) {
	for id := range 1 << 16 {
		if _, ok := testSchema.Attributes[uint16(id)]; ok {
			ids = append(ids, uint16(id))
		}
	}
	return ids
}()

func (r *maker) attributes(n int) Attributes {
	r.pairs = r.pairs[:0]
	for range r.IntN(n + 1) {
		id := testAttributes[r.IntN(len(testAttributes))]
		r.pairs = append(r.pairs, Attribute{id, r.value(testCodec.attributes[id].Type)})
	}
	raw, a, err := testCodec.AppendAttributes(r.raw, r.pairs...)
	if r.raw = raw; err != nil {
		panic(err)
	}
	return a
}

func (r *maker) entity() Entity {
	v := r.Uint64()
	e := Entity{ID: uint16(v), Has: Has(v>>16) & hasAll}
	if e.Has&HasPosition != 0 {
		e.Position = r.position()
	}
	if e.Has&HasSpeedAngle != 0 {
		e.SpeedAngle = float32(r.float())
	}
	if e.Has&HasSpeedNorm != 0 {
		e.SpeedNorm = float32(r.float())
	}
	if e.Has&HasType != 0 {
		e.Type = uint16(v >> 32)
	}
	if e.Has&HasSprite != 0 {
		e.Sprite = uint16(v >> 48)
	}
	if e.Has&HasObject != 0 {
		e.Attributes = r.attributes(4)
	}
	return e
}

func (r *maker) action() Action {
	id := [3]uint16{0, 7, 8}[r.IntN(3)]
	r.values = r.values[:0]
	for _, f := range testCodec.actions[id] {
		r.values = append(r.values, r.value(f.Type))
	}
	raw, a, err := testCodec.AppendAction(r.raw, id, r.values...)
	if r.raw = raw; err != nil {
		panic(err)
	}
	return a
}

func (r *maker) chunk() Chunk {
	v := r.Uint64()
	from := len(r.raw)
	for range r.IntN(5) {
		r.raw = append(r.raw, byte(v>>40), byte(v>>48), byte(v>>56))
		v = v<<7 | v>>57
	}
	return Chunk{int16(v), int16(v >> 16), uint8(v >> 32), Cells{r.raw[from:len(r.raw):len(r.raw)]}}
}

// message returns a message of a kind, with lists of a few elements.
func (r *maker) message(kind Kind) (m Message) {
	r.raw = r.raw[:0]
	m.Kind = kind
	v := r.Uint64()
	few := int(v >> 62)
	if kind.HasTick() {
		m.Tick = uint16(v)
	}
	switch kind {
	case KindExit:
		m.Code = uint8(r.IntN(exitCodes))
	case KindLogin, KindRegister:
		m.Name, m.Password = r.text(8), r.text(8)
	case KindLoginResponse:
		if m.Code = uint8(r.IntN(loginCodes)); m.Code == 0 {
			m.Tick, m.Timestamp = uint16(v), r.Uint64()
		}
	case KindRegisterResponse:
		m.Code = uint8(r.IntN(registerCodes))
	case KindMetaAction:
		m.ID = uint16(v >> 16)
		if m.Code = uint8(r.IntN(metaCodes)); m.Code == 0 {
			m.Name = r.text(8)
		}
	case KindChunkUpdate:
		m.Chunk = r.chunk()
	case KindTerrainRequest:
		for range few {
			r.raw = append(r.raw, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
			v = v<<9 | v>>55
		}
		m.Wanted.raw = r.raw
	case KindEntityUpdate, KindEntityCreate:
		m.Entity = r.entity()
	case KindEntitiesUpdate:
		r.entities = r.entities[:0]
		for range few {
			r.entities = append(r.entities, r.entity())
		}
		r.raw, m.Entities, _ = testCodec.AppendEntities(r.raw, r.entities...)
	case KindActionsDone:
		r.done = r.done[:0]
		for range few {
			r.done = append(r.done, Done{uint16(r.Uint64()), r.action()})
		}
		r.raw, m.Actions, _ = testCodec.AppendActions(r.raw, r.done...)
	case KindActionDo:
		m.Action = r.action()
	case KindEntityDestroy:
		m.ID = uint16(v >> 16)
	case KindChatSend:
		m.Text = r.text(15)
	case KindChatReceive:
		m.ID, m.Text = uint16(v>>16), r.text(15)
	case KindVersion:
		m.Version = uint16(v >> 16)
	case KindConfig:
		m.MaxRollbackTicks, m.TimeServerPort = uint16(v>>16), uint16(v>>32)
	case KindEntityIDChange:
		m.Old, m.New = uint16(v>>16), uint16(v>>32)
	case KindChunksUpdate:
		r.chunks = r.chunks[:0]
		for range few {
			r.chunks = append(r.chunks, r.chunk())
		}
		from := len(r.raw)
		for i := range r.chunks {
			r.raw = r.chunks[i].appendTo(r.raw)
		}
		m.Chunks = Chunks{few, r.raw[from:]}
	}
	return m
}

// The same once, in memory of their own.

func randomEntity(r *rand.Rand) Entity              { return (&maker{Rand: r}).entity() }
func randomAction(r *rand.Rand) Action              { return (&maker{Rand: r}).action() }
func randomMessage(r *rand.Rand, kind Kind) Message { return (&maker{Rand: r}).message(kind) }

// sides returns who sends a kind.
func sides(kind Kind) []Side { return senders[kind.Senders()] }

var senders = [...][]Side{FromClient: {FromClient}, FromServer: {FromServer}, fromBoth: {FromClient, FromServer}}

// same compares messages by what they say. -0 is not 0.
func same(a, b *Message) bool {
	return a.Kind == b.Kind && a.Tick == b.Tick && a.Code == b.Code && a.ID == b.ID && a.Old == b.Old && a.New == b.New &&
		a.Version == b.Version && a.Timestamp == b.Timestamp && a.MaxRollbackTicks == b.MaxRollbackTicks && a.TimeServerPort == b.TimeServerPort &&
		bytes.Equal(a.Extension.raw, b.Extension.raw) && bytes.Equal(a.Name, b.Name) && bytes.Equal(a.Password, b.Password) && bytes.Equal(a.Text, b.Text) &&
		sameEntity(&a.Entity, &b.Entity) && sameEntities(a.Entities, b.Entities) && sameChunk(a.Chunk, b.Chunk) && a.Chunks.count == b.Chunks.count &&
		bytes.Equal(a.Chunks.raw, b.Chunks.raw) && bytes.Equal(a.Wanted.raw, b.Wanted.raw) && a.Action.ID == b.Action.ID &&
		bytes.Equal(a.Action.Params.raw, b.Action.Params.raw) && a.Actions.count == b.Actions.count && bytes.Equal(a.Actions.raw, b.Actions.raw)
}

func sameEntity(a, b *Entity) bool {
	return a.ID == b.ID && a.Has == b.Has && a.Position == b.Position && math.Float32bits(a.SpeedAngle) == math.Float32bits(b.SpeedAngle) &&
		math.Float32bits(a.SpeedNorm) == math.Float32bits(b.SpeedNorm) && a.Type == b.Type && a.Sprite == b.Sprite &&
		a.Attributes.count == b.Attributes.count && bytes.Equal(a.Attributes.raw, b.Attributes.raw)
}

func sameEntities(a, b Entities) bool { return a.count == b.count && bytes.Equal(a.raw, b.raw) }

func sameChunk(a, b Chunk) bool {
	return a.BX == b.BX && a.BY == b.BY && a.Default == b.Default && bytes.Equal(a.Cells.raw, b.Cells.raw)
}
