package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// Whoever has no token gets the same files, whatever the server is and whoever plays, and the API is silent.
func TestThePageTellsNothing(t *testing.T) {
	a, b := newFake(), newFake()
	b.players[0].Name, b.rooms[0].Name = "<script>alert(1)</script>", "secret-room"
	one, other := Handler(operated(a)), Handler(operated(b))
	for path := range files() {
		path = strings.TrimSuffix(path, "{$}")
		w, v := (asked{method: "GET", path: path, token: "none"}).send(one), (asked{method: "GET", path: path, token: "none"}).send(other)
		if w.Code != 200 || w.Body.String() != v.Body.String() || w.Body.Len() == 0 {
			t.Errorf("%s: status %d, or another text for another server", path, w.Code)
		}
		for _, word := range []string{"ada", "fra-1", "duel-7", "198.51.100", testToken} {
			if strings.Contains(w.Body.String(), word) {
				t.Errorf("%s has %q", path, word)
			}
		}
		if p := w.Header().Get("Content-Security-Policy"); !strings.Contains(p, "script-src 'self'") || strings.Contains(p, "unsafe") || strings.Contains(p, "*") || strings.Contains(p, "http") || !strings.Contains(p, "default-src 'none'") {
			t.Errorf("%s: policy %q", path, p)
		}
		if kind := w.Header().Get("Content-Type"); kind == "" || strings.HasPrefix(kind, "text/plain") {
			t.Errorf("%s is of the type %q", path, kind)
		}
		if w := (asked{method: "GET", path: path, host: "evil.example"}).send(one); w.Code != http.StatusMisdirectedRequest {
			t.Errorf("%s by another name: status %d", path, w.Code)
		}
	}
	if a.total()+b.total() > 0 {
		t.Errorf("the page asked the server: %v", a.calls)
	}
	if w := httptest.NewRecorder(); true {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = "127.0.0.1"
		if Handler(example()).ServeHTTP(w, r); w.Code != 404 {
			t.Errorf("the page without an API: status %d", w.Code)
		}
	}
}

// Nothing in the page makes markup or code of text, has anything inline, or goes elsewhere. The policy forbids it too; this says where.
func TestThePageTakesTextAsText(t *testing.T) {
	entries, err := operatorFiles.ReadDir("operator")
	if err != nil {
		t.Fatal(err)
	}
	bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function|setTimeout\("|localStorage|document\.cookie|https?://|[?&]token=|javascript:|@import|\burl\(`)
	inline := regexp.MustCompile(`<style|<script[^>]*>[^<]|\son[a-z]+=|\sstyle=`)
	modules := 0
	for _, e := range entries {
		text, err := operatorFiles.ReadFile("operator/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		clean := strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", "")
		if found := bad.FindString(clean); found != "" {
			t.Errorf("%s has %q", e.Name(), found)
		}
		if found := inline.FindString(clean); found != "" && strings.HasSuffix(e.Name(), ".html") {
			t.Errorf("%s has %q", e.Name(), found)
		}
		for _, from := range regexp.MustCompile(`import .* from "([^"]*)"`).FindAllStringSubmatch(clean, -1) {
			modules++
			if _, err := operatorFiles.ReadFile("operator/" + strings.TrimPrefix(from[1], "./")); err != nil || !strings.HasPrefix(from[1], "./") {
				t.Errorf("%s imports %s", e.Name(), from[1])
			}
		}
	}
	if modules < 20 {
		t.Errorf("only %d imports", modules)
	}
}

// Hostile names come through the API as they are, as JSON: it is for the page to show them as text.
func TestHostileNamesAreJSON(t *testing.T) {
	for _, name := range []string{"</script><img src=x onerror=alert(1)>", "\u202egnp.exe\u2066", strings.Repeat("n", 10_000), "line\nevent: live\ndata: {}\n\n", "\u2028\u2029\x00\x7f", "\"'`&lt;"} {
		f := newFake()
		f.players[0].Name = name
		l := newLive(f, func() error { return nil }, &history{op: f, stats: func() any { return stats{} }})
		w := &watch{live: l, people: map[personID]*person{}, rooms: map[string]Room{}}
		text := string(w.look(then).full())
		if strings.Count(text, "\n") != 3 || !strings.HasSuffix(text, "\n\n") {
			t.Errorf("%.20q breaks the event", name)
		}
		_, data, _ := strings.Cut(text, "\ndata: ")
		var got Live
		if err := json.Unmarshal([]byte(data), &got); err != nil || len(got.People) != 1 || got.People[0].Name != name {
			t.Errorf("%.20q came as %+v, %v", name, got.People, err)
		}
	}
}

// The numbers of counters are those of the metrics, in words.
func TestCountersForPeople(t *testing.T) {
	got := map[string]string{}
	for _, c := range countersFor(example().Stats()).Counters {
		got[c.Part+": "+c.Name] = c.Text
		if c.Help == "" || c.Text == "" || c.Kind == "" {
			t.Errorf("%+v", c)
		}
	}
	for name, want := range map[string]string{
		"game: players": "3", "replica: connections · open": "1,234,567", "game: account results · wrong password": "5", "replica: round trip": "mean 250ms", "game: behind": "25ms", "game: ticks · late": "4",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}
