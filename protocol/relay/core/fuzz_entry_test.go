package core

import (
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/kit/chance"
)

// entryOps runs a script of what newcomers, participants and the game may do at a server with two rooms, and checks what must always hold:
// counters add up, nobody is in without a verdict, and nothing is kept of anybody when all are silent. Each operation is two bytes.
type entryOps struct {
	ops
	lobby *EntryLobby
	rooms [2]*Room
	wait  []*Newcomer
	let   uint64 // verdicts that let somebody in
}

func runEntryOps(t testing.TB, script []byte) (let uint64) {
	o := &entryOps{lobby: NewEntryLobby(EntryConfig{Unproven: len(script)%5 == 4})}
	o.h = newHall(t, Config{MaxPeers: 3, Lobby: o.lobby})
	o.rooms = [2]*Room{o.h.mux.NewRoom(), o.h.mux.NewRoom()}
	for ; len(script) >= 2; script = script[2:] {
		o.step(script[0], script[1])
		o.judgeable()
		o.check(t)
	}
	o.h.wait(time.Minute)
	o.h.in(near(9), pack(Unordered, true, 0, "")) // which has the lobby forget those whose time is over
	o.h.wait(time.Minute)
	o.check(t)
	m := o.h.mux
	m.Advance(o.h.now)
	if n := o.lobby.waiting; m.Len() != 0 && !o.lobby.cfg.Unproven || o.rooms[0].Len()+o.rooms[1].Len() != 0 || len(n.of) > 1 || n.hosts != nil && n.hosts.Len() != len(n.of) {
		t.Fatalf("%d peers are left after a minute of silence, %d newcomers", m.Len(), len(n.of))
	}
	return o.let
}

// step does what ops does, or what concerns a newcomer.
func (o *entryOps) step(op, arg byte) {
	a := addr(int(op & 3))
	if op&3 == 3 {
		a = near(3)
	}
	switch op >> 2 % 16 {
	case 13:
		o.h.in(a, pack(Mode(arg%3), true, uint32(arg>>2%8), o.h.challengeOf(a)))
	case 14:
		o.h.in(a, pack(Unordered, arg&1 == 0, uint32(arg>>1%8), []string{"Rmain", "", "Tx", "\x00"}[arg>>4%4]))
	case 15:
		if len(o.wait) == 0 {
			return
		}
		n := o.wait[int(arg>>2)%len(o.wait)]
		waits := n.Waits()
		if arg&3 == 0 {
			n.Refuse("no such room")
		} else if p, err := n.Admit(o.rooms[arg&1], "x"); err == nil {
			if o.let++; !waits || p.Room() != o.rooms[arg&1] {
				o.h.t.Fatal("one was let in who did not wait")
			}
			_ = p.SendTagged(Unordered, []byte("\x04"), uint32(arg)+1)
		}
		o.h.turn()
	default:
		o.do(op, arg)
	}
}

// judgeable takes the newcomers that the game was told of.
func (o *entryOps) judgeable() {
	for _, ev := range o.h.heard {
		if ev.Kind == EventPass {
			o.wait = append(o.wait, ev.Newcomer)
		}
	}
	o.h.told()
	if st := o.h.mux.Stats(); st.Admitted != o.let || st.Gone+uint64(o.h.mux.Len()) != o.let {
		o.h.t.Fatalf("%d were let in: %+v", o.let, st)
	}
}

func (o *entryOps) check(t testing.TB) {
	m := o.h.mux
	if st := m.Stats(); st.Check() != nil || m.Len() > 3 {
		t.Fatalf("%v, %d peers", st.Check(), m.Len())
	}
	in := 0
	for p := range m.Peers() {
		if st := p.end.Stats(); st.Check() != nil {
			t.Fatal(st.Check())
		}
		if p.Room() != nil {
			in++
		}
	}
	w := &o.lobby.waiting
	if in != o.rooms[0].Len()+o.rooms[1].Len() || len(w.of) != w.ends.Len() || w.hosts != nil && len(w.of) != w.hosts.Len() {
		t.Fatalf("%d are in rooms, %d newcomers wait", in, len(w.of))
	}
}

func FuzzEntryOps(f *testing.F) {
	f.Add([]byte("\x34\x01\x38\x00\x3c\x01\x04\x05\x18\x20\x3c\x00"))
	f.Add([]byte{0x38, 0, 0x34, 4, 0x38, 0, 0x3c, 1, 0x14, 255, 0x20, 0, 0x18, 200})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) <= 400 {
			runEntryOps(t, script)
		}
	})
}

func TestRandomScriptsOfNewcomers(t *testing.T) {
	r := chance.Rand(t, 0xe47)
	rounds, let := kit.Tier(2_000, 20_000, 200_000), uint64(0)
	for range rounds {
		script := make([]byte, 2+r.IntN(200))
		for i := range script {
			script[i] = byte(r.Uint32())
			if i%2 == 0 && r.IntN(2) == 0 {
				script[i] = script[i]&3 | byte(13+r.IntN(3))<<2
			}
		}
		let += runEntryOps(t, script)
	}
	if t.Logf("%d were let in", let); let < uint64(rounds)/2 {
		t.Errorf("%d were let in by %d scripts: they test little", let, rounds)
	}
}
