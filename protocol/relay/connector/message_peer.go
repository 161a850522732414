package connector

import (
	"math"

	"parley/internal/wire"
)

// PeerKind is a message that a player sends to the others. The zero kind is unset.
type PeerKind uint8

// The messages between players. On the wire they count from 0.
const (
	PeerChat         PeerKind = iota + 1 // says Text
	PeerSpawn                            // Player's Entity appears, a Type of Class, at Transform
	PeerDespawn                          // Entity is removed
	PeerSetPath                          // Entity follows Path, or stops
	PeerTransform                        // Entity is at Transform now
	PeerChangeHealth                     // Entity's health changes by Health
	PeerProjectile                       // a shot: Projectile
	peerKinds        = iota
)

var peerNames = [...]string{"unset", "Chat", "Spawn", "Despawn", "SetPath", "Transform", "ChangeHealth", "Projectile"}

// String returns the game's name for the message.
func (k PeerKind) String() string { return wire.NameOf(k, peerNames[:]) }

// Entity identifies an entity of the game: the player that created it, and that player's number
// for it.
type Entity struct {
	Player uint8
	Index  uint32
}

// Transform is the transform of an entity: a translation of three numbers and a rotation of four.
type Transform [7]float32

// Point is a point of a path.
type Point struct{ X, Y float32 }

// Laser is the only kind of projectile: an origin and a direction of three numbers each.
type Laser [6]float32

// Peer is a message between players, as its sender writes it. The others get it with the sender's
// number in front: see Relayed.
//
//	+---+------+----------------+
//	| 0 | size | text, 1 to 140 |                                       Chat
//	+---+------+-+--------+-----+-+------+----------------------+
//	| 1 | entity | player | class | type | transform, 7 × f32   |       Spawn
//	+---+--------+--------+-------+------+----------------------+
//	| 2 | entity |                                                     Despawn
//	+---+--------+---+
//	| 3 | entity | 0 |                                                 SetPath: stops
//	+---+--------+---+-------+------------------+
//	| 3 | entity | 1 | count | points, 2 × f32  |                      SetPath
//	+---+--------+---+-------+------------------+
//	| 4 | entity | transform, 7 × f32   |                              Transform
//	+---+--------+------+---------------+
//	| 5 | entity | f32  |                                              ChangeHealth
//	+---+---+----+------+---------------+
//	| 6 | 0 | laser, 6 × f32            |                              Projectile
//	+---+---+---------------------------+
//
//	entity: player, index u32
//
// All but text and floats are numbers in the forms of varint.go. A float is 4 bytes, big endian,
// and finite. NaN and infinities are refused: in a transform or a health they spread to everything
// that a client computes from it, and no player may break another's game. The bytes of a message are
// relayed unchanged, so its floats reach the others bit by bit as they were sent.
type Peer struct {
	Kind PeerKind

	Text   []byte // for Chat: UTF-8, 1 to MaxText bytes; shares the memory of the payload
	Entity Entity // for all but Chat and Projectile

	// Player, Class and Type are for Spawn: the owner, class and type of the entity. The game
	// numbers its classes and types, and may add more: Decodable knows today's.
	Player      uint8
	Class, Type uint32

	Transform Transform // for Spawn and Transform

	// Stops means that a SetPath has no path. Otherwise Path is its path, up to MaxPoints. Reading
	// a message reuses the memory of Path.
	Stops bool
	Path  []Point

	Health     float32 // for ChangeHealth: the change
	Projectile Laser   // for Projectile
}

func (m *Peer) read(r *wire.BigReader) {
	*m = Peer{Path: m.Path[:0]}
	kind := PeerKind(readVariant(r, "message", peerKinds))
	switch kind {
	case PeerChat:
		m.readText(r)
	case PeerSpawn:
		m.Entity.read(r)
		m.Player = readPlayer(r)
		m.Class = uint32(readUint(r, "object class", math.MaxUint32))
		m.Type = uint32(readUint(r, "object type", math.MaxUint32))
		readFloats(r, "transform", m.Transform[:])
	case PeerDespawn:
		m.Entity.read(r)
	case PeerSetPath:
		m.Entity.read(r)
		m.readPath(r)
	case PeerTransform:
		m.Entity.read(r)
		readFloats(r, "transform", m.Transform[:])
	case PeerChangeHealth:
		m.Entity.read(r)
		m.Health = r.FiniteF32("health")
	case PeerProjectile:
		readVariant(r, "projectile", 1)
		readFloats(r, "laser", m.Projectile[:])
	}
	if r.OK() {
		m.Kind = kind
	}
}

