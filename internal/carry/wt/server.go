package wt

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"

	"parley/internal/admission"
	"parley/internal/carry"
)

// Path is where a dialect's sessions begin: its name follows.
const Path = "/wt/"

// Config sets up a Server. It must not be changed after use.
type Config struct {
	// Building has the halls of the dialects.
	Building *carry.Building

	// Certificate returns the server's certificate.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

	// May refuses a request whose Host or Origin are not ours. Default: none is refused.
	May func(r *http.Request) error

	// Banned reports whether an address is banned. Default: none is.
	Banned func(netip.Addr) bool

	// AnyNumber lets an address have any number of connections.
	AnyNumber bool

	// MaxWaiting bounds the connections without a session, those in their handshake included. Default 3,072.
	MaxWaiting int

	// ShakeTime is how long a handshake may be silent; quic-go ends it after twice that. SessionTime is how long a connection may be
	// without a session. Defaults: 5 s and 10 s.
	ShakeTime, SessionTime time.Duration
}

// Stats counts the fates of connections before their sessions begin. A refused one is counted for each packet that it begins with: it
// leaves no state behind, and the handshake of a browser begins with two packets.
type Stats struct {
	Waiting uint64 // connections without a session now, those in their handshake included
	Conns   uint64 // that have proven their address, and were not refused
	Hasty   uint64 // packets refused because their address or network began too many connections in a second
	Crowded uint64 // packets refused, and connections closed for others, because too many had no session
	Banned  uint64 // packets refused because their address was banned
	Late    uint64 // connections closed because they had no session in time
	Chatty  uint64 // connections closed because they made too many requests
}

// Server brings clients over WebTransport to the halls of a building.
type Server struct {
	c         Config
	socket    *net.UDPConn
	transport *quic.Transport
	listener  *quic.Listener
	wt        *webtransport.Server
	group     sync.WaitGroup
	end       context.Context
	stop      context.CancelFunc

	mu     sync.Mutex
	rates  *admission.Buckets // nil: no limits
	porch  *admission.Porch[*guest]
	ghosts int // guests in their handshake that have lost their place

	conns, hasty, crowded, banned, late, chatty atomic.Uint64
}

// guest is a connection that has no session yet.
type guest struct {
	from  netip.AddrPort
	place *admission.Place[*guest]
	conn  *quic.Conn         // nil before the handshake is over
	out   bool               // it has lost its place
	ghost bool               // it is among Server.ghosts
	used  bool               // it has, or had, a session
	asked int                // requests
	deaf  context.CancelFunc // what drops datagrams ends
}

// guestKey is the key of a connection's guest in its context.
type guestKey struct{}

// Listen starts a server at addr, host:port, over UDP.
func Listen(addr string, c Config) (*Server, error) {
	at, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, err
	}
	c.ShakeTime, c.SessionTime, c.MaxWaiting = cmp.Or(c.ShakeTime, shakeTime), cmp.Or(c.SessionTime, sessionTime), cmp.Or(c.MaxWaiting, porchTotal)
	s := &Server{c: c, socket: socket}
	s.end, s.stop = context.WithCancel(context.Background())
	limits := admission.PorchConfig{Host: porchHost, Network: 8 * porchHost, Total: c.MaxWaiting}
	if c.AnyNumber {
		limits.Host, limits.Network = -1, -1
	} else {
		var key admission.Key
		cryptorand.Read(key[:])
		s.rates = admission.NewBuckets(admission.BucketsConfig{Source: connRate, Prefix: connNetwork, Total: connTotal}, key)
	}
	s.porch = admission.NewPorch[*guest](limits)
	s.transport = &quic.Transport{
		Conn:                socket,
		VerifySourceAddress: func(net.Addr) bool { return true }, // a forged source never gets further
		ConnContext:         s.meet,
	}
	quiet := slog.New(slog.DiscardHandler)
	s.wt = &webtransport.Server{
		H3:          &http3.Server{Handler: s, MaxHeaderBytes: maxHeader, Logger: quiet},
		CheckOrigin: func(*http.Request) bool { return true }, // May has

		ReorderingTimeout: min(c.SessionTime, reorderTime),
	}
	webtransport.ConfigureHTTP3Server(s.wt.H3)
	secure := http3.ConfigureTLSConfig(&tls.Config{GetCertificate: c.Certificate, MinVersion: tls.VersionTLS13})
	s.listener, err = s.transport.Listen(secure, &quic.Config{
		HandshakeIdleTimeout: c.ShakeTime, MaxIdleTimeout: idleTime, KeepAlivePeriod: keepTime,
		InitialStreamReceiveWindow: firstStreamWindow, MaxStreamReceiveWindow: streamWindow, InitialConnectionReceiveWindow: firstConnWindow, MaxConnectionReceiveWindow: connWindow,
		MaxIncomingStreams: maxStreams, MaxIncomingUniStreams: maxStreams,
		Allow0RTT: false, EnableDatagrams: true, EnableStreamResetPartialDelivery: true, InitialPacketSize: packetBytes, DisablePathMTUDiscovery: true,
	})
	if err != nil {
		s.stop()
		socket.Close()
		return nil, err
	}
	s.group.Go(s.accept)
	return s, nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() netip.AddrPort { return s.socket.LocalAddr().(*net.UDPAddr).AddrPort() }

