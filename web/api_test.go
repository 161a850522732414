package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"parley/internal/patient"
	"parley/internal/promise"
)

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// errorOf is the text of an error that the API answered.
func errorOf(t *testing.T, body []byte) string {
	t.Helper()
	var e map[string]string
	if err := json.Unmarshal(body, &e); err != nil || len(e) != 1 || e["error"] == "" {
		t.Errorf("%s is no error: %v", body, err)
	}
	return e["error"]
}

// T74: every call, with no, a wrong and the right token, by our own and by a foreign name, from a page of our own and of another. Only
// the right of each is let in, and nothing reaches the server before that.
func TestEveryCallIsGuarded(t *testing.T) {
	n := 0
	f := newFake()
	config := operated(f)
	config.Hosts = []string{"game.example"}
	h := Handler(config)
	for i := range calls {
		c := &calls[i]
		if c.stream != nil {
			continue // TestEventsAreGuarded
		}
		for _, token := range []string{"", "none", "Bearer", "Bearer " + strings.Repeat("0", 64), "Bearer " + testToken[:63], "Bearer " + testToken + "0", "Bearer  " + testToken, "Basic " + testToken, testToken} {
			for _, host := range []string{"127.0.0.1:8080", "game.example", "evil.example", ""} {
				for _, origin := range []string{"", "http://" + host, "http://evil.example", "null"} {
					before := f.total()
					q := c.right()
					q.token, q.host, q.origin = token, host, origin
					if host == "" {
						q.host = " "
					}
					want := c.status
					switch {
					case host != "127.0.0.1:8080" && host != "game.example":
						want = http.StatusMisdirectedRequest
					case origin != "" && origin != "http://"+host:
						want = http.StatusForbidden
					case token != "":
						want = http.StatusUnauthorized
					}
					w := q.send(h)
					if w.Code != want {
						t.Errorf("%s %s, token %q, host %q, origin %q: status %d, want %d: %s", c.method, c.path, token, host, origin, w.Code, want, w.Body)
					}
					if want != c.status {
						errorOf(t, w.Body.Bytes())
						if f.total() != before {
							t.Errorf("%s %s with status %d reached the server: %v", c.method, c.path, w.Code, f.calls)
						}
					}
					if w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("X-Content-Type-Options") != "nosniff" || (want == 401) != (w.Header().Get("WWW-Authenticate") != "") {
						t.Errorf("%s %s: the headers are %v", c.method, c.path, w.Header())
					}
					n++
				}
			}
		}
	}
	promise.Kept(t, "T74", "calls", n)
}

// Paths and methods that are not in the table are told so, to those who have the token.
func TestOtherPathsAndMethods(t *testing.T) {
	h := Handler(operated(newFake()))
	for _, path := range []string{"/v1/", "/v1/nosuch", "/v1/rooms/a/b", "/v1/rooms/a/players/1/2", "/v1/server/"} {
		if w := (asked{method: "GET", path: path}).send(h); w.Code != 404 {
			t.Errorf("%s: status %d", path, w.Code)
		} else if !strings.Contains(errorOf(t, w.Body.Bytes()), path) {
			t.Errorf("%s: %s", path, w.Body)
		}
		if w := (asked{method: "GET", path: path, token: "none"}).send(h); w.Code != 401 {
			t.Errorf("%s without a token: status %d", path, w.Code)
		}
	}
	allow := map[string]string{}
	for _, tt := range []struct{ path, allow string }{{"/v1/server", "GET, HEAD"}, {"/v1/rooms", "GET, HEAD, POST"}, {"/v1/bans", "DELETE, GET, HEAD, POST"}, {"/v1/say", "POST"}, {"/v1/log", "GET, HEAD, PUT"}} {
		allow[tt.path] = tt.allow
	}
	for i := range calls {
		c := &calls[i]
		for _, method := range []string{"PATCH", "OPTIONS", "TRACE", "FOO"} {
			q := c.right()
			q.method = method
			w := q.send(h)
			if w.Code != 405 || w.Header().Get("Allow") == "" || allow[c.path] != "" && w.Header().Get("Allow") != allow[c.path] {
				t.Errorf("%s %s: status %d, allow %q", method, c.path, w.Code, w.Header().Get("Allow"))
			}
			errorOf(t, w.Body.Bytes())
		}
		if c.method == "GET" {
			q := c.right()
			q.method = "HEAD"
			if w := q.send(h); w.Code != 200 {
				t.Errorf("HEAD %s: status %d", c.path, w.Code)
			}
		}
	}
}

