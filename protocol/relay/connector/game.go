package connector

import (
	"net/netip"

	"parley/protocol/relay/core"
)

// game is who plays one game and how far they are: the rules, without packages, ports or
// time. It knows players by their addresses and puts what it has to say into out, which the
// lobby empties after each call.
//
// docs/protocols/relay-connector.md has a table of what each message does to whom, which
// TestStatesAndMessages reads.
type game struct {
	seats     []seat // by the number of the player
	count     int    // of taken seats
	readiness Readiness

	out []said

	stats *GameStats
}

// seat is the place of one player.
type seat struct {
	addr      netip.AddrPort
	taken     bool
	readiness Readiness

	// waits says that the opener has not been told yet that it has joined: "the opener joins
	// as player 0 100 ms later, so that it knows the game's port when Joined comes from it".
	// Its place is its own from the start, so that nobody else becomes player 0 and so that
	// what it sends before (its clients send a ping at once, to open a way through a NAT, and
	// take NotJoined for the end) is a player's; but it hears of nothing before Joined.
	waits bool
}

// said is a message of the game to one client.
type said struct {
	to   netip.AddrPort
	mode core.Mode
	msg  FromGame
}

// GameStats counts the fate of each message to a game.
type GameStats struct {
	Taken     uint64 // took effect, were answered, or asked for what was already so
	Refused   uint64 // joins that were answered with an error
	NotJoined uint64 // for players only, from a client that is not a player
	Ignored   uint64 // invalid steps of readiness, and other messages without an answer
}

// newGame returns a game whose opener has its first seat and waits.
func newGame(seats int, opener netip.AddrPort, stats *GameStats) *game {
	g := &game{seats: make([]seat, seats), stats: stats}
	g.seats[0] = seat{addr: opener, taken: true, waits: true}
	g.count = 1
	return g
}

// player returns the number of the player at an address.
func (g *game) player(addr netip.AddrPort) (int, bool) {
	for i := range g.seats {
		if g.seats[i].taken && g.seats[i].addr == addr {
			return i, true
		}
	}
	return 0, false
}

// open reports whether newcomers may join: "A game is no longer open once its readiness is
// Ready".
func (g *game) open() bool { return g.readiness == NotReady && g.count > 0 }

// handle takes a message of a client in the mode of its package. elsewhere says that the
// client has another game.
func (g *game) handle(from netip.AddrPort, mode core.Mode, m *ToGame, elsewhere bool) {
	number, isPlayer := g.player(from)
	switch {
	case m.Kind == ToGameJoin:
		g.join(from, number, isPlayer, elsewhere)
	case m.Kind == ToGameLeave && isPlayer:
		g.stats.Taken++
		g.leave(number, true)
	case m.Kind == ToGameLeave:
		// Not told NotJoined: one that has left and is asked again has what it wants.
		g.stats.Ignored++
	case !isPlayer:
		g.notJoined(from, mode)
	case m.Kind == ToGamePing:
		g.stats.Taken++
		g.say(from, mode, FromGame{Kind: FromGamePong, Ping: m.Ping})
	case m.Kind == ToGameReadiness:
		g.step(number, m.Readiness)
	}
}

// notJoined answers a message that is for players only, in the mode in which it came: reliably
// only to a reliable message.
func (g *game) notJoined(from netip.AddrPort, mode core.Mode) {
	g.stats.NotJoined++
	g.say(from, mode, FromGame{Kind: FromGameNotJoined})
}

// join lets a client in, or says why not.
func (g *game) join(from netip.AddrPort, number int, isPlayer, elsewhere bool) {
	var why JoinError
	switch {
	case isPlayer && g.seats[number].waits:
		g.stats.Taken++ // its Joined is on its way
		return
	case isPlayer:
		why = JoinAlreadyJoined
	case elsewhere:
		why = JoinDifferentGame
	case !g.open():
		why = JoinGameNotOpened
	case g.count == len(g.seats):
		why = JoinGameFull
	}
	if why != 0 {
		g.stats.Refused++
		g.sayReliably(from, FromGame{Kind: FromGameJoinError, Error: why})
		return
	}
	g.stats.Taken++
	for number = 0; g.seats[number].taken; number++ {
	}
	g.seats[number] = seat{addr: from, taken: true}
	g.count++
	g.sayReliably(from, FromGame{Kind: FromGameJoined, Player: uint8(number)})
	g.sayOthers(number, FromGame{Kind: FromGamePeerJoined, Player: uint8(number)})
}

// announce tells the opener that it has joined, and who did so meanwhile. To those it is
// nobody new: it was the first.
func (g *game) announce() {
	opener := &g.seats[0]
	if !opener.taken || !opener.waits {
		return
	}
	opener.waits = false
	g.sayReliably(opener.addr, FromGame{Kind: FromGameJoined})
	for i := 1; i < len(g.seats); i++ {
		if g.seats[i].taken {
			g.sayReliably(opener.addr, FromGame{Kind: FromGamePeerJoined, Player: uint8(i)})
		}
	}
	if g.readiness != NotReady {
		g.sayReliably(opener.addr, FromGame{Kind: FromGameReadiness, Readiness: g.readiness})
	}
}

// leave ends a player's part, whoever wanted it: it is told if it is there to hear it, the
// others are, and the game may be further now that nobody waits for it.
func (g *game) leave(number int, tell bool) {
	addr := g.seats[number].addr
	g.seats[number] = seat{}
	g.count--
	if tell {
		g.sayReliably(addr, FromGame{Kind: FromGameLeft})
	}
	g.sayOthers(number, FromGame{Kind: FromGamePeerLeft, Player: uint8(number)})
	g.follow()
}

// dismiss has all players leave at once: each is told of itself only.
func (g *game) dismiss(mode core.Mode) {
	for i := range g.seats {
		if s := g.seats[i]; s.taken {
			g.seats[i] = seat{}
			g.say(s.addr, mode, FromGame{Kind: FromGameLeft})
		}
	}
	g.count = 0
}

// step takes a player one step further: "readiness moves one step at a time". The step that
// it has already is none, and one ahead of the whole game is as far as it may be.
func (g *game) step(number int, to Readiness) {
	s := &g.seats[number]
	switch {
	case to == s.readiness:
		g.stats.Taken++
	case to == s.readiness+1 && s.readiness == g.readiness:
		g.stats.Taken++
		s.readiness = to
		g.follow()
	default:
		g.stats.Ignored++
	}
}

// follow moves the game on: "the game's follows when all players have moved".
func (g *game) follow() {
	if g.count == 0 {
		return
	}
	least := Initialized
	for i := range g.seats {
		if g.seats[i].taken {
			least = min(least, g.seats[i].readiness)
		}
	}
	if least > g.readiness {
		g.readiness = least
		g.sayOthers(-1, FromGame{Kind: FromGameReadiness, Readiness: least})
	}
}

func (g *game) say(to netip.AddrPort, mode core.Mode, m FromGame) {
	g.out = append(g.out, said{to, mode, m})
}

// sayReliably says what must arrive, and in the order in which it was said.
func (g *game) sayReliably(to netip.AddrPort, m FromGame) { g.say(to, core.SemiOrdered, m) }

// sayOthers says a thing to all players but one, who have been told that they are players.
func (g *game) sayOthers(but int, m FromGame) {
	for i := range g.seats {
		if s := &g.seats[i]; s.taken && !s.waits && i != but {
			g.sayReliably(s.addr, m)
		}
	}
}
