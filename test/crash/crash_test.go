package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/bots"
	"parley/play/keep"
	"parley/test/field"
)

// lives are how many servers are killed side by side: most of a life its players wait until they notice.
const lives = 10

// patience ends a wait that would else last for ever. It is no measure.
var patience = field.Patience

// T72: "kill -9 at 200 random points, each of --keep tick and second, players of all dialects noting every value and line that they were
// told: tick loses none of it, second at most 1 s (nothing at kill -9 alone); resumed worlds equal a replay of the log."
func TestNothingThatWasToldIsLost(t *testing.T) {
	seed := chance.Seed(t, 72)
	for _, mode := range []keep.Mode{keep.Tick, keep.Second} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			kills := promise.Keeps(t, "T72", "players", promise.Tier(4, 20, 200))
			var sum tally
			t.Cleanup(func() { sum.print(t, kills) })
			for i := range min(lives, kills) {
				t.Run(fmt.Sprint("life ", i+1), func(t *testing.T) {
					t.Parallel()
					l := newLife(t, mode, rand.New(rand.NewPCG(seed, uint64(i)<<8|uint64(mode))))
					for n := i; n < kills; n += lives {
						l.round()
						if t.Failed() {
							t.Fatalf("kill %d of this life, seed=%d", n/lives+1, seed)
						}
					}
					l.end(&sum)
				})
			}
		})
	}
}

// life is a server that is killed again and again, and its players.
type life struct {
	t         *testing.T
	r         *rand.Rand
	s         *server
	notes     *notes
	witnesses []*witness
	stop      func() // has the players leave
}

func newLife(t *testing.T, mode keep.Mode, r *rand.Rand) *life {
	t.Helper()
	l := &life{t: t, r: r, s: &server{dir: t.TempDir(), mode: mode, port: freePorts(t)}, notes: &notes{rows: map[int]int{}, lines: map[string]bool{}}}
	schema := field.Schema(t, game())
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	l.stop = sync.OnceFunc(func() {
		cancel()
		patient.Done(all.Wait)
	})
	t.Cleanup(l.stop)
	for _, dialect := range bots.Dialects {
		w := &witness{t: t, s: l.s, notes: l.notes, dialect: dialect, schema: schema, news: make(chan struct{}, 1)}
		l.witnesses = append(l.witnesses, w)
		all.Go(func() { w.live(ctx) })
	}
	return l
}

// round starts the server, and kills it at some moment: while players come back, or when all are there.
func (l *life) round() {
	t := l.t
	t.Helper()
	l.s.start(t)
	living := true
	defer func() {
		if living { // the test has failed
			l.s.kill(t)
		}
	}()
	if l.r.IntN(4) > 0 {
		l.within("all players are back", l.areBack)
	}
	until := l.notes.count() + 1 + l.r.IntN(1+l.r.IntN(200))
	l.within("players are told something", func() bool { return l.notes.count() >= until })
	<-time.After(time.Duration(l.r.Int64N(int64(2 * time.Second / tickRate)))) // any moment of a tick
	l.s.kill(t)
	living = false
	l.look()
}

// within waits for something, unless the test has failed. Else it says what each player is at.
func (l *life) within(what string, holds func() bool) {
	l.t.Helper()
	for end := time.Now().Add(patience); !holds() && !l.t.Failed(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			for _, w := range l.witnesses {
				l.t.Log(w.state())
			}
			l.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func (l *life) areBack() bool {
	for _, w := range l.witnesses {
		if !w.isBack() {
			return false
		}
	}
	return true
}

// look compares what is on disk with what players were told.
func (l *life) look() {
	l.t.Helper()
	d := readDisk(l.t, l.s.dir)
	d.wantTold(l.t, l.notes)
	for _, w := range l.witnesses {
		w.killed(d)
		if l.t.Failed() {
			l.t.Logf("%s; the log has of it: %s", w.state(), strings.Join(d.stories[w.row], ", "))
		}
	}
}

// end has all players come back once more, and leave. By then they have noted everything.
func (l *life) end(sum *tally) {
	l.t.Helper()
	l.s.start(l.t)
	l.within("all players are back at last", l.areBack)
	l.s.kill(l.t)
	l.stop()
	d := readDisk(l.t, l.s.dir)
	d.wantTold(l.t, l.notes)
	sum.add(l, d)
}

// tally is what the players of all lives went through.
type tally struct {
	mu               sync.Mutex
	ticks            uint64
	values, lines    int
	away, back, anew int
	longest          time.Duration
}

func (s *tally) add(l *life, d *disk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticks += d.tick
	s.values += l.notes.told - len(l.notes.lines)
	s.lines += len(l.notes.lines)
	for _, w := range l.witnesses {
		s.away, s.back, s.anew = s.away+w.away, s.back+w.back, s.anew+w.anew
		for _, a := range w.absent {
			s.longest = max(s.longest, a)
		}
	}
}

func (s *tally) print(t *testing.T, kills int) {
	t.Logf("%d kills and one more a life: %d ticks; players were told %d values and %d lines, were away %d times, came back %d times, after %v at most, and came anew %d times",
		kills, s.ticks, s.values, s.lines, s.away, s.back, s.longest.Round(time.Millisecond), s.anew)
}
