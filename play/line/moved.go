package line

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"parley/play/message"
)

// A server that is emptied tells where to go on. It may be hostile, or somebody may have taken it over, so its word has little weight:
//
//   - at most message.MaxMoved addresses, dialed in turn with the player's own at the pace of any player who comes back
//   - the same dialect and carrier: what came over TLS goes on over TLS, and its certificate is checked as any other
//   - nothing is shown there but the token, which that server has given the player. No ticket, no name, and never a password: players of
//     realm go nowhere
//   - what a server there says of the player's place is no refusal: the player's own addresses come next
//   - no address that is nearer to the player than the server is: one on the internet does not have the player knock at its own network

// hop is where the player dials.
type hop struct {
	Way
	way  int    // of the Config's; of one that was told, that of the connection before
	told bool   // by the server at from
	from string // host:port
}

// tells notes where the server has the player go on.
func (c *Conn) tells(text []byte) {
	if !HasSessions(c.Dialect) {
		return
	}
	l := c.line
	l.mu.Lock()
	first := c.moved == nil && c.entered
	if c.moved = nil; c.entered {
		for _, addr := range message.ParseMoved(text) {
			c.moved = append(c.moved, Way{Dialect: c.at.Dialect, Carrier: c.at.Carrier, Addr: addr})
		}
	}
	first = first && c.moved != nil
	l.mu.Unlock()
	if first && l.cfg.Resume.On {
		l.tell(Notice{Kind: Going})
	}
}

// hops returns where a player goes whose connection is lost, in turn: what it was told, and where it is if it was told of that, then its own
// addresses. It is nil if nothing was told. l.mu is held.
func (l *Line) hops(c *Conn) (list []hop) {
	for _, w := range c.moved {
		list = append(list, hop{w, c.way, true, c.at.Addr})
	}
	if c.hopped {
		list = append(list, hop{c.at, c.way, true, c.at.Addr})
	}
	if len(list) == 0 {
		return nil
	}
	for i := range l.cfg.Ways {
		way := (c.way + i) % len(l.cfg.Ways)
		list = append(list, hop{Way: l.cfg.Ways[way], way: way})
	}
	return list
}

// goOn has a player who comes back try a list.
func (a *absence) goOn(list []hop) {
	if len(list) > 0 {
		a.hops, a.ways, a.start = list, len(list), 0
	}
}

// errNearer is why an address is not dialed that a server has told.
var errNearer = errors.New("is nearer than the server that told it")

// findTold looks up an address that was told, and refuses one that is nearer than the server that told it. Without TLS, which knows the server by
// its name, it is dialed as it was looked up, so that it cannot be another one then.
func (c *Conn) findTold(ctx context.Context, from string) error {
	if inBrowser { // there the browser says where a page may connect to
		return nil
	}
	near, err := reachOf(ctx, from)
	if err != nil {
		return err
	}
	there, err := reachOf(ctx, c.at.Addr)
	if err != nil {
		return err
	}
	for _, ip := range there.addrs {
		if distance(ip) == 0 || distance(ip) < near.least() {
			return fmt.Errorf("client: %v, which the server has told, %w", c.at, errNearer)
		}
	}
	if c.at.Carrier == "" || c.at.Carrier == "ws" {
		c.at.Addr = net.JoinHostPort(there.addrs[0].Unmap().String(), there.port)
	}
	return nil
}

// reach is what an address leads to.
type reach struct {
	addrs []netip.Addr
	port  string
}

func reachOf(ctx context.Context, addr string) (r reach, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return r, err
	}
	r.port = port
	r.addrs, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(r.addrs) == 0 {
		err = fmt.Errorf("client: %s has no address", host)
	}
	return r, err
}

// least is how far away the nearest is.
func (r reach) least() int {
	d := distance(r.addrs[0])
	for _, ip := range r.addrs {
		d = min(d, distance(ip))
	}
	return d
}

// shared4 are addresses that a carrier shares between customers.
var shared4 = netip.MustParsePrefix("100.64.0.0/10")

// distance says how far away an address is: 1 is this machine, 2 its link, 3 its own network, 4 the internet. 0 is nowhere.
func distance(ip netip.Addr) int {
	switch ip = ip.Unmap(); {
	case !ip.IsValid(), ip.IsUnspecified(), ip.IsMulticast(), ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return 0
	case ip.IsLoopback():
		return 1
	case ip.IsLinkLocalUnicast():
		return 2
	case ip.IsPrivate(), shared4.Contains(ip):
		return 3
	}
	return 4
}
