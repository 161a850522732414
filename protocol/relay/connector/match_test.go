package connector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/protocol/relay/core"
)

func chat(text string) *Peer { return &Peer{Kind: PeerChat, Text: []byte(text)} }

// trio is a game of three players, who have heard all of how it came to be.
func trio(t testing.TB, c Config) (r *rig, game uint16, a, b, d *player) {
	t.Helper()
	r = newRig(t, c)
	a, b, d = r.player(0), r.player(1), r.player(2)
	game = a.open(3)
	for _, p := range []*player{b, d} {
		p.say(game, core.SemiOrdered, &join)
	}
	a.wantHeard("trio", "PeerJoined 1", "PeerJoined 2")
	b.wantHeard("trio", "Joined 1", "PeerJoined 2")
	d.wantHeard("trio", "Joined 2")
	r.pass(time.Second)
	r.sent = nil // confirmations
	return r, game, a, b, d
}

// packages returns the packages that were sent to a player since it last listened, with their
// flags, ids and payloads in hex.
func (p *player) packages() (list []string) {
	for _, d := range p.r.sent {
		if d.to == p.addr && d.b[0] != 0x80 {
			list = append(list, fmt.Sprintf("%v %x %x %x", d.at, d.b[:1], d.b[1:4], d.b[4:]))
		}
	}
	return list
}

