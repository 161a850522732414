package connector

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/internal/promise"
	"parley/protocol/relay/core"
)

// What cannot be cut into messages has no effect, not even the part that could be, and reaches
// nobody; 64 of it in 10 s remove who sent it, and the others play on.
func TestWhatIsNoMessageIsDroppedAndCounted(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	bad := append(chat("fine").AppendTo(nil), 7, 7)
	for i := range 63 {
		b.sendBytes(game, core.Mode(i%3), false, bad)
	}
	b.sendBytes(game, core.Unordered, true, []byte{0, 7, 9}) // a ping and something
	r.pass(time.Second)
	b.wantHeard("removed")
	a.wantHeard("it is removed", "PeerLeft 1")
	d.wantHeard("it is removed", "PeerLeft 1")
	if s := r.lobby.Stats(); s.Uncut != 64 || s.Removed != 1 || s.Messages != 0 || s.Check() != nil {
		t.Errorf("%+v", s)
	}
	b.say(game, core.Unordered, &join) // "and it is ignored for 10 s"
	r.pass(9 * time.Second)
	b.wantHeard("ignored")
	a.tell(game, core.Unordered, chat("still here"))
	r.pass(reliableGroup)
	d.wantHeard("the others", `from 0: Chat "still here"`)
}

// 63 in 10 s, over and over, are only counted.
func TestABadPayloadNowAndThenIsForgiven(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	for range 5 {
		for range 63 {
			b.sendBytes(game, core.Unreliable, false, []byte{9})
		}
		for range 10 {
			r.pass(time.Second)
			for _, p := range []*player{a, b, d} {
				p.heard()
			}
		}
	}
	if r.lobby.Players() != 3 || r.lobby.Stats().Uncut != 5*63 {
		t.Errorf("%d players, %+v", r.lobby.Players(), r.lobby.Stats())
	}
}

// A stranger's first package that is nothing leaves no trace: no peer, no answer.
func TestAStrangersNonsenseLeavesNoTrace(t *testing.T) {
	r, game, _, _, _ := trio(t, Config{})
	for _, tt := range []struct {
		port uint16
		hex  string
	}{
		{mainPort, "30 000000 02"}, {mainPort, "20 000000 00 01 58"}, {mainPort, "30 000000 01"}, {mainPort, "10 000000"},
		{game, "30 000000 04"}, {game, "20 000000 09"}, {game, "00 000000"}, {game, "20 000000 00 00"}, {game, "80 000000 000000"},
	} {
		r.in(tt.port, client(9), unhex(t, tt.hex))
	}
	r.pass(time.Second)
	if r.port(game).Peer(client(9)) != nil || r.main.Peer(client(9)) != nil || len(r.sent) != 0 {
		t.Errorf("it is known, or was answered: %v", r.sent)
	}
}

// Relay's own client begins with an empty package, and is let in for that.
func TestAnEmptyReliablePackageIsConfirmed(t *testing.T) {
	r := newRig(t, Config{})
	r.in(mainPort, client(0), unhex(t, "30 000000"))
	r.pass(time.Second)
	if len(r.sent) != 1 || fmt.Sprintf("%x", r.sent[0].b) != "80000000000000" {
		t.Errorf("sent %v", r.sent)
	}
}

// A client may ping 32 times at once, and then twice a second. What is beyond is not confirmed, and a package of more than that never is.
func TestAClientMayNotAskForever(t *testing.T) {
	r := newRig(t, Config{})
	a := r.player(0)
	burst := allowances[askPing].burst
	ask := func(n int) (answers int, confirmed bool) {
		var payload []byte
		for range n {
			payload = (&ToMain{Kind: ToMainPing, Ping: 1}).AppendTo(payload)
		}
		id := a.ids[mainPort]
		a.sendBytes(mainPort, core.Unordered, true, payload)
		r.pass(100 * ms)
		confirmed = r.confirmed(a.addr, id)
		return len(a.heard()), confirmed
	}
	want := func(what string, n, answers int, confirmed bool) {
		t.Helper()
		if got, done := ask(n); got != answers || done != confirmed {
			t.Errorf("%s: %d answers, confirmed %t", what, got, done)
		}
	}
	want("more than ever", burst+1, 0, false)
	want("all at once", burst, burst, true)
	want("too soon", 1, 0, false)
	r.pass(3 * time.Second)
	want("after 3 s", 6, 6, true)
	want("again", 1, 0, false)
	for range 10 { // it lives on, and its budget does not grow beyond what it was
		r.pass(10 * time.Second)
		a.heard()
	}
	want("after a long time", burst+1, 0, false)
	want("all at once again", burst, burst, true)
	if s := r.lobby.Stats(); s.Throttled != 4 {
		t.Errorf("%+v", s)
	}
}

// confirmed reports whether an id was confirmed to an address.
func (r *rig) confirmed(addr netip.AddrPort, id uint32) bool {
	for _, d := range r.sent {
		var g core.Datagram
		if d.to != addr || !g.Parse(d.b) || g.Kind != core.KindConfirmation {
			continue
		}
		ids := core.ReadIDs(g.IDs)
		for got, ok := ids.Next(); ok; got, ok = ids.Next() {
			if got == id {
				return true
			}
		}
	}
	return false
}

