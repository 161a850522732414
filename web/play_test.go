package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/patient"
)

// fakeLobby is a server with an open room.
type fakeLobby struct {
	mu      sync.Mutex
	rooms   []PlayRoom
	listed  int
	waiting int
	from    netip.Addr
	gone    [][16]byte
	found   chan Match // what Match returns; closed: nobody
	err     error
}

func newFakeLobby() *fakeLobby {
	return &fakeLobby{rooms: []PlayRoom{{"main", "", 3, 1000}}, found: make(chan Match)}
}

func (l *fakeLobby) About() PlayServer {
	return PlayServer{Game: "arena", Fingerprint: "00ff", TickRate: 20, Dialects: map[string]PlayAddress{"replica": {"udp", "[::]:7000"}, "duplex": {"tcp", "192.0.2.1:7004"}}}
}

func (l *fakeLobby) OpenRooms() ([]PlayRoom, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed++
	return slices.Clone(l.rooms), l.err
}

func (l *fakeLobby) OpenRoom(r PlayRoom) (PlayRoom, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.MaxPlayers == 0 {
		r.MaxPlayers = 1000
	}
	if l.err == nil {
		l.rooms = append(l.rooms, r)
	}
	return r, l.err
}

func (l *fakeLobby) Match(ctx context.Context, from netip.Addr, who Wish) (Match, bool, error) {
	l.mu.Lock()
	l.waiting++
	l.from = from
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiting--
	}()
	select {
	case m, ok := <-l.found:
		return m, ok, nil
	case <-ctx.Done():
		return Match{}, false, nil
	}
}

func (l *fakeLobby) Depart(token [16]byte) { l.gone = append(l.gone, token) }

func (l *fakeLobby) waits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// playTest calls the players' part from any address, at a time that does not pass.
type playTest struct {
	*testing.T
	*play
	lobby *fakeLobby
	now   time.Time
	log   bytes.Buffer
}

func newPlayTest(t *testing.T, c PlayConfig) *playTest {
	x := &playTest{T: t, lobby: newFakeLobby(), now: then}
	c.Lobby, c.Log = x.lobby, slog.New(slog.NewTextHandler(&x.log, nil))
	x.play = newPlay(c)
	x.play.clock = func() time.Time { return x.now }
	t.Cleanup(x.play.stop)
	return x
}

// call makes a call, with headers as "Name: value".
func (x *playTest) call(method, path, from, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = from, "203.0.113.5:8000"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	w := httptest.NewRecorder()
	x.play.ServeHTTP(w, r)
	return w
}

func (x *playTest) want(w *httptest.ResponseRecorder, status int, text string) {
	x.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), text) {
		x.Errorf("status %d, want %d: %s, want %q", w.Code, status, w.Body, text)
	}
	if w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
		x.Errorf("the answer is no JSON: %s", w.Body)
	}
}

func TestWhatPlayersAreToldBeforeTheyPlay(t *testing.T) {
	x := newPlayTest(t, PlayConfig{})
	x.want(x.call("GET", "/play/server", "198.51.100.1:5", ""), 200,
		`{"game":"arena","fingerprint":"00ff","tick_rate":20,"dialects":{"duplex":{"carrier":"tcp","address":"192.0.2.1:7004"},"replica":{"carrier":"udp","address":"203.0.113.5:7000"}}}`)
	x.want(x.call("GET", "/play/server", "198.51.100.1:5", "", "Host: [2001:db8::1]:8000"), 200, `"[2001:db8::1]:7000"`)
	x.want(x.call("GET", "/play/server", "198.51.100.1:5", "", "Host: localhost"), 200, `"localhost:7000"`)
	x.want(x.call("GET", "/play/rooms", "198.51.100.1:5", ""), 200, `{"rooms":[{"name":"main","mode":"","players":3,"max_players":1000}]}`)
	x.want(x.call("HEAD", "/play/rooms", "198.51.100.1:5", ""), 200, "")
	if x.lobby.listed != 1 {
		t.Errorf("the rooms were listed %d times in a second", x.lobby.listed)
	}
	x.now = x.now.Add(time.Minute)
	x.lobby.rooms = nil
	x.want(x.call("GET", "/play/rooms", "198.51.100.1:5", ""), 200, `{"rooms":[]}`)
	for range maxListed + 1 {
		x.lobby.rooms = append(x.lobby.rooms, PlayRoom{Name: "x"})
	}
	x.now = x.now.Add(time.Minute)
	if n := strings.Count(x.call("GET", "/play/rooms", "198.51.100.1:5", "").Body.String(), `"name"`); n != maxListed {
		t.Errorf("%d rooms are listed", n)
	}
	x.lobby.err = errors.New("secret detail")
	x.now = x.now.Add(time.Minute)
	x.want(x.call("GET", "/play/rooms", "198.51.100.1:5", ""), 500, "its log says why")
	if !strings.Contains(x.log.String(), "secret detail") {
		t.Errorf("the log has no reason: %s", x.log.String())
	}
}

