package web

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
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

// known refuses requests by a name that is not ours, and those that a page of another origin makes a browser send.
func known(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !ours(hosts, r.Host):
			http.Error(w, "this server is not known by that name; ask by its address, or add the name to --web-hosts", http.StatusMisdirectedRequest)
		case foreign(r):
			http.Error(w, "this page is not for other sites", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ours reports whether a Host header is an IP address, localhost, or one of hosts.
func ours(hosts []string, host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return strings.EqualFold(host, "localhost") || slices.ContainsFunc(hosts, func(h string) bool { return h != "" && strings.EqualFold(h, host) })
}

// foreign reports whether a request comes from a page of another origin.
func foreign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// buffered has an answer made at once, however slowly it is then read: making it is what may cost.
func buffered(next http.Handler) http.Handler {
	places := make(chan struct{}, maxAtOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := &reply{header: w.Header(), status: http.StatusOK}
		select {
		case places <- struct{}{}:
			func() {
				defer func() { <-places }() // also if it panics
				next.ServeHTTP(kept, r)
			}()
		case <-r.Context().Done():
			return
		}
		w.WriteHeader(kept.status)
		w.Write(kept.body.Bytes()) // its only error is that of a client that left
	})
}

// reply keeps what a handler writes.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *reply) Header() http.Header         { return a.header }
func (a *reply) WriteHeader(status int)      { a.status = status }
func (a *reply) Write(b []byte) (int, error) { return a.body.Write(b) }
