package gateway

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"parley/internal/pace"
	"parley/play/message"
	"parley/world"
)

// Seat is a place in the game: a connection of a dialect, and its player. Each dialect has its own
// type of seat, which embeds this one. The hub owns all fields except waiting and bade.
type Seat struct {
	dialect Dialect
	own     client // the dialect's own seat, which embeds this one
	room    *Room  // nil until its pass has led it there
	side    *side  // of the room, while it sits there
	waiting int    // requests in the inbox; under its lock

	// What the dialect knows before it asks to enter.
	spectator bool           // it watches, and is no player
	name      string         // of the account
	wants     string         // the room, without a pass; empty for main
	lent      bool           // its number is one that the dialect has reserved
	account   bool           // its name is that of an account, whose password it knew
	pass      *Pass          // nil of guests
	from      netip.Addr     // of the connection
	peer      netip.AddrPort // its true address
	carrier   string         // what brings its packets
	logNumber uint32         // of the connection, in the log

	led     string    // the room that the store has for its session
	ledAt   time.Time // when it said so
	seeking bool      // its room is looked for
	use     string    // what its ticket is used for, in a cluster

	considered bool    // its pass was found good, and it has not entered yet
	entering   bool    // its ticket is being spent, or its name looked up
	counted    bool    // it is one of its address
	player     *Player // nil until it has entered, and of spectators
	view       *world.View
	left       bool
	bade       atomic.Bool // its client has said goodbye; the hub may have yet to read of it
	kicked     error       // why, if it was, or was not let in
	told       bool        // that it is, over a dialect whose goodbye has no words
	verdict    error       // on its pass
	sid        uint16      // the number of the own entity that its pass gives
	known      bool        // its client has shown that it has a token
	confirmed  bool        // in a shared room: the log was asked to note that
	wishes     int         // and its inputs that the log does not have yet
	since      uint64      // in a shared room: the tick at which it got its player
	early      []request   // and what it has asked for before
	token      message.Token
	chat       allowance
	terrain    allowance
	asked      []chunkAsk
	asking     bool        // it is among the room's askers
	granted    int         // chunks that it may be sent in this tick
	number     uint16      // reserved for its own entity, 0 if none is
	reserved   bool        // and no player has joined with it
	held       []heldInput // for ticks that the world has yet to come to
	stamps     *stamps     // nil until an input came with one
	roll       *roll       // nil until its client wants to know who is there
	upto       uint64      // its client was told of all ticks before this one
	results    []result
	moves      *moves // its player is to go on at another server
	hears      uint64 // one more than the tick from which on its player has heard nothing, 0 if that is this one
	handled    int    // requests of this tick
	answers    bool   // this tick has done something that it asked for
	looked     bool   // somebody wants to know its round trip
	estimate   Path   // of its path, as of the last tick
	traffic    Traffic
}

// connect says over which connection a seat is.
func (s *Seat) connect(d Dialect, own client, peer netip.AddrPort, carrier string, logNumber uint32) {
	s.dialect, s.own, s.peer, s.from, s.carrier, s.logNumber = d, own, peer, peer.Addr(), carrier, logNumber
}

// sits notes over which connection a player is.
func (p *Player) sits(s *Seat) {
	p.departs = false
	p.seat, p.Dialect, p.Addr, p.Carrier, p.Conn = s, s.dialect.Name(), s.peer, s.carrier, s.logNumber
}

// chunkAsk is a chunk that a player wants, and the dialect's own tag for the answer.
type chunkAsk struct {
	place world.ChunkPlace
	tag   uint32
}

// result is what became of a request with a tag, known before the next step.
type result struct {
	tag uint32
	why world.Reason
}

// Player is a player in the game.
type Player struct {
	ID      world.PlayerID
	Name    string
	Dialect string            // the last, of a player who is away; empty if that was before a restart
	Addr    netip.AddrPort    // of its connection; as Dialect, Carrier and Conn it is that of the last one
	Carrier string            // "udp", "tcp", "tls", "ws" or "wt"
	Conn    uint32            // the number of its connection in the log
	Since   time.Time         // when it joined, or the server began to run its room again
	seat    *Seat             // nil while the player is away
	account bool              // its name is that of an account
	tokens  []world.TokenHash // one, or two while the newer is not acknowledged

	departs bool // its client may not come back: see Hub.Depart

	// While it is away.
	silent  uint64 // one more than the tick in which it went, 0 if that is not known
	ends    uint64 // the tick at which its seat is held no more
	from    netip.Addr
	counted bool // it is one of its address
}

// Path is what is known of the path to a player. Its Rate is 0 unless the path is narrow: then ticks are limited by Budget.
type Path = pace.Estimate

// Path returns what is known of the path to the player, as of the last tick. Call it in Do.
func (p *Player) Path() Path {
	if p.seat == nil {
		return Path{}
	}
	return p.seat.estimate
}

// RTT returns the round trip to the player, as its dialect measures it. It is 0 if that is not known. relay measures it only when it
// was asked for: the answer is that of an earlier call. Call it in Do.
func (p *Player) RTT() time.Duration {
	if p.seat != nil {
		p.seat.looked = true
	}
	return p.Path().RTT
}

// Away reports whether the player's connection is gone and its seat is held. Call it in Do.
func (p *Player) Away() bool { return p.seat == nil }

// IsAway reports whether a player of the room has no connection, to no server. Call it in Do.
func (r *Room) IsAway(p *Player) bool {
	return p.Away() && (r.shared == nil || slices.Contains(r.away, p))
}

// Has reports whether this server is the one to say what a player is at: it has its connection, or makes the entries of a room whose player is away. Call
// it in Do.
func (r *Room) Has(p *Player) bool {
	return p.seat != nil || r.shared == nil || r.shared.sequences() && r.IsAway(p)
}

// Returns reports whether the player's seat is held if the connection is lost: its client has shown that it can come back. Call
// it in Do.
func (p *Player) Returns() bool { return p.seat == nil || p.seat.canReturn() }

// allowance is a budget that grows each tick: of lines, of bytes. It is kept in parts of a
// tick, so that what is less than one a tick adds up too.
type allowance struct {
	left  int // times ticks
	ticks int // a second; 0 before it was filled once
}

// grow adds a tick's share, up to a second's.
func (a *allowance) grow(second, ticksASecond int) {
	full := second * ticksASecond
	if a.ticks == 0 {
		a.ticks, a.left = ticksASecond, full
		return
	}
	a.left = min(a.left+second, full)
}

// has reports whether anything is left.
func (a *allowance) has() bool { return a.left > 0 }

// spend takes n if anything is left: what is overdrawn is paid back later.
func (a *allowance) spend(n int) bool {
	if !a.has() {
		return false
	}
	a.left -= n * a.ticks
	return true
}

// closingLine is the last line of chat that players read over dialects whose goodbye has no words.
const closingLine = "server closing"

// answer notes what became of a request, if its dialect wants to know.
func (s *Seat) answer(tag uint32, why world.Reason) {
	if tag != 0 {
		s.results = append(s.results, result{tag, why})
	}
}
