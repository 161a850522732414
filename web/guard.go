package web

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// guard bounds the connections of a server. The zero value is ready.
type guard struct {
	mu    sync.Mutex
	conns []guarded // oldest first, at most maxConns that are not trusted
}

type guarded struct {
	conn    net.Conn
	active  bool // a request is being answered
	trusted bool // it has shown the token, and its request takes long: strangers do not push it out
}

// trustKey is the key of a function, in the context of a request, that says whether its connection is trusted.
type trustKey struct{}

// context is a http.Server's ConnContext.
func (g *guard) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, trustKey{}, func(yes bool) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if i := g.find(conn); i >= 0 {
			g.conns[i].trusted = yes
		}
	})
}

func (g *guard) find(conn net.Conn) int {
	return slices.IndexFunc(g.conns, func(c guarded) bool { return c.conn == conn })
}

// watch is a http.Server's ConnState.
func (g *guard) watch(conn net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := g.find(conn)
	switch state {
	case http.StateNew:
		g.evict()
		g.conns = append(g.conns, guarded{conn: conn})
	case http.StateActive, http.StateIdle:
		if i >= 0 {
			g.conns[i].active = state == http.StateActive
		}
	case http.StateClosed, http.StateHijacked:
		if i >= 0 {
			g.conns = slices.Delete(g.conns, i, i+1)
		}
	}
}

// evict makes place for one more: it closes the oldest connection that is not being answered, or else the oldest. Those that are
// trusted stay; limits of their own bound them.
func (g *guard) evict() {
	strangers, oldest, quiet := 0, -1, -1
	for i, c := range g.conns {
		if c.trusted {
			continue
		}
		strangers++
		if oldest < 0 {
			oldest = i
		}
		if quiet < 0 && !c.active {
			quiet = i
		}
	}
	if strangers < maxConns {
		return
	}
	i := quiet
	if i < 0 {
		i = oldest
	}
	g.conns[i].conn.Close()
	g.conns = slices.Delete(g.conns, i, i+1)
}
