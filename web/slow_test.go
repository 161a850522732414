package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/internal/promise"
)

// T74: callers of the API who have the token and send a body slowly, or do not read their answers, hold nothing that others need: others
// are answered meanwhile, and no half of a body reaches the server. 300 without PARLEY_PR.
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
			callRooms(t, p.Addr().String())
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range []string{"open", "say", "set level"} {
		if f.calls[name] > 0 {
			t.Errorf("%d halves of a body reached the server: %s", f.calls[name], name)
		}
	}
	p.guard.mu.Lock()
	defer p.guard.mu.Unlock()
	if held := len(p.guard.conns); held > maxConns {
		t.Errorf("%d connections are held", held)
	}
}

// callRooms asks for the rooms, again if its connection had to go.
func callRooms(t *testing.T, addr string) {
	t.Helper()
	var last error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(deadline)
		fmt.Fprintf(c, "GET /v1/rooms HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", testToken)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			var body []byte
			body, err = io.ReadAll(r.Body)
			if err == nil && r.StatusCode == 200 && strings.Contains(string(body), "duel-7") {
				c.Close()
				return
			}
		}
		last = err
		c.Close()
	}
	t.Fatalf("a call was not answered: %v", last)
}
