package core

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/kit"
)

// FuzzOps runs a script of what people, accounts and the game may do. Whatever it is: nothing
// panics, counters add up, queues stay within their bounds, each connection ends once at most,
// and nobody is in the game that the game does not know.
func FuzzOps(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 2, 0, 9, 0, 3, 0, 4, 0})
	f.Add([]byte{0, 0, 0, 1, 1, 0, 1, 1, 9, 0, 2, 0, 7, 3, 8, 1, 10, 200})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 400 {
			return
		}
		runScript(t, script)
	})
}

// The same with random scripts, as long as the fuzzer's or longer.
func TestRandomScripts(t *testing.T) {
	r := kit.Rand(t)
	for range kit.Rounds(2000, 100_000) {
		script := make([]byte, r.IntN(300))
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		runScript(t, script)
	}
}

var scriptConfig = *Config{Schema: testSchema, Terrain: &flatland{}, MaxQueue: 32 << 10, MaxPlayers: 3, MaxWaiting: 4}.fill()

func runScript(t *testing.T, script []byte) {
	w := newTown(t, rand.New(rand.NewPCG(uint64(len(script)), 1)), scriptConfig)
	w.max = 64
	names, at := []string{"ann", "bob", "cyd", "nobody"}, []string{"", "@0", "@1", "@nowhere"}
	rooms := []*Group{w.mux.NewGroup(GroupConfig{Terrain: &flatland{}}), w.mux.NewGroup(GroupConfig{})}
	w.game.place = func(_ *Conn, q Question) *Group {
		switch q.Room {
		case "":
			return w.mux.Main()
		case "0", "1":
			return rooms[q.Room[0]-'0']
		}
		return nil
	}
	if len(script) > 0 && script[0]&16 != 0 { // an account is in once
		w.sessions = map[string]*Conn{}
		w.mux.SetHooks(Hooks{Refused: w.logout})
	}
	for i := 0; i+1 < len(script); i += 2 {
		op, arg := script[i]%16, int(script[i+1])
		if op == 0 && len(w.people) < 8 {
			w.arrive(Config{Schema: testSchema, Version: uint16(8 + arg%4)})
		}
		if len(w.people) == 0 {
			continue
		}
		p := w.people[arg%len(w.people)]
		switch op {
		case 1:
			p.client.Login(w.now, names[arg%4]+at[arg/16%4], "password of "+names[arg/4%4])
		case 2:
			p.client.Register(w.now, names[arg%4], "password")
		case 3:
			p.client.Send(w.now, &Message{Kind: KindChatSend, Text: make([]byte, arg*3)})
		case 4:
			p.client.Send(w.now, &Message{Kind: KindEntityUpdate, Entity: Entity{ID: uint16(arg)}})
		case 5:
			p.up = append(p.up, script[i:]...)
		case 6:
			p.deaf = !p.deaf
			if !p.deaf {
				w.mux.Unblock(w.now, p.conn)
			}
		case 7:
			w.hold = !w.hold
			w.release()
		case 8:
			msg := updatesOf(uint64(i), 1+arg)
			w.mux.Broadcast(&msg, nil)
		case 9:
			w.drive()
		case 10:
			w.advance(time.Duration(arg) * 100 * time.Millisecond)
		case 11:
			p.conn.Close(ExitCode(arg%8), "")
		case 12:
			w.mux.HandleEnd(w.now, p.conn, io.EOF)
		case 13:
			p.client.Close(w.now, ExitClientQuit, "")
		case 14:
			rooms[arg%2].Close(ExitServerClosed, "")
			rooms[arg%2] = w.mux.NewGroup(GroupConfig{})
		case 15:
			rooms[arg%2].BeginTick(w.now, uint64(arg))
			rooms[arg%2].Say(uint16(arg), []byte("hello"))
		}
		w.step()
		checkTown(t, w)
	}
	w.hold = false
	w.release()
	w.advance(2 * time.Minute)
	checkTown(t, w)
}

func checkTown(t *testing.T, w *town) {
	t.Helper()
	playing := 0
	for c := range w.mux.Conns() {
		if c.played {
			playing++
		}
		if c.endpoint.Queued() > 32<<10+1024 {
			t.Fatalf("%d bytes are queued", c.endpoint.Queued())
		}
	}
	if playing != w.mux.players || playing != len(w.game.players) || w.mux.waiting < 0 || w.mux.waiting > 4 || w.mux.players > 3 {
		t.Fatalf("%d play, %d are counted, the game knows %d; %d wait", playing, w.mux.players, len(w.game.players), w.mux.waiting)
	}
	if w.sessions != nil && len(w.sessions) != len(w.mux.holders) {
		t.Fatalf("%d sessions, the Mux knows of %d", len(w.sessions), len(w.mux.holders))
	}
	for _, p := range w.people {
		if p.closed > 1 || p.gone > 1 {
			t.Fatalf("%d and %d ends", p.closed, p.gone)
		}
		if err := p.conn.endpoint.stats.Check(); err != nil {
			t.Fatal(err)
		}
	}
}
