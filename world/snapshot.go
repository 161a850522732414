package world

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
)

// A snapshot in a file is the head, and blocks in this order:
//
//	chunk   flags u8 (1: it is of the oldest state, 2: of the newest), bx u16, by u16, coding u8: 0 and 65,536 cells, or 1 and runs,
//	        each its cells less one v and their value u8; in order of by, bx and flags
//	world   before the oldest tick that can be rewound to, and again before the tick that comes next: that tick v, random u64, sum of the terrain u64,
//	        players v, each: number v, name t, entity u64, since v;
//	        for each kind: rows v, each: rows left free before it v, id u64, owner v, and its fields;
//	        and in a world that the game has ended: 1 more than the tick at which it did v, the result t
//	past    for each tick before the oldest whose state World.At may be asked for: the bodies (snapshot_past.go)
//	tick    for each that has inputs, or in which something was said, from the oldest to 2 ahead: tick v, and each input and each
//	        line as an item without flags (log_item.go)
//	kept    tick v, epoch v, due i, flags u8 (1: the room has ended, 2: there are past blocks: how many v, 4: the newest fact that is final: tick v, index v, both 0 if there is none), the last player's number v, entities of Setup v, hash u64, chunks v, ticks v,
//	        players v, each: number v, what is spent of its replay budget v, until when its deep inputs are done now v, flags u8 (1 known,
//	        2 away), since v, serial 16 bytes, token 32 bytes, next token 32 bytes;
//	        tickets v, each: serial 16 bytes, expires i, player v; when they were last looked through i;
//	        nodes v, each: node u64, request v, tick v
//
// A field is a varint, a float or an ID as it is, or a text. Numbers by which clients know entities are not in it.

// AppendSnapshot appends a file with all that running on needs: Load makes a Sim of it that goes on as this one does. Call it right
// after New, Load, Apply or Advance, before something is submitted.
func (s *Sim) AppendSnapshot(b []byte) []byte { return s.appendSnapshot(s.AppendHead(b)) }

func (s *Sim) appendSnapshot(b []byte) []byte {
	if s.log.asked || s.log.sealed {
		panic("world: a snapshot after something was submitted for the next tick")
	}
	var newest snapshot
	s.world.save(&newest)
	oldest := &newest
	if from := s.oldest(); from < s.now {
		oldest = &s.history.at(from).before
	}
	b, chunks := appendChunks(b, oldest.terrain.edited, newest.terrain.edited, s.world.terrain.scratch())
	b = s.appendWorld(b, oldest, s.oldest())
	b = s.appendWorld(b, &newest, s.now)
	s.world.terrain.drop(newest.terrain.edited)
	b, pasts := s.appendPasts(b, oldest)
	b, ticks := s.appendTicks(b)
	return s.appendKept(b, chunks, pasts, ticks)
}

// oldest returns the oldest tick that the world can go back to.
func (s *Sim) oldest() uint64 { return max(s.floor, s.now-min(s.now, s.history.depth)) }

// appendChunks writes the edited chunks of two states, and those that are in both once. It returns how many it wrote. cells
// is room for those of a chunk.
func appendChunks(b []byte, oldest, newest []*chunk, cells *Cells) (_ []byte, n int) {
	key := func(list []*chunk) uint64 {
		if len(list) == 0 {
			return 1 << 32
		}
		return uint64(chunkKey(list[0].bx, list[0].by))
	}
	for ; len(oldest) > 0 || len(newest) > 0; n++ {
		switch a, z := key(oldest), key(newest); {
		case a == z && oldest[0] == newest[0]:
			b = oldest[0].append(b, 3, cells)
			oldest, newest = oldest[1:], newest[1:]
		case a <= z:
			b = oldest[0].append(b, 1, cells)
			oldest = oldest[1:]
		default:
			b = newest[0].append(b, 2, cells)
			newest = newest[1:]
		}
	}
	return b, n
}

// append writes a chunk, as runs or as it is, whichever is less.
func (c *chunk) append(b []byte, flags byte, cells *Cells) []byte {
	c.copyTo(cells)
	b, start := openBlock(b, blockChunk)
	b = append(b, flags, byte(c.bx), byte(uint16(c.bx)>>8), byte(c.by), byte(uint16(c.by)>>8), 1)
	body := len(b)
	for i := 0; i < len(cells) && len(b)-body < len(cells); {
		n := 1
		for i+n < len(cells) && cells[i+n] == cells[i] {
			n++
		}
		b = append(binary.AppendUvarint(b, uint64(n-1)), cells[i])
		i += n
	}
	if len(b)-body >= len(cells) {
		b[body-1] = 0
		b = append(b[:body], cells[:]...)
	}
	return closeBlock(b, start)
}

