package blackbox

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/promise"
	"parley/protocol/relay/connector"
	"parley/simnet"
)

// forger sends in the name of addresses that it does not have, and sees nothing of what comes back. It knows the protocol, all ids that
// can be foreseen, the main port and the ports of games; it forges confirmations too.
type forger struct {
	*originWorld
	rng  *rand.Rand
	next uint32
}

// source returns a new address.
func (f *forger) source() netip.AddrPort {
	f.next++
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{100 + byte(f.next>>16), byte(f.next >> 8), byte(f.next), 7}), uint16(f.rng.IntN(60000)+1024))
}

func (f *forger) send(from netip.AddrPort, port uint16, b ...byte) {
	f.net.Inject(from, netip.AddrPortFrom(originHost, port), b)
}

// confirm forges confirmations: of the first ids, and of as many guesses as fit.
func (f *forger) confirm(from netip.AddrPort, port uint16) {
	f.send(from, port, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2)
	b := []byte{0x80, 0, 0, 0}
	for range 168 {
		n := f.rng.IntN(1024)
		b = append(b, 0, byte(n>>8), byte(n))
	}
	f.send(from, port, b...)
	three := f.rng.Perm(768)[:3]
	b = b[:4]
	for _, n := range three {
		b = append(b, 0, byte((n+1)>>8), byte(n+1))
	}
	f.send(from, port, b...)
}

// attack has so many sources a second ask for a game, and as many join the games that there are, for a time. Those that came first
// stay: they ping.
func (f *forger) attack(d time.Duration, rate int, games func() []uint16) {
	var stay []netip.AddrPort
	var act func()
	end := f.net.Elapsed() + d
	act = func() {
		if f.net.Elapsed() >= end {
			return
		}
		for range max(rate/100, 1) {
			from := f.source()
			f.send(from, originMain, 0x30, 0, 0, 0, 1, 3)
			f.confirm(from, originMain)
			for _, port := range games() {
				if f.rng.IntN(20) == 0 {
					f.send(from, port, 0x30, 0, 0, 0, 1)
					f.confirm(from, port)
				}
			}
			if len(stay) < 2000 {
				stay = append(stay, from)
			}
		}
		for i := range 5 { // and its game, wherever that is, is kept alive
			from := stay[(int(f.next)+i)%len(stay)]
			f.send(from, originMain, 0x10, 0, 0, 0, 0, 5)
			for port := uint16(40000); port < 40080; port += 7 {
				f.send(from, port+uint16(f.rng.IntN(7)), 0x10, 0, 0, 0, 0, 5)
				f.confirm(from, port)
			}
		}
		f.net.After(10*time.Millisecond, "forge", act)
	}
	f.net.After(0, "forge", act)
}

// Tens of thousands of forged sources ask for games and join those that there are, and confirm what they were not sent. Whoever
// receives what is sent to it opens games, joins them and plays.
func TestForgedSourcesKeepNobodyOut(t *testing.T) {
	rate, lobbies := 2000, 6
	if promise.Full() {
		rate, lobbies = 8000, 20
	}
	w := newOriginWorld(t, 15, simnet.Profile{Delay: 25 * time.Millisecond, Loss: 0.01}, connector.Config{})
	f := &forger{originWorld: w, rng: rand.New(rand.NewPCG(15, 1))}
	var openers, all []*originClient
	f.attack(30*time.Second, rate, func() (list []uint16) {
		for _, o := range openers {
			if o.opened {
				list = append(list, o.game.Port())
			}
		}
		return list
	})
	w.run(3 * time.Second)
	if w.lobby.Games() > 64 {
		t.Errorf("forged sources have %d games", w.lobby.Games())
	}
	for range lobbies {
		o := w.client()
		openers, all = append(openers, o), append(all, o)
		w.do(func(now time.Time) { o.openGame(now, 4) })
		w.run(200 * time.Millisecond)
	}
	w.until("games are opened", 20*time.Second, openers, func(c *originClient) bool { return c.player == 0 })
	w.run(2500 * time.Millisecond) // forged sources join
	for _, o := range openers {
		for range 3 {
			c := w.client()
			all = append(all, c)
			w.do(func(now time.Time) { c.joinGame(now, o.game.Port()) })
		}
	}
	w.until("all join", 20*time.Second, all, func(c *originClient) bool { return c.player >= 0 })
	most := w.lobby.Games()
	w.do(func(now time.Time) {
		for _, c := range all {
			c.say(now, originSemi)
		}
	})
	w.until("all hear the others", 10*time.Second, all, func(c *originClient) bool { return len(c.heard) == 3 })
	for _, c := range all {
		w.do(c.leave)
	}
	w.until("all leave", 10*time.Second, all, func(c *originClient) bool { return c.left })
	s := w.lobby.Stats()
	t.Logf("%d forged sources; %d games and %d players at most, %d of these honest; %+v", f.next, most, w.lobby.Players(), len(all), s)
	if s.Proven > uint64(2*len(all)) {
		t.Errorf("%d addresses were proven, and there are %d", s.Proven, len(all))
	}
}

// Somebody who knows the port of a game fills it with forged players. A friend of the opener still gets in.
func TestForgedPlayersMakeRoom(t *testing.T) {
	for _, seats := range []int{2, 4} {
		w := newOriginWorld(t, 19, simnet.Profile{Delay: 25 * time.Millisecond}, connector.Config{})
		f := &forger{originWorld: w, rng: rand.New(rand.NewPCG(19, 1))}
		o := w.client()
		w.do(func(now time.Time) { o.openGame(now, seats) })
		w.until("the game is opened", 5*time.Second, []*originClient{o}, func(c *originClient) bool { return c.player == 0 })
		for range seats - 1 {
			from := f.source()
			f.send(from, o.game.Port(), 0x30, 0, 0, 0, 1)
			w.run(100 * time.Millisecond)
			f.confirm(from, o.game.Port())
		}
		w.run(time.Second)
		if len(o.peers) != seats-1 {
			t.Fatalf("%d forged players joined", len(o.peers))
		}
		all := []*originClient{o}
		for range seats - 1 {
			c := w.client()
			all = append(all, c)
			w.do(func(now time.Time) { c.joinGame(now, o.game.Port()) })
		}
		w.until("friends join", 10*time.Second, all, func(c *originClient) bool { return c.player >= 0 })
		late := w.client()
		w.do(func(now time.Time) { late.joinGame(now, o.game.Port()) })
		w.run(5 * time.Second)
		if late.gaveUp != "error 0 of a join" {
			t.Errorf("one too many was told %q", late.gaveUp)
		}
	}
}
