package message

import (
	"errors"
	"math"

	"parley/internal/wire"
)

// ErrPass means that bytes are no pass: an unknown first byte, a name that no room can have, or a wrong size.
var ErrPass = errors.New("message: malformed pass")

// PassKind is the kind of a pass: its first byte.
type PassKind uint8

// The kinds of passes.
const (
	PassTicket  PassKind = 'T' // into the ticket's room, by the ticket's name
	PassRoom    PassKind = 'R' // into an open room, as a guest
	PassSession PassKind = 'S' // back to where another connection stopped
)

const (
	// MainRoom is the room of a player without a pass, and of a ticket without a room.
	MainRoom = "main"

	// MaxRoomName is the size of the longest name of a room, in bytes.
	MaxRoomName = 32

	// TokenBytes is the size of a session's token.
	TokenBytes = 16
)

// Token is the secret of a session. Whoever has it is the player.
type Token [TokenBytes]byte

// Pass is what a client shows to get in. Its bytes are the same in all dialects, and big endian:
//
//	'T', the rest of a ticket: see relay's TicketKey.Check, which judges it
//	'R', size u8, room, size u8, name
//	'S', token of 16 bytes
type Pass struct {
	Kind   PassKind
	Ticket []byte // PassTicket: the whole pass. It shares memory with what was parsed
	Room   string // PassRoom
	Name   string // PassRoom: the name that the guest wants, empty for any
	Token  Token  // PassSession
}

// AppendRoomPass appends a pass for an open room. A name of more than 255 bytes is cut.
func AppendRoomPass(b []byte, room, name string) []byte {
	return appendName(appendName(append(b, byte(PassRoom)), room), name)
}

// AppendSessionPass appends a pass that goes on with a session.
func AppendSessionPass(b []byte, t Token) []byte {
	return append(append(b, byte(PassSession)), t[:]...)
}

// ParsePass reads a pass. Any error is ErrPass. It does not look into a ticket beyond the first byte.
func ParsePass(b []byte) (p Pass, err error) {
	r := wire.Big(b)
	switch p.Kind = PassKind(r.U8("kind")); p.Kind {
	case PassTicket:
		p.Ticket = b
		return p, nil
	case PassRoom:
		room := r.Bytes("room", int(r.U8("room size")), MaxRoomName)
		name := r.Bytes("name", int(r.U8("name size")), math.MaxUint8)
		if r.Done() && isRoomName(room) {
			p.Room, p.Name = string(room), string(name)
			return p, nil
		}
	case PassSession:
		copy(p.Token[:], r.Bytes("token", TokenBytes, TokenBytes))
		if r.Done() {
			return p, nil
		}
	}
	return Pass{}, ErrPass
}

// IsRoomName reports whether a room can have a name: 1 to 32 of a-z, 0-9 and the hyphen.
func IsRoomName(name string) bool { return isRoomName(name) }

func isRoomName[T string | []byte](name T) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= MaxRoomName
}
