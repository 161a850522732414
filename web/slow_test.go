package web

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"parley/internal/promise"
)

// T74: callers of the API who have the token and send a body slowly, or do not read their answers, hold nothing that others need: others
// are answered meanwhile, no half of a body reaches the server, and a slow reader costs it one look. 300 without PARLEY_PR.
func TestSlowCallers(t *testing.T) {
	n := promise.Keeps(t, "T74", "slow callers", promise.Tier(300, 1000, 10_000))
	f := newFake()
	for i := range 2000 { // an answer that no socket's buffer holds
		f.players = append(f.players, Player{ID: uint16(i), Name: strings.Repeat("x", 200), Since: then})
	}
	p, err := Listen("127.0.0.1:0", operated(f))
	if err != nil {
		t.Fatal(err)
	}
	var slow []net.Conn
	defer func() {
		for _, c := range slow {
			c.Close()
		}
		now, cancel := context.WithCancel(t.Context())
		cancel()
		p.Close(now) // without waiting for them
	}()
	for i := range n {
		c, err := net.Dial("tcp", p.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		head := "Host: 127.0.0.1\r\nAuthorization: Bearer " + testToken + "\r\n"
		io.WriteString(c, []string{
			"POST /v1/rooms HTTP/1.1\r\n" + head + "Content-Length: 14\r\n\r\n" + `{"name":"half`,
			"GET /v1/players HTTP/1.1\r\n" + head + "\r\n",
			"POST /v1/say HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n4\r\n" + `{"te`,
			"PUT /v1/log HTTP/1.1\r\n" + head + "Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n",
		}[i%4])
		if slow = append(slow, c); len(slow) > 2*maxConns {
			slow[0].Close()
			slow = slow[1:]
		}
		if i%50 == 49 {
			answered(t, p.Addr().String(), "GET /v1/rooms HTTP/1.1\r\n"+head+"Connection: close\r\n\r\n", "duel-7")
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range []string{"open", "say", "set level"} {
		if f.calls[name] > 0 {
			t.Errorf("%d halves of a body reached the server: %s", f.calls[name], name)
		}
	}
	if looks, most := f.calls["players"], (n+3)/4; looks > most { // each look waits for a tick to end, and the next tick for the look
		t.Errorf("the server was looked at %d times for %d slow readers", looks, most)
	}
	p.guard.mu.Lock()
	defer p.guard.mu.Unlock()
	if held := len(p.guard.conns); held > maxConns {
		t.Errorf("%d connections are held", held)
	}
}
