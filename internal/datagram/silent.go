package datagram

import (
	"net/netip"
	"sync"
	"time"
)

// Silent is a carrier that brings no datagrams and takes none. With it, a Loop runs a core whose bytes all go over
// streams.
type Silent struct {
	local, remote netip.AddrPort
	wake          chan struct{} // holds one
	closed        chan struct{}
	once          sync.Once
}

var _ Carrier = (*Silent)(nil)

// NewSilent returns a carrier with these addresses.
func NewSilent(local, remote netip.AddrPort) *Silent {
	return &Silent{local: local, remote: remote, wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// LocalAddr is that of Carrier.
func (s *Silent) LocalAddr() netip.AddrPort { return s.local }

// RemoteAddr is that of Carrier.
func (s *Silent) RemoteAddr() netip.AddrPort { return s.remote }

// NewSendBatch returns a batch with room for an empty datagram.
func (s *Silent) NewSendBatch() *SendBatch { return NewSendBatch(1, 1) }

// Serve is that of Carrier.
func (s *Silent) Serve(turn Turn) error {
	var none RecvBatch
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for woken := false; ; {
		next, until := turn(&none, woken)
		var due <-chan time.Time
		switch {
		case next == Stop:
			return nil
		case next == Again:
			timer.Reset(0)
			due = timer.C
		case !until.IsZero():
			timer.Reset(time.Until(until))
			due = timer.C
		}
		woken = false
		select {
		case <-s.wake:
			woken = true
		case <-due:
		case <-s.closed:
			return ErrClosed
		}
	}
}

// Write drops what it is given.
func (s *Silent) Write(out *SendBatch) error {
	out.Reset()
	return nil
}

// WriteInTurn is Write.
func (s *Silent) WriteInTurn(out *SendBatch) error { return s.Write(out) }

// Wake is that of Carrier.
func (s *Silent) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Stats returns no counts.
func (s *Silent) Stats() Stats { return Stats{} }

// Close is that of Carrier.
func (s *Silent) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}
