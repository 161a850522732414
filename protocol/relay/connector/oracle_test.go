package connector

import (
	"math"
	"math/rand/v2"
	"unicode/utf8"
)

// A set is one of the six kinds of messages: how to make one, a grammar of its own for the
// oracle, and random messages of it.
//
// The grammar has a string for each variant, a letter for each field: b, w and d are numbers of
// 8, 16 and 32 bits, 1 to 4 one of so many alternatives, f a float, t a text, p a path.
type set struct {
	name    string
	sender  bool // with a player's number in front
	grammar []string
	make    func() Message
	random  func(r *rand.Rand, m Message)
}

var peerGrammar = []string{"t", "bdbddfffffff", "bd", "bdp", "bdfffffff", "bdf", "1ffffff"}

var sets = []set{
	{"to main", false, []string{"d", "b"}, func() Message { return new(ToMain) }, randomToMain},
	{"from main", false, []string{"d", "w", "1"}, func() Message { return new(FromMain) }, randomFromMain},
	{"to game", false, []string{"d", "", "", "4"}, func() Message { return new(ToGame) }, randomToGame},
	{"from game", false, []string{"d", "", "b", "4", "", "b", "b", "4"}, func() Message { return new(FromGame) }, randomFromGame},
	{"peer", false, peerGrammar, func() Message { return new(Peer) }, func(r *rand.Rand, m Message) { randomPeer(r, m.(*Peer)) }},
	{"relayed", true, peerGrammar, func() Message { return new(Relayed) }, func(r *rand.Rand, m Message) {
		m.(*Relayed).From = uint8(randomUint(r, 8))
		randomPeer(r, &m.(*Relayed).Peer)
	}},
}

// oracle returns the size of the message of a set that b begins with, or false. It shares
// nothing with the codec but the page.
func oracle(s *set, b []byte) (int, bool) {
	all := len(b)
	ok := true
	number := func(limit uint64) uint64 {
		v, n := oracleUint(b)
		if n == 0 || v > limit {
			ok, b = false, nil
			return 0
		}
		b = b[n:]
		return v
	}
	take := func(n uint64) []byte {
		if n > uint64(len(b)) {
			ok, b = false, nil
			return nil
		}
		out := b[:n]
		b = b[n:]
		return out
	}
	float := func() {
		if v := take(4); ok && v[0]&0x7f == 0x7f && v[1]&0x80 != 0 {
			ok = false
		}
	}
	if s.sender {
		number(255)
	}
	variant := number(uint64(len(s.grammar) - 1))
	if !ok {
		return 0, false
	}
	for _, field := range s.grammar[variant] {
		switch field {
		case 'b':
			number(math.MaxUint8)
		case 'w':
			number(math.MaxUint16)
		case 'd':
			number(math.MaxUint32)
		case '1', '4':
			number(uint64(field - '1'))
		case 'f':
			float()
		case 't':
			if text := take(number(140)); len(text) == 0 || !utf8.Valid(text) {
				ok = false
			}
		case 'p':
			if number(1) == 1 {
				for range 2 * number(60) {
					float()
				}
			}
		}
	}
	return all - len(b), ok
}

// oracleUint returns a number and its size, or a size of 0.
func oracleUint(b []byte) (v uint64, n int) {
	if len(b) == 0 || b[0] > 253 {
		return 0, 0
	}
	if b[0] < 251 {
		return uint64(b[0]), 1
	}
	size := 2 << (b[0] - 251)
	if len(b) < 1+size {
		return 0, 0
	}
	for _, x := range b[1 : 1+size] {
		v = v<<8 | uint64(x)
	}
	for shortest, fits := range []uint64{250, 1<<16 - 1, 1<<32 - 1} {
		if v <= fits && int(b[0]) > 250+shortest {
			return 0, 0
		}
	}
	return v, 1 + size
}

// oracleAll reports whether b is a sequence of messages of a set, and how many.
func oracleAll(s *set, b []byte) (count int, ok bool) {
	for len(b) > 0 {
		n, ok := oracle(s, b)
		if !ok {
			return count, false
		}
		b = b[n:]
		count++
	}
	return count, true
}

