package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
)

// T74: a stream begins only with the right token, by the right name.
func TestEventsAreGuarded(t *testing.T) {
	f := newFake()
	h := Handler(operated(f))
	for _, path := range []string{"/v1/events", "/v1/live"} {
		for _, q := range []asked{{token: "none"}, {token: "Bearer x"}, {host: "evil.example"}, {origin: "http://evil.example"}} {
			q.method, q.path = "GET", path
			if w := q.send(h); w.Code < 400 || f.total() > 0 {
				t.Errorf("%+v: status %d", q, w.Code)
			}
		}
	}
}

// reading is a client of /v1/events in memory.
type reading struct {
	header http.Header
	text   *io.PipeWriter
	lines  *bufio.Reader
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *reading) Header() http.Header         { return r.header }
func (r *reading) WriteHeader(int)             {}
func (r *reading) Write(b []byte) (int, error) { return r.text.Write(b) }
func (r *reading) Flush()                      {}

func read(h http.Handler) *reading {
	ctx, cancel := context.WithCancel(context.Background())
	q := httptest.NewRequest("GET", "/v1/events", nil).WithContext(ctx)
	q.Host = "127.0.0.1"
	q.Header.Set("Authorization", "Bearer "+testToken)
	in, out := io.Pipe()
	r := &reading{http.Header{}, out, bufio.NewReader(in), cancel, make(chan struct{})}
	go func() {
		defer close(r.done)
		h.ServeHTTP(r, q)
		out.Close()
	}()
	return r
}

// event reads the next event.
func (r *reading) event(t *testing.T, data any) (name string) {
	t.Helper()
	for _, part := range []string{"event: ", "data: ", ""} {
		line, err := r.lines.ReadString('\n')
		text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), part)
		if err != nil || !ok {
			t.Fatalf("%q, %v: want %q", line, err, part)
		}
		switch part {
		case "event: ":
			name = text
		case "data: ":
			if err := json.Unmarshal([]byte(text), data); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	return name
}

func (r *reading) close() {
	r.cancel()
	r.text.CloseWithError(io.ErrClosedPipe)
	patient.Value(r.done)
}

// A client is told of the server at once and each second, of lines of the log and of rooms that end.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.endings = []Ending{{Room: "duel-7", Ended: then.Add(-1)}}
		c := operated(f)
		started := time.Now()
		c.Ready = func() error { return errors.New("a room was given up") }
		c.Stats = func() any {
			d := &dialectStats{}
			s := stats{Replica: d}
			s.World.Ticks = uint64(20 * time.Since(started).Seconds())
			return s
		}
		r := read(Handler(c))
		var first, second State
		if name := r.event(t, &first); name != "state" || first.Players != 1 || first.Rooms != 2 || first.Trouble != "a room was given up" || len(first.RoomList) != 2 || first.RoomList[0].Name != "duel-7" || len(first.PlayerList) != 1 {
			t.Errorf("%s %+v", name, first)
		}
		f.mu.Lock()
		f.lines = append(f.lines, LogLine{then, "warn", "it rains"})
		f.endings = append(f.endings, Ending{"duel-7", "ada wins", 900, then})
		f.mu.Unlock()
		var line LogLine
		if name := r.event(t, &line); name != "log" || line.Text != "it rains" || time.Since(started) > 300*time.Millisecond {
			t.Errorf("%s %+v after %v", name, line, time.Since(started))
		}
		var end Ending
		if name := r.event(t, &end); name != "ended" || end.Result != "ada wins" || end.Room != "duel-7" {
			t.Errorf("%s %+v", name, end)
		}
		if name := r.event(t, &second); name != "state" || second.Time.Sub(first.Time) != time.Second || second.Rates.Ticks != 20 {
			t.Errorf("%s %+v", name, second)
		}
		if got := r.header.Get("Content-Type"); got != "text/event-stream" {
			t.Error(got)
		}
		r.close()
		synctest.Wait() // and the feed's goroutine is gone, or the bubble would not end
	})
}