// "realm over a carrier is without TLS inside, and therefore only over wss, WebTransport or loopback: else 403" (carriers). Behind a proxy that
// is trusted, the proxy says whether there was TLS; anybody else's word for it is not taken.
func TestWhoseSocketIsSecure(t *testing.T) {
	var from netip.AddrPort
	var secure bool
	x := newPlayTest(t, PlayConfig{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Sockets: func(_ http.ResponseWriter, _ *http.Request, a netip.AddrPort, s bool) { from, secure = a, s }})
	for _, tt := range []struct {
		name, peer string
		headers    []string
		from       string
		secure     bool
	}{
		{"plain", "198.51.100.1:5", nil, "198.51.100.1:5", false},
		{"plain, with a word that anybody may write", "198.51.100.1:5", []string{"X-Forwarded-Proto: https"}, "198.51.100.1:5", false},
		{"loopback", "127.0.0.1:5", nil, "127.0.0.1:5", true},
		{"a proxy that says nothing", "10.1.1.1:5", []string{"X-Forwarded-For: 198.51.100.2"}, "198.51.100.2:5", false},
		{"a proxy with TLS", "10.1.1.1:5", []string{"X-Forwarded-For: 198.51.100.2", "X-Forwarded-Proto: https"}, "198.51.100.2:5", true},
		{"a proxy without TLS", "10.1.1.1:5", []string{"X-Forwarded-For: 198.51.100.2", "X-Forwarded-Proto: http"}, "198.51.100.2:5", false},
	} {
		x.call("GET", "/ws/realm", tt.peer, "", tt.headers...)
		if from.String() != tt.from || secure != tt.secure {
			t.Errorf("%s: %v, secure %v; want %s, %v", tt.name, from, secure, tt.from, tt.secure)
		}
	}
}

