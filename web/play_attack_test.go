package web

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/patient"
)

// dropped reports whether a request is not answered, and its connection closed.
func (x *playTest) dropped(method, path, from, body string) (yes bool) {
	defer func() {
		switch why := recover(); why {
		case nil:
		case http.ErrAbortHandler:
			yes = true
		default:
			panic(why)
		}
	}()
	x.call(method, path, from, body)
	return false
}

// One connection with requests one behind the other, each of which is refused: it is closed, and those that are left cost nothing.
func TestRefusalsAreNotForFree(t *testing.T) {
	for _, request := range []string{"GET /x HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n", "GET /play/server HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"OPTIONS /play/match HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n", "GET /play/server HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n"} {
		_, _, url := listenPlay(t)
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		var sent sync.WaitGroup
		sent.Go(func() { c.Write(bytes.Repeat([]byte(request), 10_000)) })
		text, _ := io.ReadAll(c) // its error is that of a connection that was closed with requests in it
		patient.Done(sent.Wait)
		if n := bytes.Count(text, []byte("HTTP/1.1 ")); n == 0 || n > 2*heardAtOnce {
			t.Errorf("%.40q, 10,000 times, is answered %d times", request, n)
		}
	}
}

// A ban also holds on a connection that was there before, and in a program's own HTTP server.
func TestABanEndsConnectionsOfPlay(t *testing.T) {
	var banned atomic.Bool
	x := newPlayTest(t, PlayConfig{Rooms: true, Banned: func(a netip.Addr) bool { return banned.Load() && a == netip.MustParseAddr("192.0.2.66") }})
	if x.dropped("GET", "/play/server", "192.0.2.66:1", "") {
		t.Error("nobody is banned, and it is not answered")
	}
	banned.Store(true)
	for _, from := range []string{"192.0.2.66:1", "[::ffff:192.0.2.66]:2"} {
		if !x.dropped("POST", "/play/rooms", from, `{"mode":"mine"}`) || !x.dropped("GET", "/play/server", from, "") {
			t.Errorf("%s is banned, and it is answered", from)
		}
	}
	if x.dropped("GET", "/play/server", "192.0.2.67:1", "") || len(x.lobby.rooms) != 1 {
		t.Errorf("another is not answered, or there are rooms: %v", x.lobby.rooms)
	}
}

// A customer with a /56 has 256 networks, each of which counts as an address. It does not get the calls of 256.
func TestASiteIsNotManyAddresses(t *testing.T) {
	x := newPlayTest(t, PlayConfig{})
	answered := 0
	for i := range 64 { // more would not even be heard
		for range playCalls {
			if x.call("GET", "/play/rooms", fmt.Sprintf("[2001:db8:0:7%02x::1]:5", i), "").Code == 200 {
				answered++
			}
		}
	}
	if want := hostsOfSite * playCalls; answered != want {
		t.Errorf("a /56 is answered %d times at once, want %d", answered, want)
	}
	x.want(x.call("GET", "/play/rooms", "[2001:db8:0:800::1]:5", ""), 200, "")

	g := newPlayGuard(1000, 4, nil)
	var conns []*guardConn
	open := 0
	for i := range 256 {
		c := &guardConn{addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(fmt.Sprintf("[2001:db8:0:7%02x::1]:5", i)))}
		conns = append(conns, c)
		if g.watch(c, http.StateNew); !c.closed {
			open++
		}
	}
	if want := hostsOfSite * 4; open != want {
		t.Errorf("a /56 has %d connections, want %d", open, want)
	}
	for _, c := range conns {
		g.watch(c, http.StateClosed)
	}
	if g.crowd.Len() != 0 || g.sites.Len() != 0 {
		t.Errorf("%d and %d are counted after the last has gone", g.crowd.Len(), g.sites.Len())
	}
}

// Strangers who ask for rooms have the game listed once a second, however many they are, and two of them in a moment are not sent to the
// last place of a room.
func TestAskingForRoomsIsCheap(t *testing.T) {
	x := newPlayTest(t, PlayConfig{Rooms: true})
	from := func(i int) string { return fmt.Sprintf("[2001:db8:%x::1]:5", i) }
	for i := range 100 {
		x.want(x.call("POST", "/play/rooms", from(i), ""), 200, "main")
	}
	if x.lobby.listed != 1 {
		t.Errorf("the rooms were listed %d times in a moment", x.lobby.listed)
	}
	for i := range 8 {
		status := []int{201, 200}[i%2]
		x.want(x.call("POST", "/play/rooms", from(i), `{"mode":"duel","max_players":2}`), status, "duel")
	}
	if len(x.lobby.rooms) != 1+4 || x.lobby.listed != 1 {
		t.Errorf("%d rooms for 8 players of duels; listed %d times", len(x.lobby.rooms), x.lobby.listed)
	}
}