// randomUint draws numbers near the ends of the forms as often as others.
func randomUint(r *rand.Rand, bits int) uint64 {
	v := r.Uint64()
	top := uint64(1)<<bits - 1
	switch v >> 60 {
	case 0, 1:
		return min([...]uint64{0, 250, 251, 252, 253, 254, 255, 256, 65535, 65536, 1<<32 - 1, 1}[v%12], top)
	case 2, 3:
		return top - v%2
	case 4:
		return v & top
	}
	return v % 250 & top
}

func randomFloat(r *rand.Rand) float32 {
	v := r.Uint32()
	if v&(0xff<<23) == 0xff<<23 {
		v &^= 1 << 27 // no NaN, no infinity
	}
	return math.Float32frombits(v)
}

func randomToMain(r *rand.Rand, m Message) {
	*m.(*ToMain) = ToMain{Kind: ToMainPing, Ping: uint32(randomUint(r, 32))}
	if r.IntN(2) == 0 {
		*m.(*ToMain) = ToMain{Kind: ToMainOpen, MaxPlayers: uint8(randomUint(r, 8))}
	}
}

func randomFromMain(r *rand.Rand, m Message) {
	*m.(*FromMain) = [...]FromMain{
		{Kind: FromMainPong, Ping: uint32(randomUint(r, 32))},
		{Kind: FromMainOpened, Port: uint16(randomUint(r, 16))},
		{Kind: FromMainOpenError, Error: OpenDifferentGame},
	}[r.IntN(3)]
}

func randomToGame(r *rand.Rand, m Message) {
	*m.(*ToGame) = [...]ToGame{
		{Kind: ToGamePing, Ping: uint32(randomUint(r, 32))},
		{Kind: ToGameJoin},
		{Kind: ToGameLeave},
		{Kind: ToGameReadiness, Readiness: Readiness(r.IntN(4))},
	}[r.IntN(4)]
}

func randomFromGame(r *rand.Rand, m Message) {
	player := uint8(randomUint(r, 8))
	*m.(*FromGame) = [...]FromGame{
		{Kind: FromGamePong, Ping: uint32(randomUint(r, 32))},
		{Kind: FromGameNotJoined},
		{Kind: FromGameJoined, Player: player},
		{Kind: FromGameJoinError, Error: JoinError(1 + r.IntN(4))},
		{Kind: FromGameLeft},
		{Kind: FromGamePeerJoined, Player: player},
		{Kind: FromGamePeerLeft, Player: player},
		{Kind: FromGameReadiness, Readiness: Readiness(r.IntN(4))},
	}[r.IntN(8)]
}

// texts are of each length that a chat may have, and some are more than ASCII.
var texts = func() (list [MaxText + 1][]byte) {
	for n := range list {
		for range n {
			list[n] = append(list[n], 'x')
		}
		if n >= 4 {
			copy(list[n], "ä🚀"[:2])
		}
	}
	return list
}()

func randomPeer(r *rand.Rand, m *Peer) {
	*m = Peer{Kind: PeerKind(1 + r.IntN(peerKinds)), Path: m.Path[:0]}
	if m.Kind != PeerChat && m.Kind != PeerProjectile {
		m.Entity = Entity{uint8(randomUint(r, 8)), uint32(randomUint(r, 32))}
	}
	floats := func(v []float32) {
		for i := range v {
			v[i] = randomFloat(r)
		}
	}
	switch m.Kind {
	case PeerChat:
		m.Text = texts[1+r.IntN(MaxText)]
	case PeerSpawn:
		m.Player, m.Class, m.Type = uint8(randomUint(r, 8)), uint32(randomUint(r, 32)), uint32(randomUint(r, 32))
		floats(m.Transform[:])
	case PeerSetPath:
		if m.Stops = r.IntN(4) == 0; !m.Stops {
			n := r.IntN(4)
			if r.IntN(8) == 0 {
				n = r.IntN(MaxPoints + 1)
			}
			for range n {
				m.Path = append(m.Path, Point{randomFloat(r), randomFloat(r)})
			}
		}
	case PeerTransform:
		floats(m.Transform[:])
	case PeerChangeHealth:
		m.Health = randomFloat(r)
	case PeerProjectile:
		floats(m.Projectile[:])
	}
}