func TestWhoMayAskAtPlay(t *testing.T) {
	x := newPlayTest(t, PlayConfig{Hosts: []string{"game.example"}, Origins: []string{"https://site.example/"}})
	for i, tt := range []struct {
		method, path string
		headers      []string
		status       int
	}{
		{"GET", "/play/server", nil, 200},
		{"GET", "/play/server", []string{"Host: game.example:8000"}, 200},
		{"GET", "/play/server", []string{"Host: GAME.example"}, 200},
		{"GET", "/play/server", []string{"Host: rebound.example"}, 421},
		{"GET", "/play/server", []string{"Host: "}, 421},
		{"GET", "/play/server", []string{"Origin: http://203.0.113.5:8000"}, 200},
		{"GET", "/play/server", []string{"Origin: https://site.example"}, 200},
		{"GET", "/play/server", []string{"Origin: http://site.example"}, 403},
		{"GET", "/play/server", []string{"Origin: https://evil.example"}, 403},
		{"GET", "/play/server", []string{"Origin: null"}, 403},
		{"POST", "/play/match", []string{"Origin: https://evil.example"}, 403},
		{"OPTIONS", "/play/match", []string{"Origin: https://evil.example"}, 403},
		{"OPTIONS", "/play/match", []string{"Origin: https://site.example"}, 204},
		{"GET", "/play/match", nil, 405},
		{"POST", "/play/server", nil, 405},
		{"POST", "/play/rooms", nil, 405}, // without --player-rooms
		{"DELETE", "/play/rooms", nil, 405},
		{"GET", "/v1/rooms", nil, 404},
		{"GET", "/", nil, 200},
		{"GET", "/", []string{"Host: rebound.example"}, 421},
		{"GET", "/", []string{"Origin: https://evil.example"}, 403},
		{"POST", "/", nil, 405},
		{"GET", "/page/", nil, 404},
		{"GET", "/page/../page.html", nil, 404},
		{"GET", "/play/server/", nil, 404},
		{"GET", "/" + strings.Repeat("x", 5000), nil, 404},
	} {
		w := x.call(tt.method, tt.path, fmt.Sprintf("198.51.100.%d:5", i), "{}", tt.headers...)
		if w.Code != tt.status || w.Body.Len() > 512 && tt.path != "/" {
			t.Errorf("%s %.40s %q: status %d, want %d: %s", tt.method, tt.path, tt.headers, w.Code, tt.status, w.Body)
		}
		allow := w.Header().Get("Access-Control-Allow-Origin")
		if want := w.Code < 300 && strings.Contains(fmt.Sprint(tt.headers), "Origin"); (allow != "") != want || allow == "*" {
			t.Errorf("%s %s %q: pages of %q may read it", tt.method, tt.path, tt.headers, allow)
		}
	}
}

func TestAnAddressAsksTenTimesAMinute(t *testing.T) {
	x := newPlayTest(t, PlayConfig{})
	for i := range 10 {
		x.want(x.call("GET", "/play/rooms", fmt.Sprintf("[2001:db8::%x]:5", i), ""), 200, "")
	}
	x.want(x.call("GET", "/play/server", "[2001:db8::1]:5", ""), 200, "") // it does not count
	w := x.call("GET", "/play/rooms", "[2001:db8::ffff:0:0:1]:5", "")
	x.want(w, 429, "at most 10 a minute")
	if w.Header().Get("Retry-After") == "" {
		t.Error("it is not told when to come again")
	}
	x.want(x.call("POST", "/play/match", "[2001:db8::1]:5", "{}"), 429, "")
	x.want(x.call("GET", "/play/rooms", "[2001:db8:0:1::1]:5", ""), 200, "")
	x.now = x.now.Add(6 * time.Second)
	x.want(x.call("GET", "/play/rooms", "[2001:db8::1]:5", ""), 200, "")
	x.want(x.call("GET", "/play/rooms", "[2001:db8::1]:5", ""), 429, "")
	x.now = x.now.Add(time.Minute)
	for range 10 {
		x.want(x.call("GET", "/play/rooms", "[2001:db8::1]:5", ""), 200, "")
	}
}

// Behind a proxy each player counts alone, and the proxy's connections are bounded only together. Nobody else is believed.
func TestPlayersBehindAProxy(t *testing.T) {
	x := newPlayTest(t, PlayConfig{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Banned: func(a netip.Addr) bool { return a.String() == "203.0.113.66" }})
	for i := range 20 {
		x.want(x.call("GET", "/play/rooms", "10.0.0.1:5", "", fmt.Sprintf("X-Forwarded-For: 127.0.0.1, 203.0.113.%d", i)), 200, "")
	}
	for i := range 11 {
		status := 200
		if i == 10 {
			status = 429
		}
		x.want(x.call("GET", "/play/rooms", "10.0.0.1:5", "", fmt.Sprintf("X-Forwarded-For: 192.0.2.%d, 203.0.113.100", i)), status, "")
		x.want(x.call("GET", "/play/rooms", "198.51.100.1:5", "", fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", i)), status, "")
	}
	r := httptest.NewRequest("GET", "/play/server", nil)
	r.RemoteAddr, r.Host = "10.0.0.1:5", "203.0.113.5:8000"
	r.Header.Set("X-Forwarded-For", "203.0.113.66")
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("a banned player behind a proxy is answered")
			}
		}()
		x.play.ServeHTTP(httptest.NewRecorder(), r)
	}()
	g := newPlayGuard(8, 4, func(netip.Addr) bool { return true })
	g.proxies = x.play.Proxies
	for i := range 10 {
		c := &guardConn{addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(fmt.Sprintf("10.0.0.1:%d", i+1)))}
		if g.watch(c, http.StateNew); c.closed || len(g.conns) > 8 {
			t.Errorf("connection %d of a proxy: closed %v, of %d", i, c.closed, len(g.conns))
		}
	}
}

