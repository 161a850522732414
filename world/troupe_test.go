package world

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// A troupe plays at random in one Sim, or in several that must do the same: it joins, leaves, steers, acts, talks, is away and comes back,
// late and ahead, by requests of three servers. It keeps the log.
type troupe struct {
	t        testing.TB
	r        *rand.Rand
	game     Game
	sims     []*Sim
	players  []PlayerID
	tokens   []TokenHash
	requests [3]uint64
	due      int64
	log      []byte   // the file
	ends     []int    // where each entry of it ends
	hashes   []uint64 // after each tick
	facts    []Fact   // of the first Sim
}

const troupeNode = 0xfeedbeef12345678

func newTroupe(t testing.TB, seed uint64) *troupe {
	r := rand.New(rand.NewPCG(seed, 5))
	g := endingGame()
	g.Version = "one"
	c := Config{Seed: seed, MaxRollbackTicks: r.IntN(9), ReplayBudget: 1 + r.IntN(3), Mode: []string{"", "duel"}[r.IntN(2)]}
	if r.IntN(10) == 0 {
		c.MaxRollbackTicks = -1
	}
	if r.IntN(3) == 0 {
		c.MaxShownTicks = r.IntN(12) - 1
	}
	s := newSimOf(t, g, c)
	s.Keep(troupeNode, 1)
	s.Watch(true)
	return &troupe{t: t, r: r, game: g, sims: []*Sim{s}, due: 1_700_000_000e6, log: s.AppendHead(nil)}
}

// endingGame is a game that somebody may end.
func endingGame() Game {
	g := aimGame()
	step := g.Step
	g.Step = func(w *World, in []Input) {
		for i := range in {
			if s, ok := Read[say](&in[i]); ok && s.Text == "end" {
				w.End(fmt.Sprint("ended by ", in[i].Player))
			}
		}
		step(w, in)
	}
	return g
}

// all does the same in all Sims, and fails if they answer differently.
func all[T comparable](c *troupe, do func(*Sim) T) (v T) {
	for i, s := range c.sims {
		if got := do(s); i == 0 {
			v = got
		} else if got != v {
			c.t.Fatalf("tick %d: Sim %d answers %v, and the first %v", s.Tick(), i, got, v)
		}
	}
	return v
}

func (c *troupe) each(do func(*Sim)) {
	for _, s := range c.sims {
		do(s)
	}
}

// token makes the next token's hash.
func (c *troupe) token() TokenHash {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], c.r.Uint64())
	h := TokenHash(sha256.Sum256(b[:]))
	c.tokens = append(c.tokens, h)
	return h
}

func (c *troupe) serial() (s Serial) {
	binary.LittleEndian.PutUint64(s[:], c.r.Uint64())
	return s
}

// tick does some things, seals and advances.
func (c *troupe) tick() {
	for range c.r.IntN(9) {
		c.act()
	}
	c.due += int64(c.r.IntN(20e6))
	skipped := uint64(c.r.IntN(3))
	var block []byte
	for i, s := range c.sims {
		b := s.Seal(c.due, skipped)
		if i == 0 {
			block = b
		} else if !bytes.Equal(b, block) {
			c.t.Fatalf("tick %d: Sim %d makes the entry\n%x, and the first\n%x", s.Tick(), i, b, block)
		}
		if i == 0 {
			c.log = append(c.log, b...)
			c.ends = append(c.ends, len(c.log))
		}
		s.Advance()
		if i == 0 {
			c.facts = append(c.facts, s.Facts()...)
		}
	}
	c.hashes = append(c.hashes, all(c, func(s *Sim) uint64 { return s.World().Hash() }))
}

