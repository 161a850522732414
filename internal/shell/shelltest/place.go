// Package shelltest holds what the tests of all servers and clients need: sockets of every
// kind to run them with, and a check for leaks. Only tests import it.
//
//	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
//		socket := at.Listen(t)
//		…
//	})
//
// Files: place.go (sockets), faults.go (system calls that fail), census.go (goroutines,
// descriptors, memory), log.go (lines to compare), helper.go (the other processes of a test),
// beside.go (a carrier that is no socket), bare_linux.go (the loop that servers are compared with).
package shelltest

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"

	"parley/internal/patient"
	"parley/internal/shell"
	"parley/internal/udp"
)

// Place is where the sockets of a test are: in the kernel or in memory. The zero Place is
// the kernel, with batches.
type Place struct {
	Network *udp.Network // in memory; nil is the kernel
	Config  udp.Config
}

// Memory returns a new place in memory, where tests run in virtual time.
func Memory() Place { return Place{Network: new(udp.Network)} }

// Kernel returns the place of real sockets.
func Kernel(c udp.Config) Place { return Place{Config: c} }

// EachPlace runs a test at every kind of socket (T61: the same suite with the kernel's
// joining and batching off), and in memory, inside a synctest bubble.
func EachPlace(t *testing.T, test func(t *testing.T, at Place)) {
	for name, c := range map[string]udp.Config{
		"batched": {}, "without joining": {NoGSO: true, NoGRO: true}, "small batches": {Batch: 2, MaxDatagram: 2048}, "plain": {Plain: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patient.Test(t)
			test(t, Kernel(c))
		})
	}
	t.Run("memory", func(t *testing.T) {
		patient.Test(t)
		synctest.Test(t, func(t *testing.T) { test(t, Memory()) })
	})
}

// Listen returns a socket for a server.
func (p Place) Listen(t testing.TB) *udp.Socket {
	t.Helper()
	listen := udp.Listen
	if p.Network != nil {
		listen = p.Network.Listen
	}
	s, err := listen("127.0.0.1:0", p.Config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Dial returns a socket for a client, with small batches as clients have.
func (p Place) Dial(t testing.TB, to netip.AddrPort) *udp.Socket {
	t.Helper()
	dial, config := udp.Dial, p.Config
	if p.Network != nil {
		dial = p.Network.Dial
	}
	if config.Batch == 0 {
		config.Batch, config.NoGRO = shell.ClientBatch, true
	}
	s, err := dial(to.String(), config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Ended returns a context that has already ended, so that a wait with it returns at once.
func Ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
