package schema

import (
	"encoding/binary"

	"parley/play/message"
	"parley/protocol/duplex"
	"parley/world"
)

// Duplex returns the schema of a game's messages over duplex.
func Duplex(s *world.Schema) *duplex.Schema {
	kinds := map[uint8]duplex.Size{}
	for _, k := range s.Kinds {
		kinds[uint8(k.Number)] = sizeOf(k.Fields)
	}
	return &duplex.Schema{
		FromServer: duplex.Elements{
			Sizes: map[int16]duplex.Size{
				message.DuplexSaid: duplex.Sequence(duplex.Counted(1), duplex.Counted(2)),
				message.DuplexDone: duplex.Growing(func(b []byte) int { return doneBytes(s, b) }),
			},
			Others: duplex.Kinds(kinds), Kinds: true,
			Moments: []int16{message.DuplexSaid, message.DuplexDone},
		},
		FromClient: duplex.Elements{Others: duplex.Fixed(8)},
		Queries: map[uint8]duplex.Query{
			message.DuplexAct:     {Data: duplex.Growing(func(b []byte) int { return actBytes(s, b) })},
			message.DuplexSay:     {Data: duplex.Counted(2)},
			message.DuplexTerrain: {Data: duplex.Fixed(4), Reply: duplex.Growing(chunkBytes)},
			message.DuplexPass:    {Data: duplex.Growing(passBytes), Reply: duplex.Fixed(2), Pass: true},
		},
	}
}

// sizeOf is the size of fields one behind the other.
func sizeOf(fields []world.Field) duplex.Size {
	var parts []duplex.Size
	fixed := 0
	for _, f := range fields {
		if f.Type != world.Text {
			fixed += f.Type.Bytes()
			continue
		}
		if fixed > 0 {
			parts = append(parts, duplex.Fixed(fixed))
			fixed = 0
		}
		parts = append(parts, duplex.Counted(1))
	}
	if fixed > 0 {
		parts = append(parts, duplex.Fixed(fixed))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return duplex.Sequence(parts...)
}

// doneBytes finds the size of "entity i16, action u16, tick u16, parameters".
func doneBytes(s *world.Schema, b []byte) int {
	const head = 6
	if len(b) < head {
		return head
	}
	return paramBytes(s.Action(int(binary.BigEndian.Uint16(b[2:]))), b, head)
}

// actBytes finds the size of "action u16, parameters".
func actBytes(s *world.Schema, b []byte) int {
	const head = 2
	if len(b) < head {
		return head
	}
	return paramBytes(s.Action(int(binary.BigEndian.Uint16(b))), b, head)
}

// paramBytes finds where parameters that begin at an offset end, as far as b tells.
func paramBytes(a *world.Action, b []byte, at int) int {
	if a == nil {
		return -1
	}
	for _, f := range a.Fields {
		if f.Type == world.Text {
			if len(b) <= at {
				return at + 1
			}
			at += int(b[at])
		}
		at += f.Type.Bytes()
	}
	return at
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
