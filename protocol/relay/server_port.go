package relay

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"parley/internal/datagram"
	"parley/internal/udp"
	"parley/protocol/relay/core"
)

// lockedPort lets a loop drive a port: it holds the server's lock for each call. Where there
// is one port nobody else wants the lock, and taking it costs a few nanoseconds.
type lockedPort struct {
	s    *Server
	port *core.Port
}

// HandleDatagram calls the port's HandleDatagram.
func (l *lockedPort) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	l.s.mu.Lock()
	l.port.HandleDatagram(now, from, b)
	l.s.mu.Unlock()
}

// HandleTimeout calls the port's HandleTimeout.
func (l *lockedPort) HandleTimeout(now time.Time) {
	l.s.mu.Lock()
	l.port.HandleTimeout(now)
	l.s.mu.Unlock()
}

// NextTimeout calls the port's NextTimeout.
func (l *lockedPort) NextTimeout() (time.Time, bool) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.port.NextTimeout()
}

// PollTransmit calls the port's PollTransmit.
func (l *lockedPort) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.port.PollTransmit(buf)
}

// afterTurn ends a turn of a further port.
func (l *lockedPort) afterTurn(now time.Time) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.mux.Advance(now)
	l.s.finishTurn(l.port)
	if l.s.mux.Drained() {
		l.s.first.Wake() // it may have been the last whom Shutdown waits for, on the first port's loop
	}
}

// ended closes the port for its lobby if its socket has failed.
func (l *lockedPort) ended(err error) {
	if err == nil {
		return
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.log.Error("port failed", "port", l.port.Number(), "error", err)
	l.port.Close()
	l.s.finishTurn(l.port)
}

// lockedMux is the first port's, with what the shell asks a server core for.
type lockedMux struct{ lockedPort }

// Advance calls the Mux's Advance.
func (l *lockedMux) Advance(now time.Time) {
	l.s.mu.Lock()
	l.s.mux.Advance(now)
	l.s.mu.Unlock()
}

// Len calls the Mux's Len.
func (l *lockedMux) Len() int {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.s.mux.Len()
}

// furtherPorts listens where further ports may be: on any, or in a range.
type furtherPorts struct {
	host        netip.Addr
	first, last uint16
	used        int // how many of the range were tried so far
}

// maxPortTries bounds the search for a free port in a range. Each try is a system call while everything else waits, and a
// stranger may be who asks for the port.
const maxPortTries = 32

// listen opens a socket on the next free port. A range is gone through in turn, so that what
// is late for a port that was closed does not meet the next one to have it.
func (f *furtherPorts) listen() (datagram.Carrier, error) {
	if f.first == 0 {
		return udp.Listen(netip.AddrPortFrom(f.host, 0).String(), portConfig)
	}
	count := int(f.last) - int(f.first) + 1
	err := core.ErrNoPorts
	for range min(count, maxPortTries) {
		port := f.first + uint16(f.used%count)
		f.used++
		socket, failed := udp.Listen(netip.AddrPortFrom(f.host, port).String(), portConfig)
		if failed == nil {
			return socket, nil
		}
		err = failed
	}
	return nil, err
}

// opener opens the ports of a server for its Mux.
type opener struct{ s *Server }

// OpenPort listens on a further port. Mux.Open calls it with s.mu held.
func (o opener) OpenPort(p *core.Port) (uint16, error) {
	s := o.s
	socket, err := s.listen()
	if err != nil {
		return 0, fmt.Errorf("relay: %w", err)
	}
	s.prune()
	core := &lockedPort{s, p}
	s.loops[p] = datagram.StartLoop(socket, core, datagram.LoopConfig{AfterTurn: core.afterTurn, Ended: core.ended})
	return socket.LocalAddr().Port(), nil
}

// wake has the loop of a port run a turn, or its last one if the port was closed. s.mu is
// held; none of it waits.
func (s *Server) wake(p, self *core.Port) {
	loop := s.loops[p]
	switch {
	case p == self && !p.Closed():
	case loop == nil:
		s.first.Wake()
	case p.Closed():
		delete(s.loops, p)
		s.stopped = append(s.stopped, loop)
		loop.Stop()
	default:
		loop.Wake()
	}
}

// prune forgets loops that have ended.
func (s *Server) prune() {
	kept := s.stopped[:0]
	for _, loop := range s.stopped {
		select {
		case <-loop.Done():
		default:
			kept = append(kept, loop)
		}
	}
	clear(s.stopped[len(kept):])
	s.stopped = kept
}

// closePorts ends the loops of the further ports and waits for them.
func (s *Server) closePorts() error {
	s.mu.Lock()
	loops := s.stopped
	s.stopped = nil
	for p, loop := range s.loops {
		delete(s.loops, p)
		loops = append(loops, loop)
	}
	s.mu.Unlock()
	var errs []error
	for _, loop := range loops {
		if err := loop.Close(); err != nil {
			errs = append(errs, fmt.Errorf("relay: %w", err))
		}
	}
	return errors.Join(errs...)
}
