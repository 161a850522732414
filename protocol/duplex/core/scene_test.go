package core

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/pagetest"
	"parley/internal/shell/shelltest"
	"parley/simnet"
)

// truth is what a client that sees all of a scene is to know.
func (s *Scene) truth() map[int16]string {
	all := map[int16]string{}
	for i := range s.elements.list {
		if el := &s.elements.list[i]; s.elements.live.has(int32(i)) {
			all[el.sid] = string(el.data)
		}
	}
	return all
}

// Scenes that use the same SIDs, and change at any time: each client knows what is in its own scene, and nothing of the others.
// They come and go, their passes are judged in their time, and the path loses and reorders.
func TestScenesKeepApart(t *testing.T) {
	kit.Seeds(t, kit.Tier(20, 200, 2000), func(t *testing.T, seed uint64) {
		var w *world
		var scenes []*Scene
		c := Config{Resync: time.Second, Judge: func(c *Conn, pass []byte) {
			i := int(pass[2] - '0')
			w.net.After(time.Duration(w.rng.IntN(100))*time.Millisecond, "verdict", func() {
				w.mux.Advance(w.server.Now())
				c.AnswerPass(0, int16(i+1), scenes[i]) // the same SIDs in all of them
				w.server.Poke()
			})
		}}
		w = newWorld(t, seed, c, simnet.Profile{Delay: 20 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.1})
		in := map[*client]int{}
		for range 4 {
			scenes = append(scenes, w.mux.NewScene())
		}
		dial := func(i int) {
			k := w.rng.IntN(len(scenes) + 1)
			if w.cfg.Pass = nil; k < len(scenes) {
				w.cfg.Pass = passOf(string(rune('0' + k)))[1:]
			}
			in[w.dial(i)] = k
		}
		sceneOf := func(k int) *Scene {
			if k == len(scenes) {
				return &w.mux.Scene
			}
			return scenes[k]
		}
		for i := range 8 {
			dial(i)
		}
		for range 200 {
			k := w.rng.IntN(len(scenes) + 1)
			s, sid := sceneOf(k), int16(1+w.rng.IntN(6))
			if w.rng.IntN(4) == 0 {
				s.Remove(sid)
			} else if err := s.Set(sid, valueOf(uint64(k)<<32|uint64(w.rng.IntN(1000)))); err != nil {
				t.Fatal(err)
			}
			w.mux.Advance(w.server.Now())
			s.Flush()
			w.server.Poke()
			w.run(time.Duration(w.rng.IntN(20)) * time.Millisecond)
			if x := w.clients[w.rng.IntN(8)]; w.rng.IntN(40) == 0 && len(w.clients) < 12 && x.closed == nil {
				x.Close(x.host.Now(), "")
				x.host.Poke()
				dial(len(w.clients))
			}
		}
		w.run(4 * time.Second)
		n := 0
		for i, x := range w.clients {
			k := in[x]
			if x.closed != nil {
				continue
			}
			n++
			if s := sceneOf(k); !x.agrees(s.truth()) {
				t.Fatalf("client %d of scene %d knows %x, want %x", i, k, x.state, s.truth())
			}
			if k < len(scenes) && (x.Player() != int16(k+1) || x.conn().Player() != x.Player() || x.conn().FeedID() != x.player) {
				t.Fatalf("client %d of scene %d has SID %d, and %d at the server", i, k, x.Player(), x.conn().Player())
			}
		}
		in2 := len(w.mux.Scene.conns)
		for _, s := range scenes {
			in2 += len(s.conns)
		}
		if n != 8 || in2 != n || w.mux.Len() != n {
			t.Fatalf("%d clients are there, %d in scenes, %d connections", n, in2, w.mux.Len())
		}
	})
}

// What becomes of those who are in a scene that is closed, and of those who come later.
func TestAClosedScene(t *testing.T) {
	r := newRoom(t, Config{Judge: func(*Conn, []byte) {}})
	s := r.mux.NewScene()
	if err := s.Set(1, valueOf(1)); err != nil {
		t.Fatal(err)
	}
	var all []*guest
	for range 3 { // one is in, one was judged, one is being judged
		g := r.open("10.0.0.2")
		g.say(CodeConnInit)
		g.say(passOf("x")...)
		all = append(all, g)
	}
	other := r.join("10.0.0.2")
	in, judged, late := all[0], all[1], all[2]
	if !in.AnswerPass(0, 5, s) || !judged.AnswerPass(0, 6, s) {
		t.Fatal("it is not there")
	}
	in.say(CodeConnOK)
	r.drain()
	in.Hide(1)
	s.Flush()
	s.Close()
	s.Flush()
	if in.e.closing.close.Text != "the scene was closed" || in.e.State() < StateClosing {
		t.Errorf("who was in is %v: %v", in.e.State(), in.e.closing.close)
	}
	if judged.e.State() < StateClosing || judged.e.closing.close.Reason != ReasonRefused {
		t.Errorf("who was judged is %v: %v", judged.e.State(), judged.e.closing.close)
	}
	if late.AnswerPass(0, 7, s) || late.e.State() < StateClosing || late.e.closing.close.Reason != ReasonRefused {
		t.Errorf("who comes later is %v: %v", late.e.State(), late.e.closing.close)
	}
	r.drain()
	if _, ok := s.Element(1); ok || len(s.conns) != 0 || len(s.elements.slots) != 0 || r.mux.Len() != 1 || other.e.State() != StateOpen {
		t.Errorf("%d are in the scene, %d on the server", len(s.conns), r.mux.Len())
	}
	// The server's own goes on.
	r.mux.Scene.Close()
	r.drain()
	r.put(3, valueOf(3))
	if g := r.join("10.0.0.2"); g.e.State() != StateOpen || !g.e.view.known.has(r.mux.elements.slotOf(3)) {
		t.Errorf("the next is %v", g.e.State())
	}
}

