package gateway

import (
	"encoding/binary"

	"parley/world"
)

// A wish is what a server asks of the one that makes the entries of a room which both have: it is the body of a request, and has its answer in
// an entry. Servers of a cluster trust each other, but a wish of another version of ours must not stop a room: what cannot be read is
// refused.
//
//	wish    kind u8, then
//	 1 input   a wish of package world
//	 2 join    flags u8 (1: the name is that of an account), expires u64, serial 16 bytes, hash of the token 32 bytes, name
//	 3 back    player u16, hash of the token that it has 32 bytes (zeros: the account is enough), hash of the new one 32 bytes
//	 4 away    player u16, since u64
//	 5 leave   player u16, since u64
//	 6 known   player u16
//	 7 say     player u16, text
//	 8 tell    text
//	 9 kick    player u16, text
//	10 inject  an action of the world itself, as package world writes it
//
// Numbers are little endian. since is the tick at which the connection that speaks became the player's: what comes late from a connection
// before must not send away a player who is back over another. 0 is any.
type wishKind uint8

const (
	wishInput wishKind = iota + 1
	wishJoin
	wishBack
	wishAway
	wishLeave
	wishKnown
	wishSay
	wishTell
	wishKick
	wishInject
)

const wishAccount = 1

// asked is a wish of this server that the log does not have yet.
type asked struct {
	number uint64
	kind   wishKind
	seat   *Seat  // nil if no connection waits for the answer
	tag    uint32 // the dialect's own, for the answer
	stamp  uint64 // the number of the input's stamp
	steers bool
	size   int // of an input or a line: see mayWish
	player world.PlayerID
	body   []byte // of inject: it may have to be asked again
}

func appendWish(b []byte, kind wishKind, player world.PlayerID) []byte {
	b = append(b, byte(kind))
	if kind == wishInput || kind == wishJoin || kind == wishTell || kind == wishInject {
		return b
	}
	return binary.LittleEndian.AppendUint16(b, uint16(player))
}

// joinWish is what a join says.
type joinWish struct {
	name    string
	account bool
	session world.Session
}

func (j *joinWish) appendTo(b []byte) []byte {
	flags := byte(0)
	if j.account {
		flags = wishAccount
	}
	b = append(appendWish(b, wishJoin, 0), flags)
	b = binary.LittleEndian.AppendUint64(b, uint64(j.session.Expires))
	b = append(append(b, j.session.Serial[:]...), j.session.Token[:]...)
	return append(b, j.name...)
}

// reader takes a wish apart.
type wishReader struct {
	b      []byte
	failed bool
}

func (r *wishReader) take(n int) []byte {
	if len(r.b) < n {
		r.failed, r.b = true, nil
		return make([]byte, n)
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *wishReader) player() world.PlayerID {
	return world.PlayerID(binary.LittleEndian.Uint16(r.take(2)))
}
func (r *wishReader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// done reports whether all was read.
func (r *wishReader) done() bool { return !r.failed && len(r.b) == 0 }

func (r *wishReader) join() (j joinWish) {
	j.account = r.take(1)[0]&wishAccount != 0
	j.session.Expires = int64(r.u64())
	copy(j.session.Serial[:], r.take(len(j.session.Serial)))
	copy(j.session.Token[:], r.take(len(j.session.Token)))
	j.name, r.b = string(r.b), nil
	return j
}
