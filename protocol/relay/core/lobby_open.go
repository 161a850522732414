package core

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"parley/internal/admission"
)

// OpenConfig sets up an open room. The zero OpenConfig admits everybody.
type OpenConfig struct {
	// Key, if set, makes the room ask for tickets that were issued with this key for Room. A room on the internet
	// should have one.
	Key TicketKey

	// Room is the name of the room in its tickets. It may be empty.
	Room string

	// Admit, if set, may refuse a client. It is called after the ticket, if any, was found valid. name is the name in
	// the ticket. With Unproven, the address from may be forged. Admit must not block.
	Admit func(from netip.AddrPort, name string) bool

	// Use, if set, is called for each valid ticket that was not used here before, after all other checks. It records
	// the ticket, and reports whether this is its first use. A server forgets used tickets when it ends. If Use keeps
	// serials until they expire, in a file or shared with other servers, a ticket admits only once even after a
	// restart. No package moves while Use runs.
	Use func(t Ticket) bool

	// Judge, if set, is called instead of Key, Room and Use, with the payload of the first package to the server of
	// each proven address. It returns the name of the bearer and the Value of its Peer, or an error. The bearer is
	// told the error, except ErrUnanswered. Judge must not block.
	Judge func(from netip.AddrPort, pass []byte) (name string, value any, err error)

	// Unproven admits an address with its first valid package, as the document describes, and challenges it later. It
	// is for clients that do not answer a challenge. Default off. It is for trusted networks only: an attacker who
	// forges addresses can take seats in their names, and have Rules.Grace bytes sent to each of them.
	Unproven bool

	// JoinBurst is how many clients of one address (/64 of IPv6) may join at once; 16 more may join each second.
	// Default 256; negative means no limit.
	JoinBurst int

	// Rules are the rules for packages. The zero value means the rules of docs/protocols/relay.md.
	Rules Rules
}

// OpenLobby is the lobby "open": one room for each port of the server. An address joins when it has answered a
// challenge, and shown a ticket if the room asks for one. The game is told of joins and leaves, and gets packages
// to the server.
type OpenLobby struct {
	cfg     OpenConfig
	used    usedTickets
	waiting waiting
	joins   *admission.Buckets // nil before the first join
	stats   OpenStats
}

// OpenStats counts what strangers did at an open room.
type OpenStats struct {
	Challenged uint64 // packages of unproven addresses that were answered with a challenge
	Proven     uint64 // right answers to a challenge
	Wrong      uint64 // wrong or outdated answers
	Crowded    uint64 // right answers that were not admitted, as too many came from one host

	Tickets    uint64 // valid tickets
	None       uint64 // packages that were no ticket
	Forged     uint64 // forged tickets; with OpenConfig.Judge, tickets refused for any reason
	Expired    uint64 // expired tickets
	OtherRoom  uint64 // tickets for another room
	Used       uint64 // tickets that were used before
	Full       uint64 // valid tickets that were not taken, as too many used tickets are remembered
	Unanswered uint64 // refused tickets whose bearer was not told
	Unwanted   uint64 // clients that OpenConfig.Admit refused
}

// openSeat is what the lobby knows of a peer.
type openSeat struct {
	nonce  uint64 // of its challenge, if it was let in without proof
	proven bool
	name   string
	value  any
	mark   *[ticketMarkBytes]byte // of its ticket, if there is one
}

// NewOpenLobby returns the lobby of an open room.
func NewOpenLobby(c OpenConfig) *OpenLobby { return &OpenLobby{cfg: c} }

// Stats returns the counters.
func (l *OpenLobby) Stats() OpenStats { return l.stats }

// Room returns the room of a port, nil while nobody has joined.
func (l *OpenLobby) Room(p *Port) *Room {
	room, _ := p.Value.(*Room)
	return room
}

// Rules returns OpenConfig.Rules.
func (l *OpenLobby) Rules() Rules { return l.cfg.Rules }

// Admit admits a client that has proven its address, and has a ticket if the room asks for one: "Proof comes before
// a place". An unproven address is sent a challenge for each of its packages, and nothing is stored for it. A wrong
// answer gets no reply, so that two servers do not challenge each other forever.
func (l *OpenLobby) Admit(now time.Time, port *Port, from netip.AddrPort, first Package) (any, bool) {
	seat := &openSeat{proven: !l.cfg.Unproven}
	if l.cfg.Unproven {
		if first.Server && isChallenge(first.Payload) {
			l.stats.Wrong++
			return nil, false
		}
		return seat, l.admit(now, port, from, first, seat)
	}
	if l.closed() && l.waiting.has(now, from) && !(first.Server && isChallenge(first.Payload)) {
		if !l.admit(now, port, from, first, seat) {
			return nil, false
		}
		l.waiting.remove(from)
		return seat, true
	}
	if !l.proves(port, from, first) {
		return nil, false
	}
	if l.closed() {
		if !l.waiting.add(now, from, admission.SourceOf(port.mux.cfg.Sessions, from).Addr()) {
			l.stats.Crowded++
		}
		return nil, false // the ticket comes next, or again
	}
	return seat, l.admit(now, port, from, first, seat)
}

// proves reports whether a package is the right answer of its sender, which is challenged if it is none.
func (l *OpenLobby) proves(port *Port, from netip.AddrPort, first Package) bool {
	switch {
	case !first.Server || !isChallenge(first.Payload):
		l.stats.Challenged++
		port.Challenge(from)
	case !port.Answers(from, first.Payload):
		l.stats.Wrong++
	default:
		l.stats.Proven++
		return true
	}
	return false
}

