package core

import "encoding/binary"

// testSchema is that of the vectors, with one more action and attribute for each type.
var testSchema = Schema{
	Attributes: map[uint16]Field{
		0: {"ticks_left", TypeU16}, 1: {"health", TypeU16}, 2: {"sender", TypeEntity}, 30000: {"cooldown_one", TypeU16},
		100: {"u8", TypeU8}, 101: {"u32", TypeU32}, 102: {"u64", TypeU64}, 103: {"i8", TypeI8}, 104: {"i16", TypeI16},
		105: {"i32", TypeI32}, 106: {"i64", TypeI64}, 107: {"f32", TypeF32}, 108: {"f64", TypeF64}, 109: {"str", TypeStr},
		110: {"position", TypePosition},
	},
	Actions: map[uint16][]Field{
		0: {{"angle", TypeF32}, {"entity", TypeEntity}},
		7: {},
		8: {{"a", TypeU8}, {"b", TypeStr}, {"c", TypeF64}, {"d", TypePosition}, {"e", TypeI64}},
	},
}

var testCodec = NewCodec(testSchema)

// flatland is a TerrainSource whose chunks all look alike, but for the value of their first
// cell.
type flatland struct {
	noise bool // as large as a chunk can be
	asked int
	flat  [256][]byte // chunks that were encoded before, by the value of their first cell
}

func (f *flatland) AppendChunk(b []byte, id ChunkID) ([]byte, bool) {
	f.asked++
	first := byte(id.BX)
	if f.noise {
		first = 0
	}
	if f.flat[first] == nil {
		var t Terrain
		t[0] = first
		for i := range t {
			if f.noise {
				t[i] = byte(i % 256)
			}
		}
		f.flat[first] = AppendChunk(nil, 0, 0, &t)
	}
	from := len(b)
	b = append(b, f.flat[first]...)
	binary.BigEndian.PutUint16(b[from:], uint16(id.BX))
	binary.BigEndian.PutUint16(b[from+2:], uint16(id.BY))
	return b, id.BX < 1000
}

// a testGame lets everybody in, as entity 1 and on.
type testGame struct {
	next     uint16
	players  map[*Conn]string
	messages []Event
	ended    []Close
	goodbyes []bool                           // of the same
	place    func(c *Conn, q Question) *Group // where it enters; nil refuses it
	wait     func(c *Conn, q Question) bool   // whether that is decided later
}

func newTestGame() *testGame { return &testGame{next: 1, players: map[*Conn]string{}} }

func (g *testGame) handle(c *Conn, ev Event) {
	switch ev.Kind {
	case EventEnter:
		if g.wait != nil && g.wait(c, ev.Question) {
			return
		}
		if g.place != nil {
			room := g.place(c, ev.Question)
			if room == nil {
				c.Refuse(LoginUnknownPseudo)
				return
			}
			if err := c.Place(room); err != nil {
				panic(err)
			}
		}
		g.enter(c, ev.Question.Name)
	case EventMessage, EventRefused:
		ev.Message = nil // which is not ours to keep
		g.messages = append(g.messages, ev)
	case EventClosed:
		g.ended, g.goodbyes = append(g.ended, ev.Close), append(g.goodbyes, ev.Goodbye)
		delete(g.players, c)
	}
}

func (g *testGame) enter(c *Conn, name string) {
	others := map[uint16]string{}
	for other, name := range g.players {
		others[other.Entity()] = name
	}
	id := g.next
	g.next = g.next%(FirstTemporary-1) + 1
	g.players[c] = name
	err := c.Enter(Entry{
		Entity: Entity{ID: id, Has: HasPosition | HasType, Position: Position{X: 1, Y: 2}, Type: 1},
		Sight: func(yield func(Entity) bool) {
			for id := range others {
				if !yield(Entity{ID: id, Has: HasPosition | HasType, Type: 1}) {
					return
				}
			}
		},
		Players: func(yield func(uint16, string) bool) {
			for id, name := range others {
				if !yield(id, name) {
					return
				}
			}
		},
	})
	if err != nil {
		panic(err)
	}
}
