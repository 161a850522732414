package blackbox

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/protocol/relay"
	"parley/protocol/relay/connector"
	relaycore "parley/protocol/relay/core"
	"parley/simnet"
)

const originMain = 8082

var originHost = netip.AddrFrom4([4]byte{203, 0, 113, 1})

// originWorld is a connector server in virtual time.
type originWorld struct {
	t       *testing.T
	net     *simnet.Network
	lobby   *connector.Lobby
	mux     *relaycore.Mux
	hosts   map[*relaycore.Port]*simnet.Host
	next    uint16
	clients []*originClient
	nodes   []*simnet.Host
}

func newOriginWorld(t *testing.T, seed uint64, p simnet.Profile, c connector.Config) *originWorld {
	t.Helper()
	t.Logf("seed=%d", seed)
	w := &originWorld{t: t, net: simnet.New(seed), hosts: map[*relaycore.Port]*simnet.Host{}, next: 40000}
	w.net.Default(p)
	w.net.SetLimits(simnet.Limits{Steps: 1 << 40})
	w.lobby = connector.NewLobby(c, admission.Key{byte(seed)})
	w.mux = relaycore.NewMux(w.net.Now(), relay.Config{Lobby: w.lobby, MaxPeers: 8192}, &relaycore.Shared{Rand: rand.New(rand.NewPCG(seed, 3))}, admission.Key{byte(seed)}, w)
	w.add(w.mux.First(), originMain)
	return w
}

// OpenPort makes the world an opener. Ports are used again when they are closed.
func (w *originWorld) OpenPort(p *relaycore.Port) (uint16, error) {
	for w.net.Host(netip.AddrPortFrom(originHost, w.next)) != nil {
		w.next++
	}
	w.add(p, w.next)
	w.next++
	return w.next - 1, nil
}

func (w *originWorld) add(p *relaycore.Port, number uint16) {
	p.SetNumber(number)
	w.hosts[p] = w.net.Add(netip.AddrPortFrom(originHost, number), p)
	w.hosts[p].AfterTurn(w.turn)
}

func (w *originWorld) turn(now time.Time) {
	w.mux.Advance(now)
	for _, _, ok := w.mux.PollEvent(); ok; _, _, ok = w.mux.PollEvent() {
	}
	for p, ok := w.mux.PollPort(); ok; p, ok = w.mux.PollPort() {
		if h := w.hosts[p]; h != nil {
			if h.Poke(); p.Closed() {
				delete(w.hosts, p)
				w.net.After(0, "closed", h.Crash)
			}
		}
	}
}

// client adds a client of the game.
func (w *originWorld) client() *originClient {
	n := len(w.clients)
	c := newOriginClient(fmt.Sprintf("client %d", n), w.net.Seed()<<16+uint64(n), netip.AddrPortFrom(originHost, originMain))
	addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, byte(n), byte(100 + n>>8), 1}), 5000)
	w.clients = append(w.clients, c)
	w.nodes = append(w.nodes, w.net.Add(addr, c).Named(c.name))
	return c
}

// do has clients do something now.
func (w *originWorld) do(f func(now time.Time)) {
	f(w.net.Now())
	for _, h := range w.nodes {
		h.Poke()
	}
}

// until runs until all of some clients are as they should be.
func (w *originWorld) until(what string, limit time.Duration, who []*originClient, ok func(c *originClient) bool) {
	w.t.Helper()
	err := w.net.RunUntil(func() bool {
		for _, c := range who {
			if c.gaveUp != "" || !ok(c) {
				return c.gaveUp != ""
			}
		}
		return true
	}, limit)
	missing := 0
	for _, c := range who {
		if c.gaveUp != "" {
			w.t.Fatalf("%s: %s gave up after %v: %s", what, c.name, w.net.Elapsed(), c.gaveUp)
		}
		if !ok(c) {
			missing++
		}
	}
	if err != nil || missing > 0 {
		w.t.Fatalf("%s: %d of %d are not there after %v: %v; %+v", what, missing, len(who), w.net.Elapsed(), err, w.lobby.Stats())
	}
}

func (w *originWorld) run(d time.Duration) {
	w.t.Helper()
	if err := w.net.Run(d); err != nil {
		w.t.Fatal(err)
	}
}

func originLobbies(w *originWorld, lobbies, players int) (openers, all []*originClient) {
	w.t.Helper()
	for i := range lobbies {
		w.run(time.Duration(i%7) * 300 * time.Millisecond)
		o := w.client()
		openers, all = append(openers, o), append(all, o)
		w.do(func(now time.Time) { o.openGame(now, players) })
	}
	w.until("games are opened", time.Minute, openers, func(c *originClient) bool { return c.opened && c.player == 0 })
	for _, o := range openers {
		for range players - 1 {
			c := w.client()
			all = append(all, c)
			w.do(func(now time.Time) { c.joinGame(now, o.game.Port()) })
		}
	}
	w.until("all have joined", time.Minute, all, func(c *originClient) bool { return c.player > 0 || c.player == 0 && len(c.peers) == players-1 })
	return openers, all
}

