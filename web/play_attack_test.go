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
func (x *playTest) dropped(method, path, from, body string, headers ...string) (yes bool) {
	defer func() {
		switch why := recover(); why {
		case nil:
		case http.ErrAbortHandler:
			yes = true
		default:
			panic(why)
		}
	}()
	x.call(method, path, from, body, headers...)
	return false
}

// One connection with requests one behind the other, each of which is refused: it is closed, and those that are left cost nothing.
func TestRefusalsAreNotForFree(t *testing.T) {
	for _, request := range []string{"GET /x HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n", "GET /play/server HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"OPTIONS /play/match HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n", "GET /play/server HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n",
		"GET /ws/x HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n", "GET /ws/x HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"GET /ws/replica HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n", "GET /ws/replica HTTP/1.1\r\nHost: 1.1.1.1\r\nOrigin: http://evil.example\r\n\r\n"} {
		p, err := ListenPlay("127.0.0.1:0", PlayConfig{Lobby: newFakeLobby(), Sockets: refuseSockets})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close(t.Context()) })
		c, err := net.Dial("tcp", p.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		var sent sync.WaitGroup
		sent.Go(func() { c.Write(bytes.Repeat([]byte(request), 10_000)) })
		text, _ := io.ReadAll(c) // its error is that of a connection that was closed with requests in it
		patient.Done(sent.Wait)
		most := 2 * heardAtOnce
		if strings.Contains(request, socketPath) { // a connection for a WebSocket is for one
			most = 1
		}
		if n := bytes.Count(text, []byte("HTTP/1.1 ")); n == 0 || n > most {
			t.Errorf("%.60q, 10,000 times, is answered %d times, want at most %d", request, n, most)
		}
	}
}

// refuseSockets refuses WebSockets as the carrier does.
func refuseSockets(w http.ResponseWriter, r *http.Request, _ netip.AddrPort, _ bool) {
	if r.URL.Path != socketPath+"replica" {
		http.Error(w, "no such dialect is served here", http.StatusNotFound)
		return
	}
	w.Header().Set("Connection", "Upgrade") // as websocket.Accept does for a request that is none for a WebSocket
	http.Error(w, "no WebSocket", http.StatusUpgradeRequired)
}

// Where nobody pays for connections, as with any number of them or behind a proxy, an address pays for WebSockets that are refused, and no other does.
func TestRefusedSocketsArePaid(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, tt := range []struct {
		name, peer, header string
		guarded            bool
		bounded            bool
	}{
		{"connections are paid", "198.51.100.1:5", "X-Forwarded-For: 192.0.2.1", true, false},
		{"any number of connections", "198.51.100.1:5", "X-Forwarded-For: 192.0.2.1", false, true},
		{"a proxy", "10.1.1.1:5", "X-Forwarded-For: 192.0.2.1", true, true},
	} {
		for _, path := range []string{"/ws/x", "/ws/replica"} {
			x := newPlayTest(t, PlayConfig{Sockets: refuseSockets, Proxies: proxies})
			x.play.guarded = tt.guarded
			answered := 0
			for range heardAtOnce + 10 {
				if !x.dropped("GET", path, tt.peer, "", tt.header) {
					answered++
				}
			}
			if want := map[bool]int{true: heardAtOnce, false: heardAtOnce + 10}[tt.bounded]; answered != want {
				t.Errorf("%s, %s: %d refusals are answered, want %d", tt.name, path, answered, want)
			}
			if x.dropped("GET", path, "10.1.1.1:5", "", "X-Forwarded-For: 192.0.2.2") {
				t.Errorf("%s, %s: another address pays too", tt.name, path)
			}
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