// A client without a pass may be put into a scene until it was told of another: when it joins, and in the event of that.
func TestPlaceComesFirst(t *testing.T) {
	var s *Scene
	r := newRoom(t, Config{Enter: func(c *Conn) string {
		if s != nil {
			c.Place(s)
		}
		return ""
	}})
	s = r.mux.NewScene()
	if err := s.Set(1, valueOf(1)); err != nil {
		t.Fatal(err)
	}
	r.put(1, valueOf(2))
	if g := r.join("10.0.0.2"); g.scene != s || !g.Sees(1) {
		t.Error("it is not in the scene")
	}
	other := s
	s = nil
	g := r.open("10.0.0.2")
	g.say(CodeConnInit)
	g.say(CodeConnOK)
	if _, ev, ok := r.mux.PollEvent(); !ok || ev.Kind != EventJoined {
		t.Fatalf("%v", ev)
	}
	g.Place(other)
	r.drain()
	if g.scene != other || !g.e.view.known.has(0) || len(other.conns) != 2 || len(r.mux.Scene.conns) != 0 {
		t.Error("it is not in the scene of the event")
	}
	g.Place(other) // which changes nothing
	defer func() {
		if why, _ := recover().(string); !strings.Contains(why, "told of another scene") {
			t.Errorf("a late Place: %q", why)
		}
	}()
	g.Place(&r.mux.Scene)
}

// A server has a thousand scenes, most of them empty.
func TestAnEmptySceneIsSmall(t *testing.T) {
	if shelltest.Race {
		t.Skip("the race detector has memory of its own")
	}
	r := newRoom(t, Config{})
	pagetest.Heap() // what waits to be freed is no scene's
	all := make([]*Scene, 1000)
	before := pagetest.Heap()
	for i := range all {
		all[i] = r.mux.NewScene()
	}
	empty := (pagetest.Heap() - before) / len(all)
	for _, s := range all {
		for sid := range int16(20) {
			if err := s.Set(sid, valueOf(1)); err != nil {
				t.Fatal(err)
			}
		}
		s.Flush()
	}
	used := (pagetest.Heap() - before) / len(all)
	for _, s := range all {
		s.Close()
	}
	closed := (pagetest.Heap() - before) / len(all)
	t.Logf("a scene has %d B, with 20 elements %d B, and %d B when it is closed", empty, used, closed)
	if empty > 512 || closed > 512 || used > 8<<10 {
		t.Error("that is too much")
	}
	runtime.KeepAlive(all)
	runtime.KeepAlive(r)
}

// scenes are n of them, with so many players each, who see one element each.
func scenes(t testing.TB, n, players int) (r *room, all []*Scene) {
	r = newRoom(t, Config{Resync: -1, Judge: func(*Conn, []byte) {}})
	for range n {
		s := r.mux.NewScene()
		for i := range players {
			if err := s.Set(int16(i+1), valueOf(0)); err != nil {
				t.Fatal(err)
			}
			g := r.open("10.0.0.2")
			g.say(CodeConnInit)
			g.init(g.feed, g.e.token)
			g.say(passOf("x")...)
			g.AnswerPass(0, int16(i+1), s)
			g.say(CodeConnOK)
		}
		r.drain()
		s.Flush()
		r.drain()
		all = append(all, s)
	}
	return r, all
}

// turn changes all elements of a scene, and has its players told.
func (r *room) turn(s *Scene, data []byte) (sent int) {
	data[8]++
	for sid := range int16(len(s.conns)) {
		if err := s.Set(sid+1, data); err != nil {
			r.t.Fatal(err)
		}
	}
	s.Flush()
	for _, _, ok := r.mux.PollEvent(); ok; _, _, ok = r.mux.PollEvent() {
		r.t.Fatal("an event")
	}
	for range s.conns {
		for _, _, ok := r.mux.PollTransmit(r.buf[:]); ok; _, _, ok = r.mux.PollTransmit(r.buf[:]) {
			sent++
		}
	}
	return sent
}

// The tick of a scene allocates nothing, and tells its own players alone.
func TestATickOfASceneAllocatesNothing(t *testing.T) {
	r, all := scenes(t, 20, 2)
	data := valueOf(0)
	at := 0
	if n := testing.AllocsPerRun(100, func() {
		if sent := r.turn(all[at%len(all)], data); sent != 4 {
			t.Fatalf("%d datagrams", sent)
		}
		at++
	}); n != 0 && !shelltest.Race {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkScene is a tick of a scene with two players, alone and beside 999 others.
func BenchmarkScene(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint("of ", n), func(b *testing.B) {
			r, all := scenes(b, n, 2)
			data := valueOf(0)
			b.ReportAllocs()
			for b.Loop() {
				r.turn(all[0], data)
			}
		})
	}
}
