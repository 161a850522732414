package connector

import (
	"fmt"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/protocol/relay/core"
)

// Lobby is the connector lobby of a relay server: a main port where games are opened, and a port for each game. It is pure,
// and is owned by the goroutine that calls its Mux.
type Lobby struct {
	cfg   *Config
	main  *core.Port  // nil before the first client
	sweep *core.Timer // set while there are guests
	swept bool        // sweep is set

	start time.Time     // the time of the first call
	at    time.Duration // the time of the latest call, since start

	clients        map[netip.AddrPort]place // which game each client has
	matches        []*match
	unprovenGames  int // matches that no proven address plays
	unprovenSeats  int // clients whose address is not proven
	strangers      strangers
	known, unknown memory                // of proven addresses, and of others
	opens          [2]*admission.Buckets // of addresses that are not proven, and of proven ones
	secret         *admission.Secret
	asksStrangers  bool // an address was asked for which nothing is stored
	down           bool

	// Scratch: messages are read into toMain, toGame and peer, and payloads are built in payload, one at a time.
	toMain  ToMain
	toGame  ToGame
	peer    Peer
	payload [MaxPayload]byte
	cuts    []int // where the messages of a package begin, and its end
	foreign bool  // the game's own clients cannot decode one of them

	stats Stats
}

// place is what a client has who has a game.
type place struct {
	match  *match
	proven bool
}

// Stats counts the fates of packages and of games.
type Stats struct {
	Packages  uint64 // received: the sum of the seven below
	ToMain    uint64 // messages to the main port
	ToGame    uint64 // messages to a game
	Relayed   uint64 // messages of a player to the others
	NotJoined uint64 // messages to the others, from a client that is not a player
	Uncut     uint64 // not a sequence of messages that the port takes
	Foreign   uint64 // messages to the others that the game's own clients cannot decode
	Late      uint64 // for a game that has ended

	Messages  uint64 // relayed between players
	Throttled uint64 // packages beyond the rate limits: unreliable ones are dropped, others come again
	Behind    uint64 // packages for players that are behind, beyond what may always be sent: they come again
	Unproven  uint64 // packages of addresses that must be proven first: reliable ones come again
	Asked     uint64 // addresses that were asked to prove themselves
	Proven    uint64 // addresses that did
	Displaced uint64 // unproven games and players that made room for proven ones
	Misplaced uint64 // first packages of strangers that were no messages
	Evicted   uint64 // strangers that made room for others
	Idle      uint64 // peers that were silent for too long
	Removed   uint64 // peers that sent too many invalid packages

	Opened    uint64 // games that were opened
	Closed    uint64 // of these, games that have been closed
	Different uint64 // games that were not opened because the client had one
	Unopened  uint64 // games not opened because there were too many, too soon, or no port was free

	Game GameStats
}

// Check returns an error if the counters do not add up.
func (s *Stats) Check() error {
	if sum := s.ToMain + s.ToGame + s.Relayed + s.NotJoined + s.Uncut + s.Foreign + s.Late; sum != s.Packages {
		return fmt.Errorf("connector: %d packages came, but the fate of %d is known", s.Packages, sum)
	}
	return nil
}

// opensConfig is how many games may be opened: by one address, by one prefix and in all. Each costs a socket.
// Loopback, private and link-local addresses are not held to it. Those that proved nothing have buckets of their own, and are asked
// to prove themselves when these are empty: forged sources use up nobody else's.
var opensConfig = admission.BucketsConfig{
	Source: admission.Limit{Rate: 1, Burst: 4},
	Prefix: admission.Limit{Rate: 4, Burst: 16},
	Total:  admission.Limit{Rate: 50, Burst: 100},
}

// NewLobby returns the lobby of one server. The key makes the table of openers unguessable.
func NewLobby(c Config, key core.Key) *Lobby {
	return &Lobby{
		cfg: c.fill(), clients: map[netip.AddrPort]place{},
		known: memory{limit: maxPast - maxPast/4}, unknown: memory{limit: maxPast / 4},
		opens:  [2]*admission.Buckets{admission.NewBuckets(opensConfig, key), admission.NewBuckets(opensConfig, key)},
		secret: admission.NewSecret(time.Time{}, key),
	}
}

// serverConfig is that of a relay server with this lobby.
func (l *Lobby) serverConfig() core.Config {
	c := l.cfg
	return core.Config{Lobby: l, MaxPeers: c.maxPeers(), FirstPort: c.FirstPort, LastPort: c.LastPort, Banned: c.Banned, Log: c.Log}
}

// Games returns the number of games, including those that wait for their last messages to be confirmed.
func (l *Lobby) Games() int { return len(l.matches) }

// Players returns the number of clients that have a game.
func (l *Lobby) Players() int { return len(l.clients) }

