package world

import (
	"fmt"
	"io"
)

// Load makes a Sim of a snapshot. It runs the ticks that can still be rewound to, and must arrive at the hash of the snapshot: else the
// error is ErrDamaged. A snapshot of another schema is refused with ErrOtherGame, one of another format with ErrVersion. If the head's
// Version is another than g.Version, the world goes on from its newest state: older inputs are then TooOld, entries of the log that
// the other version made are applied without comparing, and the next entry that this Sim makes says so.
func Load(g Game, r io.Reader) (*Sim, Head, error) {
	var head Head
	in := blocks{r: r}
	if err := in.open(&head); err != nil {
		return nil, head, err
	}
	if in.version != logVersion {
		return nil, head, fmt.Errorf("%w: %d, and this is %d", ErrVersion, in.version, logVersion)
	}
	schema, err := newSchema(&g)
	if err != nil {
		return nil, head, err
	}
	if schema.sum != head.schema {
		return nil, head, fmt.Errorf("%w: %q", ErrOtherGame, head.Name)
	}
	var l loading
	for {
		kind, err := in.next()
		if err == io.EOF {
			err = damaged("the snapshot is cut off at byte %d", in.offset)
		}
		if err == nil && !l.takes(kind) {
			err = damaged("a block out of order at byte %d", in.offset)
		}
		if err == nil {
			if err = l.block(kind, &in.in); err != nil {
				err = fmt.Errorf("%w: at byte %d", err, in.offset)
			}
		}
		if err != nil {
			return nil, head, err
		}
		if kind == blockKept {
			s, err := l.sim(g, &head)
			return s, head, err
		}
	}
}

// loading is a snapshot that is being read.
type loading struct {
	chunks [2][]*chunk // of the oldest and of the newest state
	cells  *Cells      // of one of them
	blocks int         // of chunks
	worlds [2]loadedWorld
	count  int // of worlds so far
	pasts  []loadedWorld
	ticks  []loadedTick
	kept   []byte
}

// A loadedTick is the inputs of a tick as they were read.
type loadedTick struct {
	tick uint64
	body []byte
}

// A loadedWorld is a state as it was read.
type loadedWorld struct {
	next uint64 // the tick that comes next
	body []byte
}

// takes reports whether a block of a kind comes next.
func (l *loading) takes(kind byte) bool {
	switch kind {
	case blockChunk:
		return l.count == 0
	case blockWorld:
		return l.count < 2
	case blockPast:
		return l.count == 2 && len(l.ticks) == 0
	}
	return (kind == blockTick || kind == blockKept) && l.count == 2
}

// block takes a block.
func (l *loading) block(kind byte, in *reading) error {
	switch kind {
	case blockChunk:
		return l.chunk(in)
	case blockWorld:
		l.worlds[l.count] = loadedWorld{next: in.upTo(1 << 62), body: append([]byte(nil), in.b...)}
		l.count++
	case blockPast:
		l.pasts = append(l.pasts, loadedWorld{next: in.upTo(1 << 62), body: append([]byte(nil), in.b...)})
	case blockTick:
		l.ticks = append(l.ticks, loadedTick{tick: in.upTo(1 << 62), body: append([]byte(nil), in.b...)})
	case blockKept:
		l.kept = append([]byte(nil), in.b...)
	}
	return nil
}

func (l *loading) chunk(in *reading) error {
	flags := in.u8()
	c := &chunk{bx: int16(in.u16()), by: int16(in.u16())}
	if l.cells == nil {
		l.cells = new(Cells)
	}
	if in.u8() == 0 {
		copy(l.cells[:], in.take(len(l.cells)))
	} else {
		for i := 0; i < len(l.cells) && !in.failed; {
			n := in.int(len(l.cells)-i-1) + 1
			v := in.u8()
			for j := range l.cells[i : i+n] {
				l.cells[i+j] = v
			}
			i += n
		}
	}
	if !in.done() || flags < 1 || flags > 3 {
		return damaged("a chunk")
	}
	c.fill(l.cells)
	l.blocks++
	for i := range l.chunks {
		if flags>>i&1 == 0 {
			continue
		}
		list := l.chunks[i]
		if n := len(list); n >= maxEditedChunks || n > 0 && chunkKey(list[n-1].bx, list[n-1].by) >= chunkKey(c.bx, c.by) {
			return damaged("a chunk out of order")
		}
		l.chunks[i] = append(list, c)
	}
	return nil
}