// Stats returns the counters as they are now.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	waiting := s.porch.Len() + s.ghosts
	s.mu.Unlock()
	return Stats{
		Waiting: uint64(waiting), Conns: s.conns.Load(), Hasty: s.hasty.Load(), Crowded: s.crowded.Load(), Banned: s.banned.Load(),
		Late: s.late.Load(), Chatty: s.chatty.Load(),
	}
}

// Close ends all connections, and waits for their goroutines.
func (s *Server) Close() {
	s.stop()
	s.wt.Close()
	s.listener.Close()
	s.transport.Close()
	s.socket.Close()
	s.group.Wait()
}

// Connections are refused with these.
var (
	errHasty   = errors.New("wt: too many connections from this address in a second")
	errCrowded = errors.New("wt: too many connections without a session")
	errBanned  = errors.New("wt: this address is banned")
	errUnknown = errors.New("wt: no address")
)

// meet admits a connection that has proven its address, before anything is computed for it. gone ends with the connection.
func (s *Server) meet(gone context.Context, info *quic.ClientInfo) (context.Context, error) {
	udp, ok := info.RemoteAddr.(*net.UDPAddr)
	if !ok {
		return nil, errUnknown
	}
	g := &guest{from: admission.Canon(udp.AddrPort())}
	from := g.from.Addr()
	if s.c.Banned != nil && s.c.Banned(from) {
		s.banned.Add(1)
		return nil, errBanned
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rates != nil && !s.rates.Allow(time.Now(), admission.Host(from), 1) {
		s.hasty.Add(1)
		return nil, errHasty
	}
	if s.ghosts >= s.c.MaxWaiting/ghostShare && s.porch.Len() >= s.c.MaxWaiting {
		s.crowded.Add(1)
		return nil, errCrowded
	}
	place, out := s.porch.Enter(from, g)
	if out != nil {
		s.crowded.Add(1)
		s.expel(out.Member)
	}
	if place == nil {
		s.crowded.Add(1)
		return nil, errCrowded
	}
	g.place = place
	s.conns.Add(1)
	context.AfterFunc(gone, func() { s.leave(g) })
	return context.WithValue(gone, guestKey{}, g), nil
}

// expel ends a connection that has lost its place: now, or when its handshake is over, which nothing can end before. s.mu is held.
func (s *Server) expel(g *guest) {
	g.out = true
	if g.conn == nil {
		g.ghost = true
		s.ghosts++
		return
	}
	go g.conn.CloseWithError(0, "")
}

// leave is called when a connection is over.
func (s *Server) leave(g *guest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.porch.Leave(g.place)
	if g.ghost {
		g.ghost = false
		s.ghosts--
	}
}

// accept serves the connections whose handshake is over.
func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept(s.end)
		if err != nil {
			return
		}
		g, _ := conn.Context().Value(guestKey{}).(*guest)
		deaf, cancel := context.WithCancel(conn.Context())
		s.mu.Lock()
		g.conn, g.deaf = conn, cancel
		out := g.out
		s.mu.Unlock()
		if out {
			conn.CloseWithError(0, "")
			continue
		}
		late := time.AfterFunc(s.c.SessionTime, func() {
			s.mu.Lock()
			used := g.used
			s.mu.Unlock()
			if !used {
				s.late.Add(1)
				conn.CloseWithError(0, "")
			}
		})
		context.AfterFunc(conn.Context(), func() { late.Stop() })
		s.group.Go(func() { drop(deaf, conn) })
		s.group.Go(func() { _ = s.wt.ServeQUICConn(conn) }) // its error is the connection's end
	}
}

// drop drops the datagrams that come before there is a session: quic-go would keep 128 of them, 190 KB.
func drop(deaf context.Context, conn *quic.Conn) {
	for {
		if _, err := conn.ReceiveDatagram(deaf); err != nil {
			return
		}
	}
}

// ask counts a request of a connection, and reports whether it is not one too many.
func (s *Server) ask(g *guest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.asked++
	return g.asked <= maxRequests
}

// claim takes a connection for a session, once: it is closed with the session.
func (s *Server) claim(g *guest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.used || g.out {
		return false
	}
	g.used = true
	g.deaf()
	s.porch.Leave(g.place)
	return true
}