// Stats returns the counters.
func (l *Lobby) Stats() Stats { return l.stats }

// Rules returns the rules for this lobby: "There are no challenges, and keep-alives only after 20 s (gone after 60 s), as
// these clients expect quiet". The resend delay does not depend on the round-trip time, and a removed peer is not told.
func (l *Lobby) Rules() core.Rules {
	return core.Rules{ConfirmAfter: l.cfg.confirm, ResendAfter: resendAfter, KeepAlive: keepAlive, Timeout: timeout, HoleTimeout: holeTimeout, Quiet: true, RoomRate: gameRate}
}

// Admit admits every address whose first package consists of messages for the port, or is empty and reliable, as the first package
// of a relay.Client is. Nothing is stored for other packages from strangers.
func (l *Lobby) Admit(now time.Time, port *core.Port, from netip.AddrPort, first core.Package) (any, bool) {
	l.tell(now)
	m, _ := port.Value.(*match)
	if l.down || m != nil && m.over {
		return nil, false
	}
	if len(first.Payload) == 0 && !first.Mode.Reliable() || !l.cut(m != nil, &first) {
		l.stats.Misplaced++
		return nil, false
	}
	was, ok := l.recall(port.Number(), from)
	if ok && l.renews(was, &first) {
		l.known.forget(pastKey{port.Number(), from})
		l.unknown.forget(pastKey{port.Number(), from})
		ok = false
	}
	g := newGuest(now, m)
	g.proven = l.isProven(from)
	g.back = m != nil && m.isBack(from, &first) || ok && was.isFarBehind()
	if l.owesProof(port.Number(), from) {
		l.stats.Unproven++
		l.askStranger(port, from)
		return nil, false
	}
	has := l.clients[from].match
	if awaited := has != nil && (m == nil || has == m); !g.proven && !awaited && l.strangers.unproven >= l.cfg.unprovenStrangers() {
		l.stats.Unproven++
		l.askStranger(port, from)
		return nil, false
	}
	return g, true
}

// tell tells the lobby the time.
func (l *Lobby) tell(now time.Time) {
	if l.start.IsZero() {
		l.start = now
	}
	l.at = now.Sub(l.start)
}

// cut finds out where the messages of a package begin, and reports whether it is a sequence of
// messages that its port takes: "What cannot be cut into messages is dropped". It is asked before any
// message has its effect, so that a package has all of its effects or none.
func (l *Lobby) cut(atGame bool, pkg *core.Package) bool {
	var m Message = &l.peer
	switch {
	case pkg.Server && atGame:
		m = &l.toGame
	case pkg.Server:
		m = &l.toMain
	case !atGame:
		return false // nobody is there to be reached through the main port
	}
	msgs := Read(pkg.Payload)
	l.cuts, l.foreign = append(l.cuts[:0], 0), false
	for msgs.Next(m) {
		l.cuts = append(l.cuts, msgs.Offset())
		l.foreign = l.foreign || m == &l.peer && !l.cfg.PassForeign && !l.peer.Decodable()
	}
	return msgs.OK()
}

// Enter stores a new peer as a stranger. Another stranger may have to make room.
func (l *Lobby) Enter(now time.Time, p *core.Peer) {
	g := p.Seat.(*guest)
	l.seat(g, p)
	l.watch(now, p.Port().Mux())
	if has := l.clients[p.Addr()].match; has != nil && (g.match == nil || has == g.match) {
		return // a player, at the main port; or an opener at its game, before it is announced
	}
	l.strange(g)
	l.tellIfBack(g)
}

// seat gives a guest its peer.
func (l *Lobby) seat(g *guest, p *core.Peer) {
	g.peer = p
	if _, ok := core.Expects(p); !ok && l.asksStrangers {
		// It may have been asked before it was a guest, and then has got these.
		core.Expect(p, l.riddle(p.Port().Number(), p.Addr(), core.NextID(p)), false)
	}
	if g.proven {
		p.Prove()
	}
}

// tellIfBack tells a player who was lost that it is one no more. It may have nothing to say for long,
// and is to know that nobody hears it; so it is told at each sweep until it has gone.
func (l *Lobby) tellIfBack(g *guest) {
	if g.back {
		l.answer(g, core.Unreliable, &FromGame{Kind: FromGameNotJoined})
	}
}

// strange notes that a guest has no game.
func (l *Lobby) strange(g *guest) {
	l.strangers.add(g)
	if l.strangers.count > l.cfg.MaxStrangers {
		oldest := l.strangers.first
		l.strangers.remove(oldest)
		l.stats.Evicted++
		core.Forget(oldest.peer)
	}
}

