package core

import (
	"bytes"
	"net/netip"
	"runtime"
	"testing"

	"parley/internal/kit"
	"parley/internal/pagetest"
)

// crowdOf has so many strangers connect and say their version.
func crowdOf(t *testing.T, n int) (m *Mux, conns []*Conn, memory func() int) {
	t.Helper()
	before := pagetest.Heap()
	m = NewMux(townEpoch, spoken(Config{Terrain: &flatland{}, TerrainByTurn: true}), &Shared{})
	for i := range n {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 1000)
		c := m.Accept(townEpoch, from, townEpoch)
		say(t, m, c, []byte{18, 0, 10})
		conns = append(conns, c)
	}
	return m, conns, func() int { return (pagetest.Heap() - before) / n }
}

// say hands over what a client sent, and lets those in who ask for it.
func say(t *testing.T, m *Mux, c *Conn, b []byte) {
	t.Helper()
	m.HandleBytes(townEpoch, c, b)
	for c, ev, ok := m.PollEvent(); ok; c, ev, ok = m.PollEvent() {
		switch {
		case ev.Kind == EventClosed:
			t.Fatal(ev.Close)
		case ev.Kind == EventLogin && ev.Question.Name == "ann":
			c.AnswerLogin(ev.Question, LoginOK)
		case ev.Kind == EventEnter:
			if err := c.Enter(Entry{Entity: Entity{ID: 1, Has: HasPosition}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// questions has a client ask as much as it may, and not wait for an answer.
func questions(t *testing.T, m *Mux, c *Conn, kind Kind) {
	t.Helper()
	long := bytes.Repeat([]byte("x"), 2000)
	for range maxAsked {
		say(t, m, c, testCodec.AppendTo(nil, &Message{Kind: kind, Name: long, Password: long}))
	}
}

// docs/limits.md: what a client costs that does not log in, and one that has and reads nothing, each as hostile as it may be.
func TestWhatAConnectionCosts(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector has memory of its own")
	}
	m, conns, memory := crowdOf(t, 200)
	for _, c := range conns {
		questions(t, m, c, KindLogin)
		say(t, m, c, append([]byte{3, 15, 160}, make([]byte, 3999)...)) // a name of which the last byte never comes
	}
	each := memory()
	t.Logf("not logged in: %d bytes each", each)
	pagetest.Reaches(t, "realm", "not logged in", each)
	runtime.KeepAlive(m)

	m, conns, memory = crowdOf(t, 20)
	update := []byte{11, 0, 0, 0, 1, 1, 0xff, 0xff} // entity_update, with 65,535 attributes
	for len(update) < MaxMessage-70_000 {
		update = append(append(update, 0, 109, 0xea, 0x60), make([]byte, 60_000)...)
	}
	text := make([]byte, 4200) // a little more than what fits into the next smaller buffer
	for _, c := range conns {
		say(t, m, c, testCodec.AppendTo(nil, &Message{Kind: KindLogin, Name: []byte("ann"), Password: []byte("password")}))
		for i := range maxWantedChunks / 128 {
			request := []byte{9, 128}
			for j := range 128 {
				request = append(request, byte(i+1), byte(j), 0, 0)
			}
			say(t, m, c, request)
		}
		questions(t, m, c, KindRegister)
		for c.endpoint.Queued() < m.cfg.MaxQueue-2*len(text) {
			if err := c.Send(&Message{Kind: KindChatReceive, ID: 1, Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		for b := update; len(b) > 0; b = b[min(len(b), 16<<10):] {
			say(t, m, c, b[:min(len(b), 16<<10)])
		}
		if !c.Playing() || !c.WantsChunks() || c.endpoint.in.Held() < MaxMessage*3/4 || c.endpoint.server.asked.Len() != maxAsked {
			t.Fatalf("%v: %d bytes are held, %d questions asked", c.endpoint.State(), c.endpoint.in.Held(), c.endpoint.server.asked.Len())
		}
	}
	each = memory()
	t.Logf("logged in, all queues full: %d bytes each", each)
	pagetest.Reaches(t, "realm", "logged in, all queues full", each)
	runtime.KeepAlive(m)
}

// A player in the game may ask to register others, in messages no longer than a stranger's.
func TestAQuestionInTheGameIsShort(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	for bytes, plays := range map[int]bool{4000: true, 5000: false} {
		c := w.join(map[bool]string{true: "ann", false: "bob"}[plays]).conn
		w.mux.HandleBytes(w.now, c, testCodec.AppendTo(nil, &Message{Kind: KindRegister, Name: []byte("eve"), Password: make([]byte, bytes)}))
		w.events()
		if c.Playing() != plays {
			t.Errorf("who asks with a password of %d bytes plays on: %v", bytes, c.Playing())
		}
	}
}