// "flushed after at most 10 ms when unreliable and 50 ms when reliable": at once, but for what comes within 10 or 20 ms of a package in
// the same mode.
func TestGroupsAreFlushedInTime(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	start := r.now.Sub(rigStart)
	b.tell(game, core.Unreliable, chat("u"))
	b.tell(game, core.Unordered, chat("o"))
	d.tell(game, core.Unordered, chat("p")) // in the same turn
	r.pass(4 * ms)
	b.tell(game, core.Unreliable, chat("v"))
	b.tell(game, core.Unordered, chat("q"))
	b.tell(game, core.SemiOrdered, chat("s"))
	r.pass(4 * ms)
	b.tell(game, core.Unreliable, chat("w"))
	b.tell(game, core.Unordered, chat("r"))
	d.tell(game, core.SemiOrdered, chat("t"))
	r.pass(time.Second)
	want := []string{
		fmt.Sprintf("%v 00 000000 %x", start, "\x01\x00\x01u"),
		fmt.Sprintf("%v 20 000003 %x", start, "\x01\x00\x01o\x02\x00\x01p"),
		fmt.Sprintf("%v 20 000004 %x", start+4*ms, "\x01\x00\x01q"), // before what is semi-ordered
		fmt.Sprintf("%v 40 000005 %x", start+4*ms, "\x01\x00\x01s"),
		fmt.Sprintf("%v 00 000001 %x", start+10*ms, "\x01\x00\x01v\x01\x00\x01w"),
		fmt.Sprintf("%v 20 000006 %x", start+24*ms, "\x01\x00\x01r"),
		fmt.Sprintf("%v 40 000007 %x", start+24*ms, "\x02\x00\x01t"),
	}
	if got := a.packages(); strings.Join(got[:min(len(want), len(got))], "\n") != strings.Join(want, "\n") {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// "after 220 ms …, and with the `connector` lobby always": also when the round trip is known.
func TestResendsAfter220Milliseconds(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	for range 20 {
		b.tell(game, core.Unordered, chat("?"))
		r.pass(reliableGroup + 20*ms) // the round trip is 20 ms
		a.heard()
		d.heard()
	}
	b.tell(game, core.Unordered, chat("!"))
	r.pass(0)
	first := r.now.Sub(rigStart)
	r.pass(300 * ms)
	if got := a.packages(); len(got) != 2 || !strings.HasPrefix(got[1], fmt.Sprint(first+resendAfter)) {
		t.Errorf("first sent after %v; sent %q", first, got)
	}
}

// Ids may begin anywhere, and a hole is no reason to be removed.
func TestAHoleIsForgiven(t *testing.T) {
	r := newRig(t, Config{})
	a, b := r.player(0), r.player(1)
	game := a.open(2)
	b.ids[game] = 900
	b.say(game, core.Unordered, &join)
	for range 60 {
		r.pass(time.Second)
		a.heard()
		b.heard()
	}
	b.tell(game, core.Unordered, chat("still here"))
	r.pass(reliableGroup)
	a.wantHeard("a minute later", `from 1: Chat "still here"`)
}

// NotJoined and Pong come in the mode of what they answer.
func TestAnswersComeInTheModeOfTheQuestion(t *testing.T) {
	r, game, a, _, _ := trio(t, Config{})
	for mode, flags := range map[core.Mode]byte{core.Unreliable: 0x10, core.Unordered: 0x30, core.SemiOrdered: 0x50} {
		e := r.player(20 + int(mode))
		for _, p := range []*player{e, a} {
			r.sent = nil
			p.say(game, mode, &ToGame{Kind: ToGamePing})
			if len(r.sent) != 1 || r.sent[0].b[0] != flags {
				t.Errorf("a ping in mode %v of %v is answered by %v", mode, p.addr, r.sent)
			}
			p.heard()
		}
		e.tell(game, mode, chat("hi"))
		if len(r.sent) != 1 || r.sent[0].b[0] != flags || r.sent[0].b[4] != 1 {
			t.Errorf("a chat in mode %v of a stranger is answered by %v", mode, r.sent)
		}
		e.heard()
	}
}

// A game has no more players than the server wants.
func TestPlayersAreBounded(t *testing.T) {
	r := newRig(t, Config{MaxPlayers: 2})
	a, b, d := r.player(0), r.player(1), r.player(2)
	b.addr = near(1)
	game := a.open(200)
	b.say(game, core.Unordered, &join)
	d.say(game, core.Unordered, &join)
	b.wantHeard("the last", "Joined 1")
	d.wantHeard("one too many", "JoinError GameFull")
}

// What a player sent unordered before something semi-ordered has the smaller id, also when the
// semi-ordered package is full before its time, and when it began to wait first.
func TestSemiOrderedComesAfterWhatWasSentBefore(t *testing.T) {
	r, game, a, b, _ := trio(t, Config{})
	b.tell(game, core.SemiOrdered, chat("at once"))
	r.pass(5 * ms)
	b.tell(game, core.Unordered, chat("at once"))
	b.tell(game, core.SemiOrdered, chat("first"))
	r.pass(10 * ms)
	b.tell(game, core.Unordered, chat("before"))
	b.tell(game, core.SemiOrdered, chat("after"))
	r.pass(6 * ms)
	a.wantHeard("by time", `from 1: Chat "at once"`, `from 1: Chat "at once"`, `from 1: Chat "before"`, `from 1: Chat "first"`, `from 1: Chat "after"`)
	r.pass(time.Second)
	b.tell(game, core.Unordered, chat("before"))
	b.tell(game, core.SemiOrdered, chat(strings.Repeat("x", 140)), chat(strings.Repeat("x", 140)), chat(strings.Repeat("x", 140)))
	b.tell(game, core.SemiOrdered, chat(strings.Repeat("y", 140)))
	if got := a.heard(); len(got) != 4 || got[0] != `from 1: Chat "before"` {
		t.Errorf("heard %q", got)
	}
	r.pass(reliableGroup)
	if got := a.heard(); len(got) != 1 {
		t.Errorf("heard %q", got)
	}
}

// A package that fills up with the senders' numbers becomes two, and none is too large.
func TestAFullPackageBecomesTwo(t *testing.T) {
	r, game, a, b, _ := trio(t, Config{})
	var payload []byte
	for i := range 168 {
		payload = (&Peer{Kind: PeerDespawn, Entity: Entity{1, uint32(i % 200)}}).AppendTo(payload)
	}
	b.sendBytes(game, core.Unordered, false, payload)
	r.pass(reliableGroup)
	if got := a.packages(); len(got) != 2 || len(payload) != MaxPayload {
		t.Errorf("%d bytes became %d packages", len(payload), len(got))
	}
	if got := a.heard(); len(got) != 168 || got[167] != "from 1: Despawn 1/167" {
		t.Errorf("%d messages, the last %q", len(got), got[len(got)-1])
	}
}

// Messages of several players to one share a package: see groups.
func TestPlayersShareAPackage(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	b.tell(game, core.Unordered, chat("b"))
	d.tell(game, core.Unordered, chat("d"))
	r.pass(reliableGroup)
	if got := a.packages(); len(got) != 1 {
		t.Errorf("%q", got)
	}
	a.wantHeard("both", `from 1: Chat "b"`, `from 2: Chat "d"`)
	b.wantHeard("the other's", `from 2: Chat "d"`)
	d.wantHeard("the other's", `from 1: Chat "b"`)
}

// Who joins gets nothing that was sent before, and who leaves gets all that was.
func TestWhoIsThereGetsIt(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	a.tell(game, core.Unordered, chat("to b and d"))
	b.say(game, core.Unordered, &leave)
	b.wantHeard("left", `from 0: Chat "to b and d"`, "Left")
	d.wantHeard("b left", `from 0: Chat "to b and d"`, "PeerLeft 1")
	a.wantHeard("b left", "PeerLeft 1")
	a.tell(game, core.Unordered, chat("to d"))
	b.say(game, core.Unordered, &join)
	b.wantHeard("joined again", "Joined 1")
	r.pass(reliableGroup)
	b.wantHeard("nothing from before")
	d.wantHeard("b joined", `from 0: Chat "to d"`, "PeerJoined 1")
	a.tell(game, core.Unordered, chat("to b and d again"))
	r.pass(reliableGroup)
	b.wantHeard("it is a player again", `from 0: Chat "to b and d again"`)
}

// What a player said before it left, or before the game went on, comes before that.
func TestWhatASenderSaidComesBeforeItsEnd(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	b.tell(game, core.Unordered, chat("goodbye"))
	b.say(game, core.Unordered, &leave)
	a.wantHeard("b left", `from 1: Chat "goodbye"`, "PeerLeft 1")
	d.heard()
	d.tell(game, core.SemiOrdered, chat("I am"))
	for _, p := range []*player{a, d} {
		m := ready(Ready)
		p.say(game, core.SemiOrdered, &m)
	}
	a.wantHeard("ready", `from 2: Chat "I am"`, "GameReadiness Ready")
	r.pass(time.Second)
	a.wantHeard("no more")
}

// An opener that is never heard of again has no game for long.
func TestAGameWithoutItsOpenerCloses(t *testing.T) {
	r := newRig(t, Config{})
	a := r.player(0)
	a.say(mainPort, core.Unordered, &ToMain{Kind: ToMainOpen, MaxPlayers: 3})
	r.pass(4 * time.Second)
	if r.lobby.Games() != 1 {
		t.Error("it did not wait")
	}
	r.pass(20 * time.Second)
	if r.lobby.Games() != 0 || len(r.ports) != 1 || r.lobby.Players() != 0 {
		t.Errorf("%d games, %d ports", r.lobby.Games(), len(r.ports))
	}
}

// "keep-alives only after 20 s (gone after 60 s)": a player who has nothing to say stays as long as it
// confirms, and nothing but one empty package a silence is sent to it.
func TestKeepAlives(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	start := r.now
	for range 10 {
		for range 18 {
			r.pass(time.Second)
			for _, p := range []*player{a, b, d} {
				if got := p.packages(); len(got) != 0 {
					t.Fatalf("after %v of silence: %q", r.now.Sub(start), got)
				}
			}
		}
		r.pass(3 * time.Second)
		for _, p := range []*player{a, b, d} {
			for _, x := range p.packages() {
				if !strings.HasSuffix(x, " ") || !strings.Contains(x, " 30 ") {
					t.Fatalf("a keep-alive is %q", x)
				}
			}
			p.heard()
		}
		start = r.now
		r.sent = nil
	}
	if r.lobby.Players() != 3 || r.port(game) == nil {
		t.Errorf("%d players after 210 s", r.lobby.Players())
	}
}

// One who is silent from the start is left alone for 20 s, and is gone after 60 s.
func TestAStrangerIsForgottenAfterAMinute(t *testing.T) {
	r := newRig(t, Config{})
	r.player(0).say(mainPort, core.Unreliable, &ToMain{Kind: ToMainPing, Ping: 5})
	r.pass(19 * time.Second)
	if r.mux.Len() != 1 || len(r.sent) != 1 {
		t.Errorf("%d peers; sent %v", r.mux.Len(), r.sent)
	}
	r.pass(42 * time.Second)
	if r.mux.Len() != 0 || r.lobby.strangers.count != 0 {
		t.Errorf("%d peers and %d strangers", r.mux.Len(), r.lobby.strangers.count)
	}
}

// The opener is in the game from the start, but hears of it after 100 ms.
func TestTheOpenerBeforeItIsAnnounced(t *testing.T) {
	r := newRig(t, Config{})
	a, b := r.player(0), r.player(1)
	a.say(mainPort, core.Unordered, &ToMain{Kind: ToMainOpen, MaxPlayers: 3})
	a.say(40000, core.Unordered, &ToGame{Kind: ToGamePing, Ping: 1<<32 - 1}) // opens the way through a NAT
	a.wantHeard("early", "GameOpened 40000", "Pong 4294967295")
	b.say(40000, core.Unordered, &join)
	b.tell(40000, core.Unordered, chat("too early for a"))
	a.tell(40000, core.Unordered, chat("early"))
	r.pass(80 * ms)
	b.wantHeard("before", "Joined 1", `from 0: Chat "early"`)
	b.tell(40000, core.Unordered, chat("a bit too early for a"))
	r.pass(19 * ms)
	a.wantHeard("before")
	r.pass(ms)
	a.wantHeard("announced", "Joined 0", "PeerJoined 1")
	r.pass(time.Second)
	a.wantHeard("after")
	b.wantHeard("after")
	if want := "joined 192.0.2.1:4001; joined 192.0.2.1:4000"; strings.Join(r.events, "; ") != want {
		t.Errorf("the program was told %q, want %q", r.events, want)
	}
}

func TestDismissedPlayersAreTold(t *testing.T) {
	r, _, a, b, _ := trio(t, Config{})
	a.tell(40000, core.Unordered, chat("last words"))
	r.lobby.Shutdown(r.now)
	r.mux.Shutdown(r.now, "")
	r.settle()
	a.wantHeard("shutdown", "Left")
	b.wantHeard("shutdown", `from 0: Chat "last words"`, "Left")
	a.say(mainPort, core.Unordered, &ToMain{Kind: ToMainOpen})
	r.player(7).say(40000, core.Unordered, &join)
	r.pass(closeWithin)
	a.wantHeard("no more")
	r.player(7).wantHeard("no more")
	if len(r.ports) != 1 || r.mux.Len() != 0 || r.lobby.Games() != 0 || r.lobby.Players() != 0 {
		t.Errorf("%d ports, %d peers, %d games", len(r.ports), r.mux.Len(), r.lobby.Games())
	}
}
