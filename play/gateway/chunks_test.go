package gateway

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/bots"
	"parley/protocol/realm"
	realmcore "parley/protocol/realm/core"
	"parley/protocol/replica"
	"parley/world"
)

func TestTerrainHasABudget(t *testing.T) {
	h, d := newDesk(t, Config{TickRate: 100})
	s := d.sit("ann")
	ticks(t, h, 2) // enters, and has its budget
	for i := range int16(maxAsked) {
		for range 2 { // the same chunk twice is one
			h.main.wants(s, world.ChunkPlace{BX: i}, uint32(i)+1)
		}
	}
	h.main.wants(s, world.ChunkPlace{BX: -1}, 7)
	if len(s.asked) != maxAsked || !slices.Equal(s.results, []result{{7, world.TooMany}}) {
		t.Fatalf("%d are noted, the answers are %v", len(s.asked), s.results)
	}
	// T42: neither large chunks nor many small ones are more than a budget, nor all at once.
	for _, chunk := range []int{40 << 10, 7} {
		total, most := 0, 0
		for range 300 {
			ticks(t, h, 1)
			n := 0
			for _, ok := s.nextChunk(); ok; _, ok = s.nextChunk() {
				n++
				s.sentChunk(chunk)
			}
			total, most = total+n, max(most, n)
			for i := range int16(maxAsked) {
				h.main.wants(s, world.ChunkPlace{BX: i}, 0)
			}
		}
		budget := 4 * terrainRate / max(chunk, leastChunk) // of three seconds, and one that was saved up
		if most > chunksATick || total > budget+1 || total < budget/2 {
			t.Errorf("%d chunks of %d bytes in three seconds, %d in a tick; %d are the budget", total, chunk, most, budget)
		}
	}
}

// 15.12: a chunk that a connection had no room for is sent later.
func TestAChunkThatWasNotSentIsNextAgain(t *testing.T) {
	h, d := newDesk(t, Config{})
	s := d.sit("ann")
	ticks(t, h, 2)
	for i := range int16(3) {
		h.main.wants(s, world.ChunkPlace{BX: i}, 0)
	}
	var sent []int16
	for i := range 10 {
		ticks(t, h, 1)
		for a, ok := s.nextChunk(); ok; a, ok = s.nextChunk() {
			if i < 5 { // the window is full
				break
			}
			s.sentChunk(100)
			sent = append(sent, a.place.BX)
		}
	}
	if want := []int16{0, 1, 2}; !slices.Equal(sent, want) || s.waits() {
		t.Errorf("%v were sent, want %v; it waits: %v", sent, want, s.waits())
	}
}

// A replica client that takes nothing for a while gets all terrain that it asked for in the end.
func TestReplicaSendsTerrainThatDidNotFit(t *testing.T) {
	h := newArena(t, Config{})
	d := must(NewReplica(h, ReplicaConfig{Addr: loopback}))
	p := join(t, h, d, nil)
	var full, asked int
	d.server.Do(func() {
		for c, s := range d.seats {
			h.main.wants(&s.Seat, world.ChunkPlace{BX: 3, BY: 4}, 0)
			asked++
			for c.Send(replica.Ordered, "chat", make([]byte, 4096)) == nil {
				full++
			}
			for c.Send(replica.Ordered, "chat", nil) == nil { // nor is there room for a small one, as the chunk may be
			}
			// A tick, as the loop stands still: nothing is acknowledged meanwhile.
			s.granted = 1
			h.main.land.make(world.ChunkPlace{BX: 3, BY: 4})
			stageOf[*replicaStage](h, d).tell(s)
			if !s.waits() {
				t.Error("a chunk that was not sent is off the list")
			}
		}
	})
	if full == 0 || asked != 1 {
		t.Fatalf("%d messages filled the window of %d", full, asked)
	}
	until(t, h, "it has the chunk", func() (has bool) {
		p.See(func(v *bots.Sight) { has = v.Land[world.ChunkPlace{BX: 3, BY: 4}] != nil })
		return has
	})
}

// T42: however many ask for terrain that is new, a tick makes only so much, and everybody has a turn.
func TestTerrainIsSharedByAll(t *testing.T) {
	promise.Keeps(t, "T42", "gateway", 1)
	h, d := newDesk(t, Config{})
	var seats []*Seat
	for range 100 {
		seats = append(seats, d.sit(""))
	}
	ticks(t, h, 2)
	got := make([]int, len(seats))
	rounds := raced(200, 20)
	for round := range int16(rounds) {
		for i, s := range seats {
			for len(s.asked) < 8 {
				h.main.wants(s, world.ChunkPlace{BX: int16(i), BY: 8*round + int16(len(s.asked))}, 0)
			}
		}
		ticks(t, h, 1)
		made := 0
		for i, s := range seats {
			for _, ok := s.nextChunk(); ok; _, ok = s.nextChunk() {
				made++
				got[i]++
				s.sentChunk(10)
			}
		}
		if made != chunksATickOfAll {
			t.Fatalf("%d chunks in a tick, want %d", made, chunksATickOfAll)
		}
	}
	if least, most := slices.Min(got), slices.Max(got); most-least > chunksATick {
		t.Errorf("who had least had %d chunks, who had most %d", least, most)
	}
	h.look()
	if st := h.Stats(); st.DelayedChunks == 0 || st.MadeChunks != uint64(rounds*chunksATickOfAll) {
		t.Errorf("%d waited, %d chunks were made", st.DelayedChunks, st.MadeChunks)
	}
}

