package world

import "slices"

// A snapshot is a world at the beginning of a tick. Flat tables are copied,
// chunks are shared.
type snapshot struct {
	tick    uint64
	random  Random
	tables  []tableCopy
	players []Player
	terrain terrainCopy
	ending  ending
}

func (w *World) save(s *snapshot) {
	s.tick, s.random, s.ending = w.tick, w.random, w.ending
	if s.tables == nil {
		s.tables = make([]tableCopy, len(w.tables))
	}
	for i, t := range w.tables {
		t.save(&s.tables[i])
	}
	s.players = append(s.players[:0], w.players.list...)
	w.terrain.save(&s.terrain)
}

func (w *World) load(s *snapshot) {
	w.tick, w.random, w.ending = s.tick, s.random, s.ending
	w.where.clear()
	for i, t := range w.tables {
		t.load(&s.tables[i])
		for row := t.next(0); row >= 0; row = t.next(row + 1) {
			w.where.put(t.ids[row], uint32(t.kind.index)<<16|uint32(row))
		}
	}
	w.players.load(s.players)
	w.terrain.load(&s.terrain)
}

// enter begins a tick, and keeps the state before it.
func (w *World) enter(m *moment, tick uint64) {
	w.save(&m.before)
	m.saved, m.indexed = true, false
	w.begin(tick)
}

// A moment is one tick of history: what the world was before it, and what the
// players did in it. Those of ticks to come have inputs only, and those that
// can no longer be rewound to have no inputs.
type moment struct {
	tick   uint64
	saved  bool // before is of this tick
	before snapshot

	grid    grid // of the bodies in before, once the game has asked for those near a place
	indexed bool

	inputs []Input  // in order of arrival
	params []params // of those that have some
	order  []uint64 // player<<32 | index into inputs, sorted: the order of Step
	sorted bool
	counts lookup[uint32] // inputs of each player, by 1 more than its number

	done  []done // what Step made of actions
	words []word // what was said
	texts []byte // of them
}

// history holds the moments from MaxRollbackTicks ago to 2 ticks ahead, and before them those whose states World.At can be asked for
// in the oldest.
type history struct {
	ring  []moment
	depth uint64
	shown uint64 // how many ticks back World.At goes
}

func newHistory(depth, shown uint64) *history {
	h := &history{depth: depth, shown: shown, ring: make([]moment, depth+max(shown, 1)+MaxAhead)}
	for tick := range uint64(MaxAhead + 1) {
		h.open(tick)
	}
	return h
}

func (h *history) at(tick uint64) *moment { return &h.ring[tick%uint64(len(h.ring))] }

// judge takes the shown tick from an input that World.At would not believe.
func (h *history) judge(in *Input) {
	if in.Shown >= in.Tick || in.Tick-in.Shown > h.shown {
		in.Shown = 0
	}
}

// open makes room for a new tick, in place of the oldest.
func (h *history) open(tick uint64) {
	m := h.at(tick)
	m.tick, m.saved = tick, false
	m.empty()
}

// empty lets the inputs go.
func (m *moment) empty() {
	m.words, m.texts = m.words[:0], m.texts[:0]
	if len(m.inputs) == 0 {
		return
	}
	m.counts.clear()
	clear(m.inputs) // the names and texts in it can go
	clear(m.params)
	clear(m.done)
	m.inputs, m.params, m.order, m.done = m.inputs[:0], m.params[:0], m.order[:0], m.done[:0]
}

// add takes an input. It is false if the player, or all of them, have as many as
// may be; coming and going is never one too many.
func (m *moment) add(in *Input) bool {
	count := m.counts.at(uint32(in.Player) + 1) // a lookup has no key 0, and the world itself is player 0
	if (in.Kind == Steer || in.Kind == Act) && (*count >= maxPlayerInputs || len(m.inputs) >= maxTickInputs) {
		return false
	}
	in.order = uint8(min(*count, maxPlayerInputs-1))
	*count++
	m.order = append(m.order, uint64(in.Player)<<32|uint64(len(m.inputs)))
	m.inputs = append(m.inputs, *in)
	m.inputs[len(m.inputs)-1].keep(&m.params)
	m.sorted = false
	return true
}

// sort brings the inputs into the order of Step: "in order of player, then that
// player's order of arrival" (realm). What it needs for it is kept in spare.
func (m *moment) sort(spare *[]uint64) {
	if m.sorted {
		return
	}
	m.sorted = true
	if len(m.order) < 256 {
		slices.Sort(m.order)
		return
	}
	// They are in order of arrival: put in order of the low byte of the player's number
	// and then of the high one, each time keeping the order that there was.
	*spare = slices.Grow((*spare)[:0], len(m.order))[:len(m.order)]
	sortByte(*spare, m.order, 32)
	sortByte(m.order, *spare, 40)
}

// sortByte copies what is in from to to, in the order of the byte at a shift.
func sortByte(to, from []uint64, shift int) {
	var at [256]uint32
	for _, key := range from {
		at[key>>shift&255]++
	}
	sum := uint32(0)
	for i, n := range at {
		at[i] = sum
		sum += n
	}
	for _, key := range from {
		i := &at[key>>shift&255]
		to[*i] = key
		*i++
	}
}
