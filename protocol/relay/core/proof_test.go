package core

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/kit"
	"parley/internal/pagetest"
	"parley/internal/promise"
)

// proofHall is a server with an open room that wants proof.
func proofHall(t testing.TB, c OpenConfig) (*hall, *OpenLobby) {
	l := NewOpenLobby(c)
	return newHall(t, Config{Lobby: l}), l
}

// T30: forged sources take no place. Each of 100,000 addresses sends packages in all modes, and confirms and answers what
// it does not know, private addresses included. Nobody is let in, nothing is kept of any, and one that answers its
// challenge comes in through all that.
func TestForgedSourcesTakeNoPlace(t *testing.T) {
	h, l := proofHall(t, OpenConfig{})
	forge := func(i int) {
		a := addr(i)
		if i%2 == 0 {
			a = near(i)
		}
		for mode := range Mode(3) {
			h.mux.HandleDatagram(h.now, a, pack(mode, i%3 == 0, 0, "let me in"))
		}
		h.mux.HandleDatagram(h.now, a, confirmOf(0, 1, 2))
		h.mux.HandleDatagram(h.now, a, pack(Unordered, true, 1, "\xff12345678"))
		h.turn()
		clear(h.out)
		clear(h.sizes)
		h.now = h.now.Add(10 * time.Microsecond)
	}
	for i := range 1000 {
		forge(i)
	}
	before := pagetest.Heap()
	sources := kit.Tier(20_000, 1_000_000, 1_000_000)
	for i := range sources {
		if forge(i); i == sources/2 {
			h.prove(netip.MustParseAddrPort("192.0.2.1:4000"), "")
		}
	}
	if grown := pagetest.Heap() - before; grown > 256<<10 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	h.wantTold("192.0.2.1 joined")
	st, open := h.mux.Stats(), l.Stats()
	if h.mux.Len() != 1 || st.Admitted != 1 || st.Check() != nil {
		t.Errorf("%d are in, stats %+v", h.mux.Len(), st)
	}
	if want := uint64(3*(sources+1000) + 1); open.Challenged != want || open.Wrong != uint64(sources+1000) {
		t.Errorf("%+v, want %d challenged", open, want)
	}
	promise.Kept(t, "T30", "relay", sources)
}

// Nothing of an unproven address is confirmed, passed on or told to the game; what it sent comes again
// after its proof, once. The ids of both sides fit: ours begin behind the challenge's.
func TestProofComesBeforeAPlace(t *testing.T) {
	h, _ := proofHall(t, OpenConfig{})
	member, a := near(1), near(2)
	h.prove(member, "")
	h.wait(time.Second / 2)
	h.took(member)
	h.told()
	early := [][]byte{pack(SemiOrdered, false, 0, "zero"), pack(SemiOrdered, false, 1, "one"), pack(Unreliable, false, 0, "loose"), pack(Unordered, true, 2, "two")}
	for _, b := range early {
		h.in(a, b)
		h.wantSent(a, `unordered server 0 challenge`)
	}
	challenge := h.ask(a, "")
	for _, wrong := range [][]byte{confirmOf(0), pack(Unordered, true, 3, "\xff12345678"), pack(Unordered, false, 3, challenge)} {
		h.in(a, wrong)
	}
	h.in(near(3), pack(Unordered, true, 3, challenge)) // of another address
	h.in(netip.AddrPortFrom(a.Addr(), 77), pack(Unordered, true, 3, challenge))
	h.wait(time.Second)
	h.wantTold()
	h.wantSent(member)
	h.took(a)
	h.in(a, pack(Unordered, true, 3, challenge)) // at an id of its own
	h.wantTold("10.0.0.2 joined")
	for range 2 {
		for _, b := range early {
			h.in(a, b)
		}
	}
	h.wait(30 * time.Millisecond)
	h.wantTold(`10.0.0.2 unordered "two"`)
	h.wantSent(a, "confirm [3 0 1 2 0 1 2]")
	h.wantSent(member, `semi-ordered others 1 "zero"`, `semi-ordered others 2 "one"`, `unreliable others 0 "loose"`, `unreliable others 1 "loose"`)
	p := h.mux.First().Peer(a)
	if err := p.Send(SemiOrdered, []byte("hello")); err != nil || !p.Proven() {
		t.Fatalf("%v, proven %t", err, p.Proven())
	}
	h.turn()
	h.wantSent(a, `semi-ordered server 1 "hello"`)
	h.in(a, confirmOf(0, 1)) // of the challenge too
	if st := p.end.Stats().Reliable; p.end.Unconfirmed() != 0 || st.AcksUnsent != 0 {
		t.Errorf("%d are unconfirmed, %d were a lie", p.end.Unconfirmed(), st.AcksUnsent)
	}
}

