package relay

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"time"
)

// OpenConfig is how an open room is. The zero OpenConfig lets everybody in.
type OpenConfig struct {
	// Key, if set, has the room ask for tickets that were issued with it, for Room. A
	// room on the internet should have one.
	Key TicketKey

	// Room is the name of the room in its tickets. It may be empty.
	Room string

	// Admit, if set, is asked about each newcomer who may come in otherwise: its address,
	// which may be forged if there are no tickets, and the name in its ticket. It must
	// not block.
	Admit func(from netip.AddrPort, name string) bool

	// Use, if set, is asked last about each good ticket that was not used here before, and
	// notes it: it reports whether it is the first to use it. A server forgets used tickets when
	// it ends; with a Use that keeps serials until they expire, in a file or with other
	// servers, a ticket lets in once whatever restarts. While it runs no package moves.
	Use func(t Ticket) bool

	// Rules are how packages are kept. The zero value is the relay page's.
	Rules Rules
}

// OpenLobby is the lobby "open": one room for each port of the server. "An address joins
// with its first valid package", or with a ticket; the game is told who comes and goes, and
// gets what is sent to the server.
type OpenLobby struct {
	cfg   OpenConfig
	used  usedTickets
	stats OpenStats
}

// OpenStats counts what strangers showed to a room that asks for tickets.
type OpenStats struct {
	Tickets   uint64 // were good
	None      uint64 // packages that were no ticket
	Forged    uint64
	Expired   uint64
	OtherRoom uint64
	Used      uint64 // for the second time
	Full      uint64 // good, but too many others are remembered to know whether it was used
	Unwanted  uint64 // good or not needed, but OpenConfig.Admit said no
}

// openSeat is what the lobby knows of a peer.
type openSeat struct {
	nonce uint64
	name  string
	mark  *[ticketMarkBytes]byte // of its ticket, if there is one
}

// NewOpenLobby returns the lobby of an open room.
func NewOpenLobby(c OpenConfig) *OpenLobby { return &OpenLobby{cfg: c} }

// Stats returns the counters.
func (l *OpenLobby) Stats() OpenStats { return l.stats }

// Room returns the room of a port, nil while nobody has come.
func (l *OpenLobby) Room(p *Port) *Room {
	room, _ := p.Value.(*Room)
	return room
}

// Rules returns those of the configuration.
func (l *OpenLobby) Rules() Rules { return l.cfg.Rules }

// Admit lets everybody in, or everybody with a ticket: "the first package is then to the
// server and its payload is the ticket …; before it nothing is confirmed, relayed or
// answered".
func (l *OpenLobby) Admit(now time.Time, _ *Port, from netip.AddrPort, first Package) (any, bool) {
	seat := new(openSeat)
	if l.cfg.Key == nil {
		return seat, l.wants(from, "")
	}
	if !first.Server || len(first.Payload) == 0 {
		l.stats.None++
		return nil, false
	}
	t, err := l.cfg.Key.Check(now, l.cfg.Room, first.Payload)
	if err == nil {
		err = l.used.check(now, &t)
	}
	if err != nil {
		l.stats.count(err)
		return nil, false
	}
	if !l.wants(from, t.Name) {
		return nil, false
	}
	l.used.add(&t)
	if l.cfg.Use != nil && !l.cfg.Use(t) {
		l.stats.Used++
		return nil, false
	}
	l.stats.Tickets++
	mark := ticketMark(first.Payload)
	seat.name, seat.mark = t.Name, &mark
	return seat, true
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
	default:
		s.Forged++
	}
}

// Enter puts a newcomer into the room of its port and challenges it: "the server sends a
// newcomer a reliable unordered package, bit 4 set, with the payload u8 255, u64 nonce".
func (l *OpenLobby) Enter(_ time.Time, p *Peer) {
	seat := p.Seat.(*openSeat)
	p.Name = seat.name
	room, _ := p.Port().Value.(*Room)
	if room == nil {
		room = p.Port().Mux().NewRoom()
		p.Port().Value = room
	}
	room.Add(p)
	p.Join()
	seat.nonce = p.Port().Mux().Rand()
	challenge := binary.BigEndian.AppendUint64([]byte{challengeByte}, seat.nonce)
	_ = p.Send(Unordered, challenge) // nothing else was sent yet, so there is room
}

// Receive passes on what is for the others. Of what is for the server it takes the answers
// to challenges, and the ticket, which is nobody's business any more.
func (l *OpenLobby) Receive(_ time.Time, p *Peer, pkg Package) bool {
	if !pkg.Server {
		if p.Room() != nil {
			_ = p.Room().Relay(p, pkg.Mode, pkg.Payload) // a package that came has a size and a mode
		}
		return false
	}
	seat := p.Seat.(*openSeat)
	if nonce, ok := readChallenge(pkg.Payload); ok {
		if nonce == seat.nonce {
			p.Prove()
		}
		return false
	}
	return seat.mark == nil || !bytes.HasSuffix(pkg.Payload, seat.mark[:])
}

// Gone has nothing to do: the peer is out of its room, and the game is told.
func (l *OpenLobby) Gone(time.Time, *Peer, Close) {}