// sim makes the Sim.
func (l *loading) sim(g Game, h *Head) (*Sim, error) {
	s, err := emptySim(g, h.Config)
	if err != nil {
		return nil, err
	}
	which := 0
	if s.log.renewed = h.Version != g.Version; s.log.renewed {
		which = 1
	}
	w := &l.worlds[which]
	if !s.world.read(&reading{b: w.body}, w.next) {
		return nil, damaged("a state")
	}
	sum := s.world.terrain.takeOver(l.chunks[which])
	if !s.log.renewed && sum != s.world.terrain.sum {
		return nil, damaged("the terrain")
	}
	s.floor = w.next
	k := reading{b: l.kept}
	hash, ok := s.readKept(&k, l.blocks, len(l.pasts), len(l.ticks))
	if !ok || s.now != l.worlds[1].next || s.floor > s.now || s.oldest() != s.floor {
		return nil, damaged("what is kept beside the state")
	}
	for tick := s.floor; tick <= s.now+MaxAhead; tick++ {
		s.history.open(tick)
	}
	if !s.log.renewed && !s.readPasts(l.pasts) { // the newest state has no ticks to run again
		return nil, damaged("a past state")
	}
	for _, m := range l.ticks {
		if m.tick < l.worlds[0].next || m.tick > s.now+MaxAhead || !s.readInputs(m.tick, &reading{b: m.body}) {
			return nil, damaged("the inputs of tick %d", m.tick)
		}
	}
	for tick := s.floor; tick < s.now; tick++ {
		s.run(tick)
	}
	if got := s.world.Hash(); got != hash {
		return nil, damaged("its ticks do not lead to its hash: Step depends on more than the world, or has changed under the same Game.Version")
	}
	if s.log.renewed { // it may make other chunks, from which the edited ones differ in other cells
		s.world.terrain.sum = sum
	}
	s.events = s.events[:0] // they were told
	s.stats = Stats{InputsPending: s.stats.InputsPending}
	s.publish()
	return s, nil
}

// read takes a state into an empty world.
func (w *World) read(r *reading, next uint64) bool {
	w.tick = next - min(next, 1)
	w.random.state, w.terrain.sum = r.u64(), r.u64()
	last := PlayerID(0)
	for range r.count(11) {
		p := Player{ID: r.player(), Name: r.text(), Entity: ID(r.u64()), Since: r.v()}
		if r.failed || p.ID <= last {
			return false
		}
		last = p.ID
		w.players.list = append(w.players.list, p)
	}
	w.players.reindex(0)
	for _, t := range w.tables {
		if !t.read(r, &w.where) {
			return false
		}
	}
	if r.more() {
		if w.ending = (ending{r.upTo(max(next, 1)), r.text()}); w.ending.at == 0 || fitText(w.ending.result, MaxResult) != w.ending.result {
			return false
		}
	}
	return r.done()
}

// read takes the rows of a kind.
func (t *table) read(r *reading, where *lookup[ID]) bool {
	row := -1
	for range r.count(10) {
		if row += 1 + r.int(t.kind.rows); row >= t.kind.rows {
			return false
		}
		id := ID(r.u64())
		if _, taken := where.get(id); r.failed || taken || id == 0 {
			return false
		}
		t.reach(row + 1)
		t.used[row>>6] |= 1 << (row & 63)
		t.ids[row], t.owners[row] = id, r.player()
		t.high, t.count = row+1, t.count+1
		where.put(id, uint32(t.kind.index)<<16|uint32(row))
		at := t.at(row)
		for i := range t.kind.Fields {
			f := &t.kind.Fields[i]
			v := r.value(f.Type)
			r.failed = r.failed || len(v.text) > f.Max
			f.setValue(at, v)
		}
		for i := range t.kind.hidden {
			f := &t.kind.hidden[i]
			f.setValue(at, r.value(f.Type))
		}
	}
	return !r.failed
}

// takeOver makes the chunks of a snapshot the edited ones, and returns their sum.
func (t *terrain) takeOver(list []*chunk) (sum uint64) {
	t.edited = list
	for _, c := range list {
		c.refs = 1
		c.outline(&t.isSolid)
		was := t.findPristine(c.bx, c.by)
		for y := range c.of {
			a, b := &was.line(y).cells, &c.line(y).cells
			for x := range a {
				if a[x] != b[x] {
					sum ^= cellSum(c.bx, c.by, y, x, a[x]) ^ cellSum(c.bx, c.by, y, x, b[x])
				}
			}
		}
	}
	return sum
}

