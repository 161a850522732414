package duplex

import (
	"errors"
	"io"
	"net"
	"time"

	"parley/internal/shell"
	"parley/internal/stream"
)

const (
	// drainWait is how long a main that we have closed is still read. A system answers bytes
	// that nobody reads with a reset, which can overtake our last words: so they are
	// thrown away until the peer has closed too.
	drainWait = 500 * time.Millisecond

	// keepAliveEvery and keepAliveProbes are those of TCP: "TCP keep-alive (5 s, 3
	// probes)".
	keepAliveEvery  = 5 * time.Second
	keepAliveProbes = 3
)

var tcpKeepAlive = net.KeepAliveConfig{Enable: true, Idle: keepAliveEvery, Interval: keepAliveEvery, Count: keepAliveProbes}

// line is one main of a server.
type line struct {
	stream.Stream
	server *Server
	core   *Conn
}

// lineOf returns the main of a connection.
func (s *Server) lineOf(c *Conn) *line { return s.mux.Carrier(c).(*line) }

// intake is the Server as what carries its mains sees it.
type intake Server

// Opened makes a connection of a main. Its time to join began before the handshake.
func (s *intake) Opened(now time.Time, to stream.Stream) stream.Receiver {
	to.Entered() // from here on the Mux counts those that have not joined
	c := s.mux.Accept(to.Born(), to.Peer())
	s.mux.Advance(now)
	if c == nil {
		return nil
	}
	s.streams++
	l := &line{to, (*Server)(s), c}
	s.mux.SetCarrier(c, l)
	return l
}

// Received gives a connection what came for it. The game is told in between, so that what
// waits to be told stays little.
func (l *line) Received(now time.Time, b []byte) (n int) {
	for n < len(b) {
		k := l.server.mux.HandleBytes(now, l.core, b[n:])
		l.server.events()
		if k == 0 {
			break
		}
		n += k
	}
	return n
}

func (l *line) Writable(now time.Time) { l.server.mux.Written(now, l.core) }

func (l *line) Ended(now time.Time, err error) {
	l.server.streams--
	l.server.mux.HandleEnd(now, l.core, endText(err))
}

// turn is what the loop does once around, after datagrams, commands and timers: it takes
// what came on mains, tells the game, and writes.
func (s *Server) turn() {
	s.mains.Turn(s.mux.Now(), (*intake)(s))
	s.events()
	s.writeAll()
	s.events() // who was only waiting for its last bytes is over now
}

// events hands events to the handler. Ends of connections that neither joined nor showed a pass go to the
// log only.
func (s *Server) events() {
	for c, ev, ok := s.mux.PollEvent(); ok; c, ev, ok = s.mux.PollEvent() {
		switch ev.Kind {
		case EventJoined:
			s.log.Info("joined", shell.Number(c.LogNumber), "peer", c.MainAddr(), "player", c.Player(), "feed", ev.Up)
		case EventClosed:
			if s.mux.Flushed(c) {
				s.lineOf(c).Finish()
			} else {
				s.lineOf(c).Cut()
			}
			if !c.Joined() {
				s.log.Debug("turned away", shell.Number(c.LogNumber), "peer", c.MainAddr(), "reason", ev.Close.Reason, "text", ev.Close.Text)
				if !c.Showed() {
					continue
				}
				break // the program has seen its pass
			}
			s.log.Info("left", shell.Number(c.LogNumber), "peer", c.MainAddr(), "player", c.Player(), "reason", ev.Close.Reason, "text", ev.Close.Text)
		}
		s.handle(c, ev)
	}
}

// writeAll writes what mains have to say, all that one turn has made of each in one go.
func (s *Server) writeAll() {
	for n, c, ok := s.mux.PollBytes(s.buf[:]); ok; n, c, ok = s.mux.PollBytes(s.buf[:]) {
		to := s.lineOf(c)
		to.Send(s.buf[:n])
		if to.Ready() {
			s.mux.Written(s.mux.Now(), c)
		}
	}
}

// endText says how a main ended, for HandleEnd: nothing if the peer closed it.
func endText(err error) string {
	if errors.Is(err, io.EOF) {
		return ""
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error() // without addresses, which the log has
	}
	return err.Error()
}