func TestPlayersOpenRooms(t *testing.T) {
	x := newPlayTest(t, PlayConfig{Rooms: true})
	from := func(host, i int) string { return fmt.Sprintf("[2001:db8:0:%x::%x]:5", host, i) }
	x.want(x.call("POST", "/play/rooms", from(1, 1), ""), 200, `"name":"main"`)
	w := x.call("POST", "/play/rooms", from(1, 1), `{"mode":"duel","max_players":2}`)
	x.want(w, 201, `"mode":"duel","players":0,"max_players":2`)
	var first PlayRoom
	if err := json.Unmarshal(w.Body.Bytes(), &first); err != nil || !strings.HasPrefix(first.Name, "play-") || len(first.Name) > 32 {
		t.Errorf("%+v, %v", first, err)
	}
	x.want(x.call("POST", "/play/rooms", from(2, 1), `{"mode":"duel"}`), 200, first.Name)
	x.want(x.call("POST", "/play/rooms", from(4, 1), `{"mode":"кухня, 2 × 2"}`), 201, "кухня, 2 × 2")
	x.lobby.rooms = x.lobby.rooms[:2]
	x.now = x.now.Add(roomsFresh)
	x.want(x.call("POST", "/play/rooms", from(2, 1), `{"mode":"duel","max_players":3}`), 201, `"max_players":3`)
	x.lobby.rooms[1].Players = 1
	x.now = x.now.Add(roomsFresh)
	x.want(x.call("POST", "/play/rooms", from(3, 1), `{"mode":"duel"}`), 200, first.Name) // the fuller one
	x.lobby.rooms[1].Players, x.lobby.rooms[2].Players = 2, 3
	x.now = x.now.Add(roomsFresh)
	for i := range 3 { // with those of before, 4
		x.want(x.call("POST", "/play/rooms", from(1, i), fmt.Sprintf(`{"mode":"own %d"}`, i)), 201, "")
	}
	x.want(x.call("POST", "/play/rooms", from(1, 9), `{"mode":"duel"}`), 429, "have opened 4 rooms")
	x.lobby.rooms = slices.Delete(x.lobby.rooms, 1, 2) // the first has ended
	x.now = x.now.Add(roomsFresh)
	x.want(x.call("POST", "/play/rooms", from(1, 9), `{"mode":"duel"}`), 201, "")
	x.lobby.rooms = nil
	x.now = x.now.Add(roomsFresh)
	x.want(x.call("POST", "/play/rooms", from(7, 9), `{"mode":"duel"}`), 201, "")
	if len(x.opened) != 1 {
		t.Errorf("rooms that are gone are remembered: %v", x.opened)
	}
	x.lobby.err = refuse(503, "there are too many rooms")
	x.want(x.call("POST", "/play/rooms", from(8, 9), `{"mode":"other"}`), 503, "too many rooms")
}