// One look at the server is made for all clients, those that do not read included: they lose events, and are told so.
func TestSlowClientsOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h := Handler(operated(f))
		var slow []*reading
		for range maxListeners - 1 {
			slow = append(slow, read(h)) // and nobody reads
		}
		quick := read(h)
		for range 60 {
			var s State
			if name := quick.event(t, &s); name != "state" || s.Rooms != 2 {
				t.Fatalf("%s %+v", name, s)
			}
		}
		f.mu.Lock()
		looks := f.calls["rooms"]
		f.mu.Unlock()
		if looks > 61 {
			t.Errorf("the server was looked at %d times in a minute", looks)
		}
		if w := (asked{method: "GET", path: "/v1/events"}).send(h); w.Code != 503 {
			t.Errorf("one too many: status %d", w.Code)
		}
		states := 0
		for {
			var data map[string]any
			if name := slow[0].event(t, &data); name == "lost" {
				if n := data["events"].(float64); n < 40 {
					t.Errorf("%v events are lost", n)
				}
				break
			}
			if states++; states > maxUnread+2 {
				t.Fatal("nothing is lost")
			}
		}
		for _, r := range append(slow, quick) {
			r.close()
		}
		again := read(h) // there is place again
		var s State
		if name := again.event(t, &s); name != "state" {
			t.Error(name)
		}
		again.close()
	})
}

// An event is short, however many players and rooms there are and however they are called.
func TestEventsAreBounded(t *testing.T) {
	f := newFake()
	f.rooms, f.players = nil, nil
	for i := range 4096 {
		f.players = append(f.players, Player{ID: uint16(i), Name: strings.Repeat("\u2028", 20), Room: strings.Repeat("r", 32), Address: "[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:65535", Since: then})
		f.rooms = append(f.rooms, Room{Name: fmt.Sprintf("room-%d", i), Mode: strings.Repeat("\x01", 255)})
	}
	feed := newFeed(f, func() any { return struct{}{} }, func() error { return nil })
	s := feed.state(then, Rates{})
	if s.Players != 4096 || s.Rooms != 4096 || len(s.PlayerList) < 100 || len(s.RoomList) < 20 {
		t.Errorf("%d of %d players, %d of %d rooms", len(s.PlayerList), s.Players, len(s.RoomList), s.Rooms)
	}
	if n := len(frame("state", s)); n > maxEvent+1024 {
		t.Errorf("the event has %d bytes", n)
	}
}

// T74: ten thousand clients of events, all with the token, get maxListeners places. Others are answered meanwhile, and the server is
// looked at once a second. 1,000 without PARLEY_PR.
func TestManyClientsOfEvents(t *testing.T) {
	n := 1000
	if promise.Full() {
		n = 10_000
	}
	f := newFake()
	p, err := Listen("127.0.0.1:0", operated(f))
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	var open []net.Conn
	served, refused := 0, 0
	for range n {
		c, err := net.Dial("tcp", p.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(c, "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", testToken)
		status, err := bufio.NewReader(c).ReadString('\n')
		switch {
		case err != nil:
			t.Fatal(err)
		case strings.Contains(status, " 200 "):
			served++
		case strings.Contains(status, " 503 "):
			refused++
		default:
			t.Fatal(status)
		}
		if open = append(open, c); len(open) > 2*maxConns+maxListeners { // the first are those that are served
			open[maxListeners].Close()
			open = append(open[:maxListeners], open[maxListeners+1:]...)
		}
	}
	honest(t, p.Addr().String())
	p.guard.mu.Lock()
	held, trusted := len(p.guard.conns), 0
	for _, c := range p.guard.conns {
		if c.trusted {
			trusted++
		}
	}
	p.guard.mu.Unlock()
	if served != maxListeners || refused != n-maxListeners || trusted != maxListeners || held > maxConns+maxListeners {
		t.Errorf("of %d clients %d are served and %d refused; %d connections are held, %d trusted", n, served, refused, held, trusted)
	}
	f.mu.Lock()
	looks := f.calls["rooms"]
	f.mu.Unlock()
	if most := int(time.Since(started)/time.Second) + 2; looks > most {
		t.Errorf("the server was looked at %d times", looks)
	}
	if err := p.Close(t.Context()); err != nil { // it does not wait for them
		t.Error(err)
	}
	for _, c := range open {
		c.Close()
	}
	promise.Kept(t, "T74", "clients of events", n)
}
