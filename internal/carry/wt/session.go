package wt

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/quic-go/webtransport-go"

	"parley/internal/carry"
	"parley/internal/way"
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
	if !s.ask(g) {
		s.chatty.Add(1)
		_ = g.conn.CloseWithError(0, "too many requests")
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
	if err := hall.MayOpen(g.from.Addr()); err != nil { // it keeps its place on the porch
		refuse(w, err)
		return
	}
	if !s.claim(g) {
		hall.Forgo(g.from.Addr())
		http.Error(w, "a connection has one session", http.StatusTooManyRequests)
		return
	}
	defer g.conn.CloseWithError(0, "") // however the session ends, or does not begin: the connection is counted no longer
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

// bye ends the session, and with it the connection, at once.
func (l *link) bye(why string) {
	_ = l.Session.CloseWithError(0, why)
	_ = l.g.conn.CloseWithError(0, why)
}

// goodbye ends the session when what was sent has had the time to go out: the end of a connection overtakes what waits in it.
func (l *link) goodbye() {
	l.linger(graceTime)
	_ = l.Session.CloseWithError(0, "")
	l.linger(partTime) // the client closes the connection
}

// linger waits for the end of the connection, but no longer than d.
func (l *link) linger(d time.Duration) {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-l.g.conn.Context().Done():
	case <-late.C:
	}
}

// datagrams serves a session of replica, stamp or relay until it ends.
func (s *Server) datagrams(w http.ResponseWriter, r *http.Request, g *guest, hall *carry.Hall) {
	l := newLink(g)
	x, err := hall.Open(carry.Opening{
		Source: g.from, Kind: way.WebTransport, Admitted: true, Ready: l.wake, End: func(why carry.Why) { go g.conn.CloseWithError(0, why.String()) },
	})
	if err != nil { // the server closes
		_ = g.conn.CloseWithError(0, err.Error())
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
		if err == nil && x.Deliver(b) {
			continue
		}
		if err != nil || x.Over() == 0 {
			l.bye("")
		} else {
			l.bye(x.Over().String())
		}
		return
	}
}

// send sends what waits, until the session ends. It may wait for the peer: x drops what is old meanwhile.
func (l *link) send(x *carry.Session) {
	defer l.bye("")
	buf := make([]byte, carry.MaxDatagram)
	for {
		leaving := x.Leaving() // asked first: a goodbye may come between the two
		for n, ok := x.Next(buf); ok; n, ok = x.Next(buf) {
			if err := l.SendDatagram(buf[:n]); err != nil && l.Context().Err() != nil {
				return
			}
		}
		if leaving {
			l.goodbye()
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
		hall.Forgo(g.from.Addr())
		return
	}
	defer l.bye("")
	wait, cancel := context.WithTimeout(l.Context(), s.c.SessionTime)
	defer cancel()
	first, err := l.AcceptStream(wait)
	if err != nil {
		hall.Forgo(g.from.Addr())
		if errors.Is(err, context.DeadlineExceeded) {
			s.late.Add(1)
		}
		return
	}
	x, err := hall.OpenStream(carry.Opening{Source: g.from, Kind: way.WebTransport, Admitted: true}, &pipe{first, l})
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
