package connector

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/protocol/relay/core"
)

// near returns an address of this machine, which may open as many games as it likes and needs no proof.
func near(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, byte(n >> 8), byte(n)}), 5000)
}

// T58: games that came and went leave nothing behind, in tables or in memory.
func TestChurnOfGames(t *testing.T) {
	r := newRig(t, Config{})
	life := func(i int) {
		a, b := r.player(0), r.player(1)
		a.addr, b.addr = near(2*i), near(2*i+1)
		game := a.open(2)
		b.say(game, core.SemiOrdered, &join)
		b.tell(game, core.Unordered, chat("hi"))
		if i%3 == 0 { // both are just gone
			r.pass(time.Second)
			r.sent = nil
			return
		}
		r.pass(reliableGroup)
		a.heard()
		b.heard()
		for _, p := range []*player{b, a} {
			p.say(game, core.SemiOrdered, &leave)
			p.heard()
		}
		r.pass(100 * ms)
		r.sent, r.events = nil, nil
	}
	rest := func() {
		r.pass(10 * time.Minute)
		r.sent, r.events = nil, nil
		if r.lobby.Games()+r.lobby.Players()+r.mux.Len()+r.lobby.strangers.count != 0 || len(r.ports) != 1 {
			t.Fatalf("%d games, %d players, %d peers, %d strangers, %d ports", r.lobby.Games(), r.lobby.Players(), r.mux.Len(), r.lobby.strangers.count, len(r.ports))
		}
	}
	count := promise.Keeps(t, "T58", "connector", kit.Rounds(2000, 200_000))
	var heap [3]int64
	for k := range heap {
		for i := range count {
			life(i)
		}
		rest()
		heap[k] = shelltest.LiveHeap()
	}
	if t.Logf("the heap: %v bytes", heap); heap[2] > heap[1]+heap[1]/100+16<<10 {
		t.Errorf("the heap grew: %v bytes", heap)
	}
	if s := r.lobby.Stats(); s.Opened != uint64(3*count) || s.Opened != s.Closed || s.Check() != nil {
		t.Errorf("%+v", s)
	}
}

// T58 over sockets: each game has one, and no goroutine or descriptor stays when it closes.
func TestChurnOverSockets(t *testing.T) {
	before := shelltest.Census(1 << 20)
	r := newReal(t, Config{})
	// Each client keeps its socket to the end: to the server another one at the same address would be
	// the one before it, which says the same again.
	for i := range promise.Keeps(t, "T58", "connector", kit.Rounds(100, 250)) {
		who := byte(i)
		r.send(who, "main", "50 000000 01 02")
		r.get(0, 0, who, "main", "50 000000 01 fb PPPP")
		r.send(who, "main", "80 000000 000000")
		r.send(who, "game", "50 000000 02") // it leaves, before it is announced if the machine is not too busy
		r.await(who, func(a arrival) bool { return a.from == r.game && len(a.b) == 5 && a.b[4] == 4 }, "Left")
		r.send(who, "game", "80 000000 000000 000001")
	}
	until(t, r.server, "games are left", func(s ServerStats) bool { return s.Games == 0 && s.Players == 0 })
	if s := r.server.Stats(); s.Lobby.Opened != s.Lobby.Closed || s.Lobby.Opened == 0 {
		t.Errorf("%+v", s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // those at the main port do not answer any more
	r.server.Shutdown(ctx)
	for _, conn := range r.sockets {
		conn.Close()
	}
	if err := shelltest.Census(before.Goroutines).Grown(before); err != nil {
		t.Error(err)
	}
}

// T36: what two players say arrives, however much garbage comes between, from strangers and with
// their own addresses.
func TestGarbageBetweenHonestDatagrams(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	junk := [][]byte{{}, {0}, {0x80}, {0x80, 0, 0, 1, 1}, {0x60, 0, 0, 0}, {0xff}, make([]byte, 600), {0x20, 0xff, 0xff, 0xff, 1}}
	heard := 0
	for range 10 {
		for i := range promise.Keeps(t, "T36", "connector", kit.Rounds(10_000, 100_000)) {
			port := []uint16{mainPort, game}[i%2]
			r.in(port, client(10+i%1000), junk[i%len(junk)])
		}
		for range 6 { // fewer than 64 in 10 s
			r.in(game, a.addr, junk[heard%len(junk)])
		}
		a.tell(game, core.Unordered, chat("still"))
		r.pass(reliableGroup)
		heard += len(b.heard())
		d.heard()
		r.pass(time.Second)
	}
	if heard != 10 || r.mux.Len() != 4 {
		t.Errorf("heard %d of 10; %d peers", heard, r.mux.Len())
	}
}

// T36 over sockets: while somebody floods both ports, every ping of a player is answered.
func TestAFloodOverSockets(t *testing.T) {
	promise.Keeps(t, "T36", "connector", 1)
	r := newReal(t, Config{})
	r.play('A')
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		conn, err := net.Dial("udp4", netip.AddrPortFrom(r.server.Addr().Addr(), r.game).String())
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		// As fast as the server reads. Faster, the kernel would drop pings and confirmations with the flood, and a player whose
		// confirmations do not come is removed.
		for sent := 0; ; {
			for range 100 {
				if _, err := conn.Write([]byte{1}[:sent%2]); err == nil {
					sent++
				}
			}
			for wait := 0; wait < 20 && int(r.server.Stats().Mux.Malformed) < sent-100; wait++ {
				time.Sleep(ms)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	defer patient.End().Stop()
	for i := range 20 {
		for r.server.Stats().Mux.Malformed < uint64(500*(i+1)) { // it goes on between any two pings
			time.Sleep(ms)
		}
		// The flood may have the kernel drop it, as it may anything. What comes is confirmed: else the player is removed after 10 s.
		r.ask('A', "game", fmt.Sprintf("50 %06x 00 %02x", i, i), func(b []byte) bool {
			if len(b) > 3 && b[0] == 0x50 {
				r.send('A', "game", fmt.Sprintf("80 000000 %06x", b[1:4]))
			}
			return len(b) == 6 && b[4] == 0 && b[5] == byte(i)
		})
	}
	close(stop)
	patient.Value(stopped)
}
