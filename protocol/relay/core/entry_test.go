package core

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/kit/chance"
	"parley/internal/pagetest"
)

// entryHall is a server with many rooms, which the test judges for.
func entryHall(t testing.TB, c EntryConfig) (*hall, *EntryLobby) {
	l := NewEntryLobby(c)
	return newHall(t, Config{Lobby: l}), l
}

// shown returns the newcomer of the only event since the events were last asked for.
func (h *hall) shown() *Newcomer {
	h.t.Helper()
	if len(h.heard) != 1 || h.heard[0].Kind != EventPass || h.whose[0] != nil {
		h.t.Fatalf("told %q, want a newcomer", h.told())
	}
	n := h.heard[0].Newcomer
	h.told()
	return n
}

// knock has an address show a pass as our client does: it is id 0, and the answer to the challenge is id 1.
func (h *hall) knock(a netip.AddrPort, pass string) *Newcomer {
	h.t.Helper()
	h.in(a, pack(Unordered, true, 1, h.ask(a, pass)))
	h.in(a, pack(Unordered, true, 0, pass))
	return h.shown()
}

// A newcomer is in no room before it is judged, and nothing that it sends is confirmed. When it is let in, its pass and its answer are
// confirmed at once, and what it said before comes again.
func TestANewcomerIsJudgedLater(t *testing.T) {
	h, l := entryHall(t, EntryConfig{})
	a, b, c := near(1), near(2), near(3)
	red, blue := h.mux.NewRoom(), h.mux.NewRoom()
	for i, who := range []netip.AddrPort{a, b} {
		if _, err := h.knock(who, "").Admit([]*Room{red, blue}[i], "member"); err != nil {
			t.Fatal(err)
		}
		h.turn()
		h.wait(time.Second / 2)
		h.took(who)
		h.told()
	}
	n := h.knock(c, "Rred")
	if !n.Waits() || n.Addr() != c || string(n.Pass()) != "Rred" || h.mux.Len() != 2 {
		t.Fatalf("%+v, %d peers", n, h.mux.Len())
	}
	for _, early := range [][]byte{pack(Unordered, true, 0, "Rred"), pack(Unordered, true, 2, "steer"), pack(SemiOrdered, false, 3, "hello"), pack(Unreliable, true, 0, "steer")} {
		h.in(c, early)
	}
	h.wait(100 * time.Millisecond)
	h.wantTold()
	h.wantSent(c)
	h.wantSent(a)
	p, err := n.Admit(red, "cat")
	if err != nil || p.Name != "cat" || p.Room() != red || !p.Proven() || red.Len() != 2 || blue.Len() != 1 {
		t.Fatalf("%v, %+v", err, p)
	}
	if err := p.SendTagged(Unordered, []byte("\x04token"), 7); err != nil {
		t.Fatal(err)
	}
	h.turn()
	h.wantTold("10.0.0.3 joined")
	h.wait(20 * time.Millisecond)
	h.wantSent(c, `unordered server 1 "\x04token"`, "confirm [0 1]")
	h.in(c, pack(SemiOrdered, false, 3, "hello"))
	h.wantSent(a)
	h.in(c, pack(Unordered, true, 2, "steer"))
	h.wantTold(`10.0.0.3 unordered "steer"`)
	h.wantSent(a, `semi-ordered others 1 "hello"`) // and nobody in the other room
	h.wantSent(b)
	h.in(c, confirmOf(1))
	h.in(c, confirmOf(1, 0))
	h.wantTold("10.0.0.3 acked 7")
	if _, err := n.Admit(blue, "again"); !errors.Is(err, ErrNewcomerGone) || p.Room() != red {
		t.Errorf("a newcomer was let in twice: %v", err)
	}
	if n.Refuse("no"); h.mux.Len() != 3 || n.Waits() {
		t.Error("one who is in was refused")
	}
	st, es := h.mux.Stats(), p.end.Stats()
	if err := errors.Join(st.Check(), es.Check()); err != nil || st.Admitted != 3 {
		t.Errorf("%v: %+v", err, st)
	}
	if want := (EntryStats{Challenged: 3, Proven: 3, Shown: 1, None: 2, Early: 4, Admitted: 3}); l.Stats() != want {
		t.Errorf("%+v, want %+v", l.Stats(), want)
	}
}

