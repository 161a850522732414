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
	s.loops[p] = datagram.StartLoop(socket, p, datagram.LoopConfig{
		AfterTurn: func(now time.Time) { s.afterTurn(p, now) },
		Ended:     func(err error) { s.portEnded(p, err) },
		Lock:      &s.mu,
		Door:      s.door,
	})
	return socket.LocalAddr().Port(), nil
}

// afterTurn ends a turn of a further port.
func (s *Server) afterTurn(p *core.Port, now time.Time) {
	s.mux.Advance(now)
	s.finishTurn(p)
	if s.mux.Drained() {
		s.first.Wake() // it may have been the last whom Shutdown waits for, on the first port's loop
	}
}

// portEnded closes a port for its lobby if its socket has failed.
func (s *Server) portEnded(p *core.Port, err error) {
	if err != nil {
		s.log.Error("port failed", "port", p.Number(), "error", err)
		p.Close()
		s.finishTurn(p)
	}
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
