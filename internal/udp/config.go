package udp

import (
	"syscall"
	"time"

	"parley/internal/gather"
)

// Config says how a socket is opened. The zero Config is usable: it selects batches, both
// offloads (GSO and GRO) and large buffers. Config must not be changed after use.
type Config struct {
	// Batch is how many messages one system call carries, at most 1,024.
	// Default 64. A RecvBatch owns Batch buffers of MaxDatagram bytes, or of
	// 64 KiB each while GRO is on; only pages that were once filled cost memory.
	// A program with thousands of sockets sets Batch 4 and NoGRO.
	Batch int

	// MaxDatagram is the largest payload in bytes that is received or sent,
	// at most MaxPayload, which is the default. A larger one that arrives is
	// counted in Stats.InTruncated and not delivered.
	MaxDatagram int

	// RecvBuffer and SendBuffer are the kernel's buffers in bytes. Default 4 MiB. The
	// kernel may grant less: Socket.Buffers returns the granted sizes. Negative leaves
	// the system's default.
	RecvBuffer, SendBuffer int

	// Gather is how long a loop that is woken often waits before it reads, so that it gets
	// many datagrams at once. It stops waiting while a wait brings few. Default 250 µs;
	// negative means never. Plain sockets do not wait.
	Gather time.Duration

	// NoGSO and NoGRO switch the kernel's joining of datagrams off. By default
	// both are on where the kernel has them.
	NoGSO, NoGRO bool

	// Plain selects the portable socket, which moves one datagram in a system call, even
	// if the system has batches.
	Plain bool

	// Faults, if set, injects errors, for tests only. It is called before a system call
	// moves a datagram. If it returns an error other than 0, the call fails with it. Both
	// the reading and the writing goroutine call it. For a read it is called once per
	// system call, and must not return EAGAIN, which means that there is nothing to read.
	Faults func(sending bool) syscall.Errno
}

// withDefaults returns c with each unset field filled and each limit enforced.
func (c Config) withDefaults() Config {
	if c.Batch <= 0 {
		c.Batch = defaultBatch
	}
	c.Batch = min(c.Batch, maxBatch)
	if c.MaxDatagram <= 0 || c.MaxDatagram > MaxPayload {
		c.MaxDatagram = MaxPayload
	}
	if c.RecvBuffer == 0 {
		c.RecvBuffer = defaultBufferBytes
	}
	if c.SendBuffer == 0 {
		c.SendBuffer = defaultBufferBytes
	}
	if c.Gather == 0 {
		c.Gather = gather.Default
	}
	return c
}
