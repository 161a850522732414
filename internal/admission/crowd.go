package admission

import "net/netip"

// Crowd counts what each address holds, such as seats of a game, or connections that are proven and have not entered.
// The addresses of one IPv6 /64 count as one, as a single host can use any number of them. Its memory grows with what
// is held, so the number of counted things must be bounded elsewhere. It is not safe for concurrent use.
type Crowd struct {
	limit int
	held  map[netip.Addr]int32
	total int
}

// NewCrowd returns a crowd in which an address may hold at most limit; negative means no limit.
func NewCrowd(limit int) *Crowd { return &Crowd{limit: limit, held: map[netip.Addr]int32{}} }

// Enter counts one more for an address and reports whether that is within the limit; if not, nothing is counted.
func (c *Crowd) Enter(addr netip.Addr) bool {
	host := Host(addr)
	n := c.held[host]
	if c.limit >= 0 && int(n) >= c.limit {
		return false
	}
	c.held[host] = n + 1
	c.total++
	return true
}

// Leave takes back one count of Enter.
func (c *Crowd) Leave(addr netip.Addr) {
	host := Host(addr)
	switch n := c.held[host]; {
	case n <= 0:
		panic("admission: Crowd.Leave without Enter")
	case n == 1:
		delete(c.held, host)
	default:
		c.held[host] = n - 1
	}
	c.total--
}

// Of returns how many an address holds.
func (c *Crowd) Of(addr netip.Addr) int { return int(c.held[Host(addr)]) }

// Len returns the sum of all addresses.
func (c *Crowd) Len() int { return c.total }

// Host returns the address of a host for counting: an IPv4 address, or the /64 of an IPv6 address.
func Host(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	network, _ := addr.Prefix(hostBits6) // cannot fail for an IPv6 address
	return network.Addr()
}
