package message

import (
	"bytes"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"parley/arena"
	"parley/internal/kit/chance"
	"parley/internal/pagetest"
	"parley/world"
)

// Shout is an action with parameters of many types.
type Shout struct {
	On    bool
	Small int8
	Wide  uint64
	Turn  int32
	Angle float32
	Far   float64
	Text  string `parley:"max=20"`
	At    world.ID
}

// still is the arena, with one more action, in which nothing moves. There is one ball.
func still(t testing.TB) *world.Sim {
	t.Helper()
	sim, err := world.New(world.Game{
		Name: "still", Kinds: world.Kinds(arena.Player{}, arena.Ball{}), Actions: world.Actions(arena.Throw{}, Shout{}),
		Step: func(*world.World, []world.Input) {},
		Setup: func(w *world.World) {
			world.Spawn(w, arena.Ball{Body: world.Body{X: 1, Y: 2, Angle: 1, Norm: 2, Sprite: 3}, TicksLeft: 10})
		},
	}, world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	sim.Advance()
	return sim
}

// ball returns the one entity of the world, as a view tells of it.
func ball(t testing.TB, sim *world.Sim) *world.Change {
	t.Helper()
	v := sim.NewView(0, world.ViewConfig{Radius: -1})
	v.Update()
	c := v.Next()
	if c == nil {
		t.Fatal("nobody sees the ball")
	}
	return c
}

// codec is a message: one as an example, and how it is read and written again.
type codec struct {
	example []byte
	again   func(b []byte) ([]byte, bool)
	open    bool // nothing says where it ends
}

// codecs are all messages, by their names on the page. A first byte of relay is not part of them.
func codecs(t testing.TB, sim *world.Sim) map[string]codec {
	s := sim.Schema()
	throw, one, two := s.ActionNamed("throw"), world.FloatValue(world.F32, 1), world.UintValue(world.Entity, 2)
	done := &world.Event{Wire: 258, Tick: 66051, Action: throw, Params: [world.MaxParams]world.Value{one, two}}
	place := world.ChunkPlace{BX: 1, BY: -2}
	chunk := []byte{0, 1, 0xff, 0xfe, 9, 0, 2, 3, 4, 5, 6, 7, 8}

	steer := func(o world.Order) codec {
		return codec{AppendSteer(nil, 1, 2, o), func(b []byte) ([]byte, bool) {
			st, ok := ParseSteer(b, o)
			return AppendSteer(nil, st.Angle, st.Norm, o), ok && st.HasAngle && st.HasNorm
		}, false}
	}
	act := codec{AppendAct(nil, throw, []world.Value{one, two}, Big), func(b []byte) ([]byte, bool) {
		a, params, ok := ParseAct(s, b, Big)
		if !ok {
			return nil, false
		}
		return AppendAct(nil, a, params[:len(a.Fields)], Big), true
	}, false}
	asks := func(o world.Order) codec {
		return codec{AppendPlace(nil, place, o), func(b []byte) ([]byte, bool) {
			at, ok := ParsePlace(b, o)
			return AppendPlace(nil, at, o), ok
		}, false}
	}
	said := codec{AppendSaid(nil, "ann", []byte("hi")), func(b []byte) ([]byte, bool) {
		name, text, ok := ParseSaid(b)
		return AppendSaid(nil, string(name), text), ok
	}, true}
	event := func(d Done) *world.Event {
		return &world.Event{Wire: d.Entity, Tick: uint64(d.Tick), Action: d.Action, Params: d.Params}
	}
	fields := func(kind int, b []byte, o world.Order) ([]byte, bool) {
		k := s.Kind(kind)
		if k == nil {
			return nil, false
		}
		values := make([]world.Value, len(k.Fields))
		rest, ok := ParseFields(values, k.Fields, b, o)
		return append(AppendParams(nil, k.Fields, values, o), rest...), ok
	}
	records := func(o world.Order) codec {
		b, _ := AppendRecord(nil, ball(t, sim), o, 100)
		b, ok := AppendRecord(b, &world.Change{What: world.Left, Kind: s.Kind(1), Entity: 258}, o, 100)
		if !ok {
			t.Fatal("two records do not fit into 100 bytes")
		}
		return codec{b, func(b []byte) (out []byte, ok bool) {
			for rec := range Records(b, o) {
				out = append(order(o).AppendUint16(out, rec.Entity), byte(rec.Kind), byte(len(rec.Fields)))
				all, ok := fields(rec.Kind, rec.Fields, o)
				if len(rec.Fields) > 0 && !ok {
					return nil, false
				}
				out = append(out, all...)
			}
			return out, len(out) == len(b)
		}, true}
	}
	terrain := func(o world.Order) codec {
		return codec{AppendChunk(nil, chunk, o), func(b []byte) ([]byte, bool) {
			c, ok := ParseChunk(b, o)
			out := append(AppendPlace(nil, c.Place, o), c.Default)
			return append(order(o).AppendUint16(out, uint16(len(c.cells)/CellBytes)), c.cells...), ok
		}, false}
	}
	sized := func(data string) codec {
		return codec{AppendSized(nil, []byte(data)), func(b []byte) ([]byte, bool) {
			data, ok := ParseSized(b)
			return AppendSized(nil, data), ok
		}, false}
	}
	all := map[string]codec{
		"replica: `steer`": steer(Little), "relay: 0 to": steer(Big), "duplex: UPDATE_MSG of own SID": steer(Big),
		"replica: `throw` of a client": {AppendParams(nil, throw.Fields, []world.Value{one, two}, Little), func(b []byte) ([]byte, bool) {
			params, ok := ParseParams(throw, b, Little)
			return AppendParams(nil, throw.Fields, params[:2], Little), ok
		}, false},
		"relay: 1 to": act, "duplex: query 64": act,
		"duplex: query 65":               sized("hi"),
		"replica: `terrain` of a client": asks(Little), "duplex: query 66": asks(Big),
		"replica: `chat` of the server": said, "relay: 2 from": said,
		"duplex: SYNC_MSG of −1": {AppendDuplexSaid(nil, "ann", []byte("hi")), func(b []byte) ([]byte, bool) {
			name, text, ok := ParseDuplexSaid(b)
			return AppendDuplexSaid(nil, string(name), text), ok
		}, false},
		"replica: `parley.you`": {Link{258, 3}.AppendTo(nil), func(b []byte) ([]byte, bool) {
			l, ok := ParseLink(b)
			return l.AppendTo(nil), ok
		}, false},
		"relay: 3 from": {AppendRelayYou(nil, 258), func(b []byte) ([]byte, bool) {
			you, ok := ParseRelayYou(b)
			return AppendRelayYou(nil, you), ok
		}, false},
		"replica: `throw` of the server": {AppendReplicaDone(nil, Link{258, 3}, done), func(b []byte) ([]byte, bool) {
			d, ok := ParseReplicaDone(throw, b)
			return AppendReplicaDone(nil, d.Actor, event(d)), ok
		}, false},
		"relay: 1 from": {AppendRelayDone(nil, done), func(b []byte) ([]byte, bool) {
			d, ok := ParseRelayDone(s, b)
			if !ok {
				return nil, false
			}
			return AppendRelayDone(nil, event(d)), true
		}, false},
		"duplex: SYNC_MSG of −2": {AppendDuplexDone(nil, done), func(b []byte) ([]byte, bool) {
			d, ok := ParseDuplexDone(s, b)
			if !ok {
				return nil, false
			}
			return AppendDuplexDone(nil, event(d)), true
		}, false},
		"stamp: records": records(Little), "relay: 0 from": records(Big),
		"duplex: SYNC_MSG of an entity": {AppendElement(nil, ball(t, sim)), func(b []byte) ([]byte, bool) {
			kind, data, ok := ParseElement(b)
			if !ok {
				return nil, false
			}
			all, ok := fields(kind, data, Big)
			return append([]byte{byte(kind)}, all...), ok
		}, true},
		"replica: `terrain` of the server": terrain(Little), "duplex: reply 194": terrain(Big),
	}
	maps.Copy(all, entryCodecs(t, sim))
	return all
}

// The examples of the page are what we write, each is read to what was written, and a message that is cut off or too long is none.
func TestTheExamplesOfThePage(t *testing.T) {
	all := codecs(t, still(t))
	page := pagetest.Tables(t, "../../docs/gateway.md")["Examples"]
	if len(page) != len(all) {
		t.Errorf("the page has %d examples, and there are %d messages", len(page), len(all))
	}
	for _, row := range page {
		c := all[row["message"]]
		want, err := hex.DecodeString(strings.NewReplacer(" ", "", "`", "").Replace(row["bytes"]))
		if err != nil || !bytes.Equal(c.example, want) || len(want) == 0 {
			t.Errorf("%s: we write %x, and the page has %x (%v)", row["message"], c.example, want, err)
			continue
		}
		if got, ok := c.again(want); !ok || !bytes.Equal(got, want) {
			t.Errorf("%s: %x is read as %x (%v)", row["message"], want, got, ok)
		}
		if c.open {
			continue
		}
		for cut := range len(want) {
			if _, ok := c.again(want[:cut]); ok {
				t.Errorf("%s: %x is read", row["message"], want[:cut])
			}
		}
		if _, ok := c.again(append(want, 0)); ok {
			t.Errorf("%s: a byte more is read", row["message"])
		}
	}
}

// hostile reads any bytes as each message: what is accepted is what we would have written.
func hostile(t testing.TB, all map[string]codec, b []byte) {
	for name, c := range all {
		if got, ok := c.again(b); ok && !bytes.Equal(got, b) {
			t.Fatalf("%s: %x is read, and written as %x", name, b, got)
		}
	}
}

func TestHostileBytes(t *testing.T) {
	r := chance.Rand(t, 0xbad)
	all := codecs(t, still(t))
	var examples [][]byte
	for _, c := range all {
		examples = append(examples, c.example)
	}
	slices.SortFunc(examples, bytes.Compare)
	for range 5_000 {
		b := slices.Clone(examples[r.IntN(len(examples))]) // a message with some bytes changed, lost or added
		for range r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		b = b[:r.IntN(len(b)+1)]
		for range r.IntN(3) {
			b = append(b, byte(r.Uint32()))
		}
		hostile(t, all, b)
	}
}

func FuzzParse(f *testing.F) {
	all := codecs(f, still(f))
	for _, c := range all {
		f.Add(c.example)
	}
	f.Fuzz(func(t *testing.T, b []byte) { hostile(t, all, b) })
}

// Parameters of every type come out as they went in, in both orders, and hostile ones are refused.
func TestParametersOfEachType(t *testing.T) {
	a := still(t).Schema().ActionNamed("shout")
	for _, o := range []world.Order{Little, Big} {
		want := [world.MaxParams]world.Value{
			world.UintValue(world.Bool, 1), world.IntValue(world.I8, -3), world.UintValue(world.U64, 1<<63), world.IntValue(world.I32, -70_000),
			world.FloatValue(world.F32, math.Pi), world.FloatValue(world.F64, -1e300), world.TextValue("gute Nacht, Welt…"), world.UintValue(world.Entity, 32_767),
		}
		b := AppendParams(nil, a.Fields, want[:], o)
		if got, ok := ParseParams(a, b, o); !ok || got != want {
			t.Errorf("%+v: %x is %v", o, b, got)
		}
		for i, bad := range map[int]world.Value{0: world.UintValue(world.U8, 2), 4: world.FloatValue(world.F32, math.NaN()), 6: world.TextValue("more than twenty bytes")} {
			params := want
			params[i] = bad
			if _, ok := ParseParams(a, AppendParams(nil, a.Fields, params[:], o), o); ok {
				t.Errorf("%+v: parameter %d is taken as %v", o, i, bad)
			}
		}
	}
}

// Wait is an action without parameters.
type Wait struct{}

// An action without parameters is not read from a message that ends before it.
func TestActionsWithoutParameters(t *testing.T) {
	sim, err := world.New(world.Game{Kinds: world.Kinds(arena.Ball{}), Actions: world.Actions(Wait{}), Step: func(*world.World, []world.Input) {}}, world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := sim.Schema()
	for name, c := range map[string]struct {
		bytes int
		reads func(b []byte) bool
	}{
		"act":     {2, func(b []byte) bool { _, _, ok := ParseAct(s, b, Big); return ok }},
		"replica": {7, func(b []byte) bool { _, ok := ParseReplicaDone(s.Actions[0], b); return ok }},
		"relay":   {4, func(b []byte) bool { _, ok := ParseRelayDone(s, b); return ok }},
		"duplex":  {6, func(b []byte) bool { _, ok := ParseDuplexDone(s, b); return ok }},
	} {
		for n := range 10 {
			if got := c.reads(make([]byte, n)); got != (n == c.bytes) {
				t.Errorf("%s: %d bytes are read: %v", name, n, got)
			}
		}
	}
}

// A record that does not fit is not begun.
func TestRecordsHaveALimit(t *testing.T) {
	c := ball(t, still(t))
	whole, _ := AppendRecord(nil, c, Big, 1000)
	if b, ok := AppendRecord([]byte{7}, c, Big, 1+len(whole)); !ok || !bytes.Equal(b[1:], whole) {
		t.Errorf("a record that just fits is %x (%v)", b, ok)
	}
	if b, ok := AppendRecord([]byte{7}, c, Big, len(whole)); ok || !bytes.Equal(b, []byte{7}) {
		t.Errorf("a record that does not fit leaves %x (%v)", b, ok)
	}
}

func TestAChunkFillsAllCells(t *testing.T) {
	c, ok := ParseChunk([]byte{0, 0, 0, 0, 9, 0, 2, 3, 4, 5, 255, 255, 8}, Big)
	cells := new(world.Cells)
	c.FillIn(cells)
	for i, v := range cells {
		if want := map[int]uint8{4<<8 | 3: 5, 255<<8 | 255: 8}[i]; !ok || v != want && (want != 0 || v != 9) {
			t.Fatalf("cell %d is %d", i, v)
		}
	}
}

// The way of a packet allocates nothing, in and out.
func TestMessagesAllocateNothing(t *testing.T) {
	sim := still(t)
	s, c := sim.Schema(), ball(t, sim)
	throw := s.ActionNamed("throw")
	ev := &world.Event{Wire: 258, Tick: 7, Action: throw}
	chunk := make([]byte, ChunkHeadBytes)
	buf := make([]byte, 0, 1000)
	var values [16]world.Value
	sum := 0
	for name, f := range map[string]func(b []byte, o world.Order){
		"steer": func(b []byte, o world.Order) { ParseSteer(AppendSteer(b, 1, 2, o), o) },
		"act":   func(b []byte, o world.Order) { ParseAct(s, AppendAct(b, throw, ev.Params[:2], o), o) },
		"place": func(b []byte, o world.Order) { ParsePlace(AppendPlace(b, world.ChunkPlace{}, o), o) },
		"said":  func(b []byte, _ world.Order) { ParseSaid(AppendSaid(b, "ann", b)) },
		"chunk": func(b []byte, o world.Order) { ParseChunk(AppendChunk(b, chunk, o), o) },
		"records": func(b []byte, o world.Order) {
			b, _ = AppendRecord(b, c, o, 1000)
			for rec := range Records(b, o) {
				rest, _ := ParseFields(values[:], c.Kind.Fields, rec.Fields, o)
				sum += len(rest)
			}
		},
		"replica": func(b []byte, _ world.Order) { ParseReplicaDone(throw, AppendReplicaDone(b, Link{1, 2}, ev)) },
		"relay":   func(b []byte, _ world.Order) { ParseRelayDone(s, AppendRelayDone(b, ev)) },
		"duplex": func(b []byte, _ world.Order) {
			ParseDuplexDone(s, AppendDuplexDone(b, ev))
			ParseDuplexSaid(AppendDuplexSaid(b, "ann", b))
			ParseElement(AppendElement(b, c))
		},
	} {
		for _, o := range []world.Order{Little, Big} {
			if n := testing.AllocsPerRun(100, func() { f(buf, o) }); n != 0 {
				t.Errorf("%s, %+v: %v allocations", name, o, n)
			}
		}
	}
}
