package wt

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/quic-go/webtransport-go"

	"parley/internal/carry"
	"parley/internal/datagram"
)

// streamed are the dialects whose bytes are a stream.
var streamed = map[string]bool{"duplex": true, "realm": true}

// ServeHTTP answers a request of HTTP/3: only sessions are served here.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	dialect, ours := strings.CutPrefix(r.URL.Path, Path)
	g, _ := r.Context().Value(guestKey{}).(*guest)
	if !ours || g == nil || r.Method != http.MethodConnect {
		http.Error(w, "only sessions of WebTransport are served here, at "+Path+" and a dialect's name", http.StatusNotFound)
		return
	}
	if s.c.May != nil {
		if err := s.c.May(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
	}
	hall := s.c.Building.Find(dialect)
	if hall == nil {
		http.Error(w, "no such dialect is served here", http.StatusNotFound)
		return
	}
	if !s.claim(g) {
		http.Error(w, "a connection has one session", http.StatusTooManyRequests)
		return
	}
	if streamed[dialect] {
		s.stream(w, r, g, hall, dialect == "duplex")
		return
	}
	s.datagrams(w, r, g, hall)
}

// link is a session of WebTransport and its connection.
type link struct {
	*webtransport.Session
	g     *guest
	ready chan struct{} // holds one
}

func newLink(g *guest) *link { return &link{g: g, ready: make(chan struct{}, 1)} }

func (l *link) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// bye ends the session, and with it the connection.
func (l *link) bye(why string) {
	if l.Session != nil {
		_ = l.Session.CloseWithError(0, why)
	}
	_ = l.g.conn.CloseWithError(0, why)
}

// datagrams serves a session of replica, stamp or relay until it ends.
func (s *Server) datagrams(w http.ResponseWriter, r *http.Request, g *guest, hall *carry.Hall) {
	l := newLink(g)
	x, err := hall.Open(carry.Opening{
		Source: g.from, Kind: datagram.WebTransport, Ready: l.wake, End: func(why carry.Why) { go g.conn.CloseWithError(0, why.String()) },
	})
	if err != nil {
		refuse(w, err)
		return
	}
	defer x.Close()
	if l.Session, err = s.wt.Upgrade(w, r); err != nil {
		return
	}
	s.group.Go(func() { l.receive(x) })
	l.send(x)
}

// receive hands over what comes until the session ends.
func (l *link) receive(x *carry.Session) {
	for {
		b, err := l.ReceiveDatagram(l.Context())
		if err != nil || !x.Deliver(b) {
			l.bye("")
			return
		}
	}
}

// send sends what waits, until the session ends. It may wait for the peer: x drops what is old meanwhile.
func (l *link) send(x *carry.Session) {
	defer l.bye("")
	buf := make([]byte, carry.MaxDatagram)
	for {
		for n, ok := x.Next(buf); ok; n, ok = x.Next(buf) {
			if err := l.SendDatagram(buf[:n]); err != nil && l.Context().Err() != nil {
				return
			}
		}
		if x.Leaving() {
			return
		}
		select {
		case <-l.ready:
		case <-l.Context().Done():
			return
		}
	}
}

// stream serves a session of duplex or realm until it ends.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, g *guest, hall *carry.Hall, feeds bool) {
	l := newLink(g)
	var err error
	if l.Session, err = s.wt.Upgrade(w, r); err != nil {
		return
	}
	defer l.bye("")
	wait, cancel := context.WithTimeout(l.Context(), s.c.SessionTime)
	defer cancel()
	first, err := l.AcceptStream(wait)
	if err != nil {
		return
	}
	x, err := hall.OpenStream(carry.Opening{Source: g.from, Kind: datagram.WebTransport}, &pipe{first, l})
	if err != nil {
		l.bye(err.Error())
		return
	}
	if feeds {
		if feed, err := x.Feed(l.wake); err == nil {
			s.group.Go(func() { l.receive(feed) })
			s.group.Go(func() { l.send(feed) })
		}
	}
	<-x.Done()
}

// pipe is the stream of a session.
type pipe struct {
	*webtransport.Stream
	l *link
}

// CloseWrite tells the peer that nothing more comes.
func (p *pipe) CloseWrite() error { return p.Stream.Close() }

// Close ends the session at once.
func (p *pipe) Close() error {
	go p.l.bye("")
	return nil
}

// refuse answers a session that is not let in.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	switch {
	case errors.Is(err, carry.ErrHasty):
		status = http.StatusTooManyRequests
	case errors.Is(err, carry.ErrBanned):
		status = http.StatusForbidden
	}
	http.Error(w, err.Error(), status)
}
