package stamp

import (
	"cmp"
	"net/netip"
	"time"

	"parley/internal/reliable"
)

// Config is how a server or a client speaks. The zero Config is usable. It is
// not changed after use.
type Config struct {
	// KeepAlive is how long a server may have sent a client nothing reliable
	// before it sends an empty packet, whose ack proves that the client lives.
	// Default 1 s, at most a third of Timeout.
	KeepAlive time.Duration

	// Timeout is how long nothing valid may come before a connection is lost.
	// Default 10 s.
	Timeout time.Duration

	// Linger is how long Close waits for the peer to hear of it. Default 500 ms;
	// negative is not at all: the disconnect is sent once.
	Linger time.Duration

	// MaxConns bounds the connections of a server; further ones are rejected with
	// "server full". Default 4,096.
	MaxConns int

	// Admit is asked by a server for each init, if it is set: it returns why the
	// address is not let in, of which 25 bytes are told, or "" if it is. Until the
	// address is proven it may be forged. It is called on the server's loop and
	// must not block.
	Admit func(from netip.AddrPort) string

	// Log gets a line for each connection that begins or ends. Default: none.
	Log *Logger

	// Send and Receive are the engine's limits. Their zero values are the
	// stamp page's.
	Send    reliable.SendConfig
	Receive reliable.ReceiveConfig

	filled bool
	send   *reliable.SendConfig
	recv   *reliable.ReceiveConfig
}

// fill returns a copy in which every field has its value.
func (c Config) fill() *Config {
	if c.filled {
		return &c
	}
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.KeepAlive = cmp.Or(c.KeepAlive, time.Second)
	c.KeepAlive = min(c.KeepAlive, c.Timeout/3)
	c.Linger = cmp.Or(c.Linger, 500*time.Millisecond)
	c.Linger = max(c.Linger, 0)
	c.MaxConns = cmp.Or(c.MaxConns, 4096)
	// "there is nothing to agree on a private order with: the sender keeps one
	// ordered packet in flight and the receiver holds a hole for at most 4 round trips"
	recv := c.Receive
	recv.Rules[laneEntity-1] = reliable.Patient
	c.recv = recv.Filled()
	c.send = c.Send.Filled()
	c.filled = true
	return &c
}
