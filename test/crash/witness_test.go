package crash

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/play/bots"
	"parley/play/line"
	"parley/play/message"
	"parley/world"
)

// notes are what all players of a server were told.
type notes struct {
	mu    sync.Mutex
	rows  map[int]int // the greatest x by y: the steps of each player
	lines map[string]bool
	told  int // values and lines that were new
}

// sees notes a walker. It reports false while the dialect has not told all of it.
func (n *notes) sees(b bots.Thing) (row, steps int, ok bool) {
	if b.X == 0 || b.Y == 0 { // never in the game: half a cell further
		return 0, 0, false
	}
	row, steps = int(b.Y), int(b.X)
	n.mu.Lock()
	defer n.mu.Unlock()
	if had, known := n.rows[row]; !known || steps > had {
		n.rows[row] = steps
		n.told++
	}
	return row, steps, true
}

func (n *notes) hears(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.lines[line] {
		n.lines[line] = true
		n.told++
	}
}

func (n *notes) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.told
}

// steps returns the greatest that was told of a player.
func (n *notes) steps(row int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rows[row]
}

// witness is a player who acts, talks, notes what it is told, and comes back by itself.
type witness struct {
	t       *testing.T
	s       *server
	notes   *notes
	dialect string
	schema  *world.Schema

	mu      sync.Mutex
	p       *bots.Player
	name    string
	in      bool          // it is in the game, as far as it knows
	arrived bool          // it has come or come back since the last kill
	fresh   bool          // and has seen itself since
	row     int           // its own, 0 before it has seen it
	steps   int           // its own, as told last
	least   int           // its own must be as many when it sees itself again
	bound   bool          // the log says that it can come back: then it must
	ended   bool          // it is out of the game
	why     string        // the reason
	news    chan struct{} // something of the above has changed

	away   int // how often its connection was lost
	back   int // how often it came back
	anew   int // how often it came as another player, as it had not acknowledged its token when the server was killed
	absent []time.Duration
}

// live joins and plays until ctx ends. A player whom the killed server did not know yet comes as another one.
func (w *witness) live(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("%s-%d", w.dialect, n)
		if w.enter(ctx, name) {
			w.play(ctx)
			w.leave()
		}
		w.mu.Lock()
		if w.ended && w.bound && ctx.Err() == nil {
			w.t.Errorf("%s: the log knows its session, and it is told %q", name, w.why)
			w.mu.Unlock()
			return
		}
		if ctx.Err() == nil {
			w.anew++
		}
		w.mu.Unlock()
	}
}

// enter joins, with as many attempts as it takes: the server may be killed meanwhile.
func (w *witness) enter(ctx context.Context, name string) bool {
	w.mu.Lock()
	w.name, w.in, w.arrived, w.fresh, w.ended, w.row, w.least, w.bound = name, false, false, false, false, 0, 0, false
	w.mu.Unlock()
	c := bots.Config{Schema: w.schema, TickRate: tickRate, Name: name, Password: "a walker's own word", Plain: true, Notice: w.notice, Resume: line.Resume{On: true}}
	if line.HasSessions(w.dialect) {
		c.Room = "main"
	}
	for ctx.Err() == nil {
		joining, cancel := context.WithTimeout(ctx, 10*time.Second)
		p, err := bots.Join(joining, w.dialect, w.s.addr(w.dialect), c)
		cancel()
		if err == nil {
			w.mu.Lock()
			w.p, w.arrived = p, true
			w.mu.Unlock()
			w.look()
			return true
		}
		w.wait(ctx, 100*time.Millisecond)
	}
	return false
}

func (w *witness) leave() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nobody waits for an answer
	w.p.Close(ctx)
	w.mu.Lock()
	w.p = nil
	w.mu.Unlock()
}

// play asks for a step, waits until it is told that it was made, and so on. Sometimes it says something.
func (w *witness) play(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n++ {
		w.mu.Lock()
		in, ended, steps, name := w.in, w.ended, w.steps, w.name
		w.mu.Unlock()
		switch {
		case ended:
			return
		case !in || w.dialect == "stamp":
			w.wait(ctx, time.Second)
			continue
		}
		err := w.p.Act(w.schema.ActionNamed("pace"), world.UintValue(world.U32, uint64(n)))
		if err == nil && n%16 == 0 {
			err = w.p.Say(ctx, fmt.Sprintf("%s says %d", name, n))
		}
		if err != nil && !errors.Is(err, bots.ErrAway) && ctx.Err() == nil {
			w.t.Logf("%s: %v", name, err) // a query that a killed server did not answer
		}
		for w.stands(steps) && w.wait(ctx, time.Second) {
		}
	}
}

// stands reports whether the player is in the game, and was told of no more steps.
func (w *witness) stands(steps int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.in && !w.ended && w.steps == steps
}

// wait waits for news, for a while: what it asked for may have been lost. It reports whether there were any.
func (w *witness) wait(ctx context.Context, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-w.news:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (w *witness) notice(n bots.Notice) {
	switch n.Kind {
	case bots.Said:
		if n.Name != message.ServerName { // a refusal is no line of the game
			w.notes.hears(n.Text)
		}
	case bots.Updated:
		w.look()
	case bots.Away, bots.Back, bots.Ended:
		w.mu.Lock()
		switch n.Kind {
		case bots.Away:
			w.away++
			w.in, w.least = false, w.notes.steps(w.row)
		case bots.Back:
			w.back++
			w.in, w.arrived = w.dialect == "stamp", true // others are in when they have seen themselves
			w.absent = append(w.absent, n.Absence)
		case bots.Ended:
			w.ended, w.in, w.why = true, false, n.Text
		}
		w.mu.Unlock()
	}
	w.stir()
}

func (w *witness) stir() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// look notes all that is in sight.
func (w *witness) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.p == nil { // it is still joining
		return
	}
	w.p.See(func(v *bots.Sight) {
		for id, b := range v.Things {
			row, steps, ok := w.notes.sees(b)
			switch {
			case !ok:
			case w.dialect == "stamp":
				w.in, w.fresh = true, w.arrived
			case id == v.You:
				w.self(row, steps)
			}
		}
	})
}

// self is called when the player sees itself.
func (w *witness) self(row, steps int) {
	if w.bound && row != w.row {
		w.t.Errorf("%s: it was player %d, and is %d", w.name, w.row, row)
	}
	if row == w.row && steps < w.least {
		w.t.Errorf("%s: it was told of %d steps, and after the kill of %d", w.name, w.least, steps)
	}
	w.row, w.steps, w.in = row, steps, true
	w.fresh = w.fresh || w.arrived
}

// killed is called when the server was killed: d is what it has left.
func (w *witness) killed(d *disk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh = false
	if w.dialect == "stamp" {
		w.arrived = false
		return
	}
	if w.row == 0 { // a client of replica to which nothing was said yet begins its handshake again, and tells nobody
		return
	}
	w.arrived = false
	p, there := d.players[w.row]
	if there && p.name != w.name {
		w.t.Errorf("%s: in the log player %d is %s", w.name, w.row, p.name)
	}
	if !there {
		w.t.Errorf("%s: it was told that it is player %d, of whom the log knows nothing", w.name, w.row)
	}
	w.bound = p.known
}

// isBack reports whether the player has seen itself since the last kill.
func (w *witness) isBack() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fresh
}

// state says what the player is at.
func (w *witness) state() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%s: in %v, arrived %v, fresh %v, row %d, steps %d, bound %v, ended %v %q, away %d, back %d, anew %d",
		w.name, w.in, w.arrived, w.fresh, w.row, w.steps, w.bound, w.ended, w.why, w.away, w.back, w.anew)
}