// readKept takes what is no state of the world.
func (s *Sim) readKept(r *reading, chunks, pasts, ticks int) (hash uint64, ok bool) {
	s.now = r.upTo(1 << 62)
	s.earliest = s.now
	s.log.epoch, s.log.due = r.v(), r.i()
	flags := r.upTo(7)
	s.log.ended = flags&1 != 0
	if flags&2 != 0 == (pasts == 0) || pasts > 0 && r.int(maxShown) != pasts {
		return 0, false
	}
	if s.factless = flags&4 == 0; !s.factless {
		last := FactPlace{r.v(), uint32(r.upTo(1<<32 - 1))}
		if (last.Index == 0) != (last == FactPlace{}) || last.Index > 0 && last.Tick >= s.now {
			return 0, false
		}
		s.lastFact = last
	}
	last := r.player()
	s.world.setUp = uint32(r.upTo(1<<16 - 1))
	hash = r.u64()
	if r.int(1<<30) != chunks || r.int(1<<30) != ticks {
		return 0, false
	}
	before := PlayerID(0)
	for range r.count(80) {
		p := r.player()
		if r.failed || p <= before || s.players >= MaxPlayers || !s.readPlayer(p, r) {
			return 0, false
		}
		before = p
	}
	s.lastPlayer = last
	return hash, s.roll.read(r) && r.done()
}

// readPlayer takes a player who is present.
func (s *Sim) readPlayer(p PlayerID, r *reading) bool {
	s.enter(p)
	s.roll.input(&Input{Kind: Join, Player: p})
	h := &s.share
	a := h.accounts[p]
	if n := len(h.owing); n > 0 && h.owing[n-1] == a {
		h.owing = h.owing[:n-1]
	}
	a.spent = int64(r.upTo(uint64(h.full)))
	a.deep = r.v()
	if a.spent > 0 {
		h.owing = append(h.owing, a)
	}
	at := s.roll.seats[p]
	flags := r.upTo(3)
	at.Known, at.Away, at.Since = flags&1 != 0, flags&2 != 0, r.v()
	copy(at.Serial[:], r.take(len(at.Serial)))
	for _, t := range [...]*TokenHash{&at.token, &at.next} {
		copy(t[:], r.take(len(t)))
		if *t == (TokenHash{}) {
			continue
		}
		if _, taken := s.roll.tokens[*t]; taken {
			return false
		}
		s.roll.tokens[*t] = p
	}
	return !r.failed
}

// readInputs takes the inputs of a tick into history. Those that cannot be rewound to are left out, as they are of another version of the
// game: what it has made of them nobody will know, so a reader of facts is to be told that some may be missing.
func (s *Sim) readInputs(tick uint64, r *reading) bool {
	var list []params
	for r.more() {
		kind := r.u8()
		if tick < s.floor && InputKind(kind) != Steer {
			s.lastFact, s.factless = FactPlace{tick, 1 << 31}, false
			return true
		}
		if ItemKind(kind) == ItemChat || ItemKind(kind) == ItemSay {
			if !s.history.at(tick).readWord(r, ItemKind(kind)) {
				return false
			}
			continue
		}
		in := Input{Kind: InputKind(kind), Tick: tick}
		if in.Kind < Join || in.Kind > Back || len(s.history.at(tick).words) > 0 {
			return false
		}
		r.input(&in, s.schema, &list)
		if tick < s.floor {
			continue
		}
		if r.failed || in.Player == 0 && in.Kind != Act || !s.history.at(tick).add(&in) {
			return false
		}
		s.stats.InputsPending++
	}
	return !r.failed
}

// readWord takes a line that was said.
func (m *moment) readWord(r *reading, kind ItemKind) bool {
	p := PlayerID(0)
	if kind == ItemChat {
		p = r.player()
	}
	text := r.bytes()
	m.hear(p, text)
	return !r.failed && len(text) <= maxWordBytes && (p != 0) == (kind == ItemChat)
}

func (l *roll) read(r *reading) bool {
	if n := r.count(18); n > 0 {
		l.tickets = make(map[Serial]ticket, n)
		for range n {
			var serial Serial
			copy(serial[:], r.take(len(serial)))
			l.tickets[serial] = ticket{r.i(), r.player()}
		}
	}
	l.swept = r.i()
	for range r.count(10) {
		n := nodeRequests{r.u64(), r.v(), r.v()}
		if r.failed || len(l.nodes) >= maxNodes {
			return false
		}
		l.nodes = append(l.nodes, n)
	}
	return !r.failed
}
