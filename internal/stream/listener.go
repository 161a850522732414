package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"parley/internal/admission"
	"parley/internal/bans"
	"parley/internal/proxy"
	"parley/internal/way"
)

// errCut is the error of a connection that has more than maxPending bytes to write.
var errCut = errors.New("stream: cut")

// Config sets up a Listener. It must not be changed after use.
type Config struct {
	// TLS, if set, makes each connection a TLS server with this configuration.
	TLS *tls.Config

	// Waiting bounds the connections that have not entered: see Stream.Entered. The zero value means the defaults.
	// If the limit for a host is off, its handshakes have no limit either.
	Waiting admission.PorchConfig

	// HandshakeTime is the time limit of a handshake. Default DefaultHandshakeTime.
	HandshakeTime time.Duration

	// Linger is how long Finish waits for the peer. Default DefaultLinger.
	Linger time.Duration

	// Door, if set, keeps out the banned. Their connections are closed as soon as they are accepted. What comes over a connection
	// that was there before its address was banned is dropped.
	Door *bans.Door

	// Proxies are believed when they name the address of a client in a header of the PROXY protocol, of which each of their
	// connections must have one first. What counts, limits and bans by address then goes by that.
	Proxies []netip.Prefix

	// Log is told when connections cannot be accepted. Nil means nobody is.
	Log *slog.Logger

	noPoller bool // for tests: each connection has a goroutine that reads, as on systems without a poller
}

// Stats counts the fate of each connection.
type Stats struct {
	Accepted   uint64 // by the system
	Opened     uint64 // passed to Opened
	BadShake   uint64 // closed because their handshake failed or took too long
	Hasty      uint64 // closed because their host or network began too many handshakes
	Crowded    uint64 // closed because too many had not entered: from their host, from its network, or in all
	Banned     uint64 // closed because their address was banned; also the bytes that came over one that was open then, by pieces
	BadHeader  uint64 // of proxies, closed because the PROXY header was none, or did not come in time
	AcceptErrs uint64 // times that accepting failed and was tried again
}

// Listener accepts connections: it is the Carrier of TCP. Turn is for one goroutine, all other methods are for any.
type Listener struct {
	hub
	config Config
	socket net.Listener

	handshakes *handshakes // nil: plain TCP

	accepted, opened, badShake, hasty, crowded, badHeader, acceptErrs atomic.Uint64

	headers int // connections whose PROXY header is awaited; guarded by hub.mu
}

// Listen listens on addr, written host:port.
func Listen(addr string, c Config) (*Listener, error) {
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return newListener(socket, c), nil
}

// Serve is Listen for a TCP socket that is already open. The carrier owns the socket from now on.
func Serve(socket net.Listener, c Config) Carrier { return newListener(socket, c) }

func newListener(socket net.Listener, c Config) *Listener {
	if c.HandshakeTime <= 0 {
		c.HandshakeTime = DefaultHandshakeTime
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	l := &Listener{config: c, socket: socket}
	l.init(c.Linger)
	l.door = c.Door
	l.porch = admission.NewPorch[*Conn](c.Waiting)
	if c.TLS != nil {
		l.handshakes = newHandshakes(c.TLS, c.Waiting.Host >= 0)
	}
	return l
}

// Start begins to accept connections. It calls wake, from any goroutine, when Turn has something to do.
func (l *Listener) Start(wake func()) {
	l.wake = wake
	if !l.config.noPoller {
		l.poller = startPoller(&l.hub)
	}
	l.group.Go(l.accept)
}

// Addr returns the address that the listener listens on.
func (l *Listener) Addr() netip.AddrPort {
	return l.socket.Addr().(*net.TCPAddr).AddrPort()
}

// Stats returns the counters as they are now.
func (l *Listener) Stats() Stats {
	return Stats{Accepted: l.accepted.Load(), Opened: l.opened.Load(), BadShake: l.badShake.Load(), Hasty: l.hasty.Load(), Crowded: l.crowded.Load(),
		Banned: l.door.Turned(), BadHeader: l.badHeader.Load(), AcceptErrs: l.acceptErrs.Load()}
}

// Stop stops accepting. Connections go on.
func (l *Listener) Stop() { l.socket.Close() }

// Close stops accepting, cuts all connections and waits for their goroutines. Turn must not be running, and must not
// be called again.
func (l *Listener) Close() {
	l.socket.Close()
	l.close()
}

// accept accepts connections until the socket is closed. It never waits for a peer.
func (l *Listener) accept() {
	pause := firstPause
	for {
		socket, err := l.socket.Accept()
		switch {
		case err == nil:
			pause = firstPause
			l.accepted.Add(1)
			if tcp := socket.(*net.TCPConn); l.turnsAway(tcp) {
				tcp.SetLinger(0) // so that the system keeps nothing of it
				tcp.Close()
			} else {
				l.begin(tcp)
			}
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// No descriptors, no memory, or a peer that is gone already: none of these lasts.
			l.acceptErrs.Add(1)
			l.config.Log.Warn("cannot accept", "error", err)
			if !l.rest(pause) {
				return
			}
			pause = min(2*pause, maxPause)
		}
	}
}

// turnsAway reports whether a connection comes from a banned address, or from one that only sessions of browsers have.
func (l *Listener) turnsAway(socket *net.TCPConn) bool {
	from, ok := socket.RemoteAddr().(*net.TCPAddr) // not of one that is gone already
	return ok && l.shuts(from.AddrPort().Addr())
}

func (l *Listener) shuts(from netip.Addr) bool {
	return way.IsSession(from) || l.door.Shuts(time.Now(), from)
}

// rest waits, and reports false if the listener was closed meanwhile.
func (l *Listener) rest(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.closed:
		return false
	}
}

