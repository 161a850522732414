package realm

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
)

// randomText returns UTF-8 of up to n characters.
func randomText(r *rand.Rand, n int) []byte {
	var b strings.Builder
	for range r.IntN(n + 1) {
		b.WriteRune([]rune("az09 _é漢🚀\x00")[r.IntN(10)])
	}
	return []byte(b.String())
}

func randomFloat(r *rand.Rand) float64 {
	switch r.IntN(6) {
	case 0:
		return math.Copysign(0, -1)
	case 1:
		return math.SmallestNonzeroFloat32
	case 2:
		return -math.MaxFloat32
	}
	return r.NormFloat64()
}

func randomPosition(r *rand.Rand) Position {
	return Position{int16(r.Uint32()), int16(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32())}
}

func randomValue(r *rand.Rand, t Type) Value {
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
		return F32(float32(randomFloat(r)))
	case TypeF64:
		return F64(randomFloat(r))
	case TypeStr:
		return Str(randomText(r, 6))
	case TypeEntity:
		return EntityID(uint16(v))
	}
	return At(randomPosition(r))
}

var testAttributes = func() (ids []uint16) {
	for id := range 1 << 16 {
		if _, ok := testSchema.Attributes[uint16(id)]; ok {
			ids = append(ids, uint16(id))
		}
	}
	return ids
}()

func randomAttributes(r *rand.Rand, n int) Attributes {
	var list []Attribute
	for range r.IntN(n + 1) {
		id := testAttributes[r.IntN(len(testAttributes))]
		list = append(list, Attribute{id, randomValue(r, testSchema.Attributes[id].Type)})
	}
	a, err := testCodec.Attributes(list...)
	if err != nil {
		panic(err)
	}
	return a
}

func randomEntity(r *rand.Rand) Entity {
	e := Entity{ID: uint16(r.Uint32()), Has: Has(r.Uint32()) & hasAll}
	if e.Has&HasPosition != 0 {
		e.Position = randomPosition(r)
	}
	if e.Has&HasSpeedAngle != 0 {
		e.SpeedAngle = float32(randomFloat(r))
	}
	if e.Has&HasSpeedNorm != 0 {
		e.SpeedNorm = float32(randomFloat(r))
	}
	if e.Has&HasType != 0 {
		e.Type = uint16(r.Uint32())
	}
	if e.Has&HasSprite != 0 {
		e.Sprite = uint16(r.Uint32())
	}
	if e.Has&HasObject != 0 {
		e.Attributes = randomAttributes(r, 4)
	}
	return e
}

func randomAction(r *rand.Rand) Action {
	id := []uint16{0, 7, 8}[r.IntN(3)]
	var params []Value
	for _, f := range testSchema.Actions[id] {
		params = append(params, randomValue(r, f.Type))
	}
	a, err := testCodec.Action(id, params...)
	if err != nil {
		panic(err)
	}
	return a
}

func randomChunk(r *rand.Rand) Chunk {
	var list []Cell
	for range r.IntN(5) {
		list = append(list, Cell{uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32())})
	}
	cells, _ := MakeCells(list...)
	return Chunk{int16(r.Uint32()), int16(r.Uint32()), uint8(r.Uint32()), cells}
}

// randomMessage returns a message of a kind, with lists of a few elements.
func randomMessage(r *rand.Rand, kind Kind) (m Message) {
	m.Kind = kind
	if kind.HasTick() {
		m.Tick = uint16(r.Uint32())
	}
	few := r.IntN(4)
	switch kind {
	case KindExit:
		m.Code = uint8(r.IntN(exitCodes))
	case KindLogin, KindRegister:
		m.Name, m.Password = randomText(r, 8), randomText(r, 8)
	case KindLoginResponse:
		if m.Code = uint8(r.IntN(loginCodes)); m.Code == 0 {
			m.Tick, m.Timestamp = uint16(r.Uint32()), r.Uint64()
		}
	case KindRegisterResponse:
		m.Code = uint8(r.IntN(registerCodes))
	case KindMetaAction:
		m.ID = uint16(r.Uint32())
		if m.Code = uint8(r.IntN(metaCodes)); m.Code == 0 {
			m.Name = randomText(r, 8)
		}
	case KindChunkUpdate:
		m.Chunk = randomChunk(r)
	case KindTerrainRequest:
		list := make([]ChunkID, few)
		for i := range list {
			list[i] = ChunkID{int16(r.Uint32()), int16(r.Uint32())}
		}
		m.Wanted, _ = MakeWanted(list...)
	case KindEntitiesUpdate:
		list := make([]Entity, few)
		for i := range list {
			list[i] = randomEntity(r)
		}
		m.Entities, _ = testCodec.Entities(list...)
	case KindEntityUpdate, KindEntityCreate:
		m.Entity = randomEntity(r)
	case KindActionsDone:
		list := make([]Done, few)
		for i := range list {
			list[i] = Done{uint16(r.Uint32()), randomAction(r)}
		}
		m.Actions, _ = testCodec.Actions(list...)
	case KindActionDo:
		m.Action = randomAction(r)
	case KindEntityDestroy:
		m.ID = uint16(r.Uint32())
	case KindChatSend:
		m.Text = randomText(r, 20)
	case KindChatReceive:
		m.ID, m.Text = uint16(r.Uint32()), randomText(r, 20)
	case KindVersion:
		m.Version = uint16(r.Uint32())
	case KindConfig:
		m.MaxRollbackTicks, m.TimeServerPort = uint16(r.Uint32()), uint16(r.Uint32())
	case KindEntityIDChange:
		m.Old, m.New = uint16(r.Uint32()), uint16(r.Uint32())
	case KindChunksUpdate:
		list := make([]Chunk, few)
		for i := range list {
			list[i] = randomChunk(r)
		}
		m.Chunks, _ = MakeChunks(list...)
	}
	return m
}

// sides returns who sends a kind.
func sides(kind Kind) []Side {
	switch kind.Senders() {
	case fromBoth:
		return []Side{FromClient, FromServer}
	default:
		return []Side{kind.Senders()}
	}
}

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
