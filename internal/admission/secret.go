package admission

import (
	"crypto/hmac"
	"encoding/binary"
	"net/netip"
	"time"
)

// Token proves that its sender receives packets at its address.
type Token [16]byte

// SecretStats counts the tokens given to Check by result.
type SecretStats struct {
	Valid  uint64 // made for this address in this epoch or the last
	Forged uint64 // anything else, including old tokens
}

// Secret makes values that only this process can make: the start of each connection's clock,
// and tokens. It stores neither.
type Secret struct {
	prf   *prf
	start time.Time
	stats SecretStats
}

// NewSecret returns a Secret whose token epochs are counted from start. Two with the same
// key and start make the same values.
func NewSecret(start time.Time, key Key) *Secret {
	return &Secret{prf: newPRF(key), start: start}
}

// Clock returns the start of the clock of a connection with a peer, in µs. Nobody can guess
// these 62 bits without receiving the packets to that address and port. The number
// distinguishes connections from one address; see Ended.
func (s *Secret) Clock(from netip.AddrPort, number uint32) uint64 {
	lo, _ := s.prf.peer(useClock, Canon(from), uint64(number))
	return lo & (1<<clockBits - 1)
}

// InTime reports whether a peer's time is near the connection's clock, both in µs.
func InTime(t, clock uint64) bool {
	d := int64(t - clock)
	return d >= -ClockSlack.Microseconds() && d <= ClockSlack.Microseconds()
}

// Token returns a token for a peer. Check accepts it for at least 30 s and at most 60 s.
func (s *Secret) Token(now time.Time, from netip.AddrPort) Token {
	return s.token(s.epoch(now), Canon(from))
}

// Check reports whether token was made for that peer in this epoch or the one before it. It
// takes the same time for every token, so that a forged one cannot be guessed byte by byte.
func (s *Secret) Check(now time.Time, from netip.AddrPort, token Token) bool {
	key, epoch := Canon(from), s.epoch(now)
	current, last := s.token(epoch, key), s.token(epoch-1, key)
	isCurrent, isLast := hmac.Equal(token[:], current[:]), hmac.Equal(token[:], last[:])
	if isCurrent || isLast {
		s.stats.Valid++
		return true
	}
	s.stats.Forged++
	return false
}

// Stats returns the counters.
func (s *Secret) Stats() SecretStats { return s.stats }

func (s *Secret) epoch(now time.Time) int64 { return int64(now.Sub(s.start) / tokenLife) }

func (s *Secret) token(epoch int64, key netip.AddrPort) (t Token) {
	lo, hi := s.prf.peer(useToken, key, uint64(epoch))
	binary.LittleEndian.PutUint64(t[:], lo)
	binary.LittleEndian.PutUint64(t[8:], hi)
	return t
}