// Without an operator there is no API.
func TestNoOperatorNoAPI(t *testing.T) {
	if w := (asked{method: "GET", path: "/v1/server"}).send(Handler(example())); w.Code != 404 {
		t.Errorf("status %d", w.Code)
	}
	defer func() {
		if recover() == nil {
			t.Error("an API without a token is served")
		}
	}()
	c := operated(newFake())
	c.Token = ""
	Handler(c)
}

// What is wrong with a body is named, and nothing is done.
func TestWrongBodies(t *testing.T) {
	for _, tt := range []struct{ method, path, body, want string }{
		{"POST", "/v1/rooms", ``, `the body is empty: send a JSON object with "name", "seed"`},
		{"POST", "/v1/rooms", `{"name":"a","colour":"red"}`, `unknown field "colour": the fields are "name"`},
		{"POST", "/v1/rooms", `{"name":7}`, `"name" takes a text, not this number`},
		{"POST", "/v1/rooms", `{"name":"a","max_players":"x"}`, `"max_players" takes a whole number`},
		{"POST", "/v1/rooms", `{"name":"a","max_players":1e99}`, `"max_players" takes a whole number`},
		{"POST", "/v1/rooms", `{"name":"a","max_players":1.5}`, `"max_players" takes a whole number`},
		{"POST", "/v1/rooms", `{"name":"a","open":"yes"}`, `"open" takes true or false`},
		{"POST", "/v1/rooms", `{"name":"a","accounts":"ann"}`, `"accounts" takes a list`},
		{"POST", "/v1/rooms", `{"name":"a","seed":-1}`, `a seed is a whole number`},
		{"POST", "/v1/rooms", `{"name":"a","seed":"x"}`, `a seed is a whole number`},
		{"POST", "/v1/rooms", `{"name":"a","seed":{"a":1}}`, `a seed is a whole number`},
		{"POST", "/v1/rooms", `{"name":"a","idle":-2}`, `"idle" is -2`},
		{"POST", "/v1/rooms", `{"name":"a","idle":9000000000000000000}`, `"idle" is 9000000000000000000`},
		{"POST", "/v1/rooms", `{"mode":"a"}`, `"name" is missing`},
		{"POST", "/v1/rooms", `null`, `"name" is missing`},
		{"POST", "/v1/rooms", `[]`, `the body is no JSON object`},
		{"POST", "/v1/rooms", `"a"`, `the body is no JSON object`},
		{"POST", "/v1/rooms", `{"name":"a"} {}`, `more after the JSON object`},
		{"POST", "/v1/rooms", `{"name":"a"`, `unexpected EOF`},
		{"POST", "/v1/rooms", strings.Repeat("[", 60_000), `the body is`},
		{"POST", "/v1/say", `{}`, `"text" is missing`},
		{"POST", "/v1/tickets", `{"ttl":-1}`, `"ttl" is -1`},
		{"POST", "/v1/bans", `{}`, `give "address" or "account"`},
		{"POST", "/v1/bans", `{"address":"1.2.3.4","account":"ann"}`, `and not both`},
		{"POST", "/v1/bans", `{"address":"1.2.3.400"}`, `"address" is "1.2.3.400"`},
		{"POST", "/v1/bans", `{"address":"game.example"}`, `give an IP address`},
		{"POST", "/v1/bans", `{"account":"a","until":"soon"}`, `the body is not as it should be`},
		{"POST", "/v1/bans", `{"account":"a","reason":"` + strings.Repeat("x", 256) + `"}`, `"reason" has 256 bytes`},
		{"DELETE", "/v1/bans", `{"address":"1.2.3.4","reason":"x"}`, `unknown field "reason"`},
		{"DELETE", "/v1/rooms/main/players/3", `{"reason":"` + strings.Repeat("x", 256) + `"}`, `the limit is 255`},
		{"PUT", "/v1/log", `{"level":"loud"}`, `"level" is "loud": give debug`},
		{"PUT", "/v1/log", `{"level":"info+3"}`, `give debug, info, warn or error`},
	} {
		f := newFake()
		w := asked{method: tt.method, path: tt.path, body: tt.body}.send(Handler(operated(f)))
		if w.Code != 400 || f.total() > 0 {
			t.Errorf("%s %s %.60s: status %d, calls %v", tt.method, tt.path, tt.body, w.Code, f.calls)
		}
		if got := errorOf(t, w.Body.Bytes()); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s %.60s: %q, want %q", tt.method, tt.path, tt.body, got, tt.want)
		}
	}
	for i := range calls {
		q := calls[i].right()
		if q.body == "" {
			continue
		}
		f := newFake()
		q.body = `{"x":"` + strings.Repeat("y", maxBody) + `"}`
		if w := q.send(Handler(operated(f))); w.Code != 413 || f.total() > 0 {
			t.Errorf("%s %s with a long body: status %d, calls %v", q.method, q.path, w.Code, f.calls)
		}
		q.body = strings.Replace(calls[i].right().body, "{", `{"nosuch":1,`, 1)
		if w := q.send(Handler(operated(f))); w.Code != 400 || f.total() > 0 || !strings.Contains(w.Body.String(), `nosuch`) {
			t.Errorf("%s %s with an unknown field: status %d, %s", q.method, q.path, w.Code, w.Body)
		}
	}
}

