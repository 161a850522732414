package gateway

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/promise"
	"parley/play/message"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
)

// passDialects are the dialects whose players show passes.
var passDialects = []struct {
	name string
	open func(h *Hub) listener
	huge int // the largest pass that fits
}{
	{"replica", func(h *Hub) listener { return must(NewReplica(h, ReplicaConfig{Addr: loopback})) }, 1024},
	{"relay", func(h *Hub) listener { return must(NewRelay(h, RelayConfig{Addr: loopback})) }, relay.MaxPayload},
	{"duplex", func(h *Hub) listener { return must(NewDuplex(h, DuplexConfig{Addr: loopback})) }, 1000},
}

// passRow is a pass and its answer: the text over replica and relay, the status over duplex. "" is in.
type passRow struct {
	name   string
	pass   []byte
	text   Refusal
	status string
	room   string // where it is then
	called string // and how, if its pass says so
}

// show has somebody come with a pass, and compares what it is told. Each comes a minute after the one before: no address has shown too
// many bad passes.
func (x *passHall) show(t *testing.T, tt passRow) *guest {
	t.Helper()
	x.h.gate.mu.Lock()
	x.clock = x.clock.Add(time.Minute)
	x.h.gate.mu.Unlock()
	players := x.h.players
	g := join(t, x.h, x.d, tt.pass)
	got, want := g.told(), string(tt.text)
	if want != "" && x.d.Name() == "duplex" {
		want = "status " + tt.status
	}
	switch {
	case (got == "") != (want == ""), !strings.HasSuffix(got, want):
		t.Errorf("%s, %s: it is told %q, want %q", x.d.Name(), tt.name, got, want)
	case want == "":
		r := x.h.rooms[tt.room]
		if len(r.players) == 0 {
			t.Fatalf("%s, %s: nobody is in %s", x.d.Name(), tt.name, tt.room)
		}
		if p := r.Players()[len(r.players)-1]; tt.called != "" && p.Name != tt.called {
			t.Errorf("%s, %s: it is called %q, want %q", x.d.Name(), tt.name, p.Name, tt.called)
		}
	case x.h.players != players:
		t.Errorf("%s, %s: %d players, and %d before", x.d.Name(), tt.name, x.h.players, players)
	}
	return g
}

// out has all be kicked, of whom a guest is the only one. That is sooner than a goodbye of its own, which replica believes
// after a second.
func (x *passHall) out(t *testing.T, g *guest) {
	t.Helper()
	if g.Player == nil {
		return
	}
	for _, r := range x.h.rooms {
		for _, p := range r.Players() {
			r.Kick(p.ID, "next")
		}
	}
	until(t, x.h, "it is kicked", func() bool { return x.h.players == 0 && g.told() != "" })
	g.Close(t.Context())
}

// leaves has a guest go for good.
func (x *passHall) leaves(t *testing.T, g *guest) {
	t.Helper()
	n := x.h.players
	done := make(chan struct{})
	go func() { g.Close(context.Background()); close(done) }()
	until(t, x.h, "it is gone", func() bool {
		select {
		case <-done:
			return x.h.players < n
		default:
			return false
		}
	})
}

// passHall is a hub with rooms of all kinds, over one dialect.
type passHall struct {
	h     *Hub
	d     listener
	clock time.Time
}

func newPassHall(t *testing.T, open func(h *Hub) listener, c Config) *passHall {
	t.Helper()
	x := &passHall{h: newArena(t, c), clock: time.Now()}
	must(x.h.Open(Settings{Name: "open"}))
	must(x.h.Open(Settings{Name: "shut", Closed: true}))
	must(x.h.Open(Settings{Name: "full", MaxPlayers: 1}))
	x.h.gate.clock = func() time.Time { return x.clock }
	x.h.gate.spent.clock = func() time.Time { x.h.gate.mu.Lock(); defer x.h.gate.mu.Unlock(); return x.clock }
	x.d = open(x.h)
	return x
}

