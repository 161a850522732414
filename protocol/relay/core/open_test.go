package core

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
)

// "An address joins with its first valid package": in any mode, to anyone. What it sends to
// the others goes to every other participant, untouched and under the receiver's numbering;
// what it sends to the server goes to the game.
func TestAnOpenRoom(t *testing.T) {
	h := newHall(t, Config{})
	a, b, c := near(1), near(2), near(3)
	h.in(a, pack(Unreliable, false, 70, "x"))
	h.wantSent(a, `unordered server 0 challenge`)
	h.in(b, pack(SemiOrdered, false, 0, "first"))
	h.wantSent(b, `unordered server 0 challenge`)
	h.wantSent(a, `semi-ordered others 1 "first"`)
	h.in(c, pack(Unordered, true, 5, "for the server"))
	h.wantTold("10.0.0.1 joined", "10.0.0.2 joined", "10.0.0.3 joined", `10.0.0.3 unordered "for the server"`)
	h.wantSent(a)
	h.in(a, pack(Unreliable, false, 71, "y"))
	h.in(a, pack(Unordered, false, 9, "z"))
	h.in(a, pack(Unordered, false, 8, "w"))
	h.wantSent(b, `unreliable others 0 "y"`, `unordered others 1 "z"`, `unordered others 2 "w"`)
	h.wantSent(c, `unordered server 0 challenge`, `unreliable others 0 "y"`, `unordered others 1 "z"`, `unordered others 2 "w"`)
	h.wantSent(a)
	h.wantTold()
	if st := h.mux.Stats(); st.Relayed != 5 || st.Copies != 0+1+3*2 || st.Check() != nil {
		t.Errorf("stats %+v, %v", st, st.Check())
	}
}

// What the server says has bit 4 set: to one, or to all.
func TestWhatTheServerSays(t *testing.T) {
	h := newHall(t, Config{})
	a, b := near(1), near(2)
	h.join(a)
	h.join(b)
	p := h.mux.First().Peer(a)
	if err := p.Send(SemiOrdered, []byte("you")); err != nil {
		t.Fatal(err)
	}
	if err := p.Room().Say(Unreliable, []byte("all")); err != nil {
		t.Fatal(err)
	}
	h.turn()
	h.wantSent(a, `semi-ordered server 1 "you"`, `unreliable server 0 "all"`)
	h.wantSent(b, `unreliable server 0 "all"`)
	for _, err := range []error{p.Send(3, []byte("x")), p.Room().Say(3, []byte("x"))} {
		if err != ErrMode {
			t.Errorf("with mode 3: %v", err)
		}
	}
	for _, payload := range []string{"", strings.Repeat("x", MaxPayload+1)} {
		if err := p.Send(Unordered, []byte(payload)); err != ErrPayloadSize {
			t.Errorf("%d bytes: %v", len(payload), err)
		}
		if err := p.Room().Relay(nil, Unordered, []byte(payload)); err != ErrPayloadSize {
			t.Errorf("%d bytes to all: %v", len(payload), err)
		}
	}
}

// "Every reliable package is confirmed on receipt, held or not, repeats too. Confirmations are
// gathered for 20 ms … or until 96 are due, into as few datagrams as possible."
func TestConfirmationsAreGathered(t *testing.T) {
	h := newHall(t, Config{})
	a := near(1)
	h.join(a)
	h.wait(50 * time.Millisecond)
	h.wantSent(a, "confirm [0]")
	h.in(a, pack(SemiOrdered, true, 2, "held"))
	h.wait(19 * time.Millisecond)
	h.in(a, pack(Unordered, true, 3, "at once"))
	h.in(a, pack(SemiOrdered, true, 2, "held"))
	h.wantSent(a)
	h.wait(time.Millisecond)
	h.wantSent(a, "confirm [2 3 2]")
	h.wantTold("10.0.0.1 joined", `10.0.0.1 unordered "at once"`)
	for id := range uint32(95) {
		h.in(a, pack(Unordered, true, 10+id, "x"))
	}
	h.wantSent(a)
	h.in(a, pack(Unordered, true, 105, "x"))
	if got := h.took(a); len(got) != 1 || strings.Count(got[0], " ") != 96 {
		t.Errorf("after 96: %q", got)
	}
}