// What is asked for reaches the server as it was said.
func TestWhatReachesTheServer(t *testing.T) {
	f := newFake()
	h := Handler(operated(f))
	no := false
	for _, tt := range []struct {
		method, path, body string
		want               any
	}{
		{"POST", "/v1/rooms", `{"name":"a","seed":"18446744073709551615","mode":"m","max_players":3,"open":false,"accounts":["ann"],"idle":-1}`, NewRoom{"a", 1<<64 - 1, "m", 3, &no, []string{"ann"}, -1}},
		{"POST", "/v1/rooms", `{"name":"a","seed":7}`, NewRoom{Name: "a", Seed: 7}},
		{"POST", "/v1/rooms", `{"name":"a","seed":null}`, NewRoom{Name: "a"}},
		{"DELETE", "/v1/rooms/a", ``, "a"},
		{"GET", "/v1/rooms/a%2fb", ``, "a/b"},
		{"GET", "/v1/players", ``, ""},
		{"GET", "/v1/rooms/a/players", ``, "a"},
		{"DELETE", "/v1/rooms/a/players/65535", ``, ""},
		{"DELETE", "/v1/rooms/a/players/3", `{"reason":"be kind"}`, "be kind"},
		{"POST", "/v1/bans", `{"address":"2001:db8::/32","reason":"spam","until":"2026-11-17T20:15:00Z"}`, Ban{Banned{Address: "2001:db8::/32"}, "spam", &then}},
		{"DELETE", "/v1/bans", `{"account":"ann"}`, Banned{Account: "ann"}},
		{"POST", "/v1/say", `{"text":"hello"}`, Say{"", "hello"}},
		{"POST", "/v1/tickets", `{"room":"a","name":"ann","ttl":5}`, NewTicket{"a", "ann", 5}},
		{"POST", "/v1/match", `{"name":"ann","mode":"duel","players":2}`, Wish{"ann", "duel", 2}},
	} {
		w := asked{method: tt.method, path: tt.path, body: tt.body}.send(h)
		if w.Code >= 300 || fmt.Sprint(string(mustJSON(f.last))) != string(mustJSON(tt.want)) {
			t.Errorf("%s %s %s: status %d %s, the server got %s", tt.method, tt.path, tt.body, w.Code, w.Body, mustJSON(f.last))
		}
	}
	if w := (asked{method: "PUT", path: "/v1/log", body: `{"level":"WARN"}`}).send(h); w.Code != 200 || f.level != slog.LevelWarn || w.Body.String() != `{"level":"warn"}`+"\n" {
		t.Errorf("status %d %s, level %v", w.Code, w.Body, f.level)
	}
	for _, id := range []string{"65536", "-1", "x", "1e2", "0x1", "99999999999999999999"} {
		if w := (asked{method: "DELETE", path: "/v1/rooms/a/players/" + id}).send(h); w.Code != 404 {
			t.Errorf("player %s: status %d", id, w.Code)
		}
	}
}