// Receive takes a package of a peer. It always returns false: the program gets no packages.
func (l *Lobby) Receive(now time.Time, p *core.Peer, pkg core.Package) (toGame bool) {
	l.tell(now)
	g := p.Seat.(*guest)
	l.stats.Packages++
	g.said = now
	g.packages++
	l.strangers.renew(g)
	g.trust()
	switch {
	case g.match != nil && g.match.over:
		l.stats.Late++
	case !l.cut(g.match != nil, &pkg):
		l.stats.Uncut++
		l.misbehaves(now, g)
	case l.foreign:
		l.stats.Foreign++
		l.misbehaves(now, g)
	case !pkg.Mode.Reliable() && !l.permits(now, g, &pkg):
		l.countDropped(g, &pkg)
	case g.match == nil:
		l.stats.ToMain++
		l.receiveAtMain(now, g, &pkg)
	case pkg.Server:
		l.stats.ToGame++
		g.match.receive(now, g, &pkg)
	default:
		g.match.relay(now, g, &pkg)
	}
	return false
}

// countDropped counts an unreliable package that was not permitted.
func (l *Lobby) countDropped(g *guest, pkg *core.Package) {
	switch {
	case g.match == nil:
		l.stats.ToMain++
	case pkg.Server:
		l.stats.ToGame++
	default:
		l.stats.NotJoined++
	}
}

// misbehaves notes a package that is none, and removes a guest that sends too many.
func (l *Lobby) misbehaves(now time.Time, g *guest) {
	if g.misbehaves(now) {
		l.stats.Removed++
		g.peer.Remove(core.Close{Reason: core.ReasonProtocol})
	}
}

// Accept reports whether a reliable package is taken now: "What is confirmed is done, always; what is throttled is not
// confirmed."
func (l *Lobby) Accept(now time.Time, p *core.Peer, pkg core.Package) bool {
	l.tell(now)
	g := p.Seat.(*guest)
	if !g.proven && pkg.Mode == core.SemiOrdered && core.Held(p) > unprovenBytes/2 {
		l.ask(now, g)
		if core.Held(p)+len(pkg.Payload) > unprovenBytes {
			l.stats.Unproven++
			return false
		}
	}
	if !pkg.Server && g.match != nil && !g.match.takes(l.at, g, &pkg) {
		l.stats.Behind++
		return false
	}
	return g.match != nil && g.match.over || !l.cut(g.match != nil, &pkg) || l.permits(now, g, &pkg)
}

// permits reports whether a package may have its effects now, and takes them out of the guest's buckets. l.cut was asked about it.
func (l *Lobby) permits(now time.Time, g *guest, pkg *core.Package) bool {
	var o order
	l.count(g, pkg, &o)
	switch {
	case l.mustProve(now, g, &o):
		l.stats.Unproven++
		return false
	case !g.affords(l.at, &o):
		l.stats.Throttled++
		return false
	}
	return true
}

// count finds out what a package asks for.
func (l *Lobby) count(g *guest, pkg *core.Package, o *order) {
	msgs := Read(pkg.Payload)
	switch {
	case !pkg.Server:
		if _, isPlayer := g.match.game.player(g.peer.Addr()); !isPlayer {
			o[askPing]++
		}
	case g.match == nil:
		for msgs.Next(&l.toMain) {
			o[asksToMain[l.toMain.Kind]]++
		}
	default:
		for msgs.Next(&l.toGame) {
			o[asksToGame[l.toGame.Kind]]++
		}
	}
}

// receiveAtMain takes messages to the main port.
func (l *Lobby) receiveAtMain(now time.Time, g *guest, pkg *core.Package) {
	for msgs := Read(pkg.Payload); msgs.Next(&l.toMain); {
		switch {
		case l.toMain.Kind == ToMainPing:
			l.answer(g, l.mode(g, pkg.Mode), &FromMain{Kind: FromMainPong, Ping: l.toMain.Ping})
		case l.clients[g.peer.Addr()].match != nil:
			// "A client in another game is DifferentGame."
			l.stats.Different++
			l.answer(g, core.SemiOrdered, &FromMain{Kind: FromMainOpenError, Error: OpenDifferentGame})
		default:
			l.open(now, g, int(l.toMain.MaxPlayers)+1)
		}
	}
}

// mode is that of a Pong or a NotJoined to what came in a mode.
func (l *Lobby) mode(g *guest, of core.Mode) core.Mode {
	if g.back || g.eager(l.at) {
		return core.Unreliable
	}
	return of
}

// mayOpen reports whether a client may open one more game now, and charges it.
func (l *Lobby) mayOpen(now time.Time, g *guest) bool {
	opens := l.opens[0]
	if g.proven {
		opens = l.opens[1]
	}
	from := g.peer.Addr().Addr()
	return admission.Nearby(from) || opens.Allow(now, from, 1)
}

