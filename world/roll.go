package world

import (
	"encoding/binary"
	"slices"
)

// A TokenHash is the SHA-256 of a session's token. Tokens themselves are kept nowhere.
type TokenHash [32]byte

// A Serial is the number of a ticket. The zero Serial is none.
type Serial [16]byte

// A Session is what a player was told to come back with, and the ticket that it came in by.
type Session struct {
	Token   TokenHash
	Serial  Serial // none for a player without a ticket, and for the tokens after the first
	Expires int64  // when the ticket does, in Unix seconds
}

// A Seat is what the log knows of a player's client.
type Seat struct {
	Known  bool   // the client has shown that it has a token
	Away   bool   // the client's connection is gone
	Since  uint64 // the tick of the last Away or Back, or of Join
	Serial Serial // of the ticket that it came in by
}

// The roll is who may come back and by which token, which tickets are spent, and which requests are done. It is state of the log and not
// of the world: Step does not see it, and it is neither rewound nor hashed. Nothing in it depends on the order of a map.
type roll struct {
	seats   map[PlayerID]*seat
	tokens  map[TokenHash]PlayerID // of both tokens of each seat. Nobody can choose a hash, so how long a search takes tells nothing
	tickets map[Serial]ticket
	swept   int64 // when expired tickets were last removed, Unix s
	nodes   []nodeRequests
}

type seat struct {
	Seat
	token TokenHash // works until next is acknowledged or used; zero if there is none
	next  TokenHash // told, and not yet acknowledged
}

type ticket struct {
	expires int64
	player  PlayerID
}

// nodeRequests is the newest request of a node.
type nodeRequests struct{ node, request, tick uint64 }

// input notes what an input is to the roll. It is one of Join, Leave, Away and Back.
func (r *roll) input(in *Input) {
	switch in.Kind {
	case Join:
		if r.seats == nil {
			r.seats, r.tokens = map[PlayerID]*seat{}, map[TokenHash]PlayerID{}
		}
		r.seats[in.Player] = &seat{Seat: Seat{Since: in.Tick}}
	case Leave:
		s := r.seats[in.Player]
		r.forget(s.token)
		r.forget(s.next)
		delete(r.seats, in.Player)
	default:
		s := r.seats[in.Player]
		s.Away, s.Since = in.Kind == Away, in.Tick
	}
}

func (r *roll) forget(t TokenHash) {
	if t != (TokenHash{}) {
		delete(r.tokens, t)
	}
}

// admit gives a seat its first token, or one more. A token that was told before and neither acknowledged nor used is void: its
// connection is gone, and with it the client's way to learn of it.
func (r *roll) admit(p PlayerID, n *Session) {
	s := r.seats[p]
	if n.Serial != (Serial{}) {
		if r.tickets == nil {
			r.tickets = map[Serial]ticket{}
		}
		r.tickets[n.Serial] = ticket{n.Expires, p}
		s.Serial = n.Serial
	}
	if _, taken := r.tokens[n.Token]; taken || n.Token == (TokenHash{}) {
		return // a forged log: 32 random bytes do not meet
	}
	if s.token == (TokenHash{}) {
		s.token = n.Token
	} else {
		r.forget(s.next)
		s.next = n.Token
	}
	r.tokens[n.Token] = p
}

// know notes that a client has shown that it has a token. If it is the newest of two, the other is void from then on.
func (r *roll) know(p PlayerID, newest bool) {
	s := r.seats[p]
	s.Known = true
	if newest && s.next != (TokenHash{}) {
		r.forget(s.token)
		s.token, s.next = s.next, TokenHash{}
	}
}

// newest returns the newest request of a node.
func (r *roll) newest(node uint64) uint64 {
	for i := range r.nodes {
		if r.nodes[i].node == node {
			return r.nodes[i].request
		}
	}
	return 0
}

// hear notes a request of a node.
func (r *roll) hear(o Origin, now uint64) {
	oldest := 0
	for i := range r.nodes {
		n := &r.nodes[i]
		if n.node == o.Node {
			n.request, n.tick = max(n.request, o.Request), now
			return
		}
		if n.tick < r.nodes[oldest].tick {
			oldest = i
		}
	}
	if len(r.nodes) >= maxNodes {
		r.nodes = slices.Delete(r.nodes, oldest, oldest+1)
	}
	r.nodes = append(r.nodes, nodeRequests{o.Node, o.Request, now})
}

// sweep removes the tickets that have expired by the time of an entry.
func (r *roll) sweep(due int64) {
	seconds := due / 1e6
	if seconds-r.swept < ticketSweep {
		return
	}
	r.swept = seconds
	for serial, t := range r.tickets {
		if t.expires < seconds {
			delete(r.tickets, serial)
		}
	}
}

// Admit notes that a player was told a token, and by which ticket it came in. The player's first token works at once, and a further one
// beside the one before, until the client has acknowledged or used it.
func (s *Sim) Admit(p PlayerID, n Session) {
	if !s.isPresent(p) {
		return
	}
	if s.note(ItemSession, p) {
		s.log.items = n.append(s.log.items)
	}
	s.roll.admit(p, &n)
}

// Known notes that a player's client has acknowledged its newest token: the one before is void from then on.
func (s *Sim) Known(p PlayerID) {
	if s.isPresent(p) {
		s.know(p, s.roll.seats[p].next != (TokenHash{}))
	}
}

// Use returns the player whose token it is, and notes that the token was used: if it is the newest of two, the one before is void.
func (s *Sim) Use(t TokenHash) (PlayerID, bool) {
	p, ok := s.ByToken(t)
	if ok {
		s.know(p, s.roll.seats[p].next == t)
	}
	return p, ok
}

func (s *Sim) know(p PlayerID, newest bool) {
	if s.roll.seats[p].Known && !newest {
		return // nothing new
	}
	if s.note(ItemKnown, p) {
		s.log.items = append(s.log.items, bitIf(newest, 1))
	}
	s.roll.know(p, newest)
}

// ByToken returns the player who can come back with a token.
func (s *Sim) ByToken(t TokenHash) (PlayerID, bool) {
	p, ok := s.roll.tokens[t]
	return p, ok
}

// Tokens returns the hashes of the tokens that a player can come back with: one, or two while the newer is not acknowledged.
func (s *Sim) Tokens(p PlayerID) (list []TokenHash) {
	at := s.roll.seats[p]
	if at == nil {
		return nil
	}
	for _, t := range []TokenHash{at.token, at.next} {
		if t != (TokenHash{}) {
			list = append(list, t)
		}
	}
	return list
}

// Seat returns what the log knows of a player's client.
func (s *Sim) Seat(p PlayerID) (Seat, bool) {
	if at := s.roll.seats[p]; at != nil {
		return at.Seat, true
	}
	return Seat{}, false
}

// Spent reports whether a ticket has let a player in. again is that player, if the ticket may bring it back: its client has not
// shown yet that it has a token.
func (s *Sim) Spent(serial Serial) (again PlayerID, spent bool) {
	t, spent := s.roll.tickets[serial]
	if at := s.roll.seats[t.player]; spent && at != nil && at.Serial == serial && !at.Known {
		again = t.player
	}
	return again, spent
}

func (n *Session) append(b []byte) []byte {
	b = append(append(b, n.Token[:]...), n.Serial[:]...)
	return binary.AppendVarint(b, n.Expires)
}

func (n *Session) read(r *reading) {
	copy(n.Token[:], r.take(len(n.Token)))
	copy(n.Serial[:], r.take(len(n.Serial)))
	n.Expires = r.i()
}
