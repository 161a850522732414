package world

import (
	"bytes"
	"testing"

	"parley/internal/promise"
)

// lateRun has players steer so many ticks late, each every so many ticks, and returns how many ticks
// were run again a tick, and of each player how many inputs were done then.
func lateRun(t *testing.T, c Config, ticks int, late, every []int) (replayed float64, then []int) {
	t.Helper()
	s := newSim(t, c)
	var players []PlayerID
	for range late {
		players = append(players, join(t, s, "p"))
	}
	advance(s, 60)
	was := s.Stats().TicksReplayed
	then = make([]int, len(late))
	for n := range ticks {
		for i, p := range players {
			if n%every[i] != 0 {
				continue
			}
			before := s.Stats().LateDoneNow
			wantReason(t, "late", s.Steer(p, s.Tick()-uint64(late[i]), steer(float32(n), 1), 0), Accepted)
			if s.Stats().LateDoneNow == before {
				then[i]++
			}
		}
		s.Advance()
	}
	return float64(s.Stats().TicksReplayed-was) / float64(ticks), then
}

// T50: "re-simulation <= tick budget at max window". One account with a late action in each tick took
// 20 ticks of replay a tick.
func TestALatePlayerHasABudget(t *testing.T) {
	notRaced(t)
	const ticks = 1000
	for _, tt := range []struct {
		name        string
		late, every []int
		replayed    float64
		then        []int // at least
	}{
		{"one with all late as far as may be", []int{20}, []int{1}, 0.1, []int{1}},
		{"one with a deep one a second", []int{20}, []int{20}, 1.01, []int{50}},
		{"an honest one at 100 ms", []int{2}, []int{1}, 2.01, []int{ticks}},
		{"an honest one at 250 ms", []int{5}, []int{1}, 5.01, []int{ticks}},
		{"as late as may be, beside an honest one", []int{20, 2}, []int{1, 1}, 2.1, []int{1, ticks}},
		{"with a deep one every 4 ticks, beside an honest one", []int{20, 2}, []int{4, 1}, 5.1, []int{1, ticks}},
		{"five who take turns, beside an honest one", []int{20, 20, 20, 20, 20, 1}, []int{11, 13, 17, 19, 23, 1}, 5.1, []int{1, 1, 1, 1, 1, ticks}},
		{"fifty honest ones", repeat(50, 3), repeat(50, 1), 3.01, repeat(50, ticks)},
	} {
		replayed, then := lateRun(t, Config{Seed: 1}, ticks, tt.late, tt.every)
		if replayed > tt.replayed {
			t.Errorf("%s: %.2f ticks were run again a tick, %v is the bound", tt.name, replayed, tt.replayed)
		}
		for i := range then {
			if then[i] < tt.then[i] {
				t.Errorf("%s: of player %d %d inputs were done then, want %d", tt.name, i, then[i], tt.then[i])
			}
		}
		t.Logf("%s: %.2f ticks run again a tick, done then: %v", tt.name, replayed, then[:min(6, len(then))])
	}
}

func repeat(n, v int) (list []int) {
	for range n {
		list = append(list, v)
	}
	return list
}

// However players conspire, the average is the budget, and nobody's account is below nothing.
func TestTheReplayBudgetHolds(t *testing.T) {
	promise.Keeps(t, "T50", "world", 1)
	r := newRand(t)
	for range rounds(20, 200) {
		c := Config{Seed: 1, MaxRollbackTicks: 1 + r.IntN(30), ReplayBudget: 1 + r.IntN(8)}
		s := newSim(t, c)
		var players []PlayerID
		for range 1 + r.IntN(12) {
			players = append(players, join(t, s, "p"))
		}
		advance(s, c.MaxRollbackTicks+40)
		was, began := s.Stats().TicksReplayed, s.Tick()
		for range 300 {
			for range r.IntN(9) {
				i := r.IntN(len(players))
				s.Steer(players[i], s.Tick()-uint64(r.IntN(c.MaxRollbackTicks+1)), steer(1, 1), 0)
				if r.IntN(40) == 0 {
					s.Leave(players[i])
					players[i] = join(t, s, "q")
				}
			}
			s.Advance()
			for p, a := range s.share.accounts {
				if a.spent < 0 || a.spent > s.share.full {
					t.Fatalf("player %d has spent %d of %d", p, a.spent, s.share.full)
				}
			}
			if len(s.share.owing) > len(players) {
				t.Fatalf("%d owe, of %d", len(s.share.owing), len(players))
			}
		}
		// Each newcomer begins with a tick's budget, and each has saved up one rewind.
		joined := int(s.lastPlayer)
		most := uint64(c.ReplayBudget)*(s.Tick()-began) + uint64(joined*(c.ReplayBudget+c.MaxRollbackTicks))
		if got := s.Stats().TicksReplayed - was; got > most {
			t.Errorf("%+v: %d ticks were run again, %d is the bound", c, got, most)
		}
	}
}

// What was done now, as its player was over its budget, is recorded as done now, and the replay has no
// budget.
func TestLateInputsDoneNowAreRecordedSo(t *testing.T) {
	var b bytes.Buffer
	s := newSim(t, Config{Seed: 3})
	if err := s.Record(&b); err != nil {
		t.Fatal(err)
	}
	p, q := join(t, s, "a"), join(t, s, "b")
	advance(s, 30)
	var done []Event
	for n := range 100 {
		s.Act(p, s.Tick()-min(s.Tick(), 18), s.Schema().ActionNamed("sow"), sowing(float64(n), 0), 0)
		s.Steer(q, s.Tick()-1, steer(float32(n), 1), 0)
		s.Advance()
		done = append(done, events(s, ActionDone)...)
	}
	if s.Stats().LateDoneNow < 90 {
		t.Fatalf("%d of 100 were done now", s.Stats().LateDoneNow)
	}
	if last := done[len(done)-1]; last.Tick != s.Tick()-1 {
		t.Errorf("it is told as done at %d, it is %d", last.Tick, s.Tick())
	}
	hash := s.World().Hash()
	report, err := Replay(testGame(), &b)
	if err != nil || report.Difference != nil || report.Hash != hash {
		t.Errorf("%v, %v: %x, want %x", err, report.Difference, report.Hash, hash)
	}
}