// An answer is good for the minute of its challenge and the next, for its address and port, and with the key of
// its server.
func TestAnAnswerIsGoodForAMinute(t *testing.T) {
	for _, tt := range []struct {
		asked, answered time.Duration
		good            bool
	}{{0, 0, true}, {0, 119 * time.Second, true}, {0, 120 * time.Second, false}, {59 * time.Second, 61 * time.Second, true}, {90 * time.Second, 179 * time.Second, true}, {90 * time.Second, 181 * time.Second, false}, {0, time.Hour, false}} {
		h, _ := proofHall(t, OpenConfig{})
		h.now = start.Add(tt.asked)
		challenge := h.ask(addr(1), "")
		h.now = start.Add(tt.answered)
		h.in(addr(1), pack(Unordered, true, 1, challenge))
		if got := h.mux.Len() == 1; got != tt.good {
			t.Errorf("asked at %v, answered at %v: let in %t", tt.asked, tt.answered, got)
		}
	}
	rng := kit.Rand(t)
	h, l := proofHall(t, OpenConfig{})
	restarted := NewMux(start, Config{}, newShared(1), admission.Key{2}, nil)
	challenge := []byte(h.ask(addr(1), ""))
	n := kit.Rounds(100_000, 1_000_000)
	for i := range n { // T33: bits flipped, other addresses and ports, random ones
		b, from := []byte(string(challenge)), addr(1)
		switch i % 3 {
		case 0:
			b[1+rng.IntN(8)] ^= 1 << rng.IntN(8)
		case 1:
			from = netip.AddrPortFrom(addr(2+i%1000).Addr(), uint16(rng.Uint32()))
		case 2:
			copy(b, challengeOf(rng.Uint64()))
		}
		h.mux.HandleDatagram(h.now, from, pack(Unordered, true, 1, string(b)))
	}
	if h.mux.Len() != 0 || l.Stats().Wrong != uint64(n) || restarted.First().Answers(addr(1), challenge) {
		t.Errorf("%d are in: %+v", h.mux.Len(), l.Stats())
	}
	promise.Kept(t, "T33", "relay", n)
}

// Two servers that are made to take each other for clients say one word each.
func TestTwoServersDoNotChallengeEachOther(t *testing.T) {
	a, _ := proofHall(t, OpenConfig{})
	b, _ := proofHall(t, OpenConfig{})
	a.in(addr(2), pack(Unordered, true, 0, "")) // in the name of b
	said := a.out[addr(2)]
	if len(said) != 1 {
		t.Fatalf("%d datagrams", len(said))
	}
	b.in(addr(1), said[0])
	b.wantSent(addr(1))
	a.in(addr(3), said[0]) // its own word, from elsewhere
	a.wantSent(addr(3))
}

// "Who enters a full game is told so", if it has proven its address; others are challenged as ever.
func TestAFullRoomSaysSo(t *testing.T) {
	l := NewOpenLobby(OpenConfig{})
	h := newHall(t, Config{Lobby: l, MaxPeers: 1})
	h.prove(addr(1), "")
	h.in(addr(2), pack(Unordered, true, 1, h.ask(addr(2), "")))
	h.wantSent(addr(2), `unordered server 1 "\x05game is full"`, `unreliable server 0 ""`)
	if st := h.mux.Stats(); st.Full != 2 || st.Check() != nil || h.mux.Len() != 1 {
		t.Errorf("stats %+v", st)
	}
}

// A client that is told why it is not let in ends with that, and the game is told nothing.
func TestAClientIsToldWhyItIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name         string
		open         OpenConfig
		peers        int
		ticket, want string
	}{
		{"full", OpenConfig{}, -1, "", "game is full"},
		{"no ticket", OpenConfig{Key: testKey}, 9, "", "room needs a ticket"},
		{"no good ticket", OpenConfig{Key: testKey, Room: "x"}, 9, string(issue(t, testKey, Ticket{Expires: start.Add(time.Hour)})), "ticket is not valid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHall(t, Config{Lobby: NewOpenLobby(tt.open), MaxPeers: tt.peers})
			c, err := NewClient(start, duoServer, Config{Ticket: []byte(tt.ticket)}, newShared(2))
			if err != nil {
				t.Fatal(err)
			}
			events := converse(h, c, addr(1), time.Second)
			if want := []string{"left: " + (Close{ReasonRefused, tt.want}).Error()}; fmt.Sprint(events) != fmt.Sprint(want) {
				t.Errorf("got %q, want %q", events, want)
			}
			h.wantTold()
		})
	}
}