// open opens a game, if there may be one more. The message set has no word for a server that
// cannot: it says the one refusal that there is, which ends the client's waiting.
func (l *Lobby) open(now time.Time, g *guest, seats int) {
	from := g.peer.Addr()
	m := (*match)(nil)
	if !l.down && (!g.proven || l.mayOpen(now, g)) && l.hasRoom(now, g) {
		m = newMatch(now, l, g.peer.Port().Mux(), min(seats, l.cfg.MaxPlayers), from)
	}
	if m == nil {
		l.stats.Unopened++
		l.answer(g, core.SemiOrdered, &FromMain{Kind: FromMainOpenError, Error: OpenDifferentGame})
		return
	}
	l.stats.Opened++
	l.unprovenGames++ // until somebody vouches for it
	l.take(from, m, g.proven)
	// "GameOpened goes out at once, before the confirmation of the request"
	l.answer(g, core.SemiOrdered, &FromMain{Kind: FromMainOpened, Port: m.port.Number()})
}

// hasRoom reports whether there is room for one more game. One that is over makes room at once. For one who is proven a game
// makes room whose players are not: of these the one with the shortest conversation, and the oldest of several.
func (l *Lobby) hasRoom(now time.Time, g *guest) bool {
	if len(l.matches) < l.cfg.MaxGames {
		return true
	}
	var least *match
	for _, m := range l.matches {
		if m.over {
			m.closePort(now)
			return true
		}
		if !m.vouched && (least == nil || m.packages < least.packages || m.packages == least.packages && m.born.Before(least.born)) {
			least = m
		}
	}
	if least == nil || !g.proven {
		return false
	}
	l.stats.Displaced++
	least.dismiss(now, core.Unreliable)
	least.closePort(now)
	return len(l.matches) < l.cfg.MaxGames
}

// answer sends a message of the server to one guest.
func (l *Lobby) answer(g *guest, mode core.Mode, m Message) {
	if g.peer.Send(mode, m.AppendTo(l.payload[:0])) == core.ErrBacklogFull {
		g.peer.Remove(core.Close{Reason: core.ReasonSlow})
	}
}

// Gone removes a peer, and makes it leave its game.
func (l *Lobby) Gone(now time.Time, p *core.Peer, why core.Close) {
	l.tell(now)
	g := p.Seat.(*guest)
	l.strangers.remove(g)
	l.remember(g)
	if g.match != nil {
		g.match.gone(now, g, why)
	}
}

// take notes which game a client has: it is no stranger at the main port either.
func (l *Lobby) take(addr netip.AddrPort, m *match, proven bool) {
	if l.clients[addr].match == m {
		return // the opener has its place already
	}
	l.clients[addr] = place{m, proven}
	if proven {
		m.vouch()
	} else {
		l.unprovenSeats++
	}
	if p := l.main.Peer(addr); p != nil {
		l.strangers.remove(p.Seat.(*guest))
	}
}

// free notes that a client has no game any more.
func (l *Lobby) free(addr netip.AddrPort) {
	if c, ok := l.clients[addr]; ok && !c.proven {
		l.unprovenSeats--
	}
	delete(l.clients, addr)
	if p := l.main.Peer(addr); p != nil && p.State() == core.StateOpen {
		l.strange(p.Seat.(*guest))
	}
}

// watch has idle guests looked for while there are any.
func (l *Lobby) watch(now time.Time, mux *core.Mux) {
	if l.sweep == nil {
		l.main = mux.First()
		l.sweep = l.main.NewTimer(l.removeIdle)
	}
	if !l.swept {
		l.swept = true
		l.sweep.Set(now.Add(sweepEvery))
	}
}

// removeIdle removes peers that said nothing for too long: see strangerIdle.
func (l *Lobby) removeIdle(now time.Time) {
	l.tell(now)
	for g := l.strangers.first; g != nil && now.Sub(g.said) >= strangerIdle; g = l.strangers.first {
		l.strangers.remove(g)
		l.stats.Idle++
		core.Forget(g.peer)
	}
	for g := l.strangers.first; g != nil; g = g.next {
		l.tellIfBack(g)
	}
	for _, m := range l.matches {
		m.removeIdle(now)
	}
	l.swept = false
	if l.strangers.count+len(l.matches) > 0 {
		l.watch(now, l.main.Mux())
	}
}

// Shutdown makes all players leave: they are told, and no more games are opened. The caller must also call Mux.Shutdown, for the
// main port.
func (l *Lobby) Shutdown(now time.Time) { l.dismiss(now, core.SemiOrdered) }

// dismiss is Shutdown, with players told in a mode: unreliably where nobody waits for their
// confirmations.
func (l *Lobby) dismiss(now time.Time, mode core.Mode) {
	l.down = true
	for _, m := range l.matches {
		m.dismiss(now, mode)
	}
}