// "Holes are remembered, at most 1,024: a package that would open more is dropped
// unconfirmed. Unordered packages may start at any id within that bound."
func TestHolesAreBounded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		id    uint32
		taken bool
	}{
		{"the first id", 0, true}, {"as far as may be", 1024, true}, {"one further", 1025, false}, {"behind the wrap", MaxID, false}, {"half way", 1 << 23, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHall(t, Config{})
			h.in(near(1), pack(Unordered, true, tt.id, "x"))
			if got := h.mux.Len() == 1; got != tt.taken {
				t.Errorf("as the first package: let in %t", got)
			}
			h = newHall(t, Config{})
			h.in(near(1), pack(Unreliable, true, 0, "in"))
			h.in(near(1), pack(Unordered, true, tt.id, "x"))
			h.wait(30 * time.Millisecond)
			confirmed := strings.Contains(strings.Join(h.took(near(1)), " "), "confirm")
			if confirmed != tt.taken || strings.Contains(strings.Join(h.told(), " "), `unordered "x"`) != tt.taken {
				t.Errorf("as the second: confirmed %t", confirmed)
			}
		})
	}
	t.Run("holes add up", func(t *testing.T) {
		h := newHall(t, Config{})
		h.in(near(1), pack(Unordered, true, 1000, "x"))
		h.in(near(1), pack(Unordered, true, 1025, "x")) // 24 more
		h.in(near(1), pack(Unordered, true, 1027, "x")) // a hole too many
		h.in(near(1), pack(Unordered, true, 5, "x"))    // one less
		h.in(near(1), pack(Unordered, true, 1027, "x"))
		h.wait(30 * time.Millisecond)
		h.wantSent(near(1), `unordered server 0 challenge`, "confirm [1000 1025 5 1027]")
	})
}

// "It leaves by an empty unreliable package to the server whose id is within 1,024 of the
// newest": then it is told, the others hear nothing more of it, and it is ignored for 10 s.
func TestLeaving(t *testing.T) {
	for _, tt := range []struct {
		name  string
		id    uint32
		leave bool
	}{{"the next id", 101, true}, {"an old id", 100 - 1024 + 1<<24, true}, {"a far one", 100 + 1025, false}, {"a farther one", 1 << 23, false}} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHall(t, Config{})
			a, b := near(1), near(2)
			h.join(b)
			h.in(a, pack(Unreliable, false, 100, "x"))
			h.wantSent(b, `unreliable others 0 "x"`)
			h.told()
			h.took(a)
			h.in(a, pack(Unreliable, true, tt.id&MaxID, ""))
			if !tt.leave {
				h.wantTold()
				return
			}
			h.wantTold("10.0.0.1 left: peer left")
			h.wantSent(a, `unreliable server 0 ""`)
			h.in(a, pack(Unreliable, false, 102, "late"))
			h.in(a, pack(Unordered, false, 0, "late"))
			h.wait(9 * time.Second)
			h.in(a, pack(Unordered, false, 0, "late"))
			h.wantSent(a)
			h.wait(1100 * time.Millisecond)
			h.in(a, pack(Unordered, false, 0, "again"))
			h.wantSent(a, `unordered server 0 challenge`)
		})
	}
	// The first unreliable package of someone who never sent one begins near 0.
	h := newHall(t, Config{})
	h.join(near(1))
	h.in(near(1), pack(Unreliable, true, 5000, ""))
	h.wantTold("10.0.0.1 joined")
	h.in(near(1), pack(Unreliable, true, 0, ""))
	h.wantTold("10.0.0.1 left: peer left")
}

// A leaving package, a challenge and a confirmation let nobody in, nor does anything malformed.
func TestWhatLetsNobodyIn(t *testing.T) {
	h := newHall(t, Config{})
	for i, b := range [][]byte{
		pack(Unreliable, true, 0, ""), confirmOf(0), {}, {0}, {0x60, 0, 0, 0},
		pack(Unordered, true, 0, "\xff12345678"), pack(Unordered, false, 1025, "x"), make([]byte, 509),
	} {
		h.in(addr(i), b)
		if h.mux.Len() != 0 || len(h.took(addr(i))) != 0 {
			t.Errorf("%x lets someone in, or is answered", b)
		}
	}
	if st := h.mux.Stats(); st.Malformed != 4 || st.Strangers != 3 || st.Refused != 1 || st.Check() != nil {
		t.Errorf("stats %+v: %v", st, st.Check())
	}
}

