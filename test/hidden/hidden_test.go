package hidden

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"parley/internal/kit"
	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/play/line"
	"parley/test/field"
	"parley/world"
)

// seats is how many sit at the table over each dialect; as many watch.
const seats = 4

// evening is a game of one table.
type evening struct {
	*testing.T
	*table
	server *field.Server
	rand   *rand.Rand
	loss   float64
	guests []*guest
	heard  []recording
	group  sync.WaitGroup
	log    bytes.Buffer
}

// guest is somebody at the table, or who watches.
type guest struct {
	e       *evening
	dialect string
	name    string
	id      world.PlayerID // 0: watches
	tap     *tap
	*field.Visitor
	todo chan func() // what it is to do, as duplex waits for answers
}

// recording is what a connection got.
type recording struct {
	dialect string
	viewer  *world.PlayerID // known when all are in
	*tap
}

// No byte of what a player may not see reaches it: not the values of cards, nor what somebody does under a cloak, with cards shown,
// taken back, shared and stolen, players who are away and back, inputs that come late, and loss. If the rule is not obeyed, the
// same search finds secrets in every dialect.
func TestNoByteOfWhatIsHidden(t *testing.T) {
	patient.Test(t)
	for _, tt := range []struct {
		name  string
		loss  float64
		ticks int
		off   bool
	}{
		{"without loss", 0, max(150, kit.Tier(150, 600, 20_000)), false},
		{"with loss", .05, max(150, kit.Tier(150, 600, 20_000)), false},
		{"without the rule", 0, 20, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			seed := chance.Seed(t, 21)
			e := &evening{T: t, table: newTable(), rand: rand.New(rand.NewPCG(seed, 0)), loss: tt.loss}
			e.off = tt.off
			e.open()
			e.play(tt.ticks)
			st := e.server.WorldStats()
			e.close()
			if st.World.Rewinds == 0 && !tt.off {
				t.Error("no input was late: this tests no rewinds")
			}
			e.search()
		})
	}
}

func (e *evening) open() {
	c := field.Config()
	c.TickRate, c.PerAddress = 50, -1
	c.Log = slog.New(slog.NewTextHandler(&e.log, &slog.HandlerOptions{Level: slog.LevelDebug})) // all of it, as one writes at a time
	server, err := field.Start(e.game(), c)
	if err != nil {
		e.Fatal(err)
	}
	e.server = server
	for i := range seats {
		for _, dialect := range bots.Dialects {
			g := &guest{e: e, dialect: dialect, name: fmt.Sprintf("%s-%d", dialect, i), todo: make(chan func(), 8)}
			e.group.Go(func() {
				for do := range g.todo {
					do()
				}
			})
			e.guests = append(e.guests, g)
			g.enter(bots.Config{})
		}
	}
	players, err := server.Players()
	if err != nil || len(players) != 4*seats {
		e.Fatalf("%d players: %v", len(players), err)
	}
	for _, p := range players {
		for _, g := range e.guests {
			if g.name == p.Name {
				g.id = p.ID
			}
		}
	}
}

// enter joins, or comes back.
func (g *guest) enter(c bots.Config) {
	g.tap = newTap(g.e, g.e.server.At[g.dialect], g.e.loss, g.e.rand.Uint64(), func() { // realm's inputs have a tick, and the world goes back for it
		if g.dialect == "realm" {
			g.e.pass(2)
		}
	})
	g.e.heard = append(g.e.heard, recording{g.dialect, &g.id, g.tap})
	c.Schema, c.TickRate, c.Plain = g.e.server.Schema, 50, true
	if c.Session == ([16]byte{}) {
		c.Room, c.Name, c.Password = "main", g.name, "a long password"
	}
	if g.dialect == "stamp" {
		c.Room, c.Name = "", ""
	}
	if g.dialect == "realm" {
		c.Room, c.New = "", g.id == 0
	}
	v, err := field.Visit(g.e.Context(), g.dialect, g.tap.addr(), c)
	if err != nil || !v.Wait(field.Patience) {
		g.e.Fatalf("%s does not get in: %v", g.name, err)
	}
	g.Visitor = v
}

// back has a player come back: after its stream was cut, or while its datagrams still go both ways, and its old connection is closed
// for it.
func (g *guest) back() {
	var c bots.Config
	if line.HasSessions(g.dialect) {
		patient.Until(g.e, "it is told a session", func() bool { token, _ := g.Session(); return token != [16]byte{} })
		c.Session, _ = g.Session()
	}
	if g.dialect == "realm" || g.dialect == "duplex" {
		g.tap.close()
	}
	was := g.Visitor
	g.e.group.Go(func() { was.Gone() })
	g.enter(c)
	players, err := g.e.server.Players()
	for _, p := range players {
		if p.Name == g.name && p.ID == g.id && !p.Away {
			return
		}
	}
	g.e.Fatalf("%s is not back: %v, %v", g.name, players, err)
}

