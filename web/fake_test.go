package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

const testToken = "5f0e1d2c3b4a59687786958493a2b1c0d0e0f00112233445566778899aabbccd"

// then is a time of the examples.
var then = time.Date(2026, 11, 17, 20, 15, 0, 0, time.UTC)

// fakeOperator is a server with two rooms and two players. It counts its calls, and each fails with err if that is set.
type fakeOperator struct {
	mu      sync.Mutex
	err     error
	calls   map[string]int
	last    any // the body of the last call
	nobody  bool
	hold    chan struct{} // if set, Match waits for it or for its context
	level   slog.Level
	lines   []LogLine
	endings []Ending
	rooms   []Room
	players []Player
}

func newFake() *fakeOperator {
	return &fakeOperator{
		calls: map[string]int{},
		lines: []LogLine{{then, "info", "entered player=3 name=ada room=main proto=relay peer=198.51.100.7:5000 conn=17"}},
		rooms: []Room{
			{Name: "duel-7", State: Awake, Mode: "duel", Seed: 1 << 60, MaxPlayers: 2, Accounts: []string{}, Idle: 300, Players: 1, Tick: 812, TickP99: 0.25, LatelyP50: 0.125, LatelyP99: 0.25, Late: 2, Kept: true, Node: "fra-1"},
			{Name: "main", State: Asleep, Seed: 7, Open: true, MaxPlayers: 1000, Accounts: []string{}, Idle: -1, Tick: 99, TickP99: 0.5, Kept: true, Node: "fra-1"},
		},
		players: []Player{{ID: 3, Name: "ada", Dialect: "relay", Carrier: "udp", Room: "main", Address: "198.51.100.7:5000", Since: then, RTT: 31.5, Conn: 17, BytesIn: 5120, BytesOut: 81920, BytesArrived: 80000, BytesLost: 800}},
	}
}

func (f *fakeOperator) note(name string, body any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[name]++
	f.last = body
	return f.err
}

// count returns how often a call was made.
func (f *fakeOperator) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[name]
}

func (f *fakeOperator) total() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.calls {
		n += k
	}
	return n
}

var fakeAddresses = []Address{{"replica", "udp", "203.0.113.9:7000"}, {"realm", "tls", "203.0.113.9:9999"}}