// "After 2 s without a packet from it the server sends it an empty reliable unordered package
// (bit 4 set), whose confirmation is a sign of life; 10 s of silence remove it."
func TestSilence(t *testing.T) {
	h := newHall(t, Config{})
	a := near(1)
	h.join(a)
	h.wait(100 * time.Millisecond)
	h.took(a)
	h.wait(1890 * time.Millisecond)
	h.wantSent(a)
	h.wait(10 * time.Millisecond)
	h.wantSent(a, `unordered server 1 ""`)
	h.in(a, confirmOf(1))
	h.wait(1999 * time.Millisecond)
	h.wantSent(a)
	h.wait(time.Millisecond)
	h.wantSent(a, `unordered server 2 ""`)
	heard := h.now.Add(-2 * time.Second)
	h.told()
	h.wait(heard.Add(9999 * time.Millisecond).Sub(h.now))
	if len(h.told()) > 0 {
		t.Error("removed too early")
	}
	for _, s := range h.took(a) {
		if s != `unordered server 2 ""` {
			t.Errorf("sent %s", s)
		}
	}
	h.wait(time.Millisecond)
	h.wantTold("10.0.0.1 left: silent for too long")
	h.wantSent(a, `unreliable server 0 ""`)
	if _, ok := h.mux.NextTimeout(); ok {
		t.Error("a timeout is left")
	}
}

// What is not confirmed is resent after 220 ms, then doubling, and "lost after 6 tries and not
// before 5 s".
func TestSomeoneIsLost(t *testing.T) {
	h := newHall(t, Config{})
	a := near(1)
	h.in(a, pack(Unreliable, false, 0, "hello"))
	var at []time.Duration
	for len(h.told()) < 1 || h.mux.Len() > 0 {
		h.in(a, pack(Unreliable, false, 0, "alive")) // it does not confirm, but is there
		for _, s := range h.took(a) {
			if strings.HasPrefix(s, "unordered server 0") {
				at = append(at, h.now.Sub(start))
			} else if s != `unreliable server 0 ""` {
				t.Errorf("sent %s", s)
			}
		}
		if h.mux.Len() > 0 {
			h.wait(10 * time.Millisecond)
		}
		if h.now.Sub(start) > 30*time.Second {
			t.Fatal("it is never lost")
		}
	}
	if len(at) != 7 {
		t.Fatalf("sent %d times: %v", len(at), at)
	}
	// Each delay is twice the one before, with up to an eighth of jitter and up to 10 ms of our
	// steps, up to the engine's 2 s.
	least := 220 * time.Millisecond
	for i := 1; i < len(at); i++ {
		got := at[i] - at[i-1]
		if got < least || got > least+least/8+20*time.Millisecond {
			t.Errorf("resend %d after %v, want %v", i, got, least)
		}
		least = min(2*least, 2*time.Second)
	}
	if end := h.now.Sub(start); end < 5*time.Second || end > at[6]+2300*time.Millisecond {
		t.Errorf("lost after %v, the last resend was at %v", end, at[6])
	}
}

// "By a hole older than 10 s."
func TestAnOldHole(t *testing.T) {
	h := newHall(t, Config{})
	a := near(1)
	h.join(a)
	h.wait(time.Second)
	h.in(a, pack(Unordered, false, 2, "x")) // 1 is missing
	hole := h.now
	h.told()
	for h.now.Sub(hole) < 9900*time.Millisecond {
		h.wait(100 * time.Millisecond)
		h.in(a, pack(Unreliable, true, 1, "alive"))
		h.in(a, confirmOf(0))
	}
	for _, ev := range h.told() {
		if strings.Contains(ev, "left") {
			t.Fatal("removed too early")
		}
	}
	h.wait(100 * time.Millisecond)
	h.wantTold("10.0.0.1 left: a reliable package was missing for too long")
}

