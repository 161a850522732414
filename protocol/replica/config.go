package replica

import (
	"net/netip"
	"time"

	"parley/internal/reliable"
)

// Config is how a server or a client speaks. The zero Config is usable. It is
// not changed after use.
type Config struct {
	// SyncInterval is how often the server compares clocks with a client.
	// Default 1 s, at most 3 s. A client takes its server's.
	SyncInterval time.Duration

	// Timeout is how long nothing valid may come before a connection is lost.
	// Default 10 s, and never less than 3 sync intervals.
	Timeout time.Duration

	// MaxMessage bounds a message in bytes, both ways, and so what the parts of
	// one may hold. Default 1 MiB.
	MaxMessage int

	// Linger is how long Close waits for the peer to hear of it. Default 500 ms.
	Linger time.Duration

	// Foreign makes us speak the document alone, without our extension: one
	// ordered packet in flight, messages of one datagram. For tests and for peers
	// that cannot bear flag bit 7.
	Foreign bool

	// MaxConns bounds the connections of a server that have entered; further ones are rejected with
	// "server full". Default 4,096.
	MaxConns int

	// EnterWithin, at a server, is how long a connection has to enter: to accept the link table, or to be
	// let in by Conn.Enter. Before that it takes no place among MaxConns. One that does not enter in
	// time is closed, and at most 64 of an address (/64 of IPv6) and 4,096 in all are in between:
	// beyond that an address goes unanswered and tries again, and the busiest address gives way first.
	// Default 0: a connection enters with its handshake, and stays as long as it answers the clock, idle or not. One address can
	// then take all of MaxConns, at 2.6 kB each. A server that strangers can reach sets 10 s, or counts in Admit.
	EnterWithin time.Duration

	// Admit, at a server, may refuse a newcomer: banned, or not wanted by the game.
	// The reason is shown to it, up to 19 bytes. Default: all are welcome.
	Admit func(from netip.AddrPort) (reason string, ok bool)

	// AcceptTable, at a client, decides whether to accept a piece of the server's
	// link table. Default: all are accepted, and names not known are ignored.
	AcceptTable func(Table) bool

	// Log gets a line for each connection that begins or ends. Default: none.
	Log *Logger

	// Send and Receive are the engine's limits. Their zero values are the
	// replica page's.
	Send    reliable.SendConfig
	Receive reliable.ReceiveConfig

	filled bool
	recv   [2]*reliable.ReceiveConfig // foreign, extended
	send   *reliable.SendConfig

	assembly *reliable.AssemblyConfig
}

// fill returns a copy in which every field has its value.
func (c Config) fill() *Config {
	if c.filled {
		return &c
	}
	orElse(&c.SyncInterval, time.Second)
	c.SyncInterval = min(c.SyncInterval, maxSyncInterval)
	orElse(&c.Timeout, 10*time.Second)
	c.Timeout = max(c.Timeout, 3*c.SyncInterval)
	orElse(&c.MaxMessage, 1<<20)
	orElse(&c.Linger, 500*time.Millisecond)
	orElse(&c.MaxConns, 4096)
	for i, rule := range []reliable.Rule{reliable.Patient, reliable.Linked} {
		r := c.Receive
		orElse(&r.Overhead, receiveOverhead)
		orElse(&r.MaxReady, maxReadyBytes)
		orElse(&r.MaxHeld, maxHeldBytes)
		orElse(&r.MaxHeldPackets, maxHeldPackets)
		r.Rules = [2]reliable.Rule{rule, rule}
		c.recv[i] = r.Filled()
	}
	c.send = c.Send.Filled()
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
