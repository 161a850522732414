package nodes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/internal/kit/cable"
	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/play/line"
	"parley/test/field"
)

// three are three servers, each in a process with a server of NATS in it, and their players.
type three struct {
	t         *testing.T
	cable     *cable.Cable
	machines  []*machine
	story     *story
	witnesses []*witness
	disk      string // of the last machine, if it is a small one
	stood     func() time.Duration
	pauses    []time.Duration
	tries     []time.Duration
	missed    []time.Duration
	lines     int
}

// inARow are the ports of a machine's dialects, two of them realm's, and ports are all that it needs, with that of its server of NATS.
const (
	inARow = 6
	ports  = inARow + 1
)

// newThree starts servers and players, so many in all. Nothing of a player's is random but when it does what.
func newThree(t *testing.T, players int) *three {
	t.Helper()
	x := &three{t: t, story: newStory(), stood: patient.Stood(t)}
	first := freePorts(t, 3*ports)
	var addrs []string
	for i := range 3 {
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", first+3*inARow+i))
	}
	x.cable = cable.New(t, addrs)
	fronts := x.cable.Addrs()
	for i := range 3 {
		m := &machine{t: t, story: x.story, c: childConfig{
			Listen: addrs[i], Advertise: fronts[i], Dir: t.TempDir(), Peers: slices.Delete(slices.Clone(fronts), i, i+1), Ports: first + inARow*i, Counts: true,
		}}
		if i == 2 && syscall.Mount("nodes", m.c.Dir, "tmpfs", 0, "size=96m") == nil {
			x.disk = m.c.Dir
			t.Cleanup(func() { syscall.Unmount(m.c.Dir, syscall.MNT_DETACH) })
		}
		x.machines = append(x.machines, m)
		t.Cleanup(func() {
			m.signal(syscall.SIGCONT)
			m.kill()
			if t.Failed() || testing.Verbose() {
				t.Logf("server %d says:\n%s", i, m.said())
			}
		})
	}
	var work sync.WaitGroup
	for _, m := range x.machines { // one alone waits for the others
		work.Go(m.start)
	}
	patient.Done(work.Wait)
	if t.Failed() {
		t.FailNow()
	}
	x.people(players)
	return x
}

// people has players join: of replica, relay and duplex alike, one of eight each of realm and stamp, spread over the servers.
func (x *three) people(players int) {
	x.t.Helper()
	seed := chance.Seed(x.t, 79)
	schema := field.Schema(x.t, countingGame(func(uint64, uint64) {}))
	dialects := []string{"replica", "relay", "duplex", "relay", "duplex", "replica", "realm", "stamp"}
	for i := range players {
		w := &witness{
			t: x.t, schema: schema, story: x.story, dialect: dialects[i/3%len(dialects)], number: i, rng: rand.New(rand.NewPCG(seed, uint64(i))), heard: map[string]int{},
		}
		order := []int{i % 3, (i + 1) % 3, (i + 2) % 3}
		if i/3%2 == 1 { // those of a server that is gone go to both others
			order[1], order[2] = order[2], order[1]
		}
		for _, k := range order {
			w.ways = append(w.ways, line.Way{Dialect: w.dialect, Addr: x.machines[k].addr(w.dialect)})
		}
		x.witnesses = append(x.witnesses, w)
	}
	x.joins(x.witnesses)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, w := range x.witnesses {
		all.Go(func() { w.live(ctx) })
	}
	x.t.Cleanup(func() {
		cancel()
		for _, w := range x.witnesses {
			all.Go(w.leave)
		}
		patient.Done(all.Wait)
	})
	x.settled("at the beginning")
}

// joins has players come, sixteen at a time.
func (x *three) joins(list []*witness) {
	x.t.Helper()
	room := make(chan struct{}, 16)
	var all sync.WaitGroup
	for _, w := range list {
		all.Go(func() {
			room <- struct{}{}
			if err := w.join(context.Background()); err != nil {
				x.t.Error(err)
			}
			patient.Value(room)
		})
	}
	patient.Done(all.Wait)
	if x.t.Failed() {
		x.t.FailNow()
	}
}

// settled waits until all players play.
func (x *three) settled(when string) {
	x.t.Helper()
	x.within("all players play "+when, time.Minute, func() bool { return !slices.ContainsFunc(x.witnesses, func(w *witness) bool { return !w.isIn() }) })
}

// within waits for something, unless the test has failed. It says what players are at who do not play.
func (x *three) within(what string, limit time.Duration, holds func() bool) {
	x.t.Helper()
	for end := time.Now().Add(limit); !holds(); <-time.After(20 * time.Millisecond) {
		if time.Now().Before(end) {
			continue
		}
		for _, w := range x.witnesses {
			if !w.isIn() {
				x.t.Log(w.state())
			}
		}
		x.look()
		for i, m := range x.machines {
			m.mu.Lock()
			dead := m.child == nil
			m.mu.Unlock()
			if dead {
				continue
			}
			x.t.Logf("server %d: its last tick was %v ago; %+v", i, time.Since(m.lastTick()).Round(time.Millisecond), m.ask("room"))
		}
		x.t.Fatalf("%s: not within %v", what, limit)
	}
}

