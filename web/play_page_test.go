package web

import (
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

// The page is whole: each file that another one names is there, and nothing is asked of elsewhere.
func TestThePlayPageIsWhole(t *testing.T) {
	files, size := pageFiles(playDir), 0
	if files["/"] == nil {
		t.Fatal("there is no page")
	}
	names := regexp.MustCompile(`(?:from |import |import\(|src=|href=)["']([^"']+)["']`)
	named := map[string]bool{"/": true}
	for at, f := range files {
		if at != "/parley.js" { // that has a bound of its own
			size += len(f.body)
		}
		for _, m := range names.FindAllStringSubmatch(string(f.body), -1) {
			to := m[1]
			if rest, ok := strings.CutPrefix(to, "./"); ok {
				to = pagePrefix + rest
			}
			if files[to] == nil {
				t.Errorf("%s names %s, which is not there", at, m[1])
			}
			named[to] = true
		}
		text := strings.ReplaceAll(string(f.body), "http://www.w3.org/2000/svg", "")
		if at != "/parley.js" && regexp.MustCompile(`https?://[a-z]|innerHTML|outerHTML|document\.write|\beval\(|<style|style=|onclick=|<script>`).MatchString(text) {
			t.Errorf("%s names another site, or has what its policy forbids", at)
		}
	}
	for at := range files {
		if !named[at] {
			t.Errorf("%s is named nowhere", at)
		}
	}
	if size > 96<<10 {
		t.Errorf("the page has %d bytes", size)
	}
}

func TestThePlayPageIsServed(t *testing.T) {
	x := newPlayTest(t, PlayConfig{})
	w := x.call("GET", "/", "198.51.100.1:5", "")
	if w.Code != 200 || !strings.Contains(w.Body.String(), "<canvas") {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	policy := w.Header().Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("its policy is %q", policy)
	}
	if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("its headers are %v", w.Header())
	}
	again := x.call("GET", "/", "198.51.100.1:5", "", "If-None-Match: "+w.Header().Get("ETag"))
	if again.Code != 304 || again.Body.Len() > 0 {
		t.Errorf("what has not changed is sent again: %d", again.Code)
	}
	if w := x.call("GET", "/", "198.51.100.1:5", "", `If-None-Match: "other"`); w.Code != 200 {
		t.Errorf("what has changed: status %d", w.Code)
	}
	if head := x.call("HEAD", "/", "198.51.100.1:5", ""); head.Code != 200 || head.Body.Len() > 0 {
		t.Errorf("HEAD: %d with %d bytes", head.Code, head.Body.Len())
	}
	for at, f := range x.page { // a browser that opens the page is not one that asks too often
		if got := x.call("GET", at, "198.51.100.1:5", "").Header().Get("Content-Type"); got != f.kind {
			t.Errorf("%s is of type %q", at, got)
		}
	}
}

// A page at one port may connect to WebTransport at another one of the same host, and nowhere else.
func TestThePolicyNamesWebTransport(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"game.example", "connect-src 'self' https://game.example:8000;"},
		{"127.0.0.1:80", "connect-src 'self' https://127.0.0.1:8000;"},
		{"127.0.0.1:8000", "connect-src 'self';"},
		{"[::1]:80", "connect-src 'self';"},
		{"a;b", "connect-src 'self';"},
	} {
		if got := policyFor(c.host, &PlayWT{Port: 8000}); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.host, got)
		}
	}
	if got := policyFor("game.example", nil); got != playPolicy {
		t.Errorf("without WebTransport: %s", got)
	}
}

// A session of WebTransport is at another port than its page behind a proxy, or if the UDP port was in use. "Pages of the same host are always accepted"
// (docs/serve.md), and those of another host only if they are named.
func TestWhoMayConnectOverWebTransport(t *testing.T) {
	c := PlayConfig{Hosts: []string{"game.example"}, Origins: []string{"https://site.example"}}
	for _, tt := range []struct {
		host, origin string
		may          bool
	}{
		{"game.example:8000", "https://game.example", true},
		{"game.example:8000", "https://GAME.example:8443", true},
		{"game.example:8000", "", true},
		{"game.example:8000", "https://site.example", true},
		{"game.example:8000", "https://evil.example", false},
		{"game.example:8000", "https://game.example.evil.example", false},
		{"game.example:8000", "https://evil.example:8000", false},
		{"game.example:8000", "null", false},
		{"game.example:8000", "https://", false},
		{"evil.example:8000", "https://evil.example", false},
		{"[2001:db8::1]:8000", "https://[2001:db8::1]", true},
		{"[2001:db8::1]:8000", "https://[2001:db8::2]", false},
		{"127.0.0.1:8000", "http://127.0.0.1:80", true},
	} {
		r := httptest.NewRequest("CONNECT", "/wt/replica", nil)
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		if err := c.MayConnect(r); (err == nil) != tt.may {
			t.Errorf("a page of %q at %q: %v", tt.origin, tt.host, err)
		}
	}
	if w := newPlayTest(t, c).call("GET", "/ws/replica", "198.51.100.1:5", "", "Host: game.example:8000", "Origin: https://game.example"); w.Code != 403 {
		t.Errorf("a page of another port asks over HTTP: status %d", w.Code)
	}
}

// Only players of this machine are told of WebTransport at a loopback address: others would wait for it in vain.
func TestWhoIsToldOfWebTransport(t *testing.T) {
	for _, tt := range []struct {
		loopback           bool
		host, peer, header string
		told               bool
	}{
		{false, "game.example", "198.51.100.1:5", "", true},
		{true, "127.0.0.1:8000", "127.0.0.1:5", "", true},
		{true, "localhost:8000", "127.0.0.1:5", "", true},
		{true, "[::1]:8000", "[::1]:5", "", true},
		{true, "game.example", "127.0.0.1:5", "", false},                                // a proxy that passes the name on
		{true, "127.0.0.1:8000", "127.0.0.1:5", "X-Forwarded-For: 198.51.100.1", false}, // and one that does not
	} {
		x := newPlayTest(t, PlayConfig{Hosts: []string{"game.example"}, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		x.play.Lobby = lobbyWithWT{x.lobby, &PlayWT{Port: 8000, Loopback: tt.loopback}}
		headers := []string{"Host: " + tt.host}
		if tt.header != "" {
			headers = append(headers, tt.header)
		}
		about, page := x.call("GET", "/play/server", tt.peer, "", headers...), x.call("GET", "/", tt.peer, "", headers...)
		if told := strings.Contains(about.Body.String(), `"wt":{"port":8000}`); about.Code != 200 || told != tt.told {
			t.Errorf("%+v: %d, %s", tt, about.Code, about.Body)
		}
		if may := strings.Contains(page.Header().Get("Content-Security-Policy"), "https://game.example:8000"); tt.host == "game.example" && may != tt.told {
			t.Errorf("%+v: the policy is %q", tt, page.Header().Get("Content-Security-Policy"))
		}
	}
}

// lobbyWithWT is a server with WebTransport.
type lobbyWithWT struct {
	*fakeLobby
	wt *PlayWT
}

func (l lobbyWithWT) About() PlayServer {
	about := l.fakeLobby.About()
	about.WebTransport = l.wt
	return about
}