// act does one thing.
func (c *troupe) act() {
	r := c.r
	origin := Origin{}
	if n := r.IntN(4); n < 3 {
		c.requests[n] += uint64(r.IntN(3))
		origin = Origin{[]uint64{troupeNode, 7, 1 << 60}[n], c.requests[n]}
	}
	if !all(c, func(s *Sim) bool { return s.From(origin) }) {
		return
	}
	if len(c.players) == 0 || r.IntN(12) == 0 && len(c.players) < 6 {
		name := []string{"ann", "né", ""}[r.IntN(3)]
		p := all(c, func(s *Sim) PlayerID { return join(c.t, s, name) })
		c.players = append(c.players, p)
		n := Session{Token: c.token()}
		if r.IntN(2) == 0 {
			n.Serial, n.Expires = c.serial(), c.due/1e6+int64(r.IntN(300))
		}
		c.each(func(s *Sim) { s.Admit(p, n) })
		return
	}
	i := r.IntN(len(c.players))
	p := c.players[i]
	now := c.sims[0].Tick()
	tick := now + r.Uint64N(4) - min(now, r.Uint64N(9))
	shown := shownAt(tick, r.Uint64N(8))
	if r.IntN(4) == 0 {
		shown = 0
	}
	switch r.IntN(17) {
	case 16:
		all(c, func(s *Sim) error { return s.Inject(dig{Value: uint8(now), Deep: true}) })
	case 0:
		c.each(func(s *Sim) { s.Leave(p) })
		c.players = slices.Delete(c.players, i, i+1)
	case 1:
		c.each(func(s *Sim) { s.Away(p) })
	case 2:
		c.each(func(s *Sim) { s.Back(p) })
	case 3:
		n := Session{Token: c.token()}
		c.each(func(s *Sim) { s.Admit(p, n) })
	case 4:
		c.each(func(s *Sim) { s.Known(p) })
	case 5:
		t := c.tokens[max(0, len(c.tokens)-1-r.IntN(8))]
		all(c, func(s *Sim) PlayerID { p, _ := s.Use(t); return p })
	case 6:
		all(c, func(s *Sim) Reason { return s.Chat(p, []byte("hello, né")) })
	case 7:
		c.each(func(s *Sim) { s.Say([]byte("the server says")); s.Kick(p, []byte("why")); s.Answer(Denied) })
	case 8:
		v := []Value{UintValue(U8, r.Uint64N(5)), UintValue(Bool, r.Uint64N(2))}
		all(c, func(s *Sim) Reason { return s.ActShown(p, tick, shown, s.Schema().ActionNamed("dig"), v, 0) })
	case 9:
		text := []string{"n", "end"}[r.IntN(2)]
		all(c, func(s *Sim) Reason {
			return s.ActShown(p, tick, shown, s.Schema().ActionNamed("say"), []Value{TextValue(text)}, 0)
		})
	case 10, 11:
		v := sowing(r.Float64()*6, TempEntity+r.Uint64N(9))
		all(c, func(s *Sim) Reason { return s.ActShown(p, tick, shown, s.Schema().ActionNamed("sow"), v, 0) })
	case 12:
		st := steer(r.Float32()*6, r.Float32()*1.6)
		st.HasPlace, st.X, st.Y, st.Told, st.Cell = true, r.Float64()*40, r.Float64()*40, r.IntN(2) == 0, r.IntN(2) == 0
		st.Entity, _ = avatarOf(c.sims[0], p)
		all(c, func(s *Sim) Reason { return s.SteerShown(p, tick, shown, st, 1) })
	default:
		st := steer(r.Float32()*6, r.Float32()*1.6)
		st.HasNorm = r.IntN(3) > 0
		all(c, func(s *Sim) Reason { return s.SteerShown(p, tick, shown, st, 0) })
	}
}

func avatarOf(s *Sim, p PlayerID) (ID, bool) {
	at, ok := s.World().Player(p)
	return at.Entity, ok
}

// load makes a Sim of a snapshot.
func (c *troupe) load(snapshot []byte) *Sim {
	c.t.Helper()
	s, head, err := Load(c.game, bytes.NewReader(snapshot))
	if err != nil {
		c.t.Fatal(err)
	}
	if head.Name != c.game.Name || head.Version != c.game.Version || head.Config.Mode != s.Config().Mode {
		c.t.Fatalf("%+v", head)
	}
	return s
}

// apply runs the rest of a log in a Sim, and compares the hash of each tick.
func (c *troupe) apply(s *Sim, log []byte) (n int) {
	c.t.Helper()
	in, err := NewLogReader(bytes.NewReader(log))
	if err != nil {
		c.t.Fatal(err)
	}
	for {
		block, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			c.t.Fatal(err)
		}
		e, err := s.ReadEntry(block)
		if err != nil {
			c.t.Fatal(err)
		}
		if e.Tick < s.Tick() {
			continue
		}
		if err := s.Apply(e); err != nil {
			c.t.Fatalf("tick %d: %v", e.Tick, err)
		}
		n++
		if got := s.World().Hash(); got != c.hashes[e.Tick] {
			c.t.Fatalf("tick %d: %x, want %x", e.Tick, got, c.hashes[e.Tick])
		}
	}
	return n
}

// wantSame compares all that two Sims have, world or not.
func (c *troupe) wantSame(what string, got, want *Sim) {
	c.t.Helper()
	a, b := got.AppendSnapshot(nil), want.AppendSnapshot(nil)
	if !bytes.Equal(a, b) {
		at := 0
		for at < len(a) && at < len(b) && a[at] == b[at] {
			at++
		}
		c.t.Fatalf("%s: %d and %d bytes, and byte %d differs", what, len(a), len(b), at)
	}
}
