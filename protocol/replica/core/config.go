package core

import (
	"cmp"
	"log/slog"
	"net/netip"
	"time"

	"parley/internal/reliable"
)

// Config sets up a server or a client. The zero Config is usable. Config must not be changed after use.
type Config struct {
	// SyncInterval is the time between two comparisons of a server's clock with a client's. Default 1 s, at most 3 s. A client
	// uses the interval of its server.
	SyncInterval time.Duration

	// Timeout is how long a connection lasts without a valid packet. Default 10 s, and never less than 3 sync intervals. A Timeout
	// over 10 s is also how long a packet may wait for its acknowledgement.
	Timeout time.Duration

	// MaxMessage bounds the size of a message in bytes, both ways, and so the memory for its parts. Default 1 MiB.
	MaxMessage int

	// Linger is how long Close waits for the peer's acknowledgement. Default 500 ms.
	Linger time.Duration

	// Foreign turns off parley's extension of the protocol. One ordered packet is then in flight at a time, and a message must
	// fit into one datagram. It is for tests, and for peers that cannot handle flag bit 7, which announces the extension.
	Foreign bool

	// NoBundles puts each packet into a datagram of its own, to parley's own peers too. It is for tests and measurements.
	NoBundles bool

	// MaxConns bounds the connections of a server that have entered. Further ones are rejected with "server full". Default
	// 4,096.
	MaxConns int

	// EnterWithin, at a server, is how long a connection has to enter: to accept the link table, or to be let in by Conn.Enter.
	// Before that, it takes no place among MaxConns. A connection that does not enter in time is closed. At most 64 connections
	// of an address (/64 of IPv6) and 4,096 in all may be waiting. Beyond that, a new client gets no answer and tries again. If
	// 4,096 are waiting, a connection of the busiest address is closed to make room for one of a less busy address.
	//
	// Default 0: a connection enters with its handshake, and stays as long as it answers clock packets, even if idle. One
	// address can then take all of MaxConns, at 2.6 kB a connection. A public server should set 10 s, or count connections in
	// Admit.
	EnterWithin time.Duration

	// Admit, at a server, may refuse a new connection. The client is told the first 19 bytes
	// of the reason. Default: all are admitted.
	Admit func(from netip.AddrPort) (reason string, ok bool)

	// Pass, at a client, is what it shows to get in, at most MaxPassBytes: it is sent as the reliable message parley.pass when the
	// server has accepted the connection, and Link waits for its acknowledgement. Default none.
	Pass []byte

	// AcceptTable, at a client, decides whether to accept a part of the server's link table. Default: all are accepted, and
	// unknown names are ignored.
	AcceptTable func(Table) bool

	// Detail, at a client, makes events complete: the Data of an EventReplicated are its values, which ParseValues reads, and those of an
	// EventLinked are its part of the table, which ParseTable reads. Each packet of values is then an event of its own. A reader of
	// events alone knows which values came in which packet, as Event.Number tells, and needs no Values. Default: such events have no Data.
	Detail bool

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
	c.SyncInterval = cmp.Or(c.SyncInterval, time.Second)
	c.SyncInterval = min(c.SyncInterval, maxSyncInterval)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Timeout = max(c.Timeout, 3*c.SyncInterval)
	c.MaxMessage = cmp.Or(c.MaxMessage, 1<<20)
	c.Linger = cmp.Or(c.Linger, 500*time.Millisecond)
	c.MaxConns = cmp.Or(c.MaxConns, 4096)
	for i, rule := range []reliable.Rule{reliable.Patient, reliable.Linked} {
		r := c.receiving
		r.Overhead = cmp.Or(r.Overhead, receiveOverhead)
		r.MaxReady = cmp.Or(r.MaxReady, maxReadyBytes)
		r.MaxHeld = cmp.Or(r.MaxHeld, maxHeldBytes)
		r.MaxHeldPackets = cmp.Or(r.MaxHeldPackets, maxHeldPackets)
		r.Rules = [2]reliable.Rule{rule, rule}
		c.recv[i] = r.Filled()
	}
	if c.Timeout > defaultTimeout { // a peer that may be silent for so long may be late with an ack, too
		c.sending.GiveUpAfter = max(c.sending.GiveUpAfter, c.Timeout)
	}
	c.sending.CopyFirst = true
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
