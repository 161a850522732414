package core

import (
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/roster"
	"parley/simnet"
)

// handshake has an address complete the handshake and say no more; it reports whether it was let in.
func (w *world) handshake(from netip.AddrPort) bool {
	now := w.Now()
	init := Packet{Kind: KindInit}
	w.mux.HandleDatagram(now, from, init.AppendTo(FromClient, nil))
	w.confirm(from, acceptNumber, w.mux.clock(now, from))
	return w.mux.Conn(from) != nil
}

// confirm has an address send an ack.
func (w *world) confirm(from netip.AddrPort, n uint16, clock uint64) {
	ack := Packet{Kind: KindAck, Sequence: n, Time: clock}
	w.mux.HandleDatagram(w.Now(), from, ack.AppendTo(FromClient, nil))
	w.server.Poke()
}

func hostileAddr(host, port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, byte(host >> 16), byte(host >> 8), byte(host)}), uint16(1024+port))
}

// T31: ten times as many handshakes as there are places, of clients that confirm nothing, are renewed all the time: from one
// address, from some and from as many as there are handshakes. They take no place, and the next honest client
// enters, 100 of 100.
func TestHandshakesOfTheSilentKeepNobodyOut(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hosts int
	}{{"one address", 1}, {"fifty addresses", 50}, {"an address each", 1 << 20}} {
		t.Run(tt.name, func(t *testing.T) {
			places, guests := 600, promise.Keeps(t, "T31", "stamp", max(kit.Tier(100, 100, 100), 5))
			if kit.Race { // there is one goroutine
				places = 60
			}
			w := newWorld(t, 31, Config{MaxConns: places}, kit.Lan())
			w.SetLimits(simnet.Limits{Steps: 50_000_000, StepsAtOnce: 200_000})
			n := 0
			crowd := func(count int) {
				for range count {
					w.handshake(hostileAddr(n%tt.hosts, n/tt.hosts%60_000))
					n++
				}
			}
			crowd(10 * places)
			for i := range guests {
				crowd(60)
				x := w.dial(i, Config{})
				w.Until("an honest client enters", 3*time.Second, func() bool {
					c := w.mux.Conn(x.host.Addr())
					return c != nil && roster.Entered(&c.member) && x.State() == StateOpen
				})
				w.Pass(50 * time.Millisecond)
			}
			w.Pass(11 * time.Second)
			if s := w.mux.Stats(); w.mux.lobby.Taken() != guests || w.mux.lobby.Len() != 0 || w.mux.Len() != guests || s.Late+s.GaveWay == 0 || s.Check() != nil {
				t.Errorf("%d places are taken, %d are in the lobby, %d in all: %+v", w.mux.lobby.Taken(), w.mux.lobby.Len(), w.mux.Len(), s)
			}
		})
	}
}

// Two thousand silent handshakes: of one address 64 are let in, of many all; the game is told of none of them as
// having entered, each is sent next to nothing, and all are gone after 10 s.
func TestSilentHandshakesCostNextToNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hosts int
		want  int
	}{{"one address", 1, 64}, {"many addresses", 100, 2000}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 32, Config{}, kit.Lan())
			w.SetLimits(simnet.Limits{Steps: 50_000_000, StepsAtOnce: 200_000})
			out := 0
			w.Filter(func(p simnet.Packet) simnet.Verdict {
				out += len(p.Bytes)
				return simnet.Verdict{}
			})
			w.onEvent = func(now time.Time, c *Conn, ev Event) {
				if ev.Kind == EventEntered {
					t.Error("one has entered")
				}
			}
			let := 0
			for i := range 2000 {
				if w.handshake(hostileAddr(i%tt.hosts, i)) {
					let++
				}
				if i%20 == 0 {
					w.Pass(time.Millisecond)
				}
			}
			w.Pass(12 * time.Second)
			if let != tt.want || w.mux.Len() != 0 || w.mux.Stats().Late != uint64(tt.want) {
				t.Errorf("%d were let in, %d are left: %+v", let, w.mux.Len(), w.mux.Stats())
			}
			if out > let*600+2000*13 {
				t.Errorf("%d handshakes brought %d bytes", let, out)
			}
			t.Logf("2,000 handshakes, %d let in, brought %d bytes", let, out)
		})
	}
}

// A spectator that confirms once and then nothing is sent less and less, and then nothing, until it is lost; what is
// kept for it is bounded. One that confirms is sent all.
func TestASpectatorThatConfirmsNothingIsSentLessAndLess(t *testing.T) {
	w := newWorld(t, 33, Config{}, kit.Lan())
	from := hostileAddr(1, 1)
	x := w.dial(0, Config{})
	w.handshake(from)
	w.Pass(10 * time.Millisecond)
	silent := w.mux.Conn(from)
	w.confirm(from, firstEntity, silent.endpoint.ServerTime(w.Now()))
	w.Until("both have entered", time.Second, func() bool { return w.mux.lobby.Taken() == 2 && x.State() == StateOpen })
	got := 0
	x.onEvent = func(_ time.Time, ev Event) {
		if ev.Kind == EventEntity {
			got++
		}
	}
	var sent [12]int
	second := 0
	w.Filter(func(p simnet.Packet) simnet.Verdict {
		if p.To == nil {
			sent[second] += len(p.Bytes)
		}
		return simnet.Verdict{}
	})
	data := make([]byte, 1000)
	honest := 0
	for second = 0; second < 9; second++ {
		for range 20 {
			w.mux.Advance(w.Now())
			for range 2 { // 40 KB a second
				silent.SendReport(data, 1)
				if x.conn().SendReport(data, 1) == nil {
					honest++
				}
				if silent.Pressure().Bytes > 64<<10 {
					t.Fatalf("%+v is kept for the silent one", silent.Pressure())
				}
			}
			w.server.Poke()
			w.Pass(50 * time.Millisecond)
		}
	}
	total := 0
	for i, n := range sent[:9] {
		total += n
		if i > 1 && n > 4<<10>>(i-1)+300 {
			t.Errorf("in second %d of its silence it was sent %d bytes: %v", i, n, sent)
		}
	}
	if total > hushBytes+hushMore+4096 || silent.Stats().Hushed == 0 {
		t.Errorf("it was sent %d bytes: %v", total, sent)
	}
	if honest != 9*40 || got < honest-2 {
		t.Errorf("the other was sent %d and got %d", honest, got)
	}
	w.Pass(3 * time.Second)
	if w.mux.Conn(from) != nil || w.mux.lobby.Taken() != 1 {
		t.Error("the silent one is still there")
	}
	t.Logf("sent to the silent one, second by second: %v", sent)
}