// appendWorld writes a state.
func (s *Sim) appendWorld(b []byte, w *snapshot, tick uint64) []byte {
	b, start := openBlock(b, blockWorld)
	b = binary.AppendUvarint(b, tick)
	b = binary.LittleEndian.AppendUint64(b, w.random.state)
	b = binary.LittleEndian.AppendUint64(b, w.terrain.sum)
	b = binary.AppendUvarint(b, uint64(len(w.players)))
	for i := range w.players {
		p := &w.players[i]
		b = appendText(binary.AppendUvarint(b, uint64(p.ID)), p.Name)
		b = binary.LittleEndian.AppendUint64(b, uint64(p.Entity))
		b = binary.AppendUvarint(b, p.Since)
	}
	for i, t := range s.world.tables {
		b = w.tables[i].append(b, t)
	}
	if w.ending.at != 0 {
		b = appendText(binary.AppendUvarint(b, w.ending.at), w.ending.result)
	}
	return closeBlock(b, start)
}

func (c *tableCopy) append(b []byte, t *table) []byte {
	b = binary.AppendUvarint(b, uint64(c.count))
	free := 0
	for row := range c.high {
		if c.used[row>>6]>>(row&63)&1 == 0 {
			free++
			continue
		}
		b = binary.AppendUvarint(b, uint64(free))
		free = 0
		b = binary.LittleEndian.AppendUint64(b, uint64(c.ids[row]))
		b = binary.AppendUvarint(b, uint64(c.owners[row]))
		at := c.at(t, row)
		for i := range t.kind.Fields {
			b = appendValue(b, t.kind.Fields[i].value(at))
		}
		for i := range t.kind.hidden {
			b = appendValue(b, t.kind.hidden[i].value(at))
		}
	}
	return b
}

// appendTicks writes the inputs of history, and returns how many ticks have some. Each has a block of its own, as those of all may be
// more than a block holds.
func (s *Sim) appendTicks(b []byte) (_ []byte, n int) {
	for tick := s.oldest(); tick <= s.now+MaxAhead; tick++ {
		m := s.history.at(tick)
		if len(m.inputs)+len(m.words) == 0 {
			continue
		}
		n++
		start := 0
		b, start = openBlock(b, blockTick)
		b = binary.AppendUvarint(b, tick)
		for i := range m.inputs {
			b = appendInput(append(b, byte(m.inputs[i].Kind)), &m.inputs[i])
		}
		b = m.appendWords(b)
		b = closeBlock(b, start)
	}
	return b, n
}

// appendWords writes what was said in a tick.
func (m *moment) appendWords(b []byte) []byte {
	from := 0
	for _, w := range m.words {
		if w.player == 0 {
			b = append(b, byte(ItemSay))
		} else {
			b = binary.AppendUvarint(append(b, byte(ItemChat)), uint64(w.player))
		}
		b = appendText(b, m.texts[from:w.end])
		from = w.end
	}
	return b
}

// appendKept writes what is no state of the world.
func (s *Sim) appendKept(b []byte, chunks, pasts, ticks int) []byte {
	b, start := openBlock(b, blockKept)
	b = binary.AppendUvarint(b, s.now)
	b = binary.AppendUvarint(b, s.log.epoch)
	b = binary.AppendVarint(b, s.log.due)
	b = append(b, bitIf(s.log.ended, 1)|bitIf(pasts > 0, 2)|bitIf(!s.factless, 4))
	if pasts > 0 {
		b = binary.AppendUvarint(b, uint64(pasts))
	}
	if !s.factless {
		b = binary.AppendUvarint(b, s.lastFact.Tick)
		b = binary.AppendUvarint(b, uint64(s.lastFact.Index))
	}
	b = binary.AppendUvarint(b, uint64(s.lastPlayer))
	b = binary.AppendUvarint(b, uint64(s.world.setUp))
	b = binary.LittleEndian.AppendUint64(b, s.world.Hash())
	b = binary.AppendUvarint(b, uint64(chunks))
	b = binary.AppendUvarint(b, uint64(ticks))
	b = binary.AppendUvarint(b, uint64(s.players))
	for _, p := range slices.Sorted(maps.Keys(s.roll.seats)) {
		b = binary.AppendUvarint(b, uint64(p))
		b = binary.AppendUvarint(b, uint64(s.share.accounts[p].spent))
		b = binary.AppendUvarint(b, s.share.accounts[p].deep)
		b = s.roll.seats[p].append(b)
	}
	return closeBlock(s.roll.append(b), start)
}

func (s *seat) append(b []byte) []byte {
	b = append(b, bitIf(s.Known, 1)|bitIf(s.Away, 2))
	b = binary.AppendUvarint(b, s.Since)
	return append(append(append(b, s.Serial[:]...), s.token[:]...), s.next[:]...)
}

func (r *roll) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.tickets)))
	order := func(a, b Serial) int {
		return cmp.Or(cmp.Compare(r.tickets[a].expires, r.tickets[b].expires), slices.Compare(a[:], b[:]))
	}
	for _, serial := range slices.SortedFunc(maps.Keys(r.tickets), order) {
		t := r.tickets[serial]
		b = binary.AppendVarint(append(b, serial[:]...), t.expires)
		b = binary.AppendUvarint(b, uint64(t.player))
	}
	b = binary.AppendVarint(b, r.swept)
	b = binary.AppendUvarint(b, uint64(len(r.nodes)))
	for _, n := range r.nodes {
		b = binary.LittleEndian.AppendUint64(b, n.node)
		b = binary.AppendUvarint(b, n.request)
		b = binary.AppendUvarint(b, n.tick)
	}
	return b
}
