package duplex

import (
	"errors"
	"net"
	"time"

	"parley/internal/admission"
	"parley/internal/shell"
	"parley/internal/stream"
)

// Pauses after a main that could not be accepted: a machine without descriptors is not to
// be asked in a circle, and has some again soon.
const (
	acceptPause    = 5 * time.Millisecond
	maxAcceptPause = time.Second
)

// accept takes mains until the server closes. It waits for no peer: a TLS handshake is made
// by the goroutine that reads.
func (s *Server) accept() {
	defer s.accepting.Done()
	pause := acceptPause
	for {
		conn, err := s.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			s.acceptFaults.Add(1)
			s.log.Warn("cannot accept", "error", err)
			select {
			case <-s.shell.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, maxAcceptPause)
			continue
		}
		pause = acceptPause
		err = s.shell.Do(func() { s.open(conn) })
		if errors.Is(err, shell.ErrClosed) {
			conn.Close()
			return
		}
	}
}

// open makes a connection of a main.
func (s *Server) open(conn net.Conn) {
	c, shake := s.admit(conn)
	if c == nil {
		if tcp, ok := conn.(*net.TCPConn); ok && !s.aborted {
			_ = tcp.SetLinger(0) // so that nothing is kept of it
		}
		conn.Close()
		return
	}
	talk := conn
	if shake != nil {
		talk = shake.Server(conn)
	}
	l := newLine(&s.hub, talk, conn, c)
	l.shake = shake
	s.mux.SetCarrier(c, l)
	l.start()
}

// admit returns the connection of a main, and its handshake if there is to be one; or nil if it is refused.
func (s *Server) admit(conn net.Conn) (c *Conn, shake *stream.Handshake) {
	addr, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || s.aborted {
		return nil, nil
	}
	from := admission.Canon(addr.AddrPort())
	if s.shakes != nil {
		now := time.Now()
		if shake = s.shakes.Begin(now, from.Addr(), now.Add(s.mux.JoinTimeout())); shake == nil {
			s.hastyShakes++
			return nil, nil
		}
	}
	return s.mux.Accept(s.mux.Now(), from), shake
}

// turn is what the loop does once around, after datagrams, commands and timers: it takes
// what came on mains, tells the game, and writes.
func (s *Server) turn() {
	s.came, s.sent = s.hub.take(s.came[:0], s.sent[:0], maxTurnReads)
	for i, l := range s.sent {
		s.sent[i] = nil
		s.wrote(l)
	}
	stalled := s.stalled
	s.stalled = nil
	for _, l := range stalled {
		s.feedLine(l)
	}
	for i, l := range s.came {
		s.came[i] = nil
		s.feedLine(l)
	}
	s.events()
	s.writeAll()
	s.events() // who was only waiting for its last bytes is over now
}

// wrote hears of the end of a write.
func (s *Server) wrote(l *line) {
	switch {
	case l.closed:
	case l.writeEnd != nil:
		s.mux.HandleEnd(s.mux.Now(), l.core, endText(l.writeEnd))
	default:
		s.mux.Written(s.mux.Now(), l.core)
	}
}

// feedLine gives a connection what came for it. The game is told in between, so that what
// waits to be told stays little.
func (s *Server) feedLine(l *line) {
	for !l.closed && len(l.bytes) > 0 {
		n := s.mux.HandleBytes(s.mux.Now(), l.core, l.bytes)
		l.bytes = l.bytes[n:]
		s.events()
		if n == 0 && len(l.bytes) > 0 {
			s.stalled = append(s.stalled, l)
			return
		}
	}
	if l.closed {
		if l.held {
			l.release()
		}
		return
	}
	if l.end != nil {
		s.mux.HandleEnd(s.mux.Now(), l.core, endText(l.end))
		return
	}
	l.release()
}

// lineOf returns the main of a connection.
func (s *Server) lineOf(c *Conn) *line { return s.mux.Carrier(c).(*line) }

// events hands events to the handler. What happened to those who never joined is the log's
// only.
func (s *Server) events() {
	for c, ev, ok := s.mux.PollEvent(); ok; c, ev, ok = s.mux.PollEvent() {
		switch ev.Kind {
		case EventJoined:
			s.log.Info("joined", "peer", c.MainAddr(), "player", c.Player(), "feed", ev.Up)
		case EventClosed:
			s.lineOf(c).close(s.mux.Flushed(c))
			if !c.Joined() {
				s.log.Debug("turned away", "peer", c.MainAddr(), "reason", ev.Close.Reason, "text", ev.Close.Text)
				continue
			}
			s.log.Info("left", "peer", c.MainAddr(), "player", c.Player(), "reason", ev.Close.Reason, "text", ev.Close.Text)
		}
		s.handle(c, ev)
	}
}

// writeAll writes what mains have to say, all that one turn has made of each in one go.
func (s *Server) writeAll() {
	for {
		buf := s.hub.takeBuffer()
		n, c, ok := s.mux.PollBytes(buf[:])
		if !ok {
			s.hub.writes.Put(buf)
			return
		}
		if s.lineOf(c).write(buf, n) {
			s.mux.Written(s.mux.Now(), c)
		}
	}
}
