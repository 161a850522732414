package admission

import (
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/promise"
)

func TestClockStarts(t *testing.T) {
	s := NewSecret(start, testKey)
	a := s.Clock(addrPort("192.0.2.1:5"), 0)
	for _, tt := range []struct {
		name string
		got  uint64
		same bool
	}{
		{"the same peer again", s.Clock(addrPort("192.0.2.1:5"), 0), true},
		{"the same peer as IPv4 inside IPv6", s.Clock(addrPort("[::ffff:192.0.2.1]:5"), 0), true},
		{"another Secret with the same key", NewSecret(start.Add(time.Hour), testKey).Clock(addrPort("192.0.2.1:5"), 0), true},
		{"the next connection", s.Clock(addrPort("192.0.2.1:5"), 1), false},
		{"another port", s.Clock(addrPort("192.0.2.1:6"), 0), false},
		{"another address", s.Clock(addrPort("192.0.2.2:5"), 0), false},
		{"another key", NewSecret(start, Key{9}).Clock(addrPort("192.0.2.1:5"), 0), false},
	} {
		if (tt.got == a) != tt.same {
			t.Errorf("%s: got %x, first was %x", tt.name, tt.got, a)
		}
	}
}

// The clock has 62 bits, and each of them changes in half of the cases when one bit of the
// address does.
func TestClockStartsLookLikeNoise(t *testing.T) {
	s := NewSecret(start, testKey)
	const n = 20_000
	var flips [64]int
	for i := range n {
		a, b := s.Clock(peer(i), 0), s.Clock(peer(i^1), 0)
		if a>>62 != 0 {
			t.Fatalf("clock %x has more than 62 bits", a)
		}
		for d := a ^ b; d != 0; d &= d - 1 {
			flips[bits.TrailingZeros64(d)]++
		}
	}
	for i, got := range flips[:62] {
		if got < n*48/100 || got > n*52/100 { // 5.6 standard deviations
			t.Errorf("bit %d flipped %d times of %d", i, got, n)
		}
	}
}

// T33: forgeries by bit flips, by XOR of valid ones, of old epochs, of other addresses.
func TestNoForgedTokenIsAccepted(t *testing.T) {
	n := promise.Keeps(t, "T33", "admission", tenth(t, 1_000_000))
	forEachSeed(t, 1, func(t *testing.T, rng *rand.Rand) {
		s := NewSecret(start, testKey)
		now := at(time.Hour)
		for i := range n {
			victim, other := randomPeer(rng), randomPeer(rng)
			token := s.Token(now, victim)
			name := ""
			switch i % 7 {
			case 0:
				name = "a bit flipped"
				token[rng.IntN(16)] ^= 1 << rng.IntN(8)
			case 1:
				name = "XOR of three valid ones"
				b, c := s.Token(now, other), s.Token(now, randomPeer(rng))
				for j := range token {
					token[j] ^= b[j] ^ c[j]
				}
			case 2:
				name = "two epochs old or more"
				token = s.Token(now.Add(-tokenLife*time.Duration(2+rng.IntN(100))), victim)
			case 3:
				name = "of another peer"
				token = s.Token(now, other)
			case 4:
				name = "of a later epoch"
				token = s.Token(now.Add(tokenLife*time.Duration(1+rng.IntN(100))), victim)
			case 5:
				name = "noise"
				for j := range token {
					token[j] = byte(rng.Uint32())
				}
			case 6:
				name = "of another port of its address"
				token = s.Token(now, netip.AddrPortFrom(victim.Addr(), victim.Port()+1))
			}
			if s.Check(now, victim, token) {
				t.Fatalf("accepted: %s", name)
			}
		}
		if got, want := s.Stats(), (SecretStats{Forged: uint64(n)}); got != want {
			t.Errorf("stats: got %+v, want %+v", got, want)
		}
	})
}

// T33: rotation honours two epochs.
func TestTokensLiveForOneToTwoEpochs(t *testing.T) {
	promise.Keeps(t, "T33", "admission", 1)
	s := NewSecret(start, testKey)
	from := addrPort("192.0.2.1:5")
	for _, made := range []time.Duration{0, tokenLife / 2, tokenLife - 1, 10 * tokenLife} {
		token := s.Token(at(made), from)
		dies := made/tokenLife*tokenLife + 2*tokenLife
		for _, now := range []time.Duration{made, made + tokenLife, dies - 1, dies, dies + tokenLife, dies + 100*tokenLife} {
			if got, want := s.Check(at(now), from, token), now < dies; got != want {
				t.Errorf("made at %v, checked at %v: got %v, want %v", made, now, got, want)
			}
		}
	}
}