// look fails the test for what players have found wrong.
func (x *three) look() {
	x.t.Helper()
	for _, w := range x.witnesses {
		w.mu.Lock()
		for _, wrong := range w.wrong {
			x.t.Error(wrong)
		}
		w.wrong = nil
		w.mu.Unlock()
	}
	for _, wrong := range x.story.check() {
		x.t.Error(wrong)
	}
}

// of hands the test over to a part of it.
func (x *three) of(t *testing.T) {
	x.t = t
	for _, m := range x.machines {
		m.t = t
	}
	for _, w := range x.witnesses {
		w.t = t
	}
}

// find returns the machine that is something to the room main.
func (x *three) find(what string, is func(childIs) bool) (found int) {
	x.t.Helper()
	untilIn(x.t, what, time.Minute, func() bool {
		found = slices.IndexFunc(x.machines, func(m *machine) bool { return is(m.ask("room")) })
		return found >= 0
	})
	return found
}

func (x *three) sequencer() int {
	x.t.Helper()
	return x.find("a sequencer", func(is childIs) bool { return is.Sequences })
}

// round is a time of trouble: what players were at before, and what they went through.
type round struct {
	*three
	from uint64 // the tick before
	at   []int  // where each player was
}

func (x *three) begin() *round {
	r := &round{three: x, from: x.story.tick()}
	for _, w := range x.witnesses {
		w.begin()
		r.at = append(r.at, w.at(x.machines))
	}
	for _, m := range x.machines {
		m.reset()
	}
	return r
}

// plays waits until players of all servers but some make steps again.
func (r *round) plays(when string, not ...int) {
	r.t.Helper()
	before := make([]int, len(r.witnesses))
	for i, w := range r.witnesses {
		before[i] = w.did()
	}
	var late []string
	defer func() {
		if r.t.Failed() {
			r.t.Logf("no steps of %q", late)
		}
	}()
	r.within("steps of players of servers that are well, "+when, 45*time.Second, func() bool {
		late = late[:0]
		for i, w := range r.witnesses {
			if w.plays() && !slices.Contains(not, r.at[i]) && w.did() <= before[i] {
				late = append(late, w.state())
			}
		}
		return len(late) == 0
	})
}

// pause notes for how long the room stood still at the servers but some.
func (r *round) pause(not ...int) {
	longest := time.Duration(0)
	for i, m := range r.machines {
		if p, _ := m.paused(); !slices.Contains(not, i) {
			longest = max(longest, p)
		}
	}
	r.pauses = append(r.pauses, longest.Round(10*time.Millisecond))
}

// end waits until all play, and holds what they went through against the promises. Players of the servers that were struck may have been away.
func (r *round) end(struck ...int) {
	r.t.Helper()
	r.settled("after the trouble")
	var notes []notes
	for _, w := range r.witnesses {
		notes = append(notes, w.note())
	}
	to := r.story.tick()
	r.within("what was told is final at all servers", 2*time.Minute, func() bool { // one that was started again runs all that it has missed
		return !slices.ContainsFunc(r.machines, func(m *machine) bool { return r.story.told(m.name()) <= to+window+20 })
	})
	lines := r.story.said(r.from+window, to)
	for i, w := range r.witnesses {
		r.within(fmt.Sprintf("the log has what %s was told, %+v", w.name(), notes[i]), 20*time.Second, func() bool { return r.story.has(&notes[i]) })
		r.within(w.name()+" has read all that was said", 20*time.Second, func() bool { return w.hasRead(lines) })
		w.mu.Lock()
		if w.broken && !slices.Contains(struck, r.at[i]) {
			r.t.Errorf("%s was away, and its server was well", w.name())
		}
		for text, n := range w.heard {
			if n != 1 {
				r.t.Errorf("%s has read %q %d times", w.name(), text, n)
			}
		}
		r.three.lines += len(w.heard)
		r.three.tries, r.three.missed = append(r.three.tries, w.tries...), append(r.three.missed, w.missed...)
		w.mu.Unlock()
	}
	r.look()
}

// hasRead reports whether a player who was not away has read all lines.
func (w *witness) hasRead(lines []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken || !w.plays() || !slices.ContainsFunc(lines, func(text string) bool { return w.heard[text] == 0 })
}

// goHome has players join anew at their own servers, if they went to others.
func (x *three) goHome() {
	x.t.Helper()
	var gone []*witness
	for _, w := range x.witnesses {
		if w.at(x.machines) != w.number%3 {
			gone = append(gone, w)
		}
	}
	var all sync.WaitGroup
	for _, w := range gone {
		all.Go(w.leave)
	}
	patient.Done(all.Wait)
	x.joins(gone)
	x.settled("at home")
}
