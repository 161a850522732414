package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
)

// T42: 10,000 requests for as much as one can ask for: what is sent stays within the budget,
// and little is noted.
func TestTerrainStaysWithinTheBudget(t *testing.T) {
	for _, noise := range []bool{true, false} {
		t.Run(fmt.Sprint("noise ", noise), func(t *testing.T) {
			r := kit.Rand(t)
			land := &flatland{noise: noise}
			w := newTown(t, r, Config{Terrain: land, SightRadius: -1})
			ann := w.join("ann")
			began, sentBefore := w.now, ann.conn.Stats().OutBytes
			requests := promise.Keeps(t, "T42", "realm", kit.Rounds(10_000, 100_000))
			for i := range requests {
				var list []ChunkID
				for range MaxWanted {
					list = append(list, ChunkID{int16(r.IntN(900)), int16(r.Uint32())})
				}
				wanted, _ := MakeWanted(list...)
				ann.up = testCodec.AppendTo(nil, &Message{Kind: KindTerrainRequest, Wanted: wanted})
				ann.stepUp()
				w.events()
				if n := len(ann.conn.endpoint.terrain.known); n > maxWantedChunks || n != ann.conn.endpoint.terrain.wanted.Len() {
					t.Fatalf("%d chunks are noted", n)
				}
				if i%100 == 0 {
					w.advance(100 * time.Millisecond)
					ann.events = ann.events[:0]
				}
			}
			elapsed := w.now.Sub(began).Seconds()
			sent := float64(ann.conn.Stats().OutBytes - sentBefore)
			// A full budget to begin with, and one message that may go past its end.
			if limit := (elapsed+1)*(256<<10) + batchBytes + MaxChunk; sent > limit {
				t.Errorf("%.0f bytes in %.1f s, want at most %.0f", sent, elapsed, limit)
			}
			if limit := int((elapsed+1)*(256<<10))/leastChunkCost + 10; land.asked > limit {
				t.Errorf("%d chunks were encoded in %.1f s, want at most %d", land.asked, elapsed, limit)
			}
			if noise && !testing.Short() && sent < elapsed*(200<<10) {
				t.Errorf("%.0f bytes in %.1f s: the budget is not used", sent, elapsed)
			}
			if got := ann.conn.Stats(); got.ChunkUnsaid == 0 || got.ChunkUnsaid != w.mux.Traffic().ChunkUnsaid || got.Check() != nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

// What is wanted comes, once, in the order of asking, each message within 256 KiB; chunks that
// there are not are left out; and a changed one comes again.
func TestTerrainComes(t *testing.T) {
	for _, noise := range []bool{true, false} {
		w := newTown(t, kit.Rand(t), Config{Terrain: &flatland{noise: noise}, SightRadius: 2})
		ann := w.join("ann")
		w.advance(time.Minute)
		seen := chunksOf(t, ann)
		if len(seen) != 25 || seen[0] != (ChunkID{0, 0}) {
			t.Errorf("noise %t: %d chunks, first %v", noise, len(seen), seen[0])
		}
		wanted, _ := MakeWanted(ChunkID{5, 5}, ChunkID{1000, 0}, ChunkID{5, 5}, ChunkID{-6, 7})
		ann.client.Send(w.now, &Message{Kind: KindTerrainRequest, Wanted: wanted})
		w.drive()
		ann.conn.ChunkChanged(ChunkID{8, 8})
		w.advance(10 * time.Second)
		if got, want := fmt.Sprint(chunksOf(t, ann)), "[{5 5} {-6 7} {8 8}]"; got != want {
			t.Errorf("noise %t: got %s, want %s", noise, got, want)
		}
	}
}

// By turns, a client is sent the chunk that it enters in and then so many as the game says, in the
// order of asking and within the client's own budget; none comes by itself, and no timer runs for it.
func TestTerrainByTurn(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{Terrain: &flatland{noise: true}, SightRadius: 1, TerrainByTurn: true})
	ann := w.join("ann")
	w.advance(time.Minute)
	if got := fmt.Sprint(chunksOf(t, ann)); got != "[{0 0}]" || !ann.conn.WantsChunks() {
		t.Fatalf("%s came by itself", got)
	}
	if at, ok := ann.conn.endpoint.NextTimeout(); !ok || at.Sub(w.now) < time.Second {
		t.Errorf("a timer runs: %v", at.Sub(w.now))
	}
	wanted, _ := MakeWanted(ChunkID{1000, 0}, ChunkID{5, 5})
	ann.client.Send(w.now, &Message{Kind: KindTerrainRequest, Wanted: wanted})
	w.drive()
	var next []ChunkID
	for i := 0; ; i++ {
		id, ok := ann.conn.WantedChunk(i)
		if !ok {
			break
		}
		next = append(next, id)
	}
	var got []ChunkID
	for range 5 { // as large as they are, one fills the queue and two a budget
		ann.conn.SendChunks(5)
		w.drive()
		got = append(got, chunksOf(t, ann)...)
	}
	if _, ok := ann.conn.WantedChunk(0); ok {
		t.Error("its budget is spent, and it may be sent more")
	}
	w.advance(10 * time.Second)
	if len(next) != 10 || len(got) != 2 || fmt.Sprint(got) != fmt.Sprint(next[:len(got)]) {
		t.Errorf("wanted were %v, sent %v", next, got)
	}
	for range 10 { // one that there is not takes its turn
		ann.conn.SendChunks(1)
		w.advance(10 * time.Second)
		got = append(got, chunksOf(t, ann)...)
	}
	if want := append(slices.Clone(next[:8]), ChunkID{5, 5}); !slices.Equal(got, want) || ann.conn.WantsChunks() {
		t.Errorf("sent are %v, want %v", got, want)
	}
}

// The game may have the nearest of what is wanted be sent first, also when it was asked for last.
func TestTheNearestTerrainComesFirst(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{Terrain: &flatland{}, SightRadius: 1, TerrainByTurn: true})
	ann := w.join("ann")
	w.advance(time.Minute)
	chunksOf(t, ann)
	wanted, _ := MakeWanted(ChunkID{-300, 5}, ChunkID{2, 0})
	ann.client.Send(w.now, &Message{Kind: KindTerrainRequest, Wanted: wanted})
	w.drive()
	var got []ChunkID
	for _, at := range []Position{{0, 0, 128, 250}, {1, 0, 250, 128}, {2, 0, 10, 10}, {-32768, 32767, 255, 0}} {
		ann.conn.Nearest(0, at)
		ann.conn.SendChunks(1)
		w.advance(time.Second)
		got = append(got, chunksOf(t, ann)...)
	}
	if want := []ChunkID{{0, 1}, {1, 0}, {2, 0}, {-300, 5}}; !slices.Equal(got, want) {
		t.Errorf("sent are %v, want %v", got, want)
	}
	far := ann.conn.endpoint.terrain.wanted.Len() + 3
	ann.conn.Nearest(far, Position{}) // there is none after so many
	ann.conn.Nearest(1, Position{-1, -1, 255, 255})
	if id, _ := ann.conn.WantedChunk(1); id != (ChunkID{-1, -1}) {
		t.Errorf("the second is %v", id)
	}
}

// chunksOf returns the chunks that a client was sent, and forgets them.
func chunksOf(t *testing.T, p *person) (list []ChunkID) {
	t.Helper()
	for _, ev := range p.events {
		if ev.Message == nil {
			continue
		}
		if n := len(testCodec.AppendTo(nil, ev.Message)); n > 256<<10 {
			t.Errorf("a message of %d bytes", n)
		}
		switch ev.Message.Kind {
		case KindChunkUpdate:
			list = append(list, ChunkID{ev.Message.Chunk.BX, ev.Message.Chunk.BY})
		case KindChunksUpdate:
			for c := range ev.Message.Chunks.All() {
				list = append(list, ChunkID{c.BX, c.BY})
			}
		}
	}
	p.events = nil
	return list
}

// The chunks around the edge of the world do not wrap to its other side.
func TestTerrainAtTheEdge(t *testing.T) {
	var tr terrain
	tr.wantAround(Position{BX: -32768, BY: 32767}, 1)
	if got := tr.wanted.Len(); got != 3 {
		t.Errorf("%d chunks around a corner, want 3", got)
	}
}

// T41: a client that floods with tiny messages, as many as fit into a turn's bytes, has its
// share of a turn and no more: others get theirs.
func TestFloodsShareTurns(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	ann, bob := w.join("ann"), w.join("bob")
	flood := make([]byte, 4<<10) // pings
	turns := promise.Keeps(t, "T41", "realm", kit.Rounds(500, 20_000))
	for range turns {
		w.mux.HandleBytes(w.now, ann.conn, flood)
		w.events()
		w.mux.HandleBytes(w.now, bob.conn, []byte{0})
		w.events()
		for c, n, ok := w.mux.PollBytes(w.buf[:]); ok; c, n, ok = w.mux.PollBytes(w.buf[:]) {
			_, _ = c, n
		}
	}
	if a, b := ann.conn.Stats(), bob.conn.Stats(); a.Out-b.Out < uint64(turns)*4000 || b.In < uint64(turns) || ann.conn.endpoint.State() != StatePlaying {
		t.Errorf("%+v and %+v", a, b)
	}
	// One that floods and does not read what it asked for is dropped.
	w.mux.Block(ann.conn)
	for i := 0; ann.conn.endpoint.State() == StatePlaying; i++ {
		if i > 1000 {
			t.Fatal("a flood fills memory")
		}
		w.mux.HandleBytes(w.now, ann.conn, flood)
		w.events()
	}
	if bob.conn.endpoint.State() != StatePlaying || ann.conn.endpoint.Queued() > 1<<10 {
		t.Error(bob.conn.endpoint.State(), ann.conn.endpoint.Queued())
	}
}

// T41: nothing on the way of a tick allocates: an update comes, a broadcast goes to a hundred.
func TestATickAllocatesNothing(t *testing.T) {
	promise.Keeps(t, "T41", "realm", 1)
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	w := newTown(t, kit.Rand(t), Config{MaxPlayers: 1000})
	for range 100 {
		w.join("ann")
	}
	update := testCodec.AppendTo(nil, &Message{Kind: KindEntityUpdate, Entity: Entity{ID: 1, Has: HasPosition | HasSpeedNorm}})
	action := testCodec.AppendTo(nil, &Message{Kind: KindActionDo, Action: Action{ID: 7}})
	msg := updatesOf(1, 10)
	conn := w.people[0].conn
	told := 0
	turn := func() {
		for _, b := range [][]byte{update, action} {
			w.mux.HandleBytes(w.now, conn, b)
			for _, _, ok := w.mux.PollEvent(); ok; _, _, ok = w.mux.PollEvent() {
				told++
			}
		}
		w.mux.Broadcast(&msg, nil)
		for _, _, ok := w.mux.PollBytes(w.buf[:]); ok; _, _, ok = w.mux.PollBytes(w.buf[:]) {
		}
		w.mux.HandleTimeout(w.now)
	}
	turn()
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
	if told < 200 {
		t.Errorf("%d messages were told", told)
	}
	if got := w.mux.Stats(); got.Receivers < 100*got.Broadcast/2 {
		t.Errorf("%+v", got)
	}
}

func BenchmarkBroadcastToThousand(b *testing.B) {
	w := newTown(b, kit.Rand(b), Config{MaxPlayers: 1000})
	for range 1000 {
		p := w.arrive(Config{})
		p.conn.endpoint.state = StateEntering
		if err := p.conn.Place(w.mux.Main()); err != nil {
			b.Fatal(err)
		}
		p.conn.endpoint.state = StatePlaying
		p.conn.endpoint.out.clear(w.mux.shared)
	}
	msg := updatesOf(1, 10)
	b.ReportAllocs()
	for b.Loop() {
		w.mux.Broadcast(&msg, nil)
		for _, _, ok := w.mux.PollBytes(w.buf[:]); ok; _, _, ok = w.mux.PollBytes(w.buf[:]) {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/client")
}

func BenchmarkParseEntities10(b *testing.B) {
	msg := updatesOf(1, 10)
	in := testCodec.AppendTo(nil, &msg)
	var m Message
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if !testCodec.Parse(FromServer, in, &m) {
			b.Fatal("refused")
		}
	}
}

func BenchmarkAppendChunk(b *testing.B) {
	var land Terrain
	land[7] = 1
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendChunk(buf[:0], 1, 2, &land)
	}
}