// play runs ticks, in which everybody does something now and then.
func (e *evening) play(ticks int) {
	schema := e.server.Schema
	u8 := func(n uint64) world.Value { return world.UintValue(world.U8, n) }
	do := func(g *guest) {
		slot := u8(e.rand.Uint64N(handSize))
		name, value := "flip", slot
		switch e.rand.IntN(6) {
		case 0:
			name = "share"
		case 1:
			name = "steal"
		case 2:
			name, value = "cloak", world.UintValue(world.Bool, e.rand.Uint64N(2))
		case 3:
			code := e.rand.Uint64()
			e.hush[code] = g.id
			name, value = "whisper", world.UintValue(world.U64, code)
		}
		v := g.Visitor
		select {
		case g.todo <- func() { v.Act(schema.ActionNamed(name), value) }: // it may be refused, or away
		default: // it waits for an answer
		}
	}
	for i := range ticks {
		patient.Value(e.tick)
		for _, g := range e.guests {
			if g.id != 0 && e.rand.IntN(4) == 0 {
				do(g)
			}
		}
		if g := e.guests[e.rand.IntN(len(e.guests))]; g.id != 0 && i%16 == 0 {
			g.back()
		}
	}
}

func (e *evening) close() {
	var leaving sync.WaitGroup
	for _, g := range e.guests {
		close(g.todo)
		leaving.Go(g.Leave)
	}
	close(e.over)
	patient.Done(leaving.Wait)
	patient.Done(e.group.Wait)
	if err := e.server.Close(); err != nil {
		e.Error(err)
	}
	for _, r := range e.heard {
		r.tap.close()
	}
}

// search looks for secrets in all that was sent.
func (e *evening) search() {
	whole, marks := e.needles()
	type count struct{ bytes, known, whispers, marks, leaks int }
	found := map[string]*count{}
	for _, r := range e.heard {
		c := found[r.dialect]
		if c == nil {
			c = &count{}
			found[r.dialect] = c
		}
		leak := func(secret uint64, b []byte, at int) {
			if c.leaks++; !e.off && c.leaks < 5 {
				e.Errorf("%s: viewer %d was sent the secret %x, in %x", r.dialect, *r.viewer, secret, b[max(0, at-40):min(len(b), at+40)])
			}
		}
		for _, b := range r.got {
			c.bytes += len(b)
			seen := map[[4]byte]int{} // where a mark was last, in this datagram or stream
			for i := range b {
				if i+8 <= len(b) {
					if s, ok := whole[[8]byte(b[i:])]; ok && e.knows(*r.viewer, s) {
						if c.known++; e.hush[s] != 0 {
							c.whispers++
						}
					} else if ok {
						leak(s, b, i)
					}
				}
				if i+4 > len(b) {
					continue
				}
				mark := [4]byte(b[i:])
				if marks[mark] == nil {
					continue
				}
				if was, again := seen[mark]; again && isPair(r.dialect, b, was, i) {
					if slices.ContainsFunc(marks[mark], func(s uint64) bool { return e.knows(*r.viewer, s) }) {
						c.marks++
					} else {
						leak(marks[mark][0], b, i)
					}
				}
				seen[mark] = i
			}
		}
	}
	e.searchLog()
	whispers := 0
	for _, dialect := range bots.Dialects {
		c := found[dialect]
		e.Logf("%s: %d bytes with %d secrets, %d of them whispers, and %d marks that their viewer may know, and %d that it may not; %v", dialect, c.bytes, c.known, c.whispers, c.marks, c.leaks, e.table)
		whispers += c.whispers
		if c.known < 50 || c.marks < 10 {
			e.Errorf("%s: too few secrets were sent at all", dialect)
		}
		if e.off && c.leaks == 0 {
			e.Errorf("%s: the rule is off, and the search finds nothing", dialect)
		}
	}
	if whispers == 0 && !e.off {
		e.Error("nobody was told of its own whisper")
	}
}

// isPair reports whether two marks are those of one card. Four bytes alone may be there by chance, as in the time of a packet.
func isPair(dialect string, b []byte, first, second int) bool {
	switch dialect {
	case "replica": // values are sorted by variable, and each has the entity's id and the size before it
		return first > 1 && b[first-1] == 4 && b[second-1] == 4 && b[first-2] == b[second-2]
	case "realm": // an attribute has its number before it
		return second-first == 6
	}
	return second-first == 4
}

// searchLog looks for secrets in what the server has logged.
func (e *evening) searchLog() {
	if !bytes.Contains(e.log.Bytes(), []byte("joined")) {
		e.Error("the log has nothing of the players")
	}
	look := func(secret uint64, texts ...string) {
		for _, text := range texts {
			if bytes.Contains(e.log.Bytes(), []byte(text)) {
				e.Errorf("the log tells the secret %x, as %s", secret, text)
			}
		}
	}
	for s := range e.may {
		look(s, fmt.Sprint(s), fmt.Sprintf("%x", s), noteOf(s))
	}
	for s := range e.hush {
		look(s, fmt.Sprint(s), fmt.Sprintf("%x", s))
	}
}