// What was made for one is there for the others, within a bound of bytes for all.
func TestTerrainThatIsMadeIsSharedByAll(t *testing.T) {
	h, d := newDesk(t, Config{})
	var seats []*Seat
	for range 400 {
		seats = append(seats, d.sit(""))
	}
	ticks(t, h, 2)
	for _, s := range seats {
		for i := range int16(2) {
			h.main.wants(s, world.ChunkPlace{BX: i}, 0)
		}
	}
	got := 0
	for range 4 {
		ticks(t, h, 1)
		n := 0
		for _, s := range seats {
			for _, ok := s.nextChunk(); ok; _, ok = s.nextChunk() {
				n++
				s.sentChunk(10)
			}
		}
		if got += n; n > terrainATickOfAll/leastChunk {
			t.Errorf("%d chunks in a tick", n)
		}
	}
	if got != 2*len(seats) || h.stats.MadeChunks != 2 {
		t.Errorf("%d of %d chunks came, %d were made", got, 2*len(seats), h.stats.MadeChunks)
	}
}

// nomads is a game whose players stand on chunks of their own; made counts how often terrain is made.
func nomads(made *atomic.Int64) world.Game {
	g := pawnGame()
	g.Terrain = func(_ uint64, bx, by int16, cells *world.Cells) {
		made.Add(1)
		cells[0], cells[1] = byte(bx), byte(by)
	}
	g.Step = func(w *world.World, inputs []world.Input) {
		for i := range inputs {
			if in := &inputs[i]; in.Kind == world.Join {
				at := world.Body{X: float64(in.Player) * world.ChunkSide}
				w.Own(in.Player, world.SpawnFor(w, in, pawn{Body: at}))
			}
		}
	}
	return g
}

// T42, realm: a crowd that comes at once, and asks for new terrain at once, makes no tick longer than
// its bound; every chunk comes in the end, once, and nobody waits while another has much.
func TestARealmCrowdSharesTerrain(t *testing.T) {
	promise.Keeps(t, "T42", "gateway", 1)
	const crowd, each = 24, 40
	var made atomic.Int64
	h := must(New(Config{Game: nomads(&made), Sight: 16}))
	d := must(NewRealm(h, RealmConfig{Addr: loopback, Server: realm.Config{Plain: true, Config: realmcore.Config{SightRadius: -1}}}))
	defer d.Shutdown(t.Context())
	var most int64
	tick := func() {
		before := made.Load()
		ticks(t, h, 1)
		most = max(most, made.Load()-before)
	}
	var people []*realmPlayer
	var in sync.WaitGroup
	for i := range crowd {
		name := fmt.Sprint("nomad-", i)
		p := playRealm(t, h, d, name)
		people = append(people, p)
		in.Go(func() {
			if code, err := p.Login(t.Context(), name, ""); code != realm.LoginOK || err != nil {
				t.Error(code, err)
			}
		})
	}
	all := func(holds func(p *realmPlayer) bool) func() bool {
		return func() bool {
			return !slices.ContainsFunc(people, func(p *realmPlayer) bool { return !p.is(func() bool { return holds(p) }) })
		}
	}
	waitFor(t, tick, "all are in", all(func(p *realmPlayer) bool { return p.own != 0 && p.chunks == 1 }))
	patient.Done(in.Wait)
	for i, p := range people {
		var list []realmcore.ChunkID
		for k := range int16(each) {
			list = append(list, realmcore.ChunkID{BX: -1 - int16(i), BY: k})
		}
		if err := p.Want(list...); err != nil {
			t.Fatal(err)
		}
	}
	look := func() (waiting, least, gap int) {
		least = 1 << 30
		largest := 0
		d.server.Do(func() {
			for c := range d.mux.Conns() {
				if c.WantsChunks() {
					waiting++
				}
				n := int(c.Stats().Chunks)
				least, largest = min(least, n), max(largest, n)
			}
		})
		return waiting, least, largest - least
	}
	patient.Until(t, "all have asked", func() bool { n, _, _ := look(); return n == crowd })
	waitFor(t, func() {
		tick()
		if _, least, gap := look(); gap > chunksATick {
			t.Errorf("somebody has %d chunks, another %d more", least, gap)
		}
	}, "all is there", all(func(p *realmPlayer) bool { return p.chunks == 1+each }))
	if most > chunksATickOfAll || most == 0 {
		t.Errorf("a tick made %d chunks, want at most %d", most, chunksATickOfAll)
	}
	h.look()
	if st := h.Stats(); st.MadeChunks != crowd*(1+each) || st.DelayedChunks == 0 {
		t.Errorf("%d chunks were made, %d times somebody waited", st.MadeChunks, st.DelayedChunks)
	}
}
