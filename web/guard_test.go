package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"parley/internal/patient"
	"parley/internal/promise"
)

// ask is a request by a name.
func ask(c Config, method, path, host, origin string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	Handler(c).ServeHTTP(w, r)
	return w
}

// 15.13: the page answers to an address, to localhost and to the operator's names.
func TestForeignHosts(t *testing.T) {
	c := operated(newFake())
	c.Hosts = []string{"game.example", ""}
	for _, tt := range []struct {
		host, origin string
		want         int
	}{
		{"127.0.0.1:8080", "", 200}, {"127.0.0.1", "", 200}, {"[::1]:8080", "", 200}, {"[::1]", "", 200}, {"[fe80::1%25eth0]:80", "", 200},
		{"localhost", "", 200}, {"LocalHost:8080", "", 200}, {"localhost.:8080", "", 200}, {"game.example", "", 200}, {"GAME.example.:443", "", 200},
		{"evil.example", "", 421}, {"evil.example:8080", "", 421}, {"", "", 421}, {":8080", "", 421}, {"localhost.evil.example", "", 421}, {"127.0.0.1.evil.example", "", 421},
		{"game.example.evil.example", "", 421}, {"2130706433", "", 421}, {"0x7f.1", "", 421}, {"127.0.0.1" + "@evil.example", "", 421}, {"[::1].evil.example", "", 421},
		{"127.0.0.1:8080", "http://127.0.0.1:8080", 200}, {"127.0.0.1:8080", "http://evil.example", 403}, {"127.0.0.1:8080", "null", 403}, {"127.0.0.1:8080", "http://127.0.0.1:9", 403},
	} {
		if w := ask(c, "GET", "/", tt.host, tt.origin); w.Code != tt.want || (w.Code == 200) != strings.Contains(w.Body.String(), "app.js") {
			t.Errorf("host %q, origin %q: status %d, want %d", tt.host, tt.origin, w.Code, tt.want)
		}
	}
}

// T62 for the pages as they are: of all routes only the three for probes and scrapers answer any name, none changes anything, and
// each is guarded by the headers.
func TestAllRoutes(t *testing.T) {
	open := map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}
	paths := []string{}
	for _, r := range routes {
		paths = append(paths, r.path)
	}
	for path := range files() {
		paths = append(paths, strings.TrimSuffix(path, "{$}"))
	}
	for _, path := range paths {
		want := http.StatusMisdirectedRequest
		if open[path] {
			want = http.StatusOK
		}
		w := ask(operated(newFake()), "GET", path, "scraper.example", "http://evil.example")
		if w.Code != want || w.Header().Get("X-Frame-Options") != "DENY" || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s by a foreign name: status %d, want %d, %v", path, w.Code, want, w.Header())
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"} {
			if w := ask(operated(newFake()), method, path, "127.0.0.1", ""); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: status %d", method, path, w.Code)
			}
		}
	}
	promise.Kept(t, "T62", "routes", len(paths))
}

// T62: ten thousand slow clients hold no more than their share, and others are answered meanwhile. 1,000 without PARLEY_PR.
func TestSlowClients(t *testing.T) {
	n := 1000
	if promise.Full() {
		n = 10_000
	}
	p, err := Listen("127.0.0.1:0", example())
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
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
		// They say nothing, say half of a request, or ask and do not read.
		io.WriteString(c, []string{"", "GET / HTTP/1.1\r\nHost: 127", strings.Repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 4)}[i%3])
		if slow = append(slow, c); len(slow) > 2*maxConns {
			slow[0].Close()
			slow = slow[1:]
		}
		if i%100 == 99 {
			honest(t, p.Addr().String())
			p.guard.mu.Lock()
			held := len(p.guard.conns)
			p.guard.mu.Unlock()
			if held > maxConns {
				t.Fatalf("%d connections are held", held)
			}
		}
	}
	if got := runtime.NumGoroutine() - before; got > 3*maxConns {
		t.Errorf("%d goroutines for %d clients", got, n)
	}
	promise.Kept(t, "T62", "slow clients", n)
}

// honest is a client that asks for the metrics, and is answered.
func honest(t *testing.T, addr string) {
	t.Helper()
	answered(t, addr, "GET /metrics HTTP/1.1\r\nHost: scraper\r\nConnection: close\r\n\r\n", "parley_players 3")
}

// answered sends a request until its answer has a text in it: a connection may have to go for others.
func answered(t *testing.T, addr, request, text string) {
	t.Helper()
	patient.Until(t, "an honest client is answered", func() bool {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		defer patient.End().Stop()
		io.WriteString(c, request)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return false
		}
		body, err := io.ReadAll(r.Body)
		return err == nil && r.StatusCode == 200 && strings.Contains(string(body), text)
	})
}
