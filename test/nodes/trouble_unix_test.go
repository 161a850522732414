//go:build unix

package nodes

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"parley/cluster/clustertest"
	"parley/internal/patient"
	"parley/internal/promise"
)

// Each of two servers in turn stands still for longer than it takes to lose a room, one of them the sequencer, and then one is killed. The player of the
// other plays on meanwhile, and both are who they were in the end: what both say is read by both, once.
func TestServersStandStillAndDie(t *testing.T) {
	if !promise.Full() {
		t.Skip("it takes a minute: PARLEY_PR=1 runs it")
	}
	promise.Keeps(t, "T79", "servers", 3)
	for _, dialect := range []string{"replica", "relay", "duplex"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := clustertest.NATS(t)
			servers := []*child{startChild(t, url), startChild(t, url)}
			players := []*player{
				join(t, "ann", servers[0].url(dialect)+","+servers[1].url(dialect)),
				join(t, "bob", servers[1].url(dialect)+","+servers[0].url(dialect)),
			}
			meet(t, players, "at first")
			for i, s := range servers {
				s.Process.Signal(syscall.SIGSTOP)
				still := time.Now()
				other := players[1-i]
				says(t, other, fmt.Sprintf("while server %d stands still", i), []*player{other})
				patient.Until(t, "a room was lost by then", func() bool { other.look(); return time.Since(still) > 5*time.Second })
				s.Process.Signal(syscall.SIGCONT)
				meet(t, players, fmt.Sprintf("after server %d stood still", i))
			}
			at := 0 // on a slow machine a server stood still for so long that her client went to the other
			if players[0].URL() == servers[1].url(dialect) {
				at = 1
			}
			look(players)
			before := players[0].lost
			servers[at].Process.Kill()                                                                       // what she says before her client knows is lost
			patient.Until(t, "ann was away", func() bool { look(players); return players[0].lost > before }) // over duplex she may be back in a millisecond
			meet(t, players, "after a server was killed")
		})
	}
}

// meet wants both players to be in the game, to see the other walk, and to read what both say, once.
func meet(t *testing.T, players []*player, when string) {
	t.Helper()
	for i, p := range players {
		patient.Until(t, p.name+" is in the game "+when, func() bool { return look(players) && !p.away })
		says(t, p, when, players)
		q := players[1-i]
		from, turned, angle := q.seen[p.name], time.Time{}, float32(0)
		patient.Until(t, q.name+" sees "+p.name+" walk "+when, func() bool {
			if time.Since(turned) > time.Second { // there may be a wall
				angle, turned = angle+1, time.Now()
				p.Steer(angle, 0.2)
			}
			look(players)
			is, ok := q.seen[p.name]
			return ok && math.Hypot(is.X-from.X, is.Y-from.Y) > 1
		})
		p.Steer(angle, 0)
	}
	for _, p := range players {
		for line, n := range p.said {
			if n != 1 {
				t.Errorf("%s has read %q %d times", p.name, line, n)
			}
		}
	}
}

// look has all players look, and reports whether all of them have a body.
func look(players []*player) bool {
	all := true
	for _, p := range players {
		_, _, ok := p.look()
		all = all && ok
	}
	return all
}

// says has a player say something that others read.
func says(t *testing.T, p *player, when string, readers []*player) {
	t.Helper()
	line := "here " + when
	if err := p.Say(line); err != nil {
		t.Fatalf("%s cannot say %q: %v", p.name, line, err)
	}
	for _, q := range readers {
		patient.Until(t, q.name+" reads "+p.name+" "+when, func() bool { look(readers); return q.said[p.name+": "+line] > 0 })
	}
}
