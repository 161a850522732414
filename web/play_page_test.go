package web

import (
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
