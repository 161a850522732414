package main

import (
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/datagram"
)

// Member is a light client: a state machine at sockets of its own, without goroutines, so
// that thousands leave the machine to the server that is measured. A swarm drives it.
type Member interface {
	// Sockets are where it waits for something to read.
	Sockets() []int

	// Turn reads what came, gives messages to take, sends what there is to send, and
	// returns when it is to be called though nothing comes; the zero time is never.
	Turn(now time.Time, take func(b []byte)) (next time.Time, err error)

	// Ready reports whether it is connected.
	Ready() bool

	// Send sends a message, and returns when Turn is to be called, as that does.
	Send(now time.Time, b []byte) (next time.Time, err error)
}

// endpoint is what a dialect adds to its core to be a member over UDP.
type endpoint struct {
	core  datagram.Core
	poll  func(take func(b []byte)) error // gives what the core has for the program
	ready func() bool
	send  func(now time.Time, b []byte) error
}

// datagramMember is an endpoint at a socket.
type datagramMember struct {
	fd int
	to netip.AddrPort
	endpoint
}

func newDatagramMember(to netip.AddrPort, e endpoint) (*datagramMember, error) {
	fd, err := dialDatagrams(to)
	return &datagramMember{fd, to, e}, err
}

// dialDatagrams opens a socket that talks to one address.
func dialDatagrams(to netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
	}
	if err != nil {
		return -1, fmt.Errorf("a socket of a client: %w", err)
	}
	return fd, nil
}

// scratch is where a datagram is read and written: one thread drives all members.
var scratch [65536]byte

func (m *datagramMember) Sockets() []int { return []int{m.fd} }
func (m *datagramMember) Ready() bool    { return m.ready() }

func (m *datagramMember) Turn(now time.Time, take func(b []byte)) (next time.Time, err error) {
	for {
		n, err := unix.Read(m.fd, scratch[:])
		if err != nil {
			break // there is no more, or nobody listens yet
		}
		m.core.HandleDatagram(now, m.to, scratch[:n])
		if err := m.poll(take); err != nil {
			return next, err
		}
	}
	if at, ok := m.core.NextTimeout(); ok && !at.After(now) {
		m.core.HandleTimeout(now)
		if err := m.poll(take); err != nil {
			return next, err
		}
	}
	m.transmit()
	next, _ = m.core.NextTimeout()
	return next, nil
}

func (m *datagramMember) Send(now time.Time, b []byte) (next time.Time, err error) {
	if err := m.send(now, b); err != nil {
		return next, err
	}
	m.transmit()
	next, _ = m.core.NextTimeout()
	return next, nil
}

// transmit writes what the core has. A datagram that finds no room is lost, as on the way.
func (m *datagramMember) transmit() {
	for {
		n, _, ok := m.core.PollTransmit(scratch[:])
		if !ok {
			return
		}
		_, _ = unix.Write(m.fd, scratch[:n])
	}
}
