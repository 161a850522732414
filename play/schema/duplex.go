package schema

import (
	"encoding/binary"
	"slices"

	"parley/play/message"
	"parley/protocol/duplex/core"
	"parley/world"
)

// Duplex returns the schema of a game's messages over duplex.
func Duplex(s *world.Schema) *core.Schema {
	kinds := map[uint8]core.Size{}
	for _, k := range s.Kinds {
		kinds[uint8(k.Number)] = sizeOf(k.Fields)
	}
	return &core.Schema{
		FromServer: core.Elements{
			Sizes: map[int16]core.Size{
				message.DuplexSaid: core.Sequence(core.Counted(1), core.Counted(2)),
				message.DuplexDone: paramBytes(s, 2, 6),

				message.DuplexSession: core.Fixed(message.TokenBytes + 2),
				message.DuplexMoved:   core.Counted(2),
				message.DuplexWorld:   core.Sequence(core.Fixed(8+2+4), core.Counted(1), core.Fixed(8)),
				message.DuplexMember:  core.Sequence(core.Fixed(1+2), core.Counted(1)),
				message.DuplexVia:     core.Sequence(core.Fixed(1+2), core.Counted(1), core.Fixed(message.ViaBytes)),
			},
			// The SID is that of DuplexWorld, so this never goes over main.
			Updates: map[int16]core.Size{message.DuplexTick: core.Sequence(core.Fixed(message.FateBytes), core.Kinds(kinds))},
			Others:  core.Kinds(kinds), Kinds: true,
			Moments: []int16{message.DuplexSaid, message.DuplexDone, message.DuplexSession, message.DuplexMoved, message.DuplexWorld, message.DuplexMember, message.DuplexVia},
		},
		FromClient: core.Elements{
			Sizes:  map[int16]core.Size{message.DuplexSteer: core.Fixed(message.StampBytes + steerBytes)},
			Others: core.Fixed(steerBytes),
		},
		Signals: []uint8{message.DuplexGoodbye},
		Queries: map[uint8]core.Query{
			message.DuplexAct:     {Data: paramBytes(s, 0, 2)},
			message.DuplexSay:     {Data: core.Counted(2)},
			message.DuplexTerrain: {Data: core.Fixed(4), Reply: core.Growing(chunkBytes)},
			message.DuplexConfirm: {},
			message.DuplexRoster:  {},
			message.DuplexVias:    {},
			message.DuplexStamped: {Data: paramBytes(s, 0, 2+message.StampBytes)},
			message.DuplexPass:    {Data: core.Growing(passBytes), Reply: core.Fixed(2), Pass: true},
		},
	}
}

// steerBytes is the size of "angle f32, norm f32".
const steerBytes = 8

// sizeOf is the size of fields one behind the other.
func sizeOf(fields []world.Field) core.Size {
	if slices.ContainsFunc(fields, func(f world.Field) bool { return f.Type == world.Text }) {
		return core.Growing(func(b []byte) int { return end(fields, b, 0) })
	}
	return core.Fixed(end(fields, nil, 0))
}

// end finds where fields that begin at an offset end, as far as b tells.
func end(fields []world.Field, b []byte, at int) int {
	for i := range fields {
		if fields[i].Type == world.Text {
			if len(b) <= at {
				return at + 1
			}
			at += int(b[at])
		}
		at += fields[i].Wire.Bytes()
	}
	return at
}

// paramBytes is the size of the parameters of an action, and of the head before them that has the action's number at an offset.
func paramBytes(s *world.Schema, number, head int) core.Size {
	return core.Growing(func(b []byte) int {
		if len(b) < head {
			return head
		}
		a := s.Action(int(binary.BigEndian.Uint16(b[number:])))
		if a == nil {
			return -1
		}
		return end(a.Fields, b, head)
	})
}

// maxPass bounds a pass, where a stranger could have 64 KiB held otherwise. A ticket has at most 569 bytes.
const maxPass = 1024

// passBytes finds the size of "size u16, pass". A longer one than any pass has is refused before it has come: strangers
// send it.
func passBytes(b []byte) int {
	const head = 2
	if len(b) < head {
		return head
	}
	size := int(binary.BigEndian.Uint16(b))
	if size > maxPass {
		return -1
	}
	return head + size
}

// chunkBytes finds the size of a chunk.
func chunkBytes(b []byte) int {
	if len(b) < message.ChunkHeadBytes {
		return message.ChunkHeadBytes
	}
	return message.ChunkHeadBytes + message.CellBytes*int(binary.BigEndian.Uint16(b[5:]))
}