// What is lost, doubled or late changes nothing: a pass is found if it has a smaller id than the answer, and only then. Each row is what
// the client has sent before its answer, by id: to the server in capitals, to the others in small letters, a dot is empty, and a digit is a message of the game.
func TestWhetherThereIsAPass(t *testing.T) {
	r := chance.Rand(t, 0x9a55)
	for _, tt := range []struct{ sent, pass string }{
		{"", ""}, {".", ""}, {"a", ""}, {"aaa", ""}, {"P", "P"}, {"aP", "P"}, {".P", "P"}, {"PQ", "P"}, {"aaPQa", "P"},
		{"0", ""}, {"00", ""}, {"0P", "P"}, {"P0", "P"}, {".0a1P", "P"}, {"2", ""}, {"3", "\x03"},
		{string(bytes.Repeat([]byte("a"), 63)) + "P", "P"}, {string(bytes.Repeat([]byte("a"), 64)) + "P", ""},
	} {
		for range kit.Tier(20, 200, 2000) {
			h, l := entryHall(t, EntryConfig{GameCodes: 3})
			a := near(1)
			var all [][]byte
			for id, what := range tt.sent {
				switch {
				case what == '.':
					all = append(all, pack(Unordered, true, uint32(id), ""))
				case what < 'A':
					all = append(all, pack(Unordered, true, uint32(id), string(what-'0')))
				case what >= 'a':
					all = append(all, pack(SemiOrdered, false, uint32(id), string(what)))
				default:
					all = append(all, pack(Unordered, true, uint32(id), string(what)))
				}
			}
			answer := uint32(len(all))
			challenge := h.ask(a, "before")
			all = append(all, pack(Unordered, true, answer, challenge), pack(Unordered, true, answer+1, "Late"), pack(Unordered, true, answer+2, ""), pack(Unordered, false, answer+3, "x"))
			for tries := 0; len(h.heard) == 0; tries++ { // each is sent again until it is confirmed
				for _, i := range r.Perm(len(all)) {
					if r.IntN(3) > 0 {
						h.in(a, all[i])
					}
				}
				if tries > 1000 {
					t.Fatalf("%q: nobody is shown: %+v", tt.sent, l.Stats())
				}
			}
			n := h.shown()
			if string(n.Pass()) != tt.pass || (n.Pass() == nil) != (tt.pass == "") {
				t.Fatalf("%q: the pass is %q", tt.sent, n.Pass())
			}
			p, err := n.Admit(h.mux.NewRoom(), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range all {
				h.in(a, b)
			}
			h.wait(50 * time.Millisecond)
			heard := h.told()
			if slices.Contains(heard, `10.0.0.1 unordered "P"`) && tt.pass != "" || !slices.Contains(heard, `10.0.0.1 unordered "Late"`) {
				t.Fatalf("%q: the game got %q", tt.sent, heard)
			}
			for _, what := range "012" {
				got := 0
				for _, text := range heard {
					if text == fmt.Sprintf("10.0.0.1 unordered %q", string(what-'0')) {
						got++
					}
				}
				if want := strings.Count(tt.sent, string(what)); got != want {
					t.Fatalf("%q: the game got its message %c %d times", tt.sent, what, got)
				}
			}
			if got := p.end.receiver.Complete(); got != uint64(len(all)) {
				t.Fatalf("%q: all below %d have come, want %d", tt.sent, got, len(all))
			}
		}
	}
}

// A refusal has a text and a goodbye, and nothing is kept. One that it was lost for asks again.
func TestRefusals(t *testing.T) {
	h, l := entryHall(t, EntryConfig{})
	a := near(1)
	challenge := h.ask(a, "Sx")
	for range 2 {
		h.in(a, pack(Unordered, true, 1, challenge))
		h.in(a, pack(Unordered, true, 0, "Sx"))
		h.shown().Refuse("no such session")
		h.turn()
		h.wantSent(a, `unordered server 1 "\x05no such session"`, `unreliable server 0 ""`)
		h.wantTold()
	}
	closed := h.mux.NewRoom()
	closed.Close("over")
	if _, err := h.knock(near(2), "Rx").Admit(closed, ""); !errors.Is(err, ErrRoomClosed) {
		t.Errorf("a closed room: %v", err)
	}
	h.turn()
	h.wantSent(near(2), `unordered server 1 "\x05no such room"`, `unreliable server 0 ""`)
	h.mux.cfg.MaxPeers = 1
	late, room := h.knock(near(3), "Rx"), h.mux.NewRoom()
	if _, err := h.knock(near(4), "Rx").Admit(room, ""); err != nil {
		t.Error(err)
	}
	if _, err := late.Admit(room, ""); !errors.Is(err, ErrFull) {
		t.Errorf("a full server: %v", err)
	}
	h.turn()
	h.wantSent(near(3), `unordered server 1 "\x05game is full"`, `unreliable server 0 ""`)
	if st := l.Stats(); h.mux.Len() != 1 || st.Refused != 4 || len(l.waiting.of) != 0 || l.waiting.hosts.Len() != 0 {
		t.Errorf("%d peers, %+v", h.mux.Len(), st)
	}
}

// A newcomer that is never judged, and one that does not show what comes before its answer, get no answer, and are forgotten after 10 s.
func TestNewcomersEnd(t *testing.T) {
	h, l := entryHall(t, EntryConfig{})
	n := h.knock(near(1), "Rx")
	h.in(near(2), pack(Unordered, true, 1, h.ask(near(2), "Rx"))) // and not its pass
	h.wait(9 * time.Second)
	h.mux.HandleTimeout(h.now)
	if !n.Waits() {
		t.Error("it does not wait after 9 s")
	}
	h.wait(time.Second)
	h.mux.HandleTimeout(h.now)
	if _, err := n.Admit(h.mux.NewRoom(), ""); !errors.Is(err, ErrNewcomerGone) || n.Waits() {
		t.Errorf("it waits after 10 s: %v", err)
	}
	n.Refuse("late")
	h.turn()
	h.wantSent(near(1))
	h.ask(near(3), "")
	if st := l.Stats(); st.Expired != 2 || len(l.waiting.of) != 0 || l.waiting.hosts.Len() != 0 || l.waiting.ends.Len() != 0 {
		t.Errorf("%+v, %d wait", st, len(l.waiting.of))
	}
	again := h.knock(near(1), "Rx")
	h.mux.Shutdown(h.now, "")
	if _, err := again.Admit(h.mux.NewRoom(), ""); !errors.Is(err, ErrNewcomerGone) {
		t.Errorf("let in while the server shuts down: %v", err)
	}
}

// "At most 64 connections of an address (/64 of IPv6) may be proven and not entered: beyond that its newcomers go unanswered and try again."
func TestNewcomersOfAHostAreBounded(t *testing.T) {
	h, l := entryHall(t, EntryConfig{})
	at := func(port int) netip.AddrPort { return netip.AddrPortFrom(near(1).Addr(), uint16(1000+port)) }
	var waiting []*Newcomer
	for i := range 100 {
		h.in(at(i), pack(Unordered, true, 0, h.challengeOf(at(i))))
	}
	for _, ev := range h.heard {
		waiting = append(waiting, ev.Newcomer)
	}
	if h.told(); len(waiting) != 64 || l.Stats().Crowded != 36 {
		t.Fatalf("%d wait, %+v", len(waiting), l.Stats())
	}
	h.wantSent(at(99))
	h.in(near(2), pack(Unordered, true, 0, h.challengeOf(near(2)))) // of another host
	h.shown().Refuse("")
	waiting[0].Refuse("")
	h.in(at(99), pack(Unordered, true, 0, h.challengeOf(at(99))))
	h.shown()
}

// challengeOf returns the challenge of an address.
func (h *hall) challengeOf(a netip.AddrPort) string {
	h.mux.Advance(h.now)
	return challengeOf(h.mux.nonce(a, h.mux.minute()))
}

// A flood of passes from proven addresses, each of them refused or left without an answer, costs no memory that stays, and keeps
// nobody out for whom there is a place.
func TestFloodsOfPasses(t *testing.T) {
	h, l := entryHall(t, EntryConfig{})
	room := h.mux.NewRoom()
	pass := string(bytes.Repeat([]byte{'T'}, MaxPayload))
	flood := func(i int) {
		a := addr(i % 5000)
		h.mux.HandleDatagram(h.now, a, pack(Unordered, true, 1, h.challengeOf(a)))
		for range 3 {
			h.mux.HandleDatagram(h.now, a, pack(Unordered, true, 0, pass))
		}
		h.turn()
		for _, ev := range h.heard {
			if ev.Kind == EventPass && i%2 == 0 {
				ev.Newcomer.Refuse("ticket is not valid")
			}
		}
		h.transmit()
		h.told()
		clear(h.out)
		clear(h.sizes)
		h.now = h.now.Add(5 * time.Millisecond)
	}
	for i := range 5000 {
		flood(i)
	}
	before := pagetest.Heap()
	for i := range kit.Tier(20_000, 200_000, 1_000_000) {
		if flood(i); i%5000 == 0 {
			a := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), uint16(5000+i/5000))
			if _, err := h.knock(a, "Rmain").Admit(room, ""); err != nil {
				t.Fatal(err)
			}
			h.turn()
			h.mux.First().Peer(a).Remove(Close{Reason: ReasonClosed})
			h.turn()
			h.told()
		}
	}
	if grown := pagetest.Heap() - before; grown > 512<<10 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if st := h.mux.Stats(); st.Check() != nil || len(l.waiting.of) > maxWaiting {
		t.Errorf("%v, %d wait", st.Check(), len(l.waiting.of))
	}
}