// T68: the pass table, over the real gateways on loopback.
func TestThePassTable(t *testing.T) {
	room := func(name, wants string) []byte { return message.AppendRoomPass(nil, name, wants) }
	ticket := func(room, name string, valid time.Duration) []byte {
		return must(testKey.Issue(relaycore.Ticket{Serial: [16]byte{byte(len(room)), byte(len(name)), byte(valid >> 40)}, Room: room, Name: name, Expires: time.Now().Add(valid)}))
	}
	forged := ticket("", "eve", 9*time.Hour)
	forged[len(forged)-1] ^= 1
	for _, d := range passDialects {
		huge := bytes.Repeat([]byte("R"), d.huge)
		bad := []passRow{
			{name: "a forged ticket", pass: forged, text: RefusedTicket, status: "3"},
			{name: "a part of a ticket", pass: forged[:40], text: RefusedTicket, status: "14"},
			{name: "T alone", pass: []byte("T"), text: RefusedTicket, status: "14"},
			{name: "R alone", pass: []byte("R"), text: RefusedTicket, status: "14"},
			{name: "a room without a name", pass: []byte("R\x00\x00"), text: RefusedTicket, status: "14"},
			{name: "a room's name that no room has", pass: []byte("R\x04MAIN\x00"), text: RefusedTicket, status: "14"},
			{name: "a room's name of 33 bytes", pass: room(strings.Repeat("a", 33), ""), text: RefusedTicket, status: "14"},
			{name: "more behind a room", pass: append(room("main", ""), 0), text: RefusedTicket, status: "14"},
			{name: "half a token", pass: []byte("S12345678"), text: RefusedTicket, status: "14"},
			{name: "a token and a byte", pass: []byte("S0123456789abcdefg"), text: RefusedTicket, status: "14"},
			{name: "random bytes", pass: []byte{0xf3, 0x17, 0x99, 0x01, 0x42}, text: RefusedTicket, status: "14"},
			{name: "a huge pass", pass: huge, text: RefusedTicket, status: "14"},
			{name: "no such session", pass: []byte("S0123456789abcdef"), text: RefusedSession, status: "8"},
			{name: "no such room", pass: room("none", "ann"), text: RefusedRoom, status: "8"},
			{name: "a closed room", pass: room("shut", "ann"), text: RefusedGuest, status: "3"},
		}
		t.Run(d.name+" without a key", func(t *testing.T) {
			t.Parallel() // it waits most of the time
			x := newPassHall(t, d.open, Config{})
			list := append(bad, []passRow{
				{name: "none", room: "main"},
				{name: "main", pass: room("main", ""), room: "main"},
				{name: "main by a name", pass: room("main", "zoe"), room: "main", called: "zoe"},
				{name: "another room by a name", pass: room("open", "zoe"), room: "open", called: "zoe"},
				{name: "another room by the server's name", pass: room("open", "Server"), room: "open", called: "guest-2"},
				{name: "a ticket where there is no key", pass: ticket("", "ann", 9*time.Hour), text: RefusedTicket, status: "3"},
			}...)
			promise.Keeps(t, "T68", d.name, len(list)+1)
			for _, tt := range list {
				x.out(t, x.show(t, tt))
			}
			first := x.show(t, passRow{name: "the first of a room", pass: room("full", ""), room: "full"})
			x.show(t, passRow{name: "a full room", pass: room("full", ""), text: RefusedFull, status: "6"})
			x.leaves(t, first)
		})
		t.Run(d.name+" with a key", func(t *testing.T) {
			t.Parallel() // it waits most of the time
			x := newPassHall(t, d.open, Config{TicketKey: testKey})
			list := append(bad, []passRow{
				{name: "none", text: RefusedGuest, status: "3"},
				{name: "a wish for main", pass: room("main", ""), text: RefusedGuest, status: "3"},
				{name: "an expired ticket", pass: ticket("", "old", -time.Second), text: RefusedTicket, status: "3"},
				{name: "a ticket for no room", pass: ticket("none", "ann", 9*time.Hour), text: RefusedRoom, status: "8"},
				{name: "a ticket without a room", pass: ticket("", "ann", 9*time.Hour), room: "main", called: "ann"},
				{name: "the same again", pass: ticket("", "ann", 9*time.Hour), text: RefusedUsed, status: "3"},
				{name: "a ticket for a closed room", pass: ticket("shut", "bea", 9*time.Hour), room: "shut", called: "bea"},
				{name: "the same again", pass: ticket("shut", "bea", 9*time.Hour), text: RefusedUsed, status: "3"},
			}...)
			promise.Keeps(t, "T68", d.name, len(list)+1)
			for _, tt := range list {
				x.out(t, x.show(t, tt))
			}
			first := x.show(t, passRow{name: "the first of a room", pass: ticket("full", "c", 9*time.Hour), room: "full"})
			x.show(t, passRow{name: "a full room", pass: ticket("full", "dd", 9*time.Hour), text: RefusedFull, status: "6"})
			x.leaves(t, first)
			// It was not spent: "each ticket lets one player in".
			x.out(t, x.show(t, passRow{name: "the same when there is room", pass: ticket("full", "dd", 9*time.Hour), room: "full", called: "dd"}))
		})
	}
}

