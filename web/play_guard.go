package web

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"parley/internal/admission"
)

// playGuard bounds the connections of the players' part, of all addresses and of each. It takes the same time however many there
// are.
type playGuard struct {
	mu    sync.Mutex
	most  int
	crowd *admission.Crowd
	conns map[net.Conn]*playConn
	shuts func(netip.Addr) bool
	quiet *list.List // of connections that are not being answered, the longest first
}

type playConn struct {
	from netip.Addr
	at   *list.Element // in quiet; nil while it is being answered
}

func newPlayGuard(most, ofAddress int, shuts func(netip.Addr) bool) *playGuard {
	if shuts == nil {
		shuts = func(netip.Addr) bool { return false }
	}
	return &playGuard{most: most, shuts: shuts, crowd: admission.NewCrowd(ofAddress), conns: map[net.Conn]*playConn{}, quiet: list.New()}
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
	if g.shuts(at.Addr().Unmap()) || !g.crowd.Enter(at.Addr()) {
		conn.Close()
		return
	}
	if len(g.conns) >= g.most {
		oldest := g.quiet.Front()
		if oldest == nil {
			g.crowd.Leave(at.Addr())
			conn.Close()
			return
		}
		other := oldest.Value.(net.Conn)
		g.drop(other, g.conns[other])
		other.Close()
	}
	g.conns[conn] = &playConn{at.Addr(), g.quiet.PushBack(conn)}
}

func (g *playGuard) unquiet(c *playConn) {
	if c.at != nil {
		g.quiet.Remove(c.at)
		c.at = nil
	}
}

func (g *playGuard) drop(conn net.Conn, c *playConn) {
	g.unquiet(c)
	g.crowd.Leave(c.from)
	delete(g.conns, conn)
}