// With Unproven an address is judged with its first package, which is its pass only if it begins as one.
func TestUnprovenNewcomers(t *testing.T) {
	for _, tt := range []struct {
		first []byte
		pass  string
	}{
		{pack(Unordered, true, 0, "Rmain"), "Rmain"}, {pack(SemiOrdered, true, 3, "Sx"), "Sx"}, {pack(Unordered, true, 0, "Tx"), "Tx"},
		{pack(Unordered, true, 0, "\x00steer"), ""}, {pack(Unordered, true, 0, ""), ""}, {pack(Unreliable, true, 0, "Rmain"), ""}, {pack(Unordered, false, 0, "Rmain"), ""},
	} {
		h, _ := entryHall(t, EntryConfig{Unproven: true})
		a := addr(1)
		h.in(a, tt.first)
		n := h.shown()
		if string(n.Pass()) != tt.pass || (n.Pass() == nil) != (tt.pass == "") {
			t.Errorf("%s: the pass is %q", spell(tt.first), n.Pass())
		}
		p, err := n.Admit(h.mux.NewRoom(), "")
		if err != nil || p.Proven() {
			t.Fatalf("%v, proven %t", err, p.Proven())
		}
		h.turn()
		h.wantTold("203.0.0.1 joined")
		var d Datagram
		if len(h.out[a]) == 0 || !d.Parse(h.out[a][0]) || !isChallenge(d.Payload) {
			t.Fatalf("sent %q", h.took(a))
		}
		h.in(a, pack(Unordered, true, 9, string(d.Payload)))
		if !p.Proven() {
			t.Error("it has answered, and is not proven")
		}
		h.in(addr(2), tt.first)
		h.told()
		h.in(addr(2), tt.first)
		h.wantTold()
	}
	h, _ := entryHall(t, EntryConfig{Unproven: true})
	h.in(addr(1), pack(Unordered, true, 0, "Rmain"))
	h.shown().Refuse("no such room")
	h.turn()
	h.wantSent(addr(1)) // its address may be forged
}

