package hidden

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"parley/world"
)

// chair is what a player has for its own.
type chair struct {
	world.Body
	Cloaked bool
	hushed  uint64 // the tick of its last whisper
}

// card has one secret, in each form that a field can have.
type card struct {
	world.Body         // X is the secret as a float
	Secret     uint64  // itself
	Note       string  `parley:"max=8"`                    // as text
	MarkA      float64 `parley:"q=1,min=0,max=4294967295"` // its low half, quantised to 4 bytes
	MarkB      float64 `parley:"q=1,min=0,max=4294967295"` // the same: twice in a packet is no chance
	Up         bool
	Shared     bool // with the partner
}

type (
	flip    struct{ Slot uint8 } // shows a card to all, or takes it back
	share   struct{ Slot uint8 } // shows it to the partner
	steal   struct{ Slot uint8 } // takes one from the next player
	cloak   struct{ On bool }
	whisper struct{ Code uint64 } // under a cloak
)

const handSize = 4

// silence is for how many ticks after a whisper a cloak stays on: longer than the world goes back.
const silence = 40

// table is a game, and what was said of each secret.
type table struct {
	off  bool          // the rule is not obeyed: all is shown
	tick chan struct{} // a tick was run
	over chan struct{} // there are no more

	hold chan struct{} // closed at the next tick, and made anew
	mu   sync.Mutex
	may  map[uint64]map[world.PlayerID]bool // by secret: who was allowed to see it at some time
	hush map[uint64]world.PlayerID          // codes of whispers, and who whispered
}

func newTable() *table {
	return &table{tick: make(chan struct{}, 1), over: make(chan struct{}), hold: make(chan struct{}), may: map[uint64]map[world.PlayerID]bool{}, hush: map[uint64]world.PlayerID{}}
}

func (t *table) game() world.Game {
	return world.Game{
		Name: "cards", Kinds: world.Kinds(chair{}, card{}), Actions: world.Actions(flip{}, share{}, steal{}, cloak{}, whisper{}),
		Sees: t.sees,
		Step: func(w *world.World, in []world.Input) {
			step(w, in)
			t.ticked()
		},
	}
}

func (t *table) ticked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.hold)
	t.hold = make(chan struct{})
	select {
	case t.tick <- struct{}{}:
	default:
	}
}

// pass waits for so many ticks.
func (t *table) pass(ticks int) {
	for range ticks {
		t.mu.Lock()
		next := t.hold
		t.mu.Unlock()
		select {
		case <-next:
		case <-t.over:
		}
	}
}

// sees is the rule, and notes what it has said. Step does not: what it makes of a past tick when it runs it again, no player is told.
func (t *table) sees(w *world.World, viewer world.PlayerID, e world.ID) bool {
	if c := world.Get[chair](w, e); c != nil {
		return t.off || !c.Cloaked
	}
	c := world.Get[card](w, e)
	owner := w.Owner(e)
	may := c.Up || viewer != 0 && (owner == viewer || c.Shared && owner == partner(viewer))
	t.mu.Lock()
	defer t.mu.Unlock()
	who := t.may[c.Secret]
	if who == nil {
		who = map[world.PlayerID]bool{}
		t.may[c.Secret] = who
	}
	if may {
		who[viewer] = true
	}
	return may || t.off
}

func partner(p world.PlayerID) world.PlayerID { return (p - 1) ^ 1 + 1 }

func step(w *world.World, in []world.Input) {
	for i := range in {
		p := in[i].Player
		switch in[i].Kind {
		case world.Join:
			w.Own(p, world.SpawnFor(w, &in[i], chair{Body: world.Body{X: float64(p), Y: 3}}))
			for range handSize {
				var c card
				c.mark(w)
				world.SpawnFor(w, &in[i], c)
			}
		case world.Steer:
			w.Steer(&in[i])
		case world.Act:
			act(w, &in[i])
		}
	}
	// Cards change by themselves too, so that each tick has values that only some may know.
	for _, c := range world.All[card](w) {
		if w.Random().IntN(16) == 0 {
			c.mark(w)
		}
	}
}