// Decodable reports whether the game's own clients can decode the message: see Config.PassForeign.
func (m *Peer) Decodable() bool {
	if m.Entity.Player >= seatsOfTheGame {
		return false // 0 in messages without one
	}
	switch m.Kind {
	case PeerSpawn:
		return m.Player < seatsOfTheGame && m.Class < uint32(len(typesOfTheGame)) && m.Type < typesOfTheGame[m.Class]
	case PeerSetPath:
		return len(m.Path) <= pointsOfTheGame
	}
	return true
}

// readText reads a chat. "string of 1–140 bytes": a string of the game is UTF-8, and its
// clients refuse the whole package that holds another.
func (m *Peer) readText(r *wire.BigReader) {
	at := r.Offset()
	n := int(readUint(r, "text size", math.MaxUint32))
	if r.OK() && n == 0 {
		r.Fail(at, "text size", "a chat without a text")
		return
	}
	m.Text = r.Text("text", n, MaxText)
}

// readPath reads "u8 0 or 1, with 1 a count and that many pairs of f32 (at most 60)".
func (m *Peer) readPath(r *wire.BigReader) {
	m.Stops = readVariant(r, "has path", 2) == 1
	if m.Stops || !r.OK() {
		return
	}
	n := r.Count("points", int(readUint(r, "point count", math.MaxUint32)), MaxPoints, pointBytes)
	for i := range n {
		m.Path = append(m.Path, Point{r.FiniteF32("x"), r.FiniteF32("y")})
		if !r.In("points", i) {
			return
		}
	}
}

func (e *Entity) read(r *wire.BigReader) {
	e.Player = uint8(readUint(r, "entity player", MaxPlayer))
	e.Index = uint32(readUint(r, "entity index", math.MaxUint32))
}

func (e Entity) appendTo(b []byte) []byte {
	return appendUint(appendUint(b, uint64(e.Player)), uint64(e.Index))
}

func readFloats(r *wire.BigReader, field string, v []float32) {
	for i := range v {
		v[i] = r.FiniteF32(field)
	}
}

func appendFloats(b []byte, v []float32) []byte {
	for _, f := range v {
		b = wire.AppendBigF32(b, f)
	}
	return b
}

// AppendTo appends the message. Fields that its kind does not have are left out. It does not check
// the others: with an invalid text, path or float it writes bytes that Next refuses. It panics if
// Kind is unset.
func (m *Peer) AppendTo(b []byte) []byte {
	if m.Kind == 0 || m.Kind > peerKinds {
		panic("connector: AppendTo of a message without a kind")
	}
	b = appendVariant(b, uint8(m.Kind))
	switch m.Kind {
	case PeerChat:
		return append(appendUint(b, uint64(len(m.Text))), m.Text...)
	case PeerProjectile:
		return appendFloats(append(b, 0), m.Projectile[:])
	}
	b = m.Entity.appendTo(b)
	switch m.Kind {
	case PeerSpawn:
		b = appendUint(b, uint64(m.Player))
		b = appendUint(appendUint(b, uint64(m.Class)), uint64(m.Type))
		b = appendFloats(b, m.Transform[:])
	case PeerSetPath:
		b = m.appendPath(b)
	case PeerTransform:
		b = appendFloats(b, m.Transform[:])
	case PeerChangeHealth:
		b = wire.AppendBigF32(b, m.Health)
	}
	return b
}

func (m *Peer) appendPath(b []byte) []byte {
	if m.Stops {
		return append(b, 0)
	}
	b = appendUint(append(b, 1), uint64(len(m.Path)))
	for _, p := range m.Path {
		b = wire.AppendBigF32(wire.AppendBigF32(b, p.X), p.Y)
	}
	return b
}

// Relayed is a message between players as its receivers get it: "each reaches the others with the
// sender's player number in front".
//
//	+--------+---------------------+
//	| player | as Peer             |
//	+--------+---------------------+
type Relayed struct {
	From uint8 // the player that sent it
	Peer
}

func (m *Relayed) read(r *wire.BigReader) {
	m.From = uint8(readUint(r, "sender", MaxPlayer))
	m.Peer.read(r)
}

// AppendTo appends the message with its sender in front. See Peer.AppendTo.
func (m *Relayed) AppendTo(b []byte) []byte {
	return m.Peer.AppendTo(appendUint(b, uint64(m.From)))
}