// full is Admit when there are too many peers: a proven address is told so.
func (l *OpenLobby) full(now time.Time, port *Port, from netip.AddrPort, first Package) {
	if !l.cfg.Unproven && (l.waiting.has(now, from) || l.proves(port, from, first)) {
		port.Refuse(from, refusedFull)
	}
}

// closed reports whether nobody is let in without a ticket.
func (l *OpenLobby) closed() bool { return l.cfg.Key != nil || l.cfg.Judge != nil }

// admit looks at the ticket of an address, if there is to be one, and whether it comes too often.
func (l *OpenLobby) admit(now time.Time, port *Port, from netip.AddrPort, first Package, seat *openSeat) bool {
	if !l.closed() {
		return l.wants(from, "") && l.mayJoin(now, port, from)
	}
	var t Ticket
	var err error
	switch {
	case !first.Server: // the ticket may be under way
		l.stats.None++
		return false
	case l.cfg.Judge != nil:
		t.Name, seat.value, err = l.cfg.Judge(from, first.Payload)
	default:
		t, err = l.look(now, first)
	}
	if err != nil {
		l.refuse(port, from, err)
		return false
	}
	if !l.wants(from, t.Name) || !l.mayJoin(now, port, from) {
		return false
	}
	if l.cfg.Judge == nil {
		l.used.add(&t)
		if l.cfg.Use != nil && !l.cfg.Use(t) {
			l.refuse(port, from, ErrTicketUsed)
			return false
		}
	}
	l.stats.Tickets++
	mark := ticketMark(first.Payload)
	seat.name, seat.mark = t.Name, &mark
	return true
}

// look reads the ticket: "the first package is then to the server and its payload is the ticket".
func (l *OpenLobby) look(now time.Time, first Package) (Ticket, error) {
	t, err := l.cfg.Key.Check(now, l.cfg.Room, first.Payload)
	if err == nil {
		err = l.used.check(now, &t)
	}
	return t, err
}

// ErrUnanswered is an error that OpenConfig.Judge may return: the bearer is refused, and is not told.
var ErrUnanswered = errors.New("relay: not answered")

// refuse counts a ticket that is not good, and tells its bearer, if its address is proven.
func (l *OpenLobby) refuse(port *Port, from netip.AddrPort, err error) {
	l.stats.count(err)
	text := refusedTicket
	switch {
	case l.cfg.Unproven || err == ErrUnanswered:
		return
	case err == errTicketsFull:
		return // it is good, and may be taken later
	case l.cfg.Judge != nil:
		text = err.Error()
	case err == ErrTicketUsed:
		text = refusedUsed
	case err == ErrTicketForm:
		text = refusedNone
	}
	port.Refuse(from, text)
}

// mayJoin reports whether a host does not come in too often.
func (l *OpenLobby) mayJoin(now time.Time, port *Port, from netip.AddrPort) bool {
	burst := l.cfg.JoinBurst
	if burst < 0 || l.cfg.Unproven {
		return true
	}
	if l.joins == nil {
		burst = cmp.Or(burst, joinBurst)
		l.joins = admission.NewBuckets(admission.BucketsConfig{
			Source: admission.Limit{Rate: joinRate, Burst: burst},
			Prefix: admission.Limit{Rate: 4 * joinRate, Burst: 4 * burst},
			Total:  admission.NoLimit,
		}, port.mux.key)
	}
	if !l.joins.Allow(now, admission.Host(admission.SourceOf(port.mux.cfg.Sessions, from).Addr()), 1) {
		l.stats.Crowded++
		return false
	}
	return true
}

func (l *OpenLobby) wants(from netip.AddrPort, name string) bool {
	if l.cfg.Admit != nil && !l.cfg.Admit(from, name) {
		l.stats.Unwanted++
		return false
	}
	return true
}

func (s *OpenStats) count(err error) {
	switch err {
	case ErrTicketExpired:
		s.Expired++
	case ErrTicketRoom:
		s.OtherRoom++
	case ErrTicketUsed:
		s.Used++
	case errTicketsFull:
		s.Full++
	case ErrTicketForm:
		s.None++
	case ErrUnanswered:
		s.Unanswered++
	default:
		s.Forged++
	}
}

// Enter puts a new peer into the room of its port. A peer that was admitted without proof is challenged now.
func (l *OpenLobby) Enter(_ time.Time, p *Peer) {
	seat := p.Seat.(*openSeat)
	p.Name, p.Value = seat.name, seat.value
	room, _ := p.Port().Value.(*Room)
	if room == nil {
		room = p.Port().Mux().NewRoom()
		p.Port().Value = room
	}
	room.Add(p)
	p.Join()
	if seat.proven {
		p.Challenged()
		return
	}
	seat.nonce = p.Port().Mux().Rand()
	challenge := binary.BigEndian.AppendUint64([]byte{challengeByte}, seat.nonce)
	_ = p.Send(Unordered, challenge) // nothing else was sent yet, so there is room
}

// Receive relays packages for the other participants. Packages for the server go to the game, except for tickets
// and answers to challenges.
func (l *OpenLobby) Receive(_ time.Time, p *Peer, pkg Package) bool {
	if !pkg.Server {
		if p.Room() != nil {
			_ = p.Room().Relay(p, pkg.Mode, pkg.Payload) // a package that came has a size and a mode
		}
		return false
	}
	seat := p.Seat.(*openSeat)
	if nonce, ok := readChallenge(pkg.Payload); ok {
		if !seat.proven && nonce == seat.nonce {
			p.Prove()
		}
		return false
	}
	return seat.mark == nil || !bytes.HasSuffix(pkg.Payload, seat.mark[:])
}

// Gone does nothing: the peer is out of its room, and the game is told.
func (l *OpenLobby) Gone(time.Time, *Peer, Close) {}