// mark gives a card another secret.
func (c *card) mark(w *world.World) {
	s := w.Random().Uint64() | 0x80808080 // its low half is like no heads of records
	c.Secret, c.Note = s, noteOf(s)
	c.MarkA, c.MarkB = float64(uint32(s)), float64(uint32(s))
	c.X = placeOf(s)
}

func noteOf(s uint64) string {
	return base64.RawStdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, s))[:8]
}

// placeOf is a float of about 32,000 whose low digits are the secret.
func placeOf(s uint64) float64 { return 16384 + float64(s>>12)/(1<<52)*8192 }

func act(w *world.World, in *world.Input) {
	_, c := world.Avatar[chair](w, in.Player)
	if c == nil {
		return
	}
	done := false
	switch a := any(nil); {
	case reads[flip](in, &a):
		if x := cardOf(w, in.Player, a.(flip).Slot); x != nil {
			x.Up, done = !x.Up, true
			x.mark(w)
			finish(w, in, a.(flip))
		}
	case reads[share](in, &a):
		if x := cardOf(w, in.Player, a.(share).Slot); x != nil {
			x.Shared, done = !x.Shared, true
			x.mark(w)
			finish(w, in, a.(share))
		}
	case reads[steal](in, &a):
		from := next(w, in.Player)
		if x := slotOf(w, from, a.(steal).Slot); x != 0 && from != in.Player {
			w.SetOwner(x, in.Player)
			world.Get[card](w, x).mark(w)
			done = true
			finish(w, in, a.(steal))
		}
	case reads[cloak](in, &a):
		if on := a.(cloak).On; on || w.Tick()-c.hushed > silence {
			c.Cloaked, done = on, true
			finish(w, in, a.(cloak))
		}
	case reads[whisper](in, &a):
		if c.Cloaked {
			c.hushed, done = w.Tick(), true
			finish(w, in, a.(whisper))
		}
	}
	if !done {
		w.Deny(in)
	}
}

func reads[T any](in *world.Input, a *any) bool {
	v, ok := world.Read[T](in)
	*a = v
	return ok
}

func finish[T any](w *world.World, in *world.Input, v T) { world.Done(w, in, v) }

func slotOf(w *world.World, p world.PlayerID, slot uint8) world.ID {
	n := 0
	for id := range world.All[card](w) {
		if w.Owner(id) == p {
			if n == int(slot) {
				return id
			}
			n++
		}
	}
	return 0
}

func cardOf(w *world.World, p world.PlayerID, slot uint8) *card {
	return world.Get[card](w, slotOf(w, p, slot))
}

// next returns the player after another, around the table.
func next(w *world.World, p world.PlayerID) world.PlayerID {
	first, after := world.PlayerID(0), world.PlayerID(0)
	for q := range w.Players() {
		if first == 0 || q.ID < first {
			first = q.ID
		}
		if q.ID > p && (after == 0 || q.ID < after) {
			after = q.ID
		}
	}
	if after == 0 {
		return first
	}
	return after
}

// needles are the forms of all secrets: by their 8 bytes, and by the 4 of their marks, which some may have in common.
func (t *table) needles() (whole map[[8]byte]uint64, marks map[[4]byte][]uint64) {
	whole, marks = map[[8]byte]uint64{}, map[[4]byte][]uint64{}
	put := func(secret, bits uint64) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], bits)
		whole[b] = secret
		binary.LittleEndian.PutUint64(b[:], bits)
		whole[b] = secret
	}
	for s := range t.may {
		put(s, s)
		put(s, math.Float64bits(placeOf(s)))
		whole[[8]byte([]byte(noteOf(s)))] = s
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(s))
		marks[b] = append(marks[b], s)
		binary.LittleEndian.PutUint32(b[:], uint32(s))
		marks[b] = append(marks[b], s)
	}
	for s := range t.hush {
		put(s, s)
	}
	return whole, marks
}

// knows reports whether a viewer may have been told a secret.
func (t *table) knows(viewer world.PlayerID, secret uint64) bool {
	if by, ok := t.hush[secret]; ok {
		return by == viewer
	}
	return t.may[secret][viewer]
}

func (t *table) String() string {
	return fmt.Sprintf("%d secrets, %d whispers", len(t.may), len(t.hush))
}