// A list without rows is [], and not null.
func TestEmptyLists(t *testing.T) {
	f := newFake()
	f.rooms, f.players, f.lines = nil, nil, nil
	h := Handler(operated(f))
	for path, want := range map[string]string{"/v1/rooms": `{"rooms":[]}`, "/v1/players": `{"players":[]}`, "/v1/log": `{"level":"info","lines":[]}`} {
		if w := (asked{method: "GET", path: path}).send(h); strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

// An error that is no Refusal is told to the log, not to the caller. So is one whose status the table does not have.
func TestFaultsOfTheServer(t *testing.T) {
	for _, err := range []error{errors.New("the password is swordfish"), &Refusal{http.StatusTeapot, errors.New("the password is swordfish")}} {
		var log strings.Builder
		f := newFake()
		f.err = err
		c := operated(f)
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		w := asked{method: "GET", path: "/v1/server"}.send(Handler(c))
		if w.Code != 500 || strings.Contains(w.Body.String(), "swordfish") || !strings.Contains(log.String(), "swordfish") {
			t.Errorf("status %d %s, log %s", w.Code, w.Body, log.String())
		}
	}
}

// Changes are in the log, with who made them. Tokens and bodies are not.
func TestChangesAreLogged(t *testing.T) {
	var log strings.Builder
	c := operated(newFake())
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	h := Handler(c)
	asked{method: "POST", path: "/v1/tickets", body: `{"name":"ann"}`}.send(h)
	asked{method: "GET", path: "/v1/rooms"}.send(h)
	asked{method: "GET", path: "/v1/server", token: "Bearer swordfish"}.send(h)
	got := log.String()
	if strings.Count(got, "\n") != 2 || !strings.Contains(got, "method=POST path=/v1/tickets status=200 peer=192.0.2.1:1234") || !strings.Contains(got, "level=WARN") {
		t.Errorf("the log is %s", got)
	}
	if strings.Contains(got, testToken) || strings.Contains(got, "swordfish") || strings.Contains(got, "5400") || strings.Contains(got, "ann") {
		t.Errorf("the log has a secret: %s", got)
	}
}

// Who finds nobody is told so with 204, and who hangs up waits no longer.
func TestMatchesWait(t *testing.T) {
	f := newFake()
	f.nobody = true
	h := Handler(operated(f))
	q := asked{method: "POST", path: "/v1/match", body: `{"players":2}`}
	if w := q.send(h); w.Code != 204 || w.Body.Len() > 0 {
		t.Errorf("status %d %s", w.Code, w.Body)
	}
	f = newFake()
	f.hold = make(chan struct{})
	a, h := newAPI(withDefaults(operated(f)))
	answers := make(chan int)
	for range maxMatches {
		go func() { answers <- q.send(h).Code }()
	}
	patient.Until(t, "all have their place", func() bool { return len(a.waits) == maxMatches })
	if w := q.send(h); w.Code != 503 {
		t.Errorf("one too many: status %d", w.Code)
	}
	if w := (asked{method: "GET", path: "/v1/server"}).send(h); w.Code != 200 {
		t.Errorf("others meanwhile: status %d", w.Code)
	}
	close(f.hold)
	for range maxMatches {
		if code := patient.Value(answers); code != 200 {
			t.Errorf("status %d", code)
		}
	}
}

// A match that waits ends with the server.
func TestMatchesEndWithTheServer(t *testing.T) {
	f := newFake()
	f.hold = make(chan struct{})
	p, err := Listen("127.0.0.1:0", operated(f))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		r, _ := http.NewRequest("POST", "http://"+p.Addr().String()+"/v1/match", strings.NewReader(`{"players":2}`))
		r.Header.Set("Authorization", "Bearer "+testToken)
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(r)
		if err == nil {
			err = fmt.Errorf("status %d", res.StatusCode)
			res.Body.Close()
		}
		done <- err
	}()
	patient.Until(t, "it waits", func() bool { return f.total() > 0 })
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := patient.Value(done); err == nil || err.Error() != "status 503" {
		t.Error(err)
	}
}
