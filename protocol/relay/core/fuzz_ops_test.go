package core

import (
	"testing"
	"time"
)

// FuzzOps runs a script of what may happen at a server with three raw participants, and checks what must
// always hold: counters add up, queues are bounded, nobody is sent to who is not known, and all ends
// when everybody is silent. Each operation is two bytes.
func FuzzOps(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x01\x02\x02\x13\x05\x24\x09\x35\x01\x46\x10\x57\x20\x68\x30"))
	f.Add([]byte{0x10, 1, 0x20, 2, 0x30, 3, 0x41, 4, 0x52, 5, 0x63, 6, 0x74, 7, 0x81, 8, 0x92, 9})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 400 {
			return
		}
		o := &ops{h: newHall(t, Config{MaxPeers: 4, Lobby: NewOpenLobby(OpenConfig{})})}
		for ; len(script) >= 2; script = script[2:] {
			o.do(script[0], script[1])
			o.check(t)
		}
		o.h.wait(time.Minute)
		o.check(t)
		if o.h.mux.Len() != 0 {
			t.Fatalf("%d are left after a minute of silence", o.h.mux.Len())
		}
	})
}

type ops struct {
	h     *hall
	ids   [4]uint32
	loose [4]uint32
}

func (o *ops) do(op, arg byte) {
	who := int(op & 3)
	a := addr(who)
	if who == 3 {
		a = near(3)
	}
	switch op >> 2 % 13 {
	case 0, 1, 2:
		mode := Mode(op >> 2 % 3)
		id := &o.ids[who]
		if mode == Unreliable {
			id = &o.loose[who]
		}
		o.h.in(a, pack(mode, arg&1 == 1, *id&MaxID, string(noise[:arg>>1])))
		*id++
	case 3:
		o.ids[who] += uint32(arg) // leaves a hole
	case 4:
		o.h.in(a, pack(SemiOrdered, arg&1 == 1, o.ids[who]-uint32(arg), "again"))
	case 5:
		for _, b := range o.h.out[a] {
			var d Datagram
			if d.Parse(b); d.Kind == KindPackage && d.Mode.Reliable() && int(d.ID)%(1+int(arg&3)) == 0 {
				o.h.in(a, confirmOf(d.ID))
			}
			if isChallenge(d.Payload) && arg&4 != 0 {
				o.h.in(a, pack(Unreliable, true, o.loose[who], string(d.Payload)))
			}
		}
		delete(o.h.out, a)
	case 6:
		o.h.wait(time.Duration(arg) * 20 * time.Millisecond)
	case 7:
		o.h.in(a, noise[int(arg):int(arg)+int(arg&31)])
	case 8:
		o.h.in(a, pack(Unreliable, true, o.loose[who], ""))
	case 9:
		if p := o.h.mux.First().Peer(a); p != nil {
			_ = p.Send(Mode(arg%4), noise[:arg])
			o.h.turn()
		}
	case 10:
		if p := o.h.mux.First().Peer(a); p != nil && arg&1 == 0 {
			p.Close("")
		} else if p != nil {
			p.Remove(Close{Reason: ReasonClosed})
		}
		o.h.turn()
	case 11:
		o.h.in(a, confirmOf(uint32(arg), uint32(arg)<<8))
	case 12: // ticks, from the first of which on the path is probed
		for range 1 + arg&7 {
			if p := o.h.mux.First().Peer(a); p != nil && p.Budget() > int(arg) {
				_ = p.Send(Unreliable, noise[:arg])
			}
			o.h.wait(50 * time.Millisecond)
		}
	}
}

func (o *ops) check(t *testing.T) {
	m := o.h.mux
	if st := m.Stats(); st.Check() != nil || m.Len() > 4 {
		t.Fatalf("%v, %d peers", st.Check(), m.Len())
	}
	for p := range m.Peers() {
		if st := p.end.Stats(); st.Check() != nil {
			t.Fatal(st.Check())
		}
		if int(p.end.backlog.held) > m.rules.MaxBacklog || p.end.looseHeld > maxLooseBytes || p.end.sender.InFlight(0) > maxOutstanding {
			t.Fatalf("%v holds %d, %d and %d", p.end.Addr(), p.end.backlog.held, p.end.looseHeld, p.end.sender.InFlight(0))
		}
		if e := p.Path(); e.Rate < 0 || e.Queue < 0 || e.Budget < 0 {
			t.Fatalf("the path to %v: %+v", p.end.Addr(), e)
		}
		if p.end.state == StateOpen && p.Room() == nil {
			t.Fatalf("%v is in no room", p.end.Addr())
		}
	}
	for a := range o.h.out {
		if m.First().Peer(a) == nil && o.h.sizes[a] > 0 && len(o.h.out[a]) > 10_000 {
			t.Fatalf("%d datagrams to %v, who is not here", len(o.h.out[a]), a)
		}
	}
}
