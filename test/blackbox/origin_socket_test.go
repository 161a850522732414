package blackbox

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
)

// originSocket is a client of the game at a socket.
type originSocket struct {
	mu   sync.Mutex
	c    *originClient
	conn *net.UDPConn
	done chan struct{}
}

func newOriginSocket(t *testing.T, n int, main netip.AddrPort) *originSocket {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	s := &originSocket{c: newOriginClient(fmt.Sprintf("client %d", n), uint64(n), main), conn: conn, done: make(chan struct{})}
	go s.loop()
	t.Cleanup(func() {
		conn.Close()
		patient.Value(s.done)
	})
	return s
}

// loop runs until the socket is closed.
func (s *originSocket) loop() {
	defer close(s.done)
	var b [1024]byte
	for {
		s.mu.Lock()
		now := time.Now()
		s.c.HandleTimeout(now)
		for n, to, ok := s.c.PollTransmit(b[:]); ok; n, to, ok = s.c.PollTransmit(b[:]) {
			s.conn.WriteToUDPAddrPort(b[:n], to)
		}
		wake := now.Add(10 * time.Millisecond)
		if at, ok := s.c.NextTimeout(); ok && at.Before(wake) {
			wake = at
		}
		s.mu.Unlock()
		s.conn.SetReadDeadline(wake)
		n, from, err := s.conn.ReadFromUDPAddrPort(b[:])
		switch e, isNet := err.(net.Error); {
		case err == nil:
			s.mu.Lock()
			s.c.HandleDatagram(time.Now(), netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), b[:n])
			s.mu.Unlock()
		case !isNet || !e.Timeout():
			return // closed
		}
	}
}

// do has the client do something.
func (s *originSocket) do(f func(c *originClient, now time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.c, time.Now())
}

// originUntil waits until all clients are as they should be.
func originUntil(t *testing.T, what string, all []*originSocket, ok func(c *originClient) bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		missing := 0
		for _, s := range all {
			s.mu.Lock()
			if s.c.gaveUp != "" {
				t.Errorf("%s: %s gave up: %s", what, s.c.name, s.c.gaveUp)
			}
			if !ok(s.c) {
				missing++
			}
			s.mu.Unlock()
		}
		switch {
		case t.Failed():
			t.FailNow()
		case missing == 0:
			return
		case time.Now().After(end):
			t.Fatalf("%s: %d of %d are not there", what, missing, len(all))
		}
	}
}

// Four clients of the game play through the program for a minute (three seconds in a run that is not the gate's), and one of them now and then
// says what the others cannot decode. All that was said arrives once and in order, every ping is answered, and everybody leaves.
func TestOriginClientsPlayOverSockets(t *testing.T) {
	t.Parallel() // it mostly waits
	srv := serve(t, "--relay-lobby", "connector")
	main := netip.MustParseAddrPort(srv.addrs["relay"])
	span := 3 * time.Second
	if promise.Full() {
		span = time.Minute
	}
	all := []*originSocket{newOriginSocket(t, 0, main)}
	all[0].do(func(c *originClient, now time.Time) { c.openGame(now, 4) })
	originUntil(t, "the game is opened", all, func(c *originClient) bool { return c.player == 0 })
	var port uint16
	all[0].do(func(c *originClient, _ time.Time) { port = c.game.Port() })
	for n := 1; n < 4; n++ {
		s := newOriginSocket(t, n, main)
		all = append(all, s)
		s.do(func(c *originClient, now time.Time) { c.joinGame(now, port) })
	}
	originUntil(t, "all have joined", all, func(c *originClient) bool { return c.player > 0 || c.player == 0 && len(c.peers) == 3 })
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	turns := int(span / (50 * time.Millisecond))
	for i := range turns {
		<-tick.C
		for _, s := range all {
			s.do(func(c *originClient, now time.Time) { c.say(now, originSemi) })
		}
		if i%20 == 0 {
			all[3].do(func(c *originClient, now time.Time) { c.send(now, c.game, originSemi, []byte{2, 4, 9}) })
		}
	}
	originUntil(t, "all messages come", all, func(c *originClient) bool {
		for _, list := range c.heard {
			if len(list) != turns {
				return false
			}
		}
		return len(c.heard) == 3
	})
	for _, s := range all {
		s.do(func(c *originClient, _ time.Time) {
			for from, list := range c.heard {
				if !slices.IsSorted(list) || list[0] != 0 || list[len(list)-1] != turns-1 {
					t.Errorf("%s heard %v of player %d", c.name, list, from)
				}
			}
		})
	}
	for step := 1; step <= 3; step++ {
		for _, s := range all {
			s.do(func(c *originClient, now time.Time) { c.step(now, step) })
		}
		originUntil(t, fmt.Sprintf("readiness %d", step), all, func(c *originClient) bool { return c.ready == step })
	}
	originUntil(t, "reliable pings are answered", all, func(c *originClient) bool { return len(c.asked) == 0 && c.pongs > 0 })
	for _, s := range all {
		s.do(func(c *originClient, now time.Time) { c.leave(now) })
	}
	originUntil(t, "all have left", all, func(c *originClient) bool { return c.left && c.pending() == 0 })
}