// "64 in 10 s from a participant removes it (and it is ignored for 10 s)."
func TestBadInputRemoves(t *testing.T) {
	h := newHall(t, Config{})
	a := near(1)
	h.join(a)
	h.told()
	bad := [][]byte{{}, {1}, {0x60, 0, 0, 0}, make([]byte, 600), {0x80, 0, 0, 0}}
	for i := range 63 {
		h.in(a, bad[i%len(bad)])
	}
	h.wait(5 * time.Second)
	h.in(a, confirmOf(1)) // of the keep-alive
	h.wait(5 * time.Second)
	h.in(a, confirmOf(2))
	for i := range 63 {
		h.in(a, bad[i%len(bad)])
	}
	h.wantTold()
	h.took(a)
	h.in(a, bad[0])
	h.wantTold("10.0.0.1 left: protocol error")
	h.wantSent(a, `unreliable server 0 ""`)
	h.in(a, pack(Unordered, true, 0, "again"))
	h.wantSent(a)
}

// "An unproven address that is neither loopback nor private gets at most three times its own
// bytes plus 8 KiB", whatever the others send; one that sends the challenge back is proven.
func TestUnprovenAddressesGetLittle(t *testing.T) {
	for _, mode := range []Mode{Unreliable, Unordered, SemiOrdered} {
		t.Run(mode.String(), func(t *testing.T) {
			h := newHall(t, Config{})
			a, b := addr(1), near(2)
			h.join(b)
			h.in(a, pack(Unordered, true, 0, ""))
			var challenge string
			if h.mux.First().Peer(a).Proven() {
				t.Fatal("proven by its first package")
			}
			sent := 4
			for i := range 120 {
				h.in(b, pack(mode, false, uint32(i+1), strings.Repeat("x", 400)))
				h.wait(time.Millisecond)
				if h.sizes[a] > 3*sent+8<<10 {
					t.Fatalf("%d bytes were sent for %d", h.sizes[a], sent)
				}
			}
			if h.sizes[a] < 7<<10 {
				t.Errorf("only %d bytes were sent of what it may have", h.sizes[a])
			}
			var ids []uint32
			for _, raw := range h.out[a] {
				var d Datagram
				d.Parse(raw)
				if isChallenge(d.Payload) {
					challenge = string(d.Payload)
				}
				if d.Kind == KindPackage && d.Mode.Reliable() {
					ids = append(ids, d.ID)
				}
			}
			h.in(a, pack(Unordered, true, 1, "\xff\x00\x00\x00\x00\x00\x00\x00\x00")) // a wrong nonce
			if h.mux.First().Peer(a).Proven() {
				t.Error("proven by a wrong nonce")
			}
			h.in(a, pack(Unordered, true, 2, challenge))
			if p := h.mux.First().Peer(a); p == nil || !p.Proven() {
				t.Fatal("not proven by its answer")
			}
			h.in(a, confirmOf(ids...))
			for range 30 {
				h.wait(20 * time.Millisecond)
				for _, raw := range h.out[a] {
					var d Datagram
					if d.Parse(raw); d.Kind == KindPackage && d.Mode.Reliable() {
						h.in(a, confirmOf(d.ID))
					}
				}
			}
			if mode.Reliable() && h.sizes[a] < 120*404 {
				t.Errorf("%d bytes were sent to a proven address", h.sizes[a])
			}
			for _, ev := range h.told() {
				if strings.Contains(ev, "\\xff") {
					t.Errorf("the game is told of a challenge: %s", ev)
				}
			}
		})
	}
}

// What is reliable to a participant who has left is let go: every buffer goes back once.
func TestBuffersComeBack(t *testing.T) {
	h := newHall(t, Config{})
	r := kit.Rand(t)
	for round := range 20 {
		n := 2 + r.IntN(6)
		for i := range n {
			h.in(near(round*10+i), pack(Unordered, false, 0, "x"))
		}
		for i := range 50 {
			h.in(near(round*10+i%n), pack(Mode(r.IntN(3)), r.IntN(3) == 0, uint32(1+i/n), strings.Repeat("y", 1+r.IntN(500))))
		}
		h.wait(30 * time.Second) // all are lost
		h.out = map[netip.AddrPort][][]byte{}
		if h.mux.Len() != 0 {
			t.Fatalf("%d are left", h.mux.Len())
		}
	}
	st := h.mux.Stats()
	if err := st.Check(); err != nil || st.Gone != st.Admitted {
		t.Errorf("%v, %d came and %d went", err, st.Admitted, st.Gone)
	}
}