func TestBodiesOfPlayers(t *testing.T) {
	x := newPlayTest(t, PlayConfig{Rooms: true})
	for i, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/play/match", "", 400, "the body is empty"},
		{"/play/match", "[", 400, "not as it should be"},
		{"/play/match", `{"name":1}`, 400, `"name\" takes a text`},
		{"/play/match", `{"nam":"x"}`, 400, "unknown field"},
		{"/play/match", `{} {}`, 400, "more after"},
		{"/play/match", `{"mode":"` + strings.Repeat("x", maxPlayBody) + `"}`, 413, ""},
		{"/play/rooms", `{"mode":"` + strings.Repeat("x", maxPlayBody) + `"}`, 413, ""},
		{"/play/rooms", `{"seed":1}`, 400, "unknown field"},
		{"/play/match", `{"mode":"` + strings.Repeat("x", 256) + `"}`, 400, "256 bytes: the limit is 255"},
		{"/play/rooms", `{"mode":"` + strings.Repeat("x", 256) + `"}`, 400, "256 bytes: the limit is 255"},
		{"/play/rooms", `{"mode":"\u001b[2Jduel"}`, 400, "cannot be shown"},
		{"/play/match", `{"mode":"\u009b2J"}`, 400, "cannot be shown"},
		{"/play/rooms", `{"mode":"due\nl"}`, 400, "cannot be shown"},
		{"/play/match", `{"mode":"\u202eleud"}`, 400, "cannot be shown"},
	} {
		x.want(x.call("POST", tt.path, fmt.Sprintf("198.51.100.%d:5", i), tt.body), tt.status, tt.want)
	}
	if x.lobby.waits() != 0 || x.lobby.listed != 0 {
		t.Error("the lobby was asked")
	}
}

// listenPlay serves the players' part at a port of the system's.
func listenPlay(t *testing.T) (*Page, *fakeLobby, string) {
	t.Helper()
	l := newFakeLobby()
	p, err := ListenPlay("127.0.0.1:0", PlayConfig{Lobby: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.Close(ctx)
	})
	return p, l, "http://" + p.Addr().String()
}

// askMatch asks for a match, and returns where its status and answer come.
func askMatch(ctx context.Context, url string) chan string {
	out := make(chan string, 1)
	go func() {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		r, _ := http.NewRequestWithContext(ctx, "POST", url+"/play/match", strings.NewReader(`{"mode":"duel"}`))
		answer, err := client.Do(r)
		if err != nil {
			out <- err.Error()
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		out <- fmt.Sprint(answer.StatusCode, " ", string(text))
	}()
	return out
}

// A call waits for longer than a request may take to be read, is answered, and ends when its client hangs up or the server ends.
func TestAPlayerWaitsForAMatch(t *testing.T) {
	p, l, url := listenPlay(t)
	ctx, hangUp := context.WithCancel(t.Context())
	gone := askMatch(ctx, url)
	patient.Until(t, "one waits", func() bool { return l.waits() == 1 })
	hangUp()
	patient.Value(gone)
	patient.Until(t, "it is out", func() bool { return l.waits() == 0 })
	ann := askMatch(t.Context(), url)
	patient.Until(t, "one waits", func() bool { return l.waits() == 1 })
	l.found <- Match{Room: "match-x", Ticket: "54", Addresses: []Address{{"replica", "udp", "[::]:7000"}}}
	if got, want := patient.Value(ann), `200 {"room":"match-x","ticket":"54","addresses":[{"dialect":"replica","carrier":"udp","address":"127.0.0.1:7000"}]}`+"\n"; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	if l.from != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("the lobby is told that it is from %v", l.from)
	}
	last := askMatch(t.Context(), url)
	patient.Until(t, "one waits", func() bool { return l.waits() == 1 })
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := patient.Value(last); !strings.HasPrefix(got, "503 ") {
		t.Errorf("who waits when the server ends is told %q", got)
	}
}