// begin begins a connection, if the connection is admitted.
func (l *Listener) begin(socket *net.TCPConn) {
	c, err := newConn(&l.hub, socket)
	if err != nil {
		socket.Close()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isClosed() {
		socket.Close()
		return
	}
	if !proxy.Trust(l.config.Proxies).Holds(c.peer.Addr()) {
		l.enter(c)
		return
	}
	if l.headers >= maxHeaders {
		l.crowded.Add(1)
		l.drop(c)
		return
	}
	l.headers++
	c.silent = true
	l.conns[c] = struct{}{}
	l.group.Go(func() { l.header(c) })
}

// header reads whom the connection of a proxy is for, and then begins it as one of that client.
func (l *Listener) header(c *Conn) {
	c.socket.SetReadDeadline(c.born.Add(l.config.HandshakeTime))
	from, err := proxy.ReadHeader(c.socket)
	c.socket.SetReadDeadline(time.Time{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.headers--
	if c.gone { // the listener is closed
		return
	}
	if err != nil {
		l.badHeader.Add(1)
		l.drop(c)
		return
	}
	if from.IsValid() {
		c.peer = admission.Canon(from)
	}
	if from.IsValid() && l.shuts(from.Addr()) {
		l.drop(c)
		return
	}
	c.silent = false
	l.enter(c)
}

// drop closes a connection that Turn does not know. l.mu is held.
func (l *Listener) drop(c *Conn) {
	c.silent = true
	c.socket.SetLinger(0) // so that the system keeps nothing of it
	c.endLocked(net.ErrClosed)
}

// enter begins a connection whose peer is known, if it is admitted. l.mu is held.
func (l *Listener) enter(c *Conn) {
	if !l.admit(c) {
		l.drop(c)
		return
	}
	l.conns[c] = struct{}{}
	if c.shaking != nil {
		l.group.Go(func() { l.shake(c) })
		return
	}
	l.open(c)
}

// admit gives a connection its place among those that have not entered, or reports that it is refused. l.mu is held.
func (l *Listener) admit(c *Conn) bool {
	from := c.peer.Addr()
	if l.handshakes != nil {
		if c.shaking = l.handshakes.begin(c.born, from, c.born.Add(l.config.HandshakeTime)); c.shaking == nil {
			l.hasty.Add(1)
			return false
		}
	}
	place, out := l.porch.Enter(from, c)
	if out != nil {
		l.crowded.Add(1)
		out.Member.socket.SetLinger(0)
		out.Member.hangUp()
	}
	if c.place = place; place == nil {
		l.crowded.Add(1)
		return false
	}
	return true
}

// shake runs the handshake of a connection. Another goroutine reads afterwards, as a handshake makes a goroutine's stack grow.
func (l *Listener) shake(c *Conn) {
	c.socket.SetDeadline(c.shaking.until)
	c.tls = tls.Server(c, l.handshakes.config)
	err := c.tls.HandshakeContext(context.Background())
	c.shaking.end()
	c.socket.SetDeadline(time.Time{})
	l.mu.Lock()
	if crowded := !c.gone && !l.porch.Has(c.place); err != nil || c.gone || crowded {
		if !crowded { // otherwise it was counted already
			l.badShake.Add(1)
		}
		c.endLocked(err)
		l.mu.Unlock()
		return
	}
	c.shaking = nil
	l.open(c)
	l.mu.Unlock()
}

// open reports a connection to Turn. l.mu is held.
func (l *Listener) open(c *Conn) {
	l.opened.Add(1)
	l.report(c, newsOpened)
}
