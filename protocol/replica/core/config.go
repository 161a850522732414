package core

import (
	"log/slog"
	"net/netip"
	"time"

	"parley/internal/reliable"
)

// Config sets up a server or a client. The zero Config is usable. Config is not changed after use.
type Config struct {
	// SyncInterval is how often the server compares clocks with a client. Default 1 s, at most 3 s. A client uses its server's.
	SyncInterval time.Duration

	// Timeout is how long a connection lasts without a valid packet. Default 10 s, and never less than 3 sync intervals. With a longer
	// one, a packet waits as long for its acknowledgement.
	Timeout time.Duration

	// MaxMessage bounds the size of a message in bytes, both ways, and so the memory for its parts. Default 1 MiB.
	MaxMessage int

	// Linger is how long Close waits for the peer's acknowledgement. Default 500 ms.
	Linger time.Duration

	// Foreign turns our extension off, so that only the documented protocol is used: one ordered packet in flight, and messages
	// of one datagram. It is for tests and for peers that cannot handle flag bit 7.
	Foreign bool

	// MaxConns bounds the connections of a server that have entered. Further ones are rejected with "server full". Default
	// 4,096.
	MaxConns int

	// EnterWithin, at a server, is how long a connection has to enter: to accept the link table, or to be let in by Conn.Enter.
	// Before that, it takes no place among MaxConns. A connection that does not enter in time is closed. At most 64 connections
	// of an address (/64 of IPv6) and 4,096 in all may be waiting. Beyond that, an address gets no answer and tries again, and
	// connections of the busiest address are closed first. Default 0: a connection enters with its handshake, and stays as long
	// as it answers the clock, idle or not. One address can then take all of MaxConns, at 2.6 kB each. A public server should
	// set 10 s, or count in Admit.
	EnterWithin time.Duration

	// Admit, at a server, may refuse a new connection, such as that of a banned address. The reason is shown to the client, up
	// to 19 bytes. Default: all are admitted.
	Admit func(from netip.AddrPort) (reason string, ok bool)

	// AcceptTable, at a client, decides whether to accept a part of the server's link table. Default: all are accepted, and
	// unknown names are ignored.
	AcceptTable func(Table) bool

	// Log gets a line for each connection that begins or ends. Default: none.
	Log *slog.Logger

	sending   reliable.SendConfig // tests have other limits than those of limits.go
	receiving reliable.ReceiveConfig

	filled bool
	recv   [2]*reliable.ReceiveConfig // foreign, extended
	send   *reliable.SendConfig

	assembly *reliable.AssemblyConfig
}

// defaultTimeout is the Timeout of a Config without one.
const defaultTimeout = 10 * time.Second

// fill returns a copy in which every field has its value.
func (c Config) fill() *Config {
	if c.filled {
		return &c
	}
	orElse(&c.SyncInterval, time.Second)
	c.SyncInterval = min(c.SyncInterval, maxSyncInterval)
	orElse(&c.Timeout, defaultTimeout)
	c.Timeout = max(c.Timeout, 3*c.SyncInterval)
	orElse(&c.MaxMessage, 1<<20)
	orElse(&c.Linger, 500*time.Millisecond)
	orElse(&c.MaxConns, 4096)
	for i, rule := range []reliable.Rule{reliable.Patient, reliable.Linked} {
		r := c.receiving
		orElse(&r.Overhead, receiveOverhead)
		orElse(&r.MaxReady, maxReadyBytes)
		orElse(&r.MaxHeld, maxHeldBytes)
		orElse(&r.MaxHeldPackets, maxHeldPackets)
		r.Rules = [2]reliable.Rule{rule, rule}
		c.recv[i] = r.Filled()
	}
	if c.Timeout > defaultTimeout { // a peer that may be silent for so long may be late with an ack, too
		c.sending.GiveUpAfter = max(c.sending.GiveUpAfter, c.Timeout)
	}
	c.send = c.sending.Filled()
	c.assembly = &reliable.AssemblyConfig{MaxMessage: c.MaxMessage + messageOverhead + MaxNameBytes}
	c.filled = true
	return &c
}

func (c *Config) receive(extended bool) *reliable.ReceiveConfig {
	if extended {
		return c.recv[1]
	}
	return c.recv[0]
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
