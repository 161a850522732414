package admission

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// soak is how many times longer the random tests run with PARLEY_SOAK=1.
func soak() int {
	if os.Getenv("PARLEY_SOAK") == "1" {
		return 10
	}
	return 1
}

// tenth returns a tenth of n if the test is to be short, a twentieth under the race detector, and says so.
func tenth(t *testing.T, n int) int {
	if chance.Race {
		t.Logf("runs %d in place of %d", n/20, n)
		return n / 20
	}
	if testing.Short() || os.Getenv("PARLEY_PR") == "" && os.Getenv("PARLEY_SOAK") == "" {
		t.Logf("runs %d in place of %d", n/10, n)
		return n / 10
	}
	return n
}

// forEachSeed runs f for n seeds, or only for the one given by -seed.
func forEachSeed(t *testing.T, n int, f func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	for _, seed := range chance.Seeds(n * soak()) {
		if !t.Failed() {
			runSeed(t, seed, f)
		}
	}
}

// runSeed prints the seed whichever way f fails.
func runSeed(t *testing.T, seed uint64, f func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	passed := false
	defer func() {
		if !passed {
			t.Logf("seed=%d", seed)
		}
	}()
	f(t, rand.New(rand.NewPCG(seed, 30)))
	passed = !t.Failed()
}

var (
	start   = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	testKey = Key{1, 2, 3, 4}
)

func at(d time.Duration) time.Time { return start.Add(d) }

// peer returns one of 2^32 addresses and ports that are easy to tell apart.
func peer(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 1000+uint16(n>>24))
}

func addr(s string) netip.Addr         { return netip.MustParseAddr(s) }
func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// randomPeer returns an address and port as forgers choose them, of all kinds.
func randomPeer(rng *rand.Rand) netip.AddrPort {
	var b [16]byte
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	a := netip.AddrFrom16(b)
	switch rng.IntN(8) {
	case 0, 1, 2, 3:
		a = netip.AddrFrom4([4]byte(b[:4]))
	case 4:
		b[0], b[1] = 0xfe, 0x80
		a = netip.AddrFrom16(b).WithZone([]string{"", "eth0", "eth1", "a-very-long-name-of-an-interface"}[rng.IntN(4)])
	}
	return netip.AddrPortFrom(a, uint16(rng.Uint32()))
}