// A closed room has its participants leave, and takes nobody.
func TestARoomIsClosed(t *testing.T) {
	h, _ := entryHall(t, EntryConfig{})
	red, blue := h.mux.NewRoom(), h.mux.NewRoom()
	for i := range 4 {
		if _, err := h.knock(near(i), "Rx").Admit([]*Room{red, blue}[i%2], fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		h.turn()
		h.told()
	}
	red.Close("the room is closed")
	h.turn()
	h.wantTold("10.0.0.0 left: closed", "10.0.0.2 left: closed")
	blue.Add(h.mux.First().Peer(near(1)))
	red.Add(h.mux.First().Peer(near(1)))
	if red.Len() != 0 || blue.Len() != 2 || h.mux.Len() != 2 {
		t.Errorf("%d and %d are in the rooms, %d peers", red.Len(), blue.Len(), h.mux.Len())
	}
}

// The end of a peer says whether the peer itself said goodbye.
func TestGoodbyes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		end     func(h *hall, p *Peer)
		goodbye bool
	}{
		{"a goodbye", func(h *hall, p *Peer) { h.in(p.Addr(), pack(Unreliable, true, 0, "")) }, true},
		{"a goodbye while we close", func(h *hall, p *Peer) {
			_ = p.Send(Unordered, []byte("unconfirmed"))
			p.Close("kicked")
			h.in(p.Addr(), pack(Unreliable, true, 0, ""))
		}, true},
		{"silence", func(h *hall, _ *Peer) { h.wait(15 * time.Second) }, false},
		{"we close", func(h *hall, p *Peer) { p.Close("kicked") }, false},
		{"we remove it", func(_ *hall, p *Peer) { p.Remove(Close{Reason: ReasonClosed}) }, false},
		{"we shut down", func(h *hall, _ *Peer) { h.mux.Abort(h.now, "") }, false},
		{"malformed datagrams", func(h *hall, p *Peer) {
			for range 64 {
				h.in(p.Addr(), []byte{0x80, 0, 0, 0})
			}
		}, false},
	} {
		h, _ := entryHall(t, EntryConfig{})
		p, err := h.knock(near(1), "Rx").Admit(h.mux.NewRoom(), "")
		if err != nil {
			t.Fatal(err)
		}
		h.turn()
		h.told()
		tt.end(h, p)
		h.turn()
		if len(h.heard) != 1 || h.heard[0].Kind != EventLeft || h.heard[0].Goodbye != tt.goodbye {
			t.Errorf("%s: %+v", tt.name, h.heard)
		}
	}
}

func TestTagsOutOfRange(t *testing.T) {
	h, _ := entryHall(t, EntryConfig{})
	p, err := h.knock(near(1), "Rx").Admit(h.mux.NewRoom(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mode Mode
		tag  uint32
		want error
	}{{Unordered, 0, ErrTag}, {Unordered, MaxTag + 1, ErrTag}, {Unreliable, 1, ErrTag}, {SemiOrdered + 1, 1, ErrMode}, {Unordered, MaxTag, nil}, {SemiOrdered, 1, nil}} {
		if err := p.SendTagged(tt.mode, []byte("x"), tt.tag); !errors.Is(err, tt.want) {
			t.Errorf("%v with tag %d: %v, want %v", tt.mode, tt.tag, err, tt.want)
		}
	}
	h.turn()
	h.told()
	h.took(near(1))
	h.in(near(1), confirmOf(2, 1, 3, 2))
	h.wantTold("10.0.0.1 acked 1", "10.0.0.1 acked 16777215")
}
