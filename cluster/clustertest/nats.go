// Package clustertest holds what the tests of a cluster need that is not ours: a server of NATS.
package clustertest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"parley/internal/patient"
)

// quietLooks is how often a server must be seen without work, a millisecond apart.
const quietLooks = 10

// NATS starts a server of NATS with JetStream in this process, as one that an operator runs, and returns its address. It ends with the test.
func NATS(t testing.TB) (url string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		// A stream that is being made when its server ends leaves the goroutines of its file behind: of a node that has
		// just left, a request may be under way still. A request is counted when it is read from a client, so clients come
		// first; and a client that could not be written to is gone a moment before the last of it was read.
		quiet := 0
		patient.Until(t, "NATS has answered all", func() bool {
			clients := s.NumClients()
			if z, err := s.Jsz(nil); err != nil || clients > 0 || z.API.Inflight > 0 {
				quiet = 0
			} else {
				quiet++
			}
			return quiet > quietLooks
		})
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS does not start")
	}
	return s.ClientURL()
}
