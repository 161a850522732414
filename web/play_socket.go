package web

import (
	"net/http"
	"net/netip"

	"parley/internal/proxy"
)

// socketPath is where WebSockets are: a dialect's name follows.
const socketPath = "/ws/"

// socket hands a WebSocket over.
func (p *play) socket(w http.ResponseWriter, r *http.Request) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	from := p.source(r).Unmap()
	if err != nil || p.Banned != nil && p.Banned(from) {
		panic(http.ErrAbortHandler)
	}
	secure := r.TLS != nil || from.IsLoopback() || p.behind(r) && r.Header.Get("X-Forwarded-Proto") == "https"
	p.Sockets(w, r, netip.AddrPortFrom(from, peer.Port()), secure)
}

// behind reports whether a request comes from a trusted proxy.
func (p *play) behind(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && proxy.Trust(p.Proxies).Holds(peer.Addr().Unmap())
}

// hearsRefusal reports whether the client is told that its WebSocket is refused, and charges the address for that, unless it has paid for the
// connection: there is one refusal in each.
func (p *play) hearsRefusal(r *http.Request) bool {
	return p.guarded && !p.behind(r) || p.hears(p.source(r))
}

// socketAnswer is the answer to a request for a WebSocket. A refusal closes the connection: requests that wait in it, one behind the other,
// would keep a core busy. It is not even sent if the address has had too many.
type socketAnswer struct {
	http.ResponseWriter
	hears   func() bool
	unheard bool
}

// Unwrap is for http.ResponseController.
func (a *socketAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader is that of http.ResponseWriter.
func (a *socketAnswer) WriteHeader(status int) {
	if status != http.StatusSwitchingProtocols {
		a.Header().Set("Connection", "close")
		a.unheard = a.unheard || !a.hears()
	}
	if !a.unheard {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write is that of http.ResponseWriter.
func (a *socketAnswer) Write(b []byte) (int, error) {
	if a.unheard {
		return len(b), nil
	}
	return a.ResponseWriter.Write(b)
}

// end closes the connection without an answer if the address is not heard.
func (a *socketAnswer) end() {
	if a.unheard {
		panic(http.ErrAbortHandler)
	}
}
