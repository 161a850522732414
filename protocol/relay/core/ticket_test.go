package core

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
)

var testKey = TicketKey("a key of 32 bytes, not a secret!")

func issue(t testing.TB, k TicketKey, tk Ticket) []byte {
	t.Helper()
	b, err := k.Issue(tk)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func serialOf(n byte) (s [16]byte) {
	s[0] = n
	return s
}

func TestTicketsSayWhatTheyWereIssuedWith(t *testing.T) {
	want := Ticket{Room: "arena", Name: "Ada ♞", Expires: start.Add(time.Minute), Serial: serialOf(7)}
	b := issue(t, testKey, want)
	got, err := testKey.Check(start, "arena", b)
	if err != nil || got.Room != want.Room || got.Name != want.Name || !got.Expires.Equal(want.Expires) || got.Serial != want.Serial {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	long := strings.Repeat("x", MaxTicketText)
	if b := issue(t, testKey, Ticket{Room: long, Name: long, Expires: want.Expires}); len(b) > MaxPayload {
		t.Errorf("the longest ticket has %d bytes", len(b))
	}
	for _, tt := range []struct {
		name string
		key  TicketKey
		t    Ticket
	}{
		{"a short key", testKey[:15], want},
		{"a long room", testKey, Ticket{Room: long + "x", Expires: want.Expires}},
		{"a long name", testKey, Ticket{Name: long + "x", Expires: want.Expires}},
		{"no time", testKey, Ticket{}},
	} {
		if b, err := tt.key.Issue(tt.t); err == nil {
			t.Errorf("%s: issued as %x", tt.name, b)
		}
	}
}

// A ticket with any bit changed, cut short, longer, or of another key is none; and no strict
// prefix of one is.
func TestForgedTickets(t *testing.T) {
	good := issue(t, testKey, Ticket{Room: "arena", Name: "ada", Expires: start.Add(time.Minute)})
	check := func(b []byte) error {
		_, err := testKey.Check(start, "arena", b)
		return err
	}
	for bit := range 8 * len(good) {
		b := bytes.Clone(good)
		b[bit/8] ^= 1 << (bit % 8)
		if err := check(b); err != ErrTicketForged && err != ErrTicketForm {
			t.Fatalf("bit %d changed: %v", bit, err)
		}
	}
	for n := range good {
		if check(good[:n]) != ErrTicketForm {
			t.Fatalf("the first %d bytes: %v", n, check(good[:n]))
		}
	}
	if err := check(append(bytes.Clone(good), 0)); err != ErrTicketForm {
		t.Errorf("a byte more: %v", err)
	}
	other := TicketKey(strings.Repeat("k", 32))
	if err := check(issue(t, other, Ticket{Room: "arena", Expires: start.Add(time.Minute)})); err != ErrTicketForged {
		t.Errorf("of another key: %v", err)
	}
	if _, err := TicketKey("short").Check(start, "arena", good); err != ErrTicketForged {
		t.Errorf("with a short key: %v", err)
	}
	r := kit.Rand(t)
	for range kit.Rounds(100_000, 1_000_000) { // T33 for tickets: random ones of the right shape
		b := bytes.Clone(good)
		for i := len(b) - 32; i < len(b); i++ {
			b[i] = byte(r.Uint32())
		}
		if check(b) == nil {
			t.Fatalf("forged: %x", b)
		}
	}
}

// A ticket that is forged, expired, for another room or used twice is refused: nothing is
// confirmed or relayed, to its sender or from it. Who has not answered its challenge is challenged, whatever it
// shows; who has is told why.
func TestRefusedTickets(t *testing.T) {
	lobby := NewOpenLobby(OpenConfig{Key: testKey, Room: "arena"})
	h := newHall(t, Config{Lobby: lobby})
	a := addr(1)
	ticket := func(room string, serial byte, valid time.Duration) []byte {
		return issue(t, testKey, Ticket{Room: room, Name: "ada", Expires: h.now.Add(valid), Serial: serialOf(serial)})
	}
	good := ticket("arena", 1, time.Hour)
	h.prove(a, string(good))
	h.wantTold("203.0.0.1 joined")
	h.wait(30 * time.Millisecond)
	h.wantSent(a, "confirm [0]") // the answer let nobody in by itself, and comes again
	if p := h.mux.First().Peer(a); p.Name != "ada" {
		t.Errorf("the name is %q", p.Name)
	}
	late := ticket("arena", 2, 2*time.Second)
	h.wait(2 * time.Second)
	h.in(a, confirmOf(0))
	h.took(a)
	forged := bytes.Clone(ticket("arena", 3, time.Hour))
	forged[30]++
	to := 2
	for _, tt := range []struct {
		name  string
		first []byte
		why   string
	}{
		{"forged", pack(Unordered, true, 0, string(forged)), "ticket is not valid"},
		{"expired", pack(Unordered, true, 0, string(late)), "ticket is not valid"},
		{"for another room", pack(SemiOrdered, true, 0, string(ticket("cellar", 4, time.Hour))), "ticket is not valid"},
		{"used twice", pack(Unreliable, true, 0, string(good)), "ticket was used"},
		{"to the others", pack(Unordered, false, 0, string(ticket("arena", 5, time.Hour))), ""},
		{"none, but a package", pack(Unordered, true, 0, "hello"), "room needs a ticket"},
		{"none, but an empty package", pack(Unordered, true, 0, ""), "room needs a ticket"},
		{"none, but a package to the others", pack(Unreliable, false, 0, "hello"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, unproven := addr(to), addr(1000+to)
			to++
			h.in(unproven, tt.first)
			h.wantSent(unproven, `unordered server 0 challenge`)
			h.in(x, pack(Unordered, true, 1, h.ask(x, "")))
			h.wantSent(x)
			h.in(x, tt.first)
			if tt.why == "" {
				h.wantSent(x)
			} else {
				h.wantSent(x, fmt.Sprintf("unordered server 1 %q", "\x05"+tt.why), `unreliable server 0 ""`)
			}
			for i := range uint32(20) {
				h.in(x, pack(Mode(i%3), false, 1+i, "spam"))
				h.in(a, pack(Mode(i%3), false, uint32(to)*100+i, "for members only"))
			}
			h.wait(time.Second)
			h.wantSent(x)
			for _, s := range h.took(a) {
				if strings.Contains(s, "spam") {
					t.Errorf("the member was sent %s", s)
				}
			}
			for _, ev := range h.told() {
				t.Errorf("the game was told %s", ev)
			}
			if h.mux.Len() != 1 {
				t.Errorf("%d are in", h.mux.Len())
			}
		})
	}
	want := OpenStats{Proven: 9, Tickets: 1, Forged: 1, Expired: 1, OtherRoom: 1, Used: 1}
	got := lobby.Stats()
	got.None, got.Challenged = 0, 0 // all the rest
	if got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

// The ticket itself is nobody's business, also if it comes again and in a mode that does not
// filter that; the answer to the challenge is not the game's either.
func TestTheGameDoesNotSeeTickets(t *testing.T) {
	h := newHall(t, Config{Lobby: NewOpenLobby(OpenConfig{Key: testKey, Unproven: true})})
	b := issue(t, testKey, Ticket{Name: "ada", Expires: start.Add(time.Hour)})
	for range 3 {
		h.in(addr(1), pack(Unreliable, true, 0, string(b)))
	}
	h.in(addr(1), pack(Unreliable, true, 1, "hello"))
	h.wantTold("203.0.0.1 joined", `203.0.0.1 unreliable "hello"`)
}

// Used tickets are remembered until they expire, in bounded memory: when that is full, no ticket is
// taken, as it could be used twice.
func TestUsedTicketsAreRememberedAndBounded(t *testing.T) {
	var u usedTickets
	r := kit.Rand(t)
	tk := func(i int, valid time.Duration) *Ticket {
		x := &Ticket{Expires: start.Add(valid)}
		copy(x.Serial[:], number(i))
		return x
	}
	lives := make([]time.Duration, maxUsedTickets)
	for i := range maxUsedTickets {
		lives[i] = time.Duration(1+r.IntN(1000)) * time.Second
		x := tk(i, lives[i])
		if err := u.check(start, x); err != nil {
			t.Fatalf("ticket %d: %v", i, err)
		}
		u.add(x)
	}
	if err := u.check(start, tk(maxUsedTickets, time.Hour)); err != errTicketsFull {
		t.Errorf("one too many: %v", err)
	}
	for at := time.Duration(0); at < 1000*time.Second; at += 97 * time.Second {
		now := start.Add(at)
		for range 50 {
			i := r.IntN(maxUsedTickets)
			if err := u.check(now, tk(i, lives[i])); (err == ErrTicketUsed) != (lives[i] > at) {
				t.Fatalf("after %v, a ticket of %v: %v", at, lives[i], err)
			}
		}
	}
	if u.check(start.Add(1001*time.Second), tk(0, time.Hour)); len(u.serials)+len(u.expiry) != 0 {
		t.Errorf("%d and %d are remembered for ever", len(u.serials), len(u.expiry))
	}
}

// OpenConfig.Admit has the last word, and a ticket that it turns down is not used up.
func TestAdmitHasTheLastWord(t *testing.T) {
	var asked []string
	wanted := false
	lobby := NewOpenLobby(OpenConfig{Key: testKey, Unproven: true, Admit: func(_ netip.AddrPort, name string) bool {
		asked = append(asked, name)
		return wanted
	}})
	h := newHall(t, Config{Lobby: lobby})
	b := pack(Unordered, true, 0, string(issue(t, testKey, Ticket{Name: "ada", Expires: start.Add(time.Hour)})))
	h.in(addr(1), b)
	wanted = true
	h.in(addr(1), b)
	if h.mux.Len() != 1 || len(asked) != 2 || asked[0] != "ada" || lobby.Stats().Unwanted != 1 {
		t.Errorf("%d are in, asked %q, stats %+v", h.mux.Len(), asked, lobby.Stats())
	}
}

// MaxPeers bounds who is known.
func TestAFullServerAnswersNobody(t *testing.T) {
	h := newHall(t, Config{MaxPeers: 3})
	for i := range 5 {
		h.in(near(i), pack(Unordered, false, 0, "x"))
	}
	if st := h.mux.Stats(); h.mux.Len() != 3 || st.Full != 2 || len(h.took(near(4))) != 0 {
		t.Errorf("%d are in, stats %+v", h.mux.Len(), st)
	}
	h.in(near(0), pack(Unreliable, true, 0, ""))
	h.in(near(4), pack(Unordered, false, 0, "x"))
	if h.mux.Len() != 3 || h.mux.First().Peer(near(4)) == nil {
		t.Error("the place of who left is not given")
	}
}

// T35 after a restart: a server that remembers by OpenConfig.Use lets a ticket in once in all its
// lives; one that does not, once in each. Use is asked about good tickets only.
func TestUsedTicketsOutliveTheServer(t *testing.T) {
	promise.Keeps(t, "T35", "relay", 1)
	for _, remembers := range []bool{true, false} {
		var c OpenConfig
		used := map[[16]byte]bool{}
		if remembers {
			c.Use = func(t Ticket) bool {
				first := !used[t.Serial]
				used[t.Serial] = true
				return first
			}
		}
		c.Key, c.Unproven = testKey, true
		good := string(issue(t, testKey, Ticket{Name: "ada", Expires: start.Add(time.Hour), Serial: serialOf(1)}))
		forged := string(issue(t, TicketKey(strings.Repeat("k", 32)), Ticket{Expires: start.Add(time.Hour), Serial: serialOf(2)}))
		for life := range 3 {
			lobby := NewOpenLobby(c)
			h := newHall(t, Config{Lobby: lobby})
			h.in(addr(1), pack(Unordered, true, 0, forged))
			h.in(addr(2), pack(Unordered, true, 0, good))
			h.in(addr(3), pack(Unordered, true, 0, good))
			want := OpenStats{Tickets: 1, Forged: 1, Used: 1}
			if remembers && life > 0 {
				want = OpenStats{Forged: 1, Used: 2}
			}
			if got := lobby.Stats(); got != want || h.mux.Len() != int(want.Tickets) || len(h.out) != int(want.Tickets) {
				t.Errorf("remembers %t, life %d: %+v, want %+v", remembers, life, got, want)
			}
		}
		if remembers && len(used) != 1 {
			t.Errorf("%d were remembered", len(used))
		}
	}
}
