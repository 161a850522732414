package admission_test

import (
	"fmt"
	"net/netip"
	"time"

	"parley/internal/admission"
)

func Example() {
	type handshake struct{ version uint8 }
	key := admission.Key{} // from crypto/rand
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	half := admission.NewHalfOpen[handshake](admission.HalfOpenConfig{}, key)
	secret := admission.NewSecret(now, key)
	ended := admission.NewEnded(key)

	from := netip.MustParseAddrPort("192.0.2.1:4000")
	h, verdict := half.Open(now, from)
	h.version = 2
	clock := secret.Clock(from, ended.Next(now, from)) // goes out in the accept
	fmt.Println(verdict, clock < 1<<62)

	now = now.Add(50 * time.Millisecond)
	if proof := clock + 50_000; proof-secret.Clock(from, ended.Next(now, from)) < 10_000_000 {
		done, ok := half.Prove(now, from)
		fmt.Println("proven:", ok, "version", done.version)
	}
	// Output:
	// opened true
	// proven: true version 2
}
