package connector

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"parley/internal/kit"
	"parley/protocol/relay/core"
)

// client returns the address of the n-th client.
func client(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), uint16(4000+n))
}

// rules is a game alone, with a script of what clients send and are told.
type rules struct {
	t *testing.T
	g *game
}

// newRules returns a game of so many seats whose opener, client 0, was told that it has joined.
func newRules(t *testing.T, seats int) *rules {
	r := &rules{t, newGame(seats, client(0), &GameStats{})}
	r.g.announce()
	r.want("opened", "0: Joined 0")
	return r
}

// send has a client send a message and compares all that is said then.
func (r *rules) send(from int, m ToGame, want ...string) {
	r.t.Helper()
	r.g.handle(client(from), core.SemiOrdered, &m, false)
	r.want(fmt.Sprintf("%d sends %s", from, say(&m)), want...)
}

// want compares what was said since the last call.
func (r *rules) want(what string, want ...string) {
	r.t.Helper()
	var got []string
	for _, s := range r.g.out {
		got = append(got, fmt.Sprintf("%d: %s", int(s.to.Port())-4000, say(&s.msg)))
	}
	r.g.out = r.g.out[:0]
	if !slices.Equal(got, want) {
		r.t.Errorf("%s: said\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

var (
	join  = ToGame{Kind: ToGameJoin}
	leave = ToGame{Kind: ToGameLeave}
)

func ready(v Readiness) ToGame { return ToGame{Kind: ToGameReadiness, Readiness: v} }

func TestPlayersAreNumberedFromZeroAndHearWhoLeft(t *testing.T) {
	r := newRules(t, 3)
	r.send(1, join, "1: Joined 1", "0: PeerJoined 1")
	r.send(2, join, "2: Joined 2", "0: PeerJoined 2", "1: PeerJoined 2")
	r.send(3, join, "3: JoinError GameFull")
	r.send(1, leave, "1: Left", "0: PeerLeft 1", "2: PeerLeft 1")
	r.send(3, join, "3: Joined 1", "0: PeerJoined 1", "2: PeerJoined 1") // the number is used again
	r.send(0, leave, "0: Left", "3: PeerLeft 0", "2: PeerLeft 0")
	r.send(0, leave)
	r.send(2, leave, "2: Left", "3: PeerLeft 2")
	r.send(3, leave, "3: Left")
	if r.g.count != 0 || r.g.open() {
		t.Errorf("%d players, open %t", r.g.count, r.g.open())
	}
	r.send(1, join, "1: JoinError GameNotOpened")
}

func TestReadinessMovesOneStepAtATime(t *testing.T) {
	r := newRules(t, 3)
	r.send(1, join, "1: Joined 1", "0: PeerJoined 1")
	r.send(0, ready(NotReady))
	r.send(0, ready(Prepared))
	r.send(0, ready(Initialized))
	r.send(1, ready(Ready))
	r.send(1, ready(Ready))
	r.send(1, ready(Prepared)) // it is ahead already
	r.send(1, ready(NotReady))
	r.send(2, join, "2: Joined 2", "0: PeerJoined 2", "1: PeerJoined 2") // the game is not Ready yet
	r.send(0, ready(Ready))
	r.send(2, ready(Ready), "0: GameReadiness Ready", "1: GameReadiness Ready", "2: GameReadiness Ready")
	r.send(3, join, "3: JoinError GameNotOpened")
	for _, step := range []Readiness{Prepared, Initialized} {
		r.send(0, ready(step))
		r.send(1, ready(step))
		r.send(2, ready(step), fmt.Sprint("0: GameReadiness ", step), fmt.Sprint("1: GameReadiness ", step), fmt.Sprint("2: GameReadiness ", step))
	}
	r.send(1, ready(Initialized))
	r.send(1, ready(Prepared))
	if got := r.g.stats; got.Ignored != 5 || got.Refused != 1 {
		t.Errorf("stats: %+v", got)
	}
}

// "the game's follows when all players have moved": also when the last who had not is gone.
func TestTheGameGoesOnWhenTheSlowestLeaves(t *testing.T) {
	r := newRules(t, 3)
	r.send(1, join, "1: Joined 1", "0: PeerJoined 1")
	r.send(2, join, "2: Joined 2", "0: PeerJoined 2", "1: PeerJoined 2")
	r.send(0, ready(Ready))
	r.send(1, ready(Ready))
	r.g.leave(2, false)
	r.want("2 is lost", "0: PeerLeft 2", "1: PeerLeft 2", "0: GameReadiness Ready", "1: GameReadiness Ready")
}

func TestTheOpenerHearsNothingBeforeJoined(t *testing.T) {
	r := &rules{t, newGame(4, client(0), &GameStats{})}
	r.send(0, ToGame{Kind: ToGamePing, Ping: 9}, "0: Pong 9")
	r.send(0, join) // Joined is on its way
	r.send(2, join, "2: Joined 1")
	r.send(1, join, "1: Joined 2", "2: PeerJoined 2")
	r.send(0, ready(Ready))
	r.send(1, ready(Ready))
	r.send(2, ready(Ready), "2: GameReadiness Ready", "1: GameReadiness Ready")
	r.g.announce()
	r.want("announced", "0: Joined 0", "0: PeerJoined 1", "0: PeerJoined 2", "0: GameReadiness Ready")
	r.g.announce()
	r.want("announced again")
	r.send(0, join, "0: JoinError AlreadyJoined")
}

func TestAnOpenerThatLeftIsNotAnnounced(t *testing.T) {
	r := &rules{t, newGame(4, client(0), &GameStats{})}
	r.send(1, join, "1: Joined 1")
	r.send(0, leave, "0: Left", "1: PeerLeft 0")
	r.send(2, join, "2: Joined 0", "1: PeerJoined 0")
	r.g.announce()
	r.want("announced")
}

// Random messages against invariants: numbers are distinct, the game is as far as its slowest
// player and nobody is further than one step ahead.
func TestGamesKeepTheirRules(t *testing.T) {
	rng := kit.Rand(t)
	for range kit.Rounds(20_000, 1_000_000) {
		g := newGame(1+rng.IntN(8), client(0), &GameStats{})
		for range 60 {
			from := client(rng.IntN(12))
			m := []ToGame{join, join, leave, {Kind: ToGamePing}, ready(Readiness(rng.IntN(4))), ready(g.readiness + 1)}[rng.IntN(6)]
			before, taken := g.readiness, g.count
			g.handle(from, core.Unordered, &m, rng.IntN(8) == 0)
			if rng.IntN(20) == 0 {
				g.announce()
			}
			count, least, most := 0, Initialized, NotReady
			for i := range g.seats {
				if s := &g.seats[i]; s.taken {
					count++
					least, most = min(least, s.readiness), max(most, s.readiness)
					if n, ok := g.player(s.addr); !ok || n != i {
						t.Fatalf("seat %d is that of player %d", i, n)
					}
				}
			}
			if count != g.count || count > 0 && (least < g.readiness || most > g.readiness+1 || g.readiness < before) {
				t.Fatalf("%d of %d players, the game at %v, players from %v to %v", count, g.count, g.readiness, least, most)
			}
			if before != NotReady && g.count > taken {
				t.Fatalf("someone joined a game that is %v", before)
			}
			if count == 0 {
				break
			}
		}
	}
}
