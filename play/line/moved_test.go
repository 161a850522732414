package line

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"parley/play/message"
)

// movedLine is a line whose server at an address has told where to go on.
func movedLine(text string, at Way, own ...Way) (*Line, *Conn) {
	l := &Line{cfg: Config{Ways: own, Notice: func(Notice) {}, Resume: Resume{On: true}}, session: message.Session{Token: message.Token{1}, Hold: 30}}
	c := &Conn{line: l, Dialect: at.Dialect, at: at, entered: true}
	c.tells([]byte(text))
	return l, c
}

// A player goes on where it was told, in its own dialect over its own carrier, and then comes back to the addresses that it has.
func TestWhereAPlayerGoesOn(t *testing.T) {
	a := Way{"replica", "wss", "a.example.com:8000"}
	l, c := movedLine("b.example.com:1,c.example.com:2", a, a, Way{"relay", "", "d.example.com:3"})
	w := l.lose(c, lost, nil)
	want := []string{"replica+wss://b.example.com:1", "replica+wss://c.example.com:2", "replica+wss://a.example.com:8000", "relay://d.example.com:3", "replica+wss://b.example.com:1"}
	for i, way := range want {
		_, at, ok := w.next(time.Now())
		if !ok || w.hops[at].String() != way || w.hops[at].told != (i%4 < 2) {
			t.Errorf("attempt %d goes to %v, want %s", i, w.hops[at], way)
		}
	}
}

// What a server there says takes nothing from the player: neither a refusal nor another game's world ends its attempts, or voids a token.
func TestToldServersHaveNoSay(t *testing.T) {
	a := Way{"duplex", "", "192.0.2.1:7004"}
	l, c := movedLine("192.0.2.2:7004", a, a)
	w := l.lose(c, lost, nil)
	for _, how := range []fate{refused, over, silent, lost} {
		if !w.failed(time.Now(), how, true) || len(w.tokens) != 1 {
			t.Errorf("a server that was told ends it with %d: %d tokens", how, len(w.tokens))
		}
	}
}

// A player of realm, who has a password, is told nothing. Nor is one whom the server has not let in.
func TestWhoIsNotMoved(t *testing.T) {
	a := Way{"realm", "", "192.0.2.1:9999"}
	if _, c := movedLine("192.0.2.2:9999", a, a); c.moved != nil {
		t.Errorf("a player of realm goes on at %v", c.moved)
	}
	b := Way{"relay", "", "192.0.2.1:8082"}
	l := &Line{cfg: Config{Ways: []Way{b}, Notice: func(Notice) {}}}
	c := &Conn{line: l, Dialect: "relay", at: b}
	if c.tells([]byte("192.0.2.2:8082")); c.moved != nil {
		t.Errorf("a stranger goes on at %v", c.moved)
	}
}

// No server has a player knock at what is nearer to the player than the server is.
func TestNearerAddressesAreNotDialed(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		ok       bool
	}{
		{"192.0.2.1:1", "192.0.2.2:1", true},
		{"192.0.2.1:1", "[2001:db8::1]:1", true},
		{"192.0.2.1:1", "10.0.0.1:1", false},
		{"192.0.2.1:1", "100.64.0.1:1", false},
		{"192.0.2.1:1", "169.254.169.254:80", false},
		{"192.0.2.1:1", "127.0.0.1:1", false},
		{"192.0.2.1:1", "[::ffff:127.0.0.1]:1", false},
		{"192.0.2.1:1", "[fd00::1]:1", false},
		{"192.0.2.1:1", "0.0.0.0:1", false},
		{"192.0.2.1:1", "224.0.0.1:1", false},
		{"10.0.0.1:1", "10.0.0.2:1", true},
		{"10.0.0.1:1", "127.0.0.1:1", false},
		{"127.0.0.1:1", "127.0.0.1:2", true},
		{"127.0.0.1:1", "192.0.2.1:2", true},
	} {
		c := &Conn{at: Way{"relay", "", tt.to}}
		if err := c.findTold(t.Context(), tt.from); (err == nil) != tt.ok || !tt.ok && !errors.Is(err, errNearer) {
			t.Errorf("a server at %s tells %s: %v", tt.from, tt.to, err)
		}
	}
	if d := distance(netip.Addr{}); d != 0 {
		t.Errorf("nowhere is %d away", d)
	}
}
