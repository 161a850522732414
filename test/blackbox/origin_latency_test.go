package blackbox

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"parley/internal/promise"
	"parley/protocol/relay/connector"
	"parley/simnet"
)

// originLoad is players of the game who talk, and how soon the others hear it.
type originLoad struct {
	name           string
	games, players int
	every          time.Duration // between two messages of a player
	mode           byte
	path           simnet.Profile
	lasts          time.Duration
}

// originFigures are what came of a load.
type originFigures struct {
	p50, p99  time.Duration
	datagrams uint64 // of the server
}

func (f originFigures) String() string {
	return fmt.Sprintf("p50 %v, p99 %v, %d datagrams", f.p50.Round(time.Millisecond), f.p99.Round(time.Millisecond), f.datagrams)
}

func (l *originLoad) run(t *testing.T, seed uint64, c connector.Config) originFigures {
	t.Helper()
	w := newOriginWorld(t, seed, l.path, c)
	_, all := originLobbies(w, l.games, l.players)
	w.run(2 * time.Second)
	var sent = map[*originClient][]time.Time{}
	var late []time.Duration
	want, rng := 0, rand.New(rand.NewPCG(seed, 5))
	for g := range l.games {
		members := []*originClient{all[g]}
		members = append(members, all[l.games+g*(l.players-1):l.games+(g+1)*(l.players-1)]...)
		for _, c := range members {
			c.arrived = func(now time.Time, from, seq int, _ byte) {
				for _, o := range members {
					if o.player == from {
						late = append(late, now.Sub(sent[o][seq]))
					}
				}
			}
		}
	}
	before := w.mux.Stats().Out
	for i, c := range all {
		var talk func()
		end := w.net.Elapsed() + l.lasts
		talk = func() {
			if w.net.Elapsed() >= end {
				return
			}
			w.do(func(now time.Time) { sent[c] = append(sent[c], now); c.say(now, l.mode) })
			want += l.players - 1
			w.net.After(l.every*3/4+time.Duration(rng.Int64N(int64(l.every/2))), "talk", talk)
		}
		w.net.After(l.every*time.Duration(i)/time.Duration(len(all)), "talk", talk)
	}
	w.run(l.lasts + 15*time.Second)
	for _, c := range all {
		if c.gaveUp != "" {
			t.Fatalf("%s gave up: %s", c.name, c.gaveUp)
		}
	}
	if len(late) != want {
		t.Fatalf("%s: %d of %d messages came", l.name, len(late), want)
	}
	slices.Sort(late)
	return originFigures{late[len(late)/2], late[len(late)*99/100], w.mux.Stats().Out - before}
}

// How soon players hear each other, and with how many datagrams of the server, as medians over seeds: against what the server did before, when it grouped
// what each sender sent for 50 ms and gathered confirmations for 20 ms, in virtual time and as medians of 20 seeds. The game's own server has a p50 of 63 ms on the lossy path and of 45 ms
// with 16 clients.
func TestOriginLatency(t *testing.T) {
	lossy := simnet.Profile{Delay: 25 * time.Millisecond, Loss: 0.05}
	clean := simnet.Profile{Delay: 10 * time.Millisecond}
	seeds := 3
	if promise.Full() {
		seeds = 20
	}
	for _, tt := range []struct {
		originLoad
		p50, p99  int    // at most, in ms
		datagrams uint64 // before
	}{
		{originLoad{"8 players, unordered, 5% loss, 20/s each", 2, 4, 50 * time.Millisecond, originUnordered, lossy, 5 * time.Second}, 63, 409, 2726},
		{originLoad{"8 players, unordered, 5% loss, 40/s each", 2, 4, 25 * time.Millisecond, originUnordered, lossy, 5 * time.Second}, 63, 412, 3741},
		{originLoad{"16 players, semi-ordered, 200/s each", 4, 4, 5 * time.Millisecond, originSemi, clean, 2 * time.Second}, 45, 70, 3630},
		{originLoad{"16 players, semi-ordered, 200/s in all", 4, 4, 80 * time.Millisecond, originSemi, clean, 5 * time.Second}, 45, 70, 4401},
		{originLoad{"2 players, semi-ordered, 30/s each", 1, 2, 33 * time.Millisecond, originSemi, clean, 4 * time.Second}, 45, 70, 413},
		{originLoad{"2 players, semi-ordered, 200/s each", 1, 2, 5 * time.Millisecond, originSemi, clean, 2 * time.Second}, 45, 70, 297},
		{originLoad{"3 players, semi-ordered, 200/s each", 1, 3, 5 * time.Millisecond, originSemi, clean, 2 * time.Second}, 45, 70, 563},
		{originLoad{"2 players, unordered, 5% loss, 20/s each", 1, 2, 50 * time.Millisecond, originUnordered, lossy, 5 * time.Second}, 63, 413, 391},
		{originLoad{"2 players, unordered, 5% loss, 200/s each", 1, 2, 5 * time.Millisecond, originUnordered, lossy, 2 * time.Second}, 63, 405, 313},
	} {
		var p50, p99 []time.Duration
		var datagrams []uint64
		for seed := range seeds {
			got := tt.run(t, uint64(seed)+1, connector.Config{})
			p50, p99, datagrams = append(p50, got.p50), append(p99, got.p99), append(datagrams, got.datagrams)
		}
		slices.Sort(p50)
		slices.Sort(p99)
		slices.Sort(datagrams)
		got := originFigures{p50[seeds/2], p99[seeds/2], datagrams[seeds/2]}
		t.Logf("%s: %v; before %d datagrams", tt.name, got, tt.datagrams)
		if got.p50 > time.Duration(tt.p50)*time.Millisecond || got.p99 > time.Duration(tt.p99)*time.Millisecond || got.datagrams*10 > tt.datagrams*11 {
			t.Errorf("%s: %v; p50 at most %d ms, p99 %d ms, datagrams 1.1 times %d", tt.name, got, tt.p50, tt.p99, tt.datagrams)
		}
	}
}
