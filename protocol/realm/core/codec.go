package core

import (
	"encoding/binary"

	"parley/internal/wire"
)

// Parse reads b into m as exactly one message that the side from sent, and reports whether it
// is valid. If not, m.Kind is unset and the other fields are meaningless. All fields of m but
// numbers share the memory of b: copy what must outlive it.
func (c *Codec) Parse(from Side, b []byte, m *Message) bool {
	r := wire.Big(b)
	return c.parse(from, b, m, &r)
}

// ParseErr is Parse with an error: nil, or one that names the wrong field and its offset. It is for
// tools and logs, as the error is allocated.
func (c *Codec) ParseErr(from Side, b []byte, m *Message) error {
	r := wire.Big(b)
	c.parse(from, b, m, &r)
	return r.Err()
}

func (c *Codec) parse(from Side, b []byte, m *Message, r *wire.BigReader) bool {
	w := walk{limit: MaxMessage}
	c.walk(&w, from, r)
	if !r.Done() {
		*m = Message{}
		return false
	}
	c.fill(m, b)
	return true
}

// fill reads a message that was judged before: b is all of it. Lists are not walked
// again.
func (c *Codec) fill(m *Message, b []byte) {
	*m = Message{}
	r := wire.Big(b)
	m.Kind = Kind(r.U8("type")) + 1
	if kinds[m.Kind].tick {
		m.Tick = r.U16("tick")
	}
	switch m.Kind {
	case KindExit, KindRegisterResponse:
		m.Code = r.U8("code")
	case KindLogin, KindRegister:
		m.Name, m.Password = trust(&r), trust(&r)
	case KindLoginResponse:
		if m.Code = r.U8("code"); LoginCode(m.Code) == LoginOK {
			m.Tick, m.Timestamp = r.U16("tick"), r.U64("timestamp")
		}
	case KindMetaAction:
		m.ID, m.Code = r.U16("entity"), r.U8("code")
		if MetaCode(m.Code) == MetaPlayerJoined {
			m.Name = trust(&r)
		}
	case KindChunkUpdate:
		m.Chunk = readChunk(&r, len(b))
	case KindTerrainRequest:
		r.U8("count")
		m.Wanted.raw = r.Rest("chunks", len(b))
	case KindEntitiesUpdate:
		m.Entities = Entities{c, int(r.U16("count")), r.Rest("entities", len(b))}
	case KindEntityUpdate, KindEntityCreate:
		if pairs := m.Entity.readBlock(&r); m.Entity.Has&HasObject != 0 {
			m.Entity.Attributes = Attributes{c.forBlock(&m.Entity), pairs, r.Rest("attributes", len(b))}
		}
	case KindActionsDone:
		m.Actions = Actions{c, int(r.U16("count")), r.Rest("actions", len(b))}
	case KindActionDo:
		m.Action.ID = r.U16("action")
		m.Action.Params = Fields{c.actions[m.Action.ID], r.Rest("parameters", len(b))}
	case KindEntityDestroy:
		m.ID = r.U16("entity")
	case KindChatSend:
		m.Text = trust(&r)
	case KindChatReceive:
		m.ID, m.Text = r.U16("entity"), trust(&r)
	case KindVersion:
		m.Version = r.U16("version")
	case KindConfig:
		m.MaxRollbackTicks, m.TimeServerPort = r.U16("maxRollbackTicks"), r.U16("timeServerPort")
		m.Extension = Fields{c.config, r.Rest("extension", len(b))}
	case KindEntityIDChange:
		m.Old, m.New = r.U16("old"), r.U16("new")
	case KindChunksUpdate:
		m.Chunks = Chunks{int(r.U16("count")), r.Rest("chunks", len(b))}
	}
}

// Own returns a copy of a valid message that shares no memory with it, and the number of the copy's bytes.
func (c *Codec) Own(m *Message) (own *Message, size int) {
	b := c.AppendTo(nil, m)
	own = new(Message)
	c.fill(own, b)
	return own, len(b)
}

// trust reads a text that was judged before.
func trust(r *wire.BigReader) []byte { return r.Bytes("text", int(r.U16("size")), MaxText) }

// AppendTo appends the message. Fields that its kind does not have are left out. It does not
// check the others: with a code or text over its limit, or an action that is not in the
// schema, it writes bytes that Parse refuses. It panics if m.Kind is unset.
func (c *Codec) AppendTo(b []byte, m *Message) []byte {
	if m.Kind == 0 || int(m.Kind) >= len(kinds) {
		panic("realm: AppendTo of a message without a kind")
	}
	b = append(b, byte(m.Kind-1))
	if kinds[m.Kind].tick {
		b = binary.BigEndian.AppendUint16(b, m.Tick)
	}
	switch m.Kind {
	case KindExit, KindRegisterResponse:
		b = append(b, m.Code)
	case KindLogin, KindRegister:
		b = appendText(appendText(b, m.Name), m.Password)
	case KindLoginResponse:
		if b = append(b, m.Code); LoginCode(m.Code) == LoginOK {
			b = binary.BigEndian.AppendUint16(b, m.Tick)
			b = binary.BigEndian.AppendUint64(b, m.Timestamp)
		}
	case KindMetaAction:
		b = append(binary.BigEndian.AppendUint16(b, m.ID), m.Code)
		if MetaCode(m.Code) == MetaPlayerJoined {
			b = appendText(b, m.Name)
		}
	case KindChunkUpdate:
		b = m.Chunk.appendTo(b)
	case KindTerrainRequest:
		b = append(append(b, byte(m.Wanted.Len())), m.Wanted.raw...)
	case KindEntitiesUpdate:
		b = append(binary.BigEndian.AppendUint16(b, uint16(m.Entities.count)), m.Entities.raw...)
	case KindEntityUpdate, KindEntityCreate:
		b = m.Entity.appendTo(b)
	case KindActionsDone:
		b = append(binary.BigEndian.AppendUint16(b, uint16(m.Actions.count)), m.Actions.raw...)
	case KindActionDo:
		b = c.appendAction(b, &m.Action)
	case KindEntityDestroy:
		b = binary.BigEndian.AppendUint16(b, m.ID)
	case KindChatSend:
		b = appendText(b, m.Text)
	case KindChatReceive:
		b = appendText(binary.BigEndian.AppendUint16(b, m.ID), m.Text)
	case KindVersion:
		b = binary.BigEndian.AppendUint16(b, m.Version)
	case KindConfig:
		b = binary.BigEndian.AppendUint16(b, m.MaxRollbackTicks)
		b = binary.BigEndian.AppendUint16(b, m.TimeServerPort)
		b = m.Extension.appendTo(b, c.config)
	case KindEntityIDChange:
		b = binary.BigEndian.AppendUint16(b, m.Old)
		b = binary.BigEndian.AppendUint16(b, m.New)
	case KindChunksUpdate:
		b = append(binary.BigEndian.AppendUint16(b, uint16(m.Chunks.count)), m.Chunks.raw...)
	}
	return b
}