func (f *fakeOperator) Server() (Server, error) {
	return Server{"arena", "v0.9.0", "fra-1", "arena", 20, 1, 2, fakeAddresses}, f.note("server", nil)
}
func (f *fakeOperator) Cluster(context.Context) (Cluster, error) {
	node := func(id, name string, players int, cpu float64) ClusterNode {
		return ClusterNode{Node: id, Name: name, Here: name == "fra-1", Version: "v0.9.0", Fingerprint: "3b5d8a0f6c2e4917", Addresses: map[string]string{"replica": name + ".example:7000", "ws": name + ".example:8000"}, Players: players, Rooms: 1, CPU: cpu}
	}
	nodes := []ClusterNode{node("5c63999064dd3175", "fra-1", 1, 0.125), node("7e1bac25c249231d", "fra-2", 0, 0.0625)}
	stages := []ClusterStage{{Node: nodes[0].Node, Tick: 812, Hash: "a6f7c01b22e3d984", Elections: 1}, {Node: nodes[1].Node, Tick: 811, Lag: 1, LagMS: 50, Hash: "0d13b7e2f5a64c98"}}
	return Cluster{"arena", nodes, []ClusterRoom{{Room: "duel-7", Sequencer: nodes[0].Node, Epoch: 1, Tick: 812, Awake: true, Stages: stages}}}, f.note("cluster", nil)
}
func (f *fakeOperator) Drain(_ context.Context, node string) error { return f.note("drain", node) }
func (f *fakeOperator) Move(_ context.Context, m MoveRoom) error   { return f.note("move", m) }
func (f *fakeOperator) Rooms() ([]Room, error)                     { return f.rooms, f.note("rooms", nil) }
func (f *fakeOperator) Room(name string) (Room, error) {
	if name == "gone" {
		return Room{Name: name, State: Over, Accounts: []string{}, Tick: 900, Ended: &then, Result: "ada wins"}, f.note("room", name)
	}
	r := f.rooms[0]
	r.Name = name
	return r, f.note("room", name)
}
func (f *fakeOperator) Open(n NewRoom) (Room, error) {
	return Room{Name: n.Name, State: Asleep, Mode: n.Mode, Seed: n.Seed, Open: n.Open == nil || *n.Open, MaxPlayers: n.MaxPlayers, Accounts: some(n.Accounts), Idle: n.Idle, Kept: true, Node: "fra-1"}, f.note("open", n)
}
func (f *fakeOperator) CloseRoom(name string) error { return f.note("close", name) }
func (f *fakeOperator) Players(room string) ([]Player, error) {
	return f.players, f.note("players", room)
}
func (f *fakeOperator) Kick(room string, id uint16, reason string) error {
	return f.note("kick", reason)
}
func (f *fakeOperator) Bans() ([]Ban, error) {
	return []Ban{{Banned{Address: "203.0.113.0/24"}, "spam", nil}}, f.note("bans", nil)
}
func (f *fakeOperator) Ban(b Ban) (Ban, error) { return b, f.note("ban", b) }
func (f *fakeOperator) Unban(b Banned) error   { return f.note("unban", b) }
func (f *fakeOperator) Say(s Say) error        { return f.note("say", s) }
func (f *fakeOperator) Ticket(n NewTicket) (Ticket, error) {
	return Ticket{"54000000006f1c", n.Room, then}, f.note("ticket", n)
}
func (f *fakeOperator) Match(ctx context.Context, w Wish) (Match, bool, error) {
	if err := f.note("match", w); err != nil {
		return Match{}, false, err
	}
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
			return Match{}, false, nil
		}
	}
	return Match{"match-4f1c", "54000000006f1c", fakeAddresses}, !f.nobody, nil
}
func (f *fakeOperator) Map(room string) (Map, error) {
	return Map{Tick: 812, X: -32, Y: -32, Width: 64, Height: 64, Columns: 4, Rows: 2, Walls: "8Q==", Kinds: []string{"player"}, Bodies: []MapBody{{X: 1.5, Y: -2, Player: 3}}, Total: 1}, f.note("map", room)
}
func (f *fakeOperator) Pulse() Pulse { return Pulse{Players: len(f.players), Times: fakeTimes{}} }

type fakeTimes struct{}

func (fakeTimes) Since(TickTimes) (p50, p99 float64) { return 0.2, 0.25 }

func (f *fakeOperator) LogLevel() slog.Level { f.note("level", nil); return f.level }
func (f *fakeOperator) SetLogLevel(l slog.Level) {
	f.note("set level", l)
	f.level = l
}
func (f *fakeOperator) LogLines() []LogLine {
	f.note("lines", nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lines)
}
func (f *fakeOperator) Ended() []Ending {
	f.note("ended", nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.endings)
}

// operated is the pages with an API.
func operated(f *fakeOperator) Config {
	c := example()
	c.Title, c.Operator, c.Token = "arena", f, testToken
	return c
}

// asked is a request to the API. Its zero value is one with the right token by the right name.
type asked struct {
	method, path, body  string
	token, host, origin string
}

func (q asked) send(h http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	if r.Host = q.host; r.Host == "" {
		r.Host = "127.0.0.1:8080"
	}
	switch q.token {
	case "none":
	case "":
		r.Header.Set("Authorization", "Bearer "+testToken)
	default:
		r.Header.Set("Authorization", q.token)
	}
	if q.origin != "" {
		r.Header.Set("Origin", q.origin)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// right is the request of a call's example.
func (c *call) right() asked {
	q := asked{method: c.method, path: c.path}
	if c.at != "" {
		q.path = c.at
	}
	if c.example != nil {
		q.body = string(mustJSON(c.example))
	}
	return q
}
