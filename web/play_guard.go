package web

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"parley/internal/admission"
	"parley/internal/proxy"
)

// playGuard bounds the connections of the players' part, of all addresses, of each, and of each IPv6 /56. It takes the same time
// however many there are.
type playGuard struct {
	mu   sync.Mutex
	most int
	// proxies have the connections of many clients, so only all of them together are bounded, and each request counts as its client's.
	proxies proxy.Trust
	crowd   *admission.Crowd
	sites   *admission.Crowd
	conns   map[net.Conn]*playConn
	shuts   func(netip.Addr) bool
	quiet   *list.List // of connections that are not being answered, the longest first
}

type playConn struct {
	from netip.Addr
	at   *list.Element // in quiet; nil while it is being answered
}

func newPlayGuard(most, ofAddress int, shuts func(netip.Addr) bool) *playGuard {
	if shuts == nil {
		shuts = func(netip.Addr) bool { return false }
	}
	return &playGuard{most: most, shuts: shuts, crowd: admission.NewCrowd(ofAddress), sites: admission.NewCrowd(hostsOfSite * ofAddress), conns: map[net.Conn]*playConn{}, quiet: list.New()}
}

// watch is a http.Server's ConnState.
func (g *playGuard) watch(conn net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.conns[conn]
	switch {
	case state == http.StateNew:
		g.admit(conn)
	case c == nil: // it was closed
	case state == http.StateActive:
		g.unquiet(c)
	case state == http.StateIdle:
		if c.at == nil {
			c.at = g.quiet.PushBack(conn)
		}
	default:
		g.drop(conn, c)
	}
}

// admit counts a connection, or closes it.
func (g *playGuard) admit(conn net.Conn) {
	at, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	if !g.proxies.Holds(at.Addr()) && g.shuts(at.Addr().Unmap()) || !g.enter(at.Addr()) {
		conn.Close()
		return
	}
	if len(g.conns) >= g.most {
		oldest := g.quiet.Front()
		if oldest == nil {
			g.leave(at.Addr())
			conn.Close()
			return
		}
		other := oldest.Value.(net.Conn)
		g.drop(other, g.conns[other])
		other.Close()
	}
	g.conns[conn] = &playConn{at.Addr(), g.quiet.PushBack(conn)}
}

// enter counts a connection of an address, if it may have one more.
func (g *playGuard) enter(from netip.Addr) bool {
	if g.proxies.Holds(from) {
		return true
	}
	if !g.crowd.Enter(from) {
		return false
	}
	if !g.sites.Enter(site(from)) {
		g.crowd.Leave(from)
		return false
	}
	return true
}

func (g *playGuard) leave(from netip.Addr) {
	if g.proxies.Holds(from) {
		return
	}
	g.crowd.Leave(from)
	g.sites.Leave(site(from))
}

// site returns the first address of an IPv6 /56, which commonly is one customer's. An IPv4 address is a site of its own.
func site(addr netip.Addr) netip.Addr {
	addr = admission.Host(addr)
	if !addr.Is6() {
		return addr
	}
	p, _ := addr.Prefix(siteBits) // cannot fail for an IPv6 address
	return p.Addr()
}

const siteBits = 56

func (g *playGuard) unquiet(c *playConn) {
	if c.at != nil {
		g.quiet.Remove(c.at)
		c.at = nil
	}
}

func (g *playGuard) drop(conn net.Conn, c *playConn) {
	g.unquiet(c)
	g.leave(c.from)
	delete(g.conns, conn)
}
