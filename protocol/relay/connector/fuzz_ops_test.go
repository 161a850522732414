package connector

import (
	"testing"
	"time"

	"parley/internal/kit"
	"parley/protocol/relay/core"
)

// ops is a script: a byte for what is done, by whom and where, and perhaps one more. Every order of
// everything that clients can do is to leave the counters right and nobody behind.
type ops struct {
	*rig
	players []*player
	games   []uint16 // the ports of all games that ever were, and one that never was
	b       []byte
}

func runOps(t testing.TB, b []byte) {
	o := &ops{rig: newRig(t, Config{MaxGames: 3, MaxStrangers: 3}), games: []uint16{39999}, b: b}
	for i := range 6 {
		p := o.player(i)
		p.addr = near(i)
		o.players = append(o.players, p)
	}
	for len(o.b) > 0 {
		o.step(o.take())
		o.check()
	}
	o.pass(10 * time.Minute)
	if o.lobby.Games()+o.lobby.Players()+o.mux.Len()+o.lobby.strangers.count != 0 || len(o.ports) != 1 {
		t.Fatalf("%d games, %d players, %d peers, %d strangers, %d ports", o.lobby.Games(), o.lobby.Players(), o.mux.Len(), o.lobby.strangers.count, len(o.ports))
	}
	if at, ok := o.main.NextTimeout(); ok {
		t.Fatalf("nobody is there, and yet there is something to be done at %v", at)
	}
}

func (o *ops) take() byte {
	if len(o.b) == 0 {
		return 0
	}
	x := o.b[0]
	o.b = o.b[1:]
	return x
}

func (o *ops) step(x byte) {
	p := o.players[int(x>>4)%len(o.players)]
	game := o.games[int(o.take())%len(o.games)]
	mode := core.Mode(x>>2) % 3
	switch x % 16 {
	case 0:
		port := o.next
		p.say(mainPort, mode, &ToMain{Kind: ToMainOpen, MaxPlayers: o.take() % 4})
		if o.next != port {
			o.games = append(o.games, port)
		}
	case 1, 2:
		p.say(game, mode, &join)
	case 3:
		p.say(game, mode, &leave)
	case 4, 5:
		m := ready(Readiness(o.take() % 4))
		p.say(game, mode, &m)
	case 6:
		p.say(game, mode, &ToGame{Kind: ToGamePing, Ping: uint32(x)})
	case 7, 8:
		p.tell(game, mode, chat("hi"), chat("ho"))
	case 9:
		p.sendBytes(game, mode, x > 127, []byte{o.take(), o.take()})
	case 10:
		o.in(game, p.addr, []byte{o.take(), o.take(), 0, 0, 0, 0, o.take()})
	case 11:
		o.pass(time.Duration(o.take()) * 10 * ms)
	case 12:
		o.pass(time.Duration(o.take()) * time.Second)
	case 13:
		p.ids[game] += uint32(o.take()) // packages that are lost
	case 14:
		o.drop(p.addr)
	default:
		p.heard()
	}
}

func (o *ops) check() {
	if err := o.lobby.stats.Check(); err != nil {
		o.t.Fatal(err)
	}
	if s := o.mux.Stats(); s.Check() != nil {
		o.t.Fatal(s.Check())
	}
	players := 0
	for _, m := range o.lobby.matches {
		if players += m.game.count; m.game.count == 0 && !m.over || m.over && m.game.count > 0 || m.room.Len() > m.game.count {
			o.t.Fatalf("a game of %d players, %d in its room, over %t", m.game.count, m.room.Len(), m.over)
		}
		for i := range m.game.seats {
			if s := &m.game.seats[i]; s.taken && o.lobby.clients[s.addr].match != m {
				o.t.Fatalf("a player of one game has another")
			}
		}
	}
	strangers := 0
	for _, port := range o.ports {
		m, _ := port.Value.(*match)
		for p := range port.Peers() {
			has := o.lobby.clients[p.Addr()].match
			if stranger := has == nil || m != nil && has != m; p.State() == core.StateOpen && p.Seat.(*guest).listed != stranger {
				o.t.Fatalf("%v at port %d is a stranger: %t", p.Addr(), port.Number(), stranger)
			}
			if p.Seat.(*guest).listed {
				strangers++
			}
		}
	}
	unproven, games, seats := 0, 0, 0
	for g := o.lobby.strangers.first; g != nil; g = g.next {
		if !g.proven {
			unproven++
		}
	}
	for _, m := range o.lobby.matches {
		if !m.vouched {
			games++
		}
	}
	for _, c := range o.lobby.clients {
		if !c.proven {
			seats++
		}
	}
	if unproven != o.lobby.strangers.unproven || games != o.lobby.unprovenGames || seats != o.lobby.unprovenSeats {
		o.t.Fatalf("%d strangers, %d games and %d seats are unproven, and %d, %d and %d are counted", unproven, games, seats,
			o.lobby.strangers.unproven, o.lobby.unprovenGames, o.lobby.unprovenSeats)
	}
	if strangers != o.lobby.strangers.count {
		o.t.Fatalf("%d strangers, and %d in the list", strangers, o.lobby.strangers.count)
	}
	if players != o.lobby.Players() || len(o.lobby.matches) > 3 || o.lobby.strangers.count > 3 || len(o.ports) != 1+len(o.lobby.matches) {
		o.t.Fatalf("%d players of %d, %d games, %d strangers, %d ports", o.lobby.Players(), players, len(o.lobby.matches), o.lobby.strangers.count, len(o.ports))
	}
}

// T10: scripts of operations for the fuzzer.
func FuzzOps(f *testing.F) {
	f.Add([]byte{0, 0, 3, 0x11, 1, 0x1f, 0, 0x0f, 0, 0x17, 1, 12, 0, 1})
	f.Add([]byte{0, 0, 3, 0x11, 1, 0x21, 1, 4, 1, 1, 0x14, 1, 1, 0x24, 1, 1, 0x13, 1, 0x23, 1, 3, 1, 12, 0, 200})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 200 {
			return
		}
		runOps(t, b)
	})
}

// The same with random scripts.
func TestRandomOps(t *testing.T) {
	r := kit.Rand(t)
	b := make([]byte, 300)
	for range kit.Rounds(500, 50_000) {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		runOps(t, b)
	}
}
