package core

import (
	"cmp"
	"log/slog"
	"net/netip"
	"time"

	"parley/internal/reliable"
)

// Config sets up a server or a client. The zero Config is usable. Config must not be changed
// after use.
type Config struct {
	// KeepAlive is how long a server waits after its last reliable packet to a client
	// before it sends an empty one, whose ack proves that the client is alive. Default
	// 1 s, at most a third of Timeout.
	KeepAlive time.Duration

	// Timeout is how long a connection lasts without a valid packet. Default 10 s. A Timeout
	// over 10 s is also how long a packet may wait for its acknowledgement.
	Timeout time.Duration

	// Linger is how long Close waits for the peer's acknowledgement. Default 500 ms.
	// If negative, Close does not wait: the disconnect is sent once.
	Linger time.Duration

	// MaxConns bounds the connections of a server. Further ones are rejected with "server
	// full". Default 4,096.
	MaxConns int

	// Admit, if set, is called by a server for each init. It returns "" to admit the
	// address, or the reason to refuse it, of which the first 25 bytes are sent. The
	// address may be forged, as it may not be proven yet. Admit runs on the server's loop
	// and must not block.
	Admit func(from netip.AddrPort) string

	// Sessions, at a server, knows the true addresses of clients in browsers, which the server's own addresses do not reach. Package parley sets
	// it. Default: there are none.
	Sessions interface {
		Source(peer netip.AddrPort) netip.AddrPort
	}

	// Banned, at a server, reports whether an address is banned at the time now. What comes from a banned address is dropped and counted
	// before anything else is done, and has no answer. Any goroutine may call it, for each datagram, so it must
	// not block. Default: nobody is banned.
	Banned func(now time.Time, from netip.Addr) bool

	// Log gets a line for each connection that begins or ends. Default: none.
	Log *slog.Logger

	// MaxUnacked bounds the bytes that a server sends to a client from the oldest unacknowledged packet on. Beyond it,
	// Send and SendReport return ErrWindowFull. Default 256 KiB.
	MaxUnacked int

	sending   reliable.SendConfig // tests have other limits than those of the stamp page
	receiving reliable.ReceiveConfig

	filled bool
	send   *reliable.SendConfig
	recv   *reliable.ReceiveConfig
}

// defaultTimeout is the Timeout of a Config without one.
const defaultTimeout = 10 * time.Second

// fill returns a copy in which every field has its value.
func (c Config) fill() *Config {
	if c.filled {
		return &c
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.KeepAlive = cmp.Or(c.KeepAlive, time.Second)
	c.KeepAlive = min(c.KeepAlive, c.Timeout/3)
	c.Linger = cmp.Or(c.Linger, 500*time.Millisecond)
	c.Linger = max(c.Linger, 0)
	c.MaxConns = cmp.Or(c.MaxConns, 4096)
	// "there is nothing to agree on a private order with: the sender keeps one
	// ordered packet in flight and the receiver holds a hole for at most 4 round trips"
	recv := c.receiving
	recv.Rules[laneEntity-1] = reliable.Patient
	c.recv = recv.Filled()
	c.sending.MaxBytes = cmp.Or(c.MaxUnacked, c.sending.MaxBytes)
	if c.Timeout > defaultTimeout { // a peer that may be silent for so long may be late with an ack, too
		c.sending.GiveUpAfter = max(c.sending.GiveUpAfter, c.Timeout)
	}
	c.send = c.sending.Filled()
	c.filled = true
	return &c
}