// One address has so many connections and no more, whatever they do: none, half a header, a body that does not come.
func TestOneAddressDoesNotKeepOutOthers(t *testing.T) {
	banned := netip.MustParseAddr("192.0.2.66")
	g := newPlayGuard(8, 4, func(a netip.Addr) bool { return a == banned })
	conn := func(addr string) *guardConn {
		return &guardConn{addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))}
	}
	var evil []*guardConn
	for i := range 6 {
		c := conn(fmt.Sprintf("[2001:db8::%x]:%d", i, i+1))
		evil = append(evil, c)
		g.watch(c, http.StateNew)
	}
	for i, c := range evil {
		if c.closed != (i >= 4) {
			t.Errorf("connection %d: closed is %v", i, c.closed)
		}
		if c.closed { // as http.Server does afterwards
			g.watch(c, http.StateClosed)
		}
	}
	for i := range 4 {
		g.watch(conn(fmt.Sprintf("10.0.0.%d:1", i)), http.StateNew)
	}
	honest := conn("192.0.2.1:1")
	g.watch(honest, http.StateNew)
	if honest.closed || !evil[0].closed {
		t.Errorf("the connection that has been quiet for longest is closed: %v; the new one: %v", evil[0].closed, honest.closed)
	}
	for c := range g.conns {
		g.watch(c, http.StateActive)
	}
	shut := conn("[::ffff:192.0.2.66]:1")
	if g.watch(shut, http.StateNew); !shut.closed {
		t.Error("a banned address is let in")
	}
	late := conn("192.0.2.2:1")
	if g.watch(late, http.StateNew); !late.closed || len(g.conns) != 8 {
		t.Errorf("all are being answered, and one more is let in; there are %d", len(g.conns))
	}
	g.watch(honest, http.StateIdle)
	g.watch(honest, http.StateIdle)
	later := conn("192.0.2.3:1")
	if g.watch(later, http.StateNew); later.closed || !honest.closed {
		t.Error("one that is answered and quiet is not given up for a new one")
	}
	for c := range g.conns {
		g.watch(c, http.StateClosed)
	}
	if len(g.conns) != 0 || g.quiet.Len() != 0 || g.crowd.Len() != 0 {
		t.Errorf("%d connections, %d quiet, %d counted are left", len(g.conns), g.quiet.Len(), g.crowd.Len())
	}
}

type guardConn struct {
	net.Conn
	addr   net.Addr
	closed bool
}

func (c *guardConn) RemoteAddr() net.Addr { return c.addr }
func (c *guardConn) Close() error         { c.closed = true; return nil }

// Many who wait leave the places of those who do not. A thousand calls cost no more than their limit.
func TestThoseWhoWaitAreBounded(t *testing.T) {
	x := newPlayTest(t, PlayConfig{})
	var all sync.WaitGroup
	for i := range maxPlayWaits {
		all.Go(func() { x.call("POST", "/play/match", fmt.Sprintf("[2001:db8:%x::1]:5", i), "{}") })
	}
	patient.Until(t, "all wait", func() bool { return x.lobby.waits() == maxPlayWaits })
	x.want(x.call("POST", "/play/match", "192.0.2.1:1", "{}"), 503, "too many players wait")
	x.want(x.call("GET", "/play/server", "192.0.2.1:1", ""), 200, "")
	x.stop()
	patient.Done(all.Wait)
	if x.lobby.waits() != 0 {
		t.Errorf("%d still wait", x.lobby.waits())
	}
}

// The deadline for reading a request ends neither a call that waits nor what it is told, but it ends a body that does not come.
func TestOnlySlowSendersMeetTheDeadline(t *testing.T) {
	x := newPlayTest(t, PlayConfig{})
	s := httptest.NewUnstartedServer(x.play)
	s.Config.ReadTimeout, s.Config.WriteTimeout = 500*time.Millisecond, 500*time.Millisecond
	s.Start()
	defer s.Close()
	ann := askMatch(t.Context(), s.URL)
	patient.Until(t, "one waits", func() bool {
		select {
		case <-ann: // this machine was slower than the deadline
			ann = askMatch(t.Context(), s.URL)
		default:
		}
		return x.lobby.waits() == 1
	})
	slow, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprintf(slow, "POST /play/match HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
	slow.SetReadDeadline(time.Now().Add(time.Minute))
	answer, err := io.ReadAll(slow)                                                             // it ends when the server has closed the connection, which is well after the deadline
	if err != nil || len(answer) > 0 && !bytes.Contains(answer, []byte("did not come whole")) { // nothing if writing has met its deadline too
		t.Errorf("a body that does not come is answered with %q, %v", answer, err)
	}
	<-time.After(time.Second) // two deadlines
	select {
	case got := <-ann:
		t.Fatalf("a call that waits is answered with %q", got)
	case x.lobby.found <- Match{Room: "match-x"}:
	}
	if got := patient.Value(ann); !strings.HasPrefix(got, "200 ") {
		t.Errorf("it is told %q", got)
	}
}
