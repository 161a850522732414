package connector

import (
	"strings"
	"testing"
	"time"

	"parley/protocol/relay/core"
)

// A player who was lost, and goes on with the ids that it has come to, is told that it is a player no
// more, once it has proven that it is there: unreliably, as it waits for all that it has not got before it reads something reliable.
func TestAPlayerWhoWasLostIsToldWhenItComesBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		come func(b *player, game uint16)
		want int
	}{
		{"by a keep-alive", func(b *player, game uint16) { b.sendBytes(game, core.Unordered, true, nil) }, 1},
		{"by a ping", func(b *player, game uint16) { b.say(game, core.Unordered, &ToGame{Kind: ToGamePing}) }, 2},
		{"by a message", func(b *player, game uint16) { b.tell(game, core.Unordered, chat("hi")) }, 2},
		{"by an unreliable message", func(b *player, game uint16) { b.tell(game, core.Unreliable, chat("hi")) }, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, game, a, b := lost(t, false, 30)
			next := b.ids[game]
			tt.come(b, game)
			b.wantHeard("asked") // and answers
			b.ids[game] = next
			tt.come(b, game)
			told := func() (n int) {
				for _, x := range b.packages() {
					if strings.HasSuffix(x, " ") {
						continue // a keep-alive
					}
					if !strings.HasSuffix(x, " 01") || !strings.Contains(x, " 10 ") {
						t.Errorf("it was sent %s", x)
					}
					n++
				}
				b.heard() // and confirms what it had not
				return n
			}
			if got := told(); got != tt.want {
				t.Errorf("told %d times, want %d", got, tt.want)
			}
			// The network may have lost that.
			again := 0
			for range 30 {
				r.pass(time.Second)
				a.heard()
				again += told()
			}
			if again != 1 {
				t.Errorf("told %d times in the next half minute, want once", again)
			}
		})
	}
}

// Somebody new at its address begins at id 0, and may join.
func TestSomebodyNewAtTheAddressOfALostPlayer(t *testing.T) {
	r, game, a, _ := lost(t, false, 30)
	e := r.player(1)
	e.say(game, core.SemiOrdered, &join)
	e.wantHeard("new", "Joined 1")
	a.wantHeard("new", "PeerJoined 1")
}

// What a player said before it was removed comes before the news of that, and not later in the name of
// who has its number next.
func TestTheLastWordsOfAPlayerWhoIsRemoved(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	b.tell(game, core.SemiOrdered, chat("last words"))
	for range 64 {
		b.sendBytes(game, core.Unreliable, false, []byte{9})
	}
	e := r.player(9)
	e.say(game, core.Unordered, &join)
	r.pass(time.Second)
	a.wantHeard("removed", `from 1: Chat "last words"`, "PeerLeft 1", "PeerJoined 1")
	d.wantHeard("removed", `from 1: Chat "last words"`, "PeerLeft 1", "PeerJoined 1")
	e.wantHeard("new", "Joined 1")
}

// A game whose opener cannot be known at its port closes, and so does the port.
func TestAGameWithoutAPlaceForItsOpener(t *testing.T) {
	r := newRigOf(t, Config{}, 1)
	a := r.player(0)
	a.say(mainPort, core.Unordered, &ToMain{Kind: ToMainOpen, MaxPlayers: 2})
	r.pass(announceAfter)
	if r.lobby.Players() != 0 || r.lobby.Games() != 1 {
		t.Errorf("%d players, %d games", r.lobby.Players(), r.lobby.Games())
	}
	r.pass(closeWithin)
	if r.lobby.Games() != 0 || len(r.ports) != 1 {
		t.Errorf("%d games, %d ports", r.lobby.Games(), len(r.ports))
	}
}

// Who said something lately is not the one to make room.
func TestStrangersWhoSayNothingGoFirst(t *testing.T) {
	r := newRig(t, Config{MaxStrangers: 2})
	ping := &ToMain{Kind: ToMainPing}
	x, y, z := r.player(1), r.player(2), r.player(3)
	x.addr, y.addr, z.addr = near(1), near(2), near(3)
	x.say(mainPort, core.Unordered, ping)
	y.say(mainPort, core.Unordered, ping)
	x.say(mainPort, core.Unordered, ping)
	z.say(mainPort, core.Unordered, ping)
	if r.main.Peer(x.addr) == nil || r.main.Peer(y.addr) != nil || r.lobby.strangers.count != 2 {
		t.Errorf("%d strangers; the one who spoke is known: %t", r.lobby.strangers.count, r.main.Peer(x.addr) != nil)
	}
}

// After Shutdown nobody is let in and no game is opened, whoever asks.
func TestNoGameAfterShutdown(t *testing.T) {
	r := newRig(t, Config{})
	a := r.player(0)
	a.say(mainPort, core.Unordered, &ToMain{Kind: ToMainPing})
	a.heard()
	r.lobby.Shutdown(r.now)
	a.say(mainPort, core.Unordered, &ToMain{Kind: ToMainOpen})
	a.wantHeard("down", "GameOpenError DifferentGame")
	b := r.player(1)
	b.say(mainPort, core.Unordered, &ToMain{Kind: ToMainOpen})
	b.wantHeard("down")
	if len(r.ports) != 1 || r.main.Peer(b.addr) != nil {
		t.Errorf("%d ports", len(r.ports))
	}
}

func TestThereAreNoMoreGamesThanPorts(t *testing.T) {
	for _, tt := range []struct {
		first, last uint16
		want        int
	}{{0, 0, 256}, {5000, 5000, 1}, {5000, 5009, 10}, {5000, 4000, 0}, {1, 65535, 256}} {
		if got := (Config{FirstPort: tt.first, LastPort: tt.last}).fill().MaxGames; got != tt.want {
			t.Errorf("ports %d to %d: %d games, want %d", tt.first, tt.last, got, tt.want)
		}
	}
}

// A game that is over, and waits for its last message to be confirmed, lets nobody in and hears nothing.
func TestAGameThatIsOverHearsNothing(t *testing.T) {
	r := newRig(t, Config{})
	a, e := r.player(0), r.player(1)
	game := a.open(2)
	a.say(game, core.Unordered, &leave) // and does not confirm Left
	e.say(game, core.Unordered, &join)
	a.say(game, core.Unordered, &join)
	a.say(game, core.Unordered, &ToGame{Kind: ToGamePing})
	a.tell(game, core.Unordered, chat("anybody?"))
	r.pass(time.Second)
	for _, d := range r.sent {
		if d.to == e.addr {
			t.Errorf("a stranger was sent %x", d.b)
		}
	}
	a.wantHeard("over", "Left")
	if s := r.lobby.Stats(); s.Late != 3 || s.Game.NotJoined != 0 || s.Game.Refused != 0 || s.Check() != nil {
		t.Errorf("%+v", s)
	}
}
