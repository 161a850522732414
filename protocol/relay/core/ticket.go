package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"parley/internal/wire"
)

var (
	// ErrTicketForm means that the bytes are not a ticket.
	ErrTicketForm = errors.New("relay: not a ticket")
	// ErrTicketForged means that the ticket was not issued with this key, or was changed.
	ErrTicketForged = errors.New("relay: ticket was not issued with this key")
	// ErrTicketExpired means that the ticket has expired.
	ErrTicketExpired = errors.New("relay: ticket has expired")
	// ErrTicketRoom means that the ticket is for another room.
	ErrTicketRoom = errors.New("relay: ticket is for another room")
	// ErrTicketUsed means that the ticket was used before.
	ErrTicketUsed = errors.New("relay: ticket was used before")
	// ErrTicketKey means that the key has fewer than MinTicketKey bytes.
	ErrTicketKey = errors.New("relay: ticket key is too short")

	errTicketsFull = errors.New("relay: too many tickets are remembered")
)

// Ticket admits a player to a room, once. Its bytes are the payload of the first package:
//
//	 0     1             9          25
//	+-----+-------------+----------+------+------+------+------+-----------------+
//	| 'T' | expires u64 | serial   | size | room | size | name | HMAC-SHA256 of  |
//	|     | Unix s      | 16 bytes | u8   |      | u8   |      | all before, 32  |
//	+-----+-------------+----------+------+------+------+------+-----------------+
type Ticket struct {
	Room    string    // the room in which it is valid, up to MaxTicketText bytes
	Name    string    // the name of its bearer, likewise
	Expires time.Time // to the second; from that time on it is no longer valid

	// Serial identifies the ticket. It is random: two tickets with the same serial count as
	// one.
	Serial [16]byte
}

// TicketKey is the secret that the issuer of tickets shares with its servers: at least
// MinTicketKey random bytes.
type TicketKey []byte

// Limits of a ticket.
const (
	// MinTicketKey is the least size of a key in bytes: shorter keys could be guessed.
	MinTicketKey = 16

	// MaxTicketText bounds a ticket's room and name, in bytes each, so that a ticket fits into a package.
	MaxTicketText = 100

	ticketMarkBytes = sha256.Size
	ticketByte      = 'T'
)

// Issue returns a ticket as bytes. NewTicket does the same with a random serial.
func (k TicketKey) Issue(t Ticket) ([]byte, error) {
	switch {
	case len(k) < MinTicketKey:
		return nil, ErrTicketKey
	case len(t.Room) > MaxTicketText || len(t.Name) > MaxTicketText:
		return nil, fmt.Errorf("relay: ticket: the room or the name has more than %d bytes: shorten it", MaxTicketText)
	case t.Expires.Unix() <= 0:
		return nil, fmt.Errorf("relay: ticket: Expires is %v: set a time in the future", t.Expires)
	}
	b := []byte{ticketByte}
	b = binary.BigEndian.AppendUint64(b, uint64(t.Expires.Unix()))
	b = append(b, t.Serial[:]...)
	for _, text := range []string{t.Room, t.Name} {
		b = append(append(b, byte(len(text))), text...)
	}
	return k.sum(b, b), nil
}

// sum appends the HMAC of what.
func (k TicketKey) sum(b, what []byte) []byte {
	h := hmac.New(sha256.New, k)
	h.Write(what)
	return h.Sum(b)
}

// Check returns the content of a ticket, and an error if it does not admit its bearer to the
// room now: ErrTicketForm, ErrTicketForged, ErrTicketExpired or ErrTicketRoom. With the last
// two errors, the content is still genuine. Check does not know whether the ticket was used.
func (k TicketKey) Check(now time.Time, room string, b []byte) (Ticket, error) {
	var t Ticket
	r := wire.Big(b)
	kind, expires := r.U8("kind"), r.U64("expires")
	copy(t.Serial[:], r.Bytes("serial", len(t.Serial), len(t.Serial)))
	inRoom := r.Text("room", int(r.U8("room size")), MaxTicketText)
	name := r.Text("name", int(r.U8("name size")), MaxTicketText)
	signed := b[:r.Offset()]
	mark := r.Bytes("mark", ticketMarkBytes, ticketMarkBytes)
	if !r.Done() || kind != ticketByte || int64(expires) <= 0 {
		return Ticket{}, ErrTicketForm
	}
	// How long it takes says nothing of how much of a forged mark was right.
	if len(k) < MinTicketKey || !hmac.Equal(mark, k.sum(nil, signed)) {
		return Ticket{}, ErrTicketForged
	}
	t.Room, t.Name, t.Expires = string(inRoom), string(name), time.Unix(int64(expires), 0)
	switch {
	case now.Unix() >= int64(expires):
		return t, ErrTicketExpired
	case t.Room != room:
		return t, ErrTicketRoom
	}
	return t, nil
}

// ticketMark returns the part of a ticket that no other has.
func ticketMark(b []byte) (mark [ticketMarkBytes]byte) {
	copy(mark[:], b[max(len(b)-ticketMarkBytes, 0):])
	return mark
}

// usedTickets remembers which tickets have let someone in, until they have expired anyway.
// Only good tickets get here, so only their issuer can fill it. The zero value is
// empty.
type usedTickets struct {
	serials map[[16]byte]struct{}
	expiry  []usedTicket // a heap by expiry
}

type usedTicket struct {
	expires int64
	serial  [16]byte
}

// check reports whether a ticket may be used: ErrTicketUsed, or errTicketsFull when no more can
// be remembered, as then it could be used twice.
func (u *usedTickets) check(now time.Time, t *Ticket) error {
	for len(u.expiry) > 0 && u.expiry[0].expires <= now.Unix() {
		delete(u.serials, u.expiry[0].serial)
		u.pop()
	}
	if _, used := u.serials[t.Serial]; used {
		return ErrTicketUsed
	}
	if len(u.expiry) >= maxUsedTickets {
		return errTicketsFull
	}
	return nil
}

// add notes that a ticket was used.
func (u *usedTickets) add(t *Ticket) {
	if u.serials == nil {
		u.serials = map[[16]byte]struct{}{}
	}
	u.serials[t.Serial] = struct{}{}
	u.expiry = append(u.expiry, usedTicket{t.Expires.Unix(), t.Serial})
	for i := len(u.expiry) - 1; i > 0; {
		parent := (i - 1) / 2
		if u.expiry[parent].expires <= u.expiry[i].expires {
			return
		}
		u.expiry[i], u.expiry[parent] = u.expiry[parent], u.expiry[i]
		i = parent
	}
}

// pop removes the one that expires first.
func (u *usedTickets) pop() {
	last := len(u.expiry) - 1
	u.expiry[0] = u.expiry[last]
	u.expiry = u.expiry[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if u.expiry[child].expires < u.expiry[least].expires {
				least = child
			}
		}
		if least == i {
			return
		}
		u.expiry[i], u.expiry[least] = u.expiry[least], u.expiry[i]
		i = least
	}
}