// Ten minutes in the lobby, at the cadence of the game's own clients, over a path that loses 2%: then every Ready, Prepared, Initialized
// and Leave has its effect, and the same clients open and play a second game, at a main port to which they said nothing for ten minutes.
func TestOriginClientsPlayTenMinutes(t *testing.T) {
	lobbies := 40
	w := newOriginWorld(t, 16, simnet.Profile{Delay: 25 * time.Millisecond, Loss: 0.02, Jitter: 5 * time.Millisecond}, connector.Config{})
	openers, all := originLobbies(w, lobbies, 2)
	for round := range 2 {
		wait := 5 * time.Minute
		if round == 1 {
			wait = 5*time.Minute - 10*time.Second
		}
		for range 10 {
			w.run(wait / 10)
			w.do(func(now time.Time) {
				for _, c := range all {
					c.say(now, originSemi)
				}
			})
		}
		w.until("nobody gives up", time.Second, all, func(c *originClient) bool { return true })
		w.until("all messages came", time.Minute, all, func(c *originClient) bool {
			for _, list := range c.heard {
				return len(list) == 10 && slices.IsSorted(list)
			}
			return false
		})
		for step := 1; step <= 3; step++ {
			w.do(func(now time.Time) {
				for _, c := range all {
					c.step(now, step)
				}
			})
			w.until(fmt.Sprintf("readiness %d", step), 30*time.Second, all, func(c *originClient) bool { return c.ready == step })
		}
		w.do(func(now time.Time) {
			for _, c := range all {
				c.leave(now)
			}
		})
		w.until("all left", 30*time.Second, all, func(c *originClient) bool { return c.left })
		w.until("all is confirmed", 30*time.Second, all, func(c *originClient) bool { return c.pending() == 0 })
		for _, c := range all {
			c.again()
		}
		if round == 1 {
			break
		}
		w.do(func(now time.Time) {
			for _, o := range openers {
				o.openGame(now, 2)
			}
		})
		w.until("games are opened again", time.Minute, openers, func(c *originClient) bool { return c.player == 0 })
		w.do(func(now time.Time) {
			for i, o := range openers {
				all[lobbies+i].joinGame(now, o.game.Port())
			}
		})
		w.until("all have joined again", time.Minute, all, func(c *originClient) bool { return c.player > 0 || c.player == 0 && len(c.peers) == 1 })
	}
	for _, c := range all {
		if c.pongs < 500 {
			t.Errorf("%s got %d pongs in ten minutes", c.name, c.pongs)
		}
	}
	if s := w.lobby.Stats(); s.Throttled != 0 || s.Check() != nil {
		t.Errorf("%+v", s)
	}
}

// A stranger that is quiet for nine minutes, and is no player, goes on where it was: its library remembers its ids.
func TestOriginClientComesBackToThePort(t *testing.T) {
	w := newOriginWorld(t, 17, simnet.Profile{Delay: 25 * time.Millisecond}, connector.Config{})
	openers, _ := originLobbies(w, 1, 2)
	game := openers[0].game.Port()
	c := w.client()
	w.do(func(now time.Time) { c.joinGame(now, game) })
	w.run(time.Second)
	if c.gaveUp == "" {
		t.Fatal("a full game took a third player")
	}
	for _, quiet := range []time.Duration{time.Minute, 3 * time.Minute, 9 * time.Minute} {
		c.gaveUp = ""
		w.run(quiet)
		w.do(func(now time.Time) { c.joinGame(now, game) })
		w.run(2 * time.Second)
		if c.gaveUp != "error 0 of a join" || c.pending() != 0 {
			t.Errorf("after %v it was told %q, and %d packages are unconfirmed", quiet, c.gaveUp, c.pending())
		}
	}
}

// One player sends what the others cannot decode. They play on.
func TestOriginClientsSurviveWhatTheyCannotDecode(t *testing.T) {
	w := newOriginWorld(t, 18, simnet.Profile{Delay: 5 * time.Millisecond}, connector.Config{})
	openers, all := originLobbies(w, 1, 4)
	rude := openers[0]
	floats := func(n int) []byte { return make([]byte, 4*n) }
	for _, b := range [][]byte{
		append([]byte{1, 0, 9, 0, 2, 0}, floats(7)...), // an unknown class
		append([]byte{1, 0, 9, 0, 0, 2}, floats(7)...), // an unknown building
		append([]byte{1, 0, 9, 0, 1, 1}, floats(7)...), // an unknown unit
		append([]byte{1, 0, 9, 4, 0, 0}, floats(7)...), // for a fifth player
		{2, 4, 9}, // an entity of a fifth player
		append([]byte{3, 0, 9, 1, 60}, floats(120)...),    // a path of 60 points
		append([]byte{0, 1, '7', 2, 200, 9}, []byte{}...), // behind something that can be decoded
	} {
		for _, mode := range []byte{originUnreliable, originUnordered, originSemi} {
			w.do(func(now time.Time) { rude.send(now, rude.game, mode, b) })
		}
		w.run(time.Second)
	}
	w.do(func(now time.Time) {
		for _, c := range all[1:] {
			c.say(now, originSemi)
		}
		rude.send(now, rude.game, originSemi, append([]byte{3, 0, 9, 1, 59}, floats(118)...))
		rude.send(now, rude.game, originSemi, append([]byte{1, 0, 9, 3, 1, 0}, floats(7)...))
	})
	w.until("the others play", 10*time.Second, all[1:], func(c *originClient) bool { return len(c.heard) == 2 })
	if s := w.lobby.Stats(); s.Foreign != 21 || s.Check() != nil {
		t.Errorf("%+v", s)
	}
	fifth := w.client()
	w.do(func(now time.Time) { fifth.openGame(now, 200) })
	w.until("a game for 200 is opened", 5*time.Second, []*originClient{fifth}, func(c *originClient) bool { return c.player == 0 })
	for range 5 {
		w.do(func(now time.Time) { w.client().joinGame(now, fifth.game.Port()) })
	}
	w.run(5 * time.Second)
	if fifth.gaveUp != "" || len(fifth.peers) != 3 {
		t.Errorf("the game has %d others: %s", len(fifth.peers), fifth.gaveUp)
	}
}
