package nodes

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"parley/internal/promise"
)

const (
	// maxPause is how long a room may stand still when a node is lost, 99 times of 100.
	maxPause = 8 * time.Second

	// maxTrying is how long a player's client may try before it is back.
	maxTrying = 10 * time.Second
)

// T79: "3 processes with embedded NATS, 200 bots of all dialects, 20 x each of {SIGKILL, SIGSTOP 10 s, partition, disk full, NATS leader lost}": no two
// worlds of a room differ at any tick, nothing that was told is lost or doubled, "players on living nodes stay connected, the others are back within
// 10 s of trying, a room's pause p99 <= 8 s". Without a quorum the room stands still, says so, and nobody is disconnected for it.
func TestThreeServersInTrouble(t *testing.T) {
	n := promise.Tier(0, 1, 20)
	if n == 0 || testing.Short() {
		t.Skip("it takes minutes: PARLEY_PR=1 runs one of each, PARLEY_SOAK=1 twenty")
	}
	x := newThree(t, 200)
	for _, trouble := range []struct {
		name string
		make func(*round)
	}{
		{"partition", (*round).parted}, {"disk", (*round).full}, {"no quorum", (*round).dark}, {"stop", (*round).stopped}, {"kill", (*round).killed}, {"leader", (*round).leaderless},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			x.of(t)
			x.pauses, x.tries, x.missed, x.lines = nil, nil, nil, 0
			for range promise.Keeps(t, "T79", "bots: "+trouble.name, n) {
				trouble.make(x.begin())
				if t.Failed() {
					t.FailNow()
				}
			}
			x.judge()
		})
		x.of(t)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d ticks were compared between two servers or more", x.story.ticks)
}

// judge holds pauses and absences against the promises.
func (x *three) judge() {
	x.t.Helper()
	slices.Sort(x.pauses)
	slices.Sort(x.tries)
	slices.Sort(x.missed)
	stood := x.stood()
	x.t.Logf("the room stood still for %v; %d absences: back after %v of trying, after %v at most, and without a word for %v at most; %d lines were read; the machine stood still for %v at most",
		x.pauses, len(x.tries), percent(x.tries, 50), percent(x.tries, 100), percent(x.missed, 100), x.lines, stood)
	if worst := percent(x.pauses, 99); worst > maxPause+stood {
		x.t.Errorf("the room stood still for %v", worst)
	}
	if worst := percent(x.tries, 100); worst > maxTrying+stood {
		x.t.Errorf("a player was back after %v of trying", worst)
	}
}

// percent returns a percentile of a sorted list.
func percent(list []time.Duration, n int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[(len(list)-1)*n/100].Round(time.Millisecond)
}

// killed kills the sequencer, and starts it again when its players are elsewhere.
func (r *round) killed() {
	r.kills(r.sequencer(), func(i int) {
		r.noticed(i)
		r.settled("at the servers that live")
	})
}

// leaderless kills the server whose NATS leads the stream of the room, and starts it again before all of its players know: some come back to it.
func (r *round) leaderless() {
	r.kills(r.find("a leader of the stream", func(is childIs) bool { return is.Leads }), func(int) {})
}

func (r *round) kills(i int, wait func(i int)) {
	r.machines[i].kill()
	r.plays("when one is dead", i)
	r.pause(i)
	wait(i)
	r.machines[i].start()
	r.noticed(i)
	r.end(i)
	r.goHome()
}

// noticed waits until all players of a server that is dead know it.
func (r *round) noticed(i int) {
	r.t.Helper()
	r.within("the players of the dead server try to come back", 30*time.Second, func() bool {
		return !slices.ContainsFunc(r.witnesses, func(w *witness) bool { return r.at[w.number] == i && !w.wasAway() })
	})
}

// stopped stops the sequencer for ten seconds: it goes on and believes that it still is.
func (r *round) stopped() {
	i, began := r.sequencer(), time.Now()
	r.machines[i].signal(syscall.SIGSTOP)
	r.plays("when one stands still", i)
	r.pause(i)
	<-time.After(time.Until(began.Add(10 * time.Second)))
	r.machines[i].signal(syscall.SIGCONT)
	r.end(i)
	r.goHome()
}

// parted cuts the sequencer off from the others for ten seconds. Its players see a pause, and stay.
func (r *round) parted() {
	i, began := r.sequencer(), time.Now()
	defer r.cable.Set(i, false)
	r.cable.Set(i, true)
	r.plays("when one is cut off", i)
	r.pause(i)
	<-time.After(time.Until(began.Add(10 * time.Second)))
	r.cable.Set(i, false)
	r.plays("when it is connected again")
	r.end()
}

// full fills the disk of a server, and empties it again.
func (r *round) full() {
	if r.disk == "" {
		r.t.Skip("may not mount a small disk")
	}
	name := filepath.Join(r.disk, "filler")
	f, err := os.Create(name)
	if err != nil {
		r.t.Fatal(err)
	}
	for b := make([]byte, 1<<20); len(b) > 0; {
		if _, err := f.Write(b); err != nil {
			b = b[:len(b)/2]
		}
	}
	f.Close()
	r.plays("when a disk is full")
	r.within("its server says so", 30*time.Second, func() bool { return r.machines[2].ask("").Stats.StoreTrouble > 0 })
	r.plays("when a disk has been full for a while")
	if err := os.Remove(name); err != nil {
		r.t.Fatal(err)
	}
	r.pause()
	r.end()
}

// dark cuts all servers off from each other: there is no quorum.
func (r *round) dark() {
	span := 12 * time.Second
	if os.Getenv("PARLEY_SOAK") != "" {
		span = time.Minute
	}
	began := time.Now()
	for i := range r.machines {
		r.cable.Set(i, true)
	}
	<-time.After(span)
	for i, m := range r.machines {
		if still, _ := time.Since(m.lastTick()), 0; still < span-8*time.Second {
			r.t.Errorf("server %d goes on without a quorum", i)
		}
		if is := m.ask(""); is.Stats.Silence < span-8*time.Second {
			r.t.Errorf("after %v without a quorum server %d says that its room stood still for %v", time.Since(began), i, is.Stats.Silence)
		}
	}
	for i := range r.machines {
		r.cable.Set(i, false)
	}
	r.plays("when there is a quorum again")
	r.end()
}

// lastTick is when it has told a tick.
func (m *machine) lastTick() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}