// converse has a client talk to a server without delay, for so long, and returns its events.
func converse(h *hall, c *Endpoint, a netip.AddrPort, d time.Duration) (events []string) {
	var buf [MaxDatagram]byte
	for end := h.now.Add(d); h.now.Before(end); h.wait(5 * time.Millisecond) {
		c.HandleTimeout(h.now)
		for {
			for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
				switch ev.Kind {
				case EventLeft:
					events = append(events, "left: "+ev.Close.Error())
				case EventPackage:
					events = append(events, fmt.Sprintf("%v %q", ev.Package.Mode, ev.Package.Payload))
				default:
					events = append(events, ev.Kind.String())
				}
			}
			n, _, ok := c.PollTransmit(buf[:])
			if !ok {
				break
			}
			h.in(a, buf[:n])
		}
		for _, b := range h.out[a] {
			c.handle(h.now, b)
		}
		delete(h.out, a)
	}
	return events
}

// A client comes in within two round trips, with and without a ticket, and a challenge of the next minute
// that comes late does not make it leave; a server that has restarted does.
func TestAClientComesInAtOnce(t *testing.T) {
	for _, key := range []TicketKey{nil, testKey} {
		h, _ := proofHall(t, OpenConfig{Key: key})
		config := Config{}
		if key != nil {
			config.Ticket = issue(t, key, Ticket{Name: "ada", Expires: start.Add(time.Hour)})
		}
		c, _ := NewClient(start, duoServer, config, newShared(2))
		if got := converse(h, c, addr(1), 40*time.Millisecond); fmt.Sprint(got) != "[joined]" {
			t.Fatalf("after 40 ms: %q", got)
		}
		c.handle(h.now, pack(Unordered, true, 0, "\xff-another"))
		if got := converse(h, c, addr(1), 3*time.Second); len(got) != 0 || c.State() != StateOpen {
			t.Fatalf("after a challenge of the next minute: %q", got)
		}
		h.wait(5 * time.Second)
		c.handle(h.now, pack(Unordered, true, 0, "\xffrestarts"))
		if got := converse(h, c, addr(1), 10*time.Millisecond); len(got) != 1 || !strings.Contains(got[0], "newcomer") {
			t.Fatalf("after a restart: %q", got)
		}
	}
}

// A host may not come in again and again: beyond 256 at once and 16 a second it is not let in, and others are.
func TestComingAndGoingIsLimited(t *testing.T) {
	h, l := proofHall(t, OpenConfig{})
	in := 0
	for i := range 3000 { // for 30 s, a hundred a second
		a := netip.AddrPortFrom(addr(1).Addr(), uint16(10_000+i))
		h.in(a, pack(Unordered, true, 1, h.ask(a, "")))
		if h.mux.First().Peer(a) != nil {
			in++
			h.in(a, pack(Unreliable, true, 0, ""))
		}
		clear(h.out)
		h.now = h.now.Add(10 * time.Millisecond)
	}
	if most := joinBurst + 30*joinRate; in > most || in < most-1 || l.Stats().Crowded != uint64(3000-in) {
		t.Errorf("%d times let in, %+v", in, l.Stats())
	}
	h.prove(addr(2), "")
}

// With tickets, 64 proven addresses of a host wait for theirs, for 10 s. Others go unanswered, and come in
// when there is room; other hosts are not touched.
func TestProvenOnesThatDoNotEnter(t *testing.T) {
	h, l := proofHall(t, OpenConfig{Key: testKey})
	ticket := func(n int) string {
		return string(issue(t, testKey, Ticket{Expires: start.Add(time.Hour), Serial: [16]byte{byte(n), byte(n >> 8)}}))
	}
	from := func(i int) netip.AddrPort { return netip.AddrPortFrom(addr(1).Addr(), uint16(10_000+i)) }
	for i := range 100 {
		h.in(from(i), pack(Unordered, true, 1, h.ask(from(i), "")))
	}
	if st := l.Stats(); st.Proven != 100 || st.Crowded != 36 || h.mux.Len() != 0 {
		t.Fatalf("%+v, %d are in", st, h.mux.Len())
	}
	h.prove(addr(2), ticket(1))
	h.in(from(99), pack(Unordered, true, 0, ticket(2))) // it does not wait
	h.in(from(0), pack(Unordered, true, 0, ticket(3)))
	if h.mux.Len() != 2 || h.mux.First().Peer(from(0)) == nil {
		t.Errorf("%d are in", h.mux.Len())
	}
	clear(h.out)
	h.now = h.now.Add(waitingLife)
	h.in(from(1), pack(Unordered, true, 0, ticket(4))) // too late
	h.wantSent(from(1), `unordered server 0 challenge`)
	h.prove(from(99), ticket(2))
	for i := range 200 { // tickets that are used at once leave nothing behind
		h.prove(netip.AddrPortFrom(addr(3).Addr(), uint16(i+1)), ticket(100+i))
		clear(h.out)
	}
	if n := l.waiting.hosts.Len(); n != 0 || len(l.waiting.until) != 0 {
		t.Errorf("%d and %d wait", n, len(l.waiting.until))
	}
}
