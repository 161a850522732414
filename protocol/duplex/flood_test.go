package duplex

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/protocol/duplex/core"
)

// T39: a client that does not read main is cut off with a reason that is logged, and the
// others notice nothing.
func TestASlowReaderIsCutOff(t *testing.T) {
	promise.Keeps(t, "T39", "duplex", 1)
	var log shelltest.Buffer
	h := newHall(t, Config{Log: shelltest.Log(&log)})
	slow, err := net.Dial("tcp", h.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := slow.Write([]byte{core.CodeConnInit, core.CodeConnFailed}); err != nil {
		t.Fatal(err)
	}
	h.wait("the slow one joins", func() bool { return h.conns[1] != nil })
	x := h.enter(Config{})
	for i := uint64(0); ; i++ {
		left := false
		if err := h.Do(func() {
			c := h.mux.ByID(1)
			if left = c == nil; left {
				return
			}
			for range 16 {
				_ = c.Sync(-1, longLine) // which fails in the end
			}
			if c.Queued() > 1<<20 {
				t.Errorf("%d bytes are queued", c.Queued())
			}
		}); err != nil {
			t.Fatal(err)
		}
		h.set(7, i)
		if _, _, err := x.Query(t.Context(), Feed, 65, []byte("ping")); err != nil {
			t.Fatal(err)
		}
		// Somebody has to read, or x would be slow itself.
		if i == 0 {
			await(t, x, "sync 7 010000000000000000")
			go func() {
				for range x.Events() {
				}
			}()
		}
		if left {
			break
		}
	}
	h.wait("it is cut off", h.saw("1 closed: too slow to read"))
	if got := log.String(); !strings.Contains(got, "player=1 reason=\"too slow to read\"") {
		t.Errorf("the log has %q", got)
	}
	if x.Err() != nil {
		t.Errorf("the other ended: %v", x.Err())
	}
}

// T41: clients that flood main with the smallest messages get equal shares, within 2x, and one
// who does not is served meanwhile.
func TestFloodsShareTheServer(t *testing.T) {
	promise.Keeps(t, "T41", "duplex", 1)
	h := newHall(t, Config{})
	h.events = nil
	const floods = 4
	stop := make(chan struct{})
	var group sync.WaitGroup
	for i := range floods {
		conn, err := net.Dial("tcp", h.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte{core.CodeConnInit, core.CodeConnFailed}); err != nil {
			t.Fatal(err)
		}
		h.wait("a flood joins", func() bool { return h.conns[int16(i+1)] != nil })
		// What the server says is read, or it would be another kind of attack.
		group.Go(func() { _, _ = io.Copy(io.Discard, conn) })
		group.Go(func() {
			defer conn.Close()
			// SYNC_OKs that nobody asked for: 64 KiB of messages at a time, which cost no event.
			flood := bytes.Repeat([]byte{core.CodeSyncOK}, 64<<10)
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := conn.Write(flood); err != nil {
						return
					}
				}
			}
		})
	}
	x := h.enter(Config{})
	shares := func() (n [floods]uint64) {
		if err := h.Do(func() {
			for i := range n {
				n[i] = h.mux.ByID(int16(i + 1)).Stats().MainIn
			}
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := shares()
	// The honest one plays on, and by that the time of the test is measured.
	for i := range 300 {
		if status, _, err := x.Query(t.Context(), Main, 65, []byte("ping")); err != nil || status != 0 {
			t.Fatalf("query %d: %v", i, err)
		}
	}
	after := shares()
	least, most := after[0]-before[0], after[0]-before[0]
	for i := range after {
		least, most = min(least, after[i]-before[i]), max(most, after[i]-before[i])
	}
	t.Logf("%d to %d messages of each while one asked 300 times", least, most)
	if most > 2*least+2*4096 {
		t.Errorf("shares are from %d to %d", least, most)
	}
	close(stop)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	patient.Done(group.Wait)
}

// T38: mains that never begin their handshake keep nobody from joining, and are cut off.
func TestSlowHandshakesKeepNobodyOut(t *testing.T) {
	promise.Keeps(t, "T38", "duplex", 1)
	server, client := certificate(t)
	h := newHall(t, Config{TLS: server, FeedWait: time.Millisecond, JoinTimeout: time.Millisecond})
	var idle []net.Conn
	for range 100 {
		conn, err := net.Dial("tcp", h.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
		if _, err := conn.Write([]byte{22, 3}); err != nil {
			t.Fatal(err)
		}
	}
	// Two seconds are little for a handshake on a busy machine: who is late comes again.
	var x *Client
	for end := time.Now().Add(patience); x == nil; {
		var err error
		if x, err = Dial(t.Context(), h.Addr().String(), Config{Schema: gameSchema, TLS: client, FeedAddr: h.FeedAddr().String()}); err != nil && time.Now().After(end) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { x.Close(context.Background()) })
	if _, _, err := x.Query(t.Context(), Main, 65, []byte("ping")); err != nil {
		t.Fatal(err)
	}
	for _, conn := range idle {
		if _, err := io.ReadAll(conn); err != nil && !errors.As(err, new(net.Error)) {
			t.Errorf("an idle one ends with %v", err)
		}
	}
	if x.Err() != nil {
		t.Errorf("the honest one ended: %v", x.Err())
	}
}

// certificate returns the TLS of a server and of a client that trusts it.
func certificate(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, &tls.Config{RootCAs: pool}
}

// T58: clients that come and go leave no goroutine and no descriptor.
func TestChurnOfSockets(t *testing.T) {
	h := newHall(t, Config{})
	turn := func() {
		x, err := Dial(t.Context(), h.Addr().String(), Config{Schema: gameSchema, FeedAddr: h.FeedAddr().String()})
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	turn()
	h.wait("it leaves", func() bool { return len(h.conns) == 0 })
	before := shelltest.Census(0)
	for range promise.Keeps(t, "T58", "duplex", churns()) {
		turn()
	}
	h.wait("all leave", func() bool { return len(h.conns) == 0 })
	for h.Stats().Conns > 0 {
		h.Do(func() {})
	}
	after := shelltest.Census(before.Goroutines)
	for i := 0; after.Descriptors > before.Descriptors && i < 100; i++ {
		after = shelltest.Census(before.Goroutines) // a descriptor is closed by the last who used it
	}
	if err := after.Grown(before); err != nil {
		t.Error(err)
	}
}