// T68: account@room over realm.
func TestAccountsAndRooms(t *testing.T) {
	h := newArena(t, Config{})
	must(h.Open(Settings{Name: "open"}))
	must(h.Open(Settings{Name: "anns", Closed: true, Accounts: []string{"Ann"}}))
	must(h.Open(Settings{Name: "bobs", Closed: true, Accounts: []string{"bob"}}))
	service := account.New(new(storetest.Memory), account.Config{})
	defer service.Close()
	d := plainRealm(h, NewAccounts(service))
	until := live(t, h)
	first := playRealm(t, h, d, "ann")
	if code, err := first.Register(t.Context(), "ann", "correct horse"); err != nil || code != realm.RegisterOK {
		t.Fatalf("registering: %v, %v", code, err)
	}
	first.Close(t.Context())
	list := []struct {
		name, login, password string
		want                  core.LoginCode
		room                  string
	}{
		{"no room", "ann", "correct horse", realm.LoginOK, "main"},
		{"main", "ann@main", "correct horse", realm.LoginOK, "main"},
		{"an open room", "ann@open", "correct horse", realm.LoginOK, "open"},
		{"a closed room that lists it", "ann@anns", "correct horse", realm.LoginOK, "anns"},
		{"a closed room that lists another", "ann@bobs", "correct horse", core.LoginUnknownPseudo, ""},
		{"no such room", "ann@none", "correct horse", core.LoginUnknownPseudo, ""},
		{"a wrong password for an open room", "ann@open", "wrong horse", core.LoginWrongPassword, ""},
		{"a wrong password for a room that is not there", "ann@none", "wrong horse", core.LoginWrongPassword, ""},
		{"no such account", "eve@open", "correct horse", core.LoginUnknownPseudo, ""},
	}
	promise.Keeps(t, "T68", "realm", len(list))
	for _, tt := range list {
		p := playRealm(t, h, d, "ann")
		if code := p.login(t, tt.login, tt.password); code != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, code, tt.want)
		}
		in := ""
		if err := h.Do(func() {
			for _, r := range h.Rooms() {
				if len(r.players) > 0 {
					in += r.Name()
				}
			}
		}); err != nil || in != tt.room {
			t.Errorf("%s: it is in %q, want %q; %v", tt.name, in, tt.room, err)
		}
		p.Close(t.Context())
		until(tt.name+": it is gone", func() bool { return h.Stats().Players == 0 })
	}
}