// T28, and "we never answer a packet in a way that two servers could turn into a loop": one forged
// datagram has two servers, or one and itself, speak to each other, and they stop.
func TestTwoServersDoNotTalkForever(t *testing.T) {
	promise.Keeps(t, "T28", "connector", 1)
	host := func(n byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, n}) }
	for _, tt := range []struct {
		name   string
		at     string // where the forged datagram goes
		from   string // whose address it has
		hex    string
		itself bool
	}{
		{"a ping between main ports", "main", "main", "30 000000 00 05", false},
		{"an unreliable one", "main", "main", "10 000000 00 05", false},
		{"a ping of a main port to itself", "main", "main", "30 000000 00 05", true},
		{"a ping between games", "game", "game", "30 000000 00 05", false},
		{"an unreliable one between games", "game", "game", "10 000000 00 05", false},
		{"a join between games", "game", "game", "30 000000 01", false},
		{"a leave and a join", "game", "game", "50 000000 02 01", false},
		{"a join of a game to itself", "game", "game", "30 000000 01", true},
		{"a ping of a main port to a game", "game", "main", "30 000000 00 05", false},
		{"an open from a game", "main", "game", "30 000000 01 03", false},
		{"an open between main ports", "main", "main", "30 000000 01 03", false},
		{"a chat between games", "game", "game", "20 000000 00 01 58", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := []*rig{newRig(t, Config{}), newRig(t, Config{})}
			if tt.itself {
				s = s[:1]
			}
			number := map[string]uint16{"main": mainPort, "game": 40000}
			for i, r := range s {
				p := r.player(i)
				p.open(4)
			}
			other := host(byte(len(s) - 1))
			s[0].in(number[tt.at], netip.AddrPortFrom(other, number[tt.from]), unhex(t, tt.hex))
			last, count := time.Duration(0), 0
			limit := playerIdle
			if tt.at == "main" && tt.from == "main" && tt.hex[9:11] == "00" {
				limit = strangerIdle
			}
			for range 1_000_000 {
				for i, r := range s {
					sent := r.sent
					r.sent = nil
					for _, d := range sent {
						if d.to.Addr().As4()[0] != 10 {
							continue // the true players are gone
						}
						last, count = r.now.Sub(rigStart), count+1
						s[d.to.Addr().As4()[3]].in(d.to.Port(), netip.AddrPortFrom(host(byte(i)), d.port), d.b)
					}
				}
				for _, r := range s {
					r.pass(20 * ms)
				}
				if s[0].now.Sub(rigStart) > limit+2*timeout {
					break
				}
			}
			if last > limit+timeout || count > 5000 {
				t.Errorf("%d datagrams went between them, the last after %v", count, last)
			}
			for _, r := range s {
				if r.lobby.Games() != 0 || r.mux.Len() != 0 || len(r.ports) != 1 {
					t.Errorf("%d games and %d peers are left", r.lobby.Games(), r.mux.Len())
				}
			}
		})
	}
}

// Strangers make room for strangers, and never cost a player its place.
func TestStrangersMakeRoom(t *testing.T) {
	r, game, a, b, _ := trio(t, Config{MaxStrangers: 10})
	for i := range 2000 {
		p := r.player(10 + i)
		if i%2 == 0 {
			p.addr = near(i)
		}
		p.say([]uint16{mainPort, game}[i/2%2], core.Unreliable, &ToGame{Kind: ToGamePing, Ping: 3})
	}
	if s := r.lobby.Stats(); s.Evicted+s.Unproven != 2000-10 || s.Unproven < 500 || r.lobby.strangers.count != 10 || r.mux.Len() != 3+1+10 {
		t.Errorf("%d strangers, %d peers, %+v", r.lobby.strangers.count, r.mux.Len(), s)
	}
	r.sent = nil
	e := r.player(2000)
	e.addr = near(2000)
	other := e.open(2)
	a.tell(game, core.Unordered, chat("hi"))
	a.say(game, core.Unordered, &leave)
	a.say(other, core.Unordered, &join) // is asked to prove itself
	b.wantHeard("as ever", `from 0: Chat "hi"`, "PeerLeft 0")
	a.wantHeard("as ever", "Left")
	a.say(other, core.Unordered, &join)
	a.wantHeard("proven", "Joined 1")
}

