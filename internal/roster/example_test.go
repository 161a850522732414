package roster_test

import (
	"fmt"
	"net/netip"
	"time"

	"parley/internal/roster"
)

func Example() {
	type Conn struct {
		roster.Member
		name string
	}
	r := roster.New[*Conn]()
	home := netip.MustParseAddrPort("192.0.2.1:4000")
	r.Add(home, &Conn{name: "ada"})

	now := time.Unix(0, 0)
	r.Touch(r.Get(home)) // it was given a datagram
	for c, ok := r.Busy(); ok; c, ok = r.Busy() {
		r.Rest(c, now.Add(time.Second), true) // after its packets were polled
	}
	c, ok := r.Due(now.Add(time.Second))
	fmt.Println(c.name, ok)
	// Output: ada true
}