// Games are opened at a rate, except for those who are near, and there are not more than wanted.
func TestGamesAreBounded(t *testing.T) {
	r := newRig(t, Config{MaxGames: 6})
	opened := func(who netip.AddrPort) bool {
		p := &player{r: r, addr: who, ids: map[uint16]uint32{}, got: map[[2]uint32]bool{}}
		p.say(mainPort, core.Unordered, &ToMain{Kind: ToMainOpen, MaxPlayers: 1})
		got := p.heard()
		if len(got) == 0 {
			p.say(mainPort, core.Unordered, &ToMain{Kind: ToMainOpen, MaxPlayers: 1}) // it was asked to prove itself first
			got = p.heard()
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], "GameOpened") && got[0] != "GameOpenError DifferentGame" {
			t.Fatalf("%v was told %q", who, got)
		}
		return strings.HasPrefix(got[0], "GameOpened")
	}
	count := 0
	for i := range 10 {
		if opened(client(i)) {
			count++
		}
	}
	if count != 1+4 { // one before it was asked
		t.Errorf("one address opened %d games at once", count)
	}
	for i := range 10 {
		if opened(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(1000+i))) {
			count++
		}
	}
	if s := r.lobby.Stats(); count != 7 || s.Displaced != 1 || r.lobby.Games() != 6 || len(r.ports) != 7 || s.Unopened != 13 {
		t.Errorf("%d games, %d ports, %+v", r.lobby.Games(), len(r.ports), r.lobby.Stats())
	}
	r.none = true
	r.pass(time.Minute) // nobody confirmed anything
	if opened(client(100)) || r.lobby.Games() != 0 {
		t.Error("a game without a port")
	}
}

// T29: a forged address is sent 8 KiB and three bytes for each of its own at most, whatever is asked
// for in its name and whatever its game sends.
func TestAForgedAddressGetsLittle(t *testing.T) {
	promise.Keeps(t, "T29", "connector", 1)
	r, game, a, b, d := trio(t, Config{MaxPlayers: 8})
	a.say(game, core.Unordered, &leave) // a place is free
	victim := r.player(50)
	in := 0
	forge := func(port uint16, hex string) {
		in += len(unhex(t, hex))
		r.in(port, victim.addr, unhex(t, hex))
	}
	forge(mainPort, "30 000000 01 07")
	forge(r.next-1, "30 000000 02") // leaves the game that was opened for it
	forge(game, "30 000000 01")
	for i := range 30 {
		forge(game, fmt.Sprintf("30 %06x 00 01", i+1))
	}
	out := 0
	for range 700 {
		for range 5 {
			b.tell(game, core.Unreliable, chat(strings.Repeat("x", 140)), chat(strings.Repeat("y", 140)), chat(strings.Repeat("z", 140)))
		}
		r.pass(100 * ms)
		for _, s := range r.sent {
			if s.to == victim.addr {
				out += len(s.b)
			}
		}
		d.heard()
		b.heard()
		r.drop(victim.addr)
	}
	if out > 3*in+3*(8<<10) || out < 1000 { // it is known at three ports
		t.Errorf("%d bytes for %d", out, in)
	}
	if _, plays := r.lobby.clients[victim.addr]; plays {
		t.Error("it is still in the game")
	}
}

// Who confirms is sent whatever there is.
func TestWhoConfirmsGetsEverything(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	for i := range 300 {
		b.tell(game, core.Unreliable, chat(strings.Repeat("x", 140)), chat(fmt.Sprint(i)))
		r.pass(unreliableGroup)
		if got := d.heard(); len(got) != 2 {
			t.Fatalf("after %d messages it heard %q", i, got)
		}
	}
	// Also if something is always on its way to it: it hears each package 50 ms late.
	b.say(game, core.Unordered, &leave)
	e := r.player(3)
	e.say(game, core.Unordered, &join)
	heard, late := 0, []datagram(nil)
	for range 300 {
		d.tell(game, core.Unordered, chat(strings.Repeat("x", 140)), chat("y"))
		r.pass(reliableGroup)
		fresh := r.sent
		r.sent = late
		heard += len(e.heard())
		a.heard()
		d.heard()
		late = fresh
	}
	if heard < 590 {
		t.Errorf("%d messages of 600 came", heard)
	}
}

// T39: a player who confirms nothing is removed for that, and the others get all that they were sent.
func TestASlowPlayerHoldsNobodyUp(t *testing.T) {
	promise.Keeps(t, "T39", "connector", 1)
	r, game, a, b, d := trio(t, Config{})
	heard, left := 0, false
	for i := range 300 {
		a.tell(game, core.SemiOrdered, chat(strings.Repeat("x", 140)), chat(strings.Repeat("y", 140)), chat(fmt.Sprint(i)))
		r.pass(50 * ms)
		got := d.heard()
		heard += len(got)
		left = left || strings.Contains(strings.Join(got, ";"), "PeerLeft 1")
		for _, x := range a.heard() {
			left = left || x == "PeerLeft 1"
		}
		r.drop(b.addr)
	}
	r.pass(time.Second)
	heard += len(d.heard())
	if !left || heard != 3*300+1 {
		t.Errorf("the others heard %d messages; the slow one left: %t", heard, left)
	}
}

// drop forgets what was sent to an address.
func (r *rig) drop(addr netip.AddrPort) {
	kept := r.sent[:0]
	for _, d := range r.sent {
		if d.to != addr {
			kept = append(kept, d)
		}
	}
	r.sent = kept
}
