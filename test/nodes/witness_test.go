package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/play/bots"
	"parley/play/line"
	"parley/play/message"
	"parley/world"
)

// witness is a player of the counting game who acts, talks, and notes what it is told. Its client comes back by itself.
type witness struct {
	t       *testing.T
	schema  *world.Schema
	story   *story
	dialect string
	number  int
	ways    []line.Way // its own server first
	rng     *rand.Rand

	mu     sync.Mutex
	p      *bots.Player
	life   int  // how often it came as a new player
	in     bool // it is in the game, and has seen itself since it came back
	away   bool
	since  time.Time       // away: when its client began to try
	tries  []time.Duration // for how long its client tried, each time
	missed []time.Duration // for how long it was told nothing, each time
	ended  string
	row    int // its own number, from what it sees
	steps  int // its own, as told last
	told   int // the most that it was ever told
	asked  int
	said   int
	had    bool           // it has a token
	heard  map[string]int // lines, since begin
	lines  []string       // that it has said, since begin
	broken bool           // it was away since begin
	wrong  []string
}

// name is another with each life, as those before have left.
func (w *witness) name() string { return fmt.Sprintf("%s-%d-%d", w.dialect, w.number, w.life) }

// isAccount reports whether it logs in to come back, and has no token: it is of realm, whose positions are whole cells.
func (w *witness) isAccount() bool { return w.dialect == "realm" }

// witnessPassword is that of all players over realm.
const witnessPassword = "correct-horse"

// plays reports whether it is more than a spectator.
func (w *witness) plays() bool { return w.dialect != "stamp" }

// join comes as a new player.
func (w *witness) join(ctx context.Context) error {
	w.mu.Lock()
	w.life++
	w.in, w.away, w.ended, w.row, w.steps, w.told, w.asked, w.had, w.broken = false, false, "", 0, 0, 0, 0, false, true
	c := bots.Config{Schema: w.schema, Name: w.name(), Stamped: true, Notice: w.notice, Resume: line.Resume{On: true}, Ways: w.ways[1:]}
	w.mu.Unlock()
	switch {
	case w.isAccount():
		c.Password, c.Stamped = witnessPassword, false
	case w.plays():
		c.Room = message.MainRoom
	}
	joining, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	p, err := bots.Join(joining, w.dialect, w.ways[0].Addr, c)
	if err != nil {
		return fmt.Errorf("%s: %w", w.name(), err)
	}
	w.mu.Lock()
	w.p = p
	w.mu.Unlock()
	w.look()
	return nil
}

func (w *witness) leave() {
	w.mu.Lock()
	p := w.p
	w.p = nil
	w.mu.Unlock()
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	p.Close(ctx)
}

// live plays until ctx ends: a step a second, and a line now and then.
func (w *witness) live(ctx context.Context) {
	for turn := w.rng.IntN(lineEach); ; turn++ {
		timer := time.NewTimer(time.Second*3/4 + time.Duration(w.rng.Int64N(int64(time.Second/2))))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		w.mu.Lock()
		p, in := w.p, w.in && !w.away
		w.mu.Unlock()
		if !in || p == nil || !w.plays() {
			continue
		}
		if err := w.act(p, turn); err != nil && !errors.Is(err, bots.ErrAway) && !line.IsClosed(err) && !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil { // an answer may come late
			w.fails("it cannot act: %v", err)
		}
	}
}

// lineEach is how many steps come between two lines.
const lineEach = 10

func (w *witness) act(p *bots.Player, turn int) error {
	w.mu.Lock()
	w.asked++
	nth := w.asked
	if turn%lineEach == 0 {
		w.said++
	}
	line := fmt.Sprintf("%s says %d", w.name(), w.said)
	w.mu.Unlock()
	if turn%lineEach == 0 {
		past, cancel := context.WithCancel(context.Background())
		cancel() // nobody waits for an answer
		if err := p.Say(past, line); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		w.mu.Lock()
		w.lines = append(w.lines, line)
		w.mu.Unlock()
	}
	return p.Act(w.schema.ActionNamed("pace"), world.UintValue(world.U32, uint64(nth)))
}

func (w *witness) fails(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, w.name()+": "+fmt.Sprintf(format, args...))
}

func (w *witness) notice(n bots.Notice) {
	switch n.Kind {
	case bots.Updated:
		w.look()
	case bots.Said:
		if n.Name != message.ServerName {
			w.mu.Lock()
			w.heard[n.Text]++
			w.mu.Unlock()
		}
	case bots.Away, bots.Back, bots.Ended:
		w.changes(n)
	}
}

func (w *witness) changes(n bots.Notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch n.Kind {
	case bots.Away:
		w.away, w.in, w.since, w.broken = true, false, time.Now(), true
	case bots.Back:
		w.away = false
		w.tries = append(w.tries, time.Since(w.since))
		w.missed = append(w.missed, n.Absence)
		if w.in = !w.plays(); !n.Same && w.plays() {
			w.wrong = append(w.wrong, w.name()+": it is back as another player")
		}
	case bots.Ended:
		if w.in, w.ended = false, n.Text; w.p != nil {
			w.wrong = append(w.wrong, w.name()+": it is out of the game: "+n.Text)
		}
	}
}

// look notes what became of its own steps.
func (w *witness) look() {
	w.mu.Lock()
	p := w.p
	w.mu.Unlock()
	if p == nil { // it is joining, or leaving
		return
	}
	if !w.plays() {
		w.mu.Lock()
		w.in = !w.away
		w.mu.Unlock()
		return
	}
	own, ok := p.Own()
	_, hold := p.Session()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.had = w.had || hold > 0 || w.isAccount()
	if !ok || own.X == 0 && !w.isAccount() || own.Y == 0 || w.away {
		return
	}
	row, steps := int(own.Y), int(own.X)
	switch {
	case w.row != 0 && row != w.row:
		w.wrong = append(w.wrong, fmt.Sprintf("%s: it was player %d, and is %d", w.name(), w.row, row))
	case steps > w.asked:
		w.wrong = append(w.wrong, fmt.Sprintf("%s: it has asked for %d steps, and is told of %d", w.name(), w.asked, steps))
	}
	w.row, w.steps, w.told, w.in = row, steps, max(w.told, steps), true // over duplex an older value may come last: it has two ways
}

// at returns the number of the server at which it is, -1 if it is away.
func (w *witness) at(servers []*machine) int {
	w.mu.Lock()
	p, away := w.p, w.away
	w.mu.Unlock()
	if p == nil || away {
		return -1
	}
	way := p.Way()
	for i, m := range servers {
		if m.addr(w.dialect) == way.Addr {
			return i
		}
	}
	return -1
}

// begin has it count lines and absences from now on.
func (w *witness) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard, w.lines, w.tries, w.missed, w.broken = map[string]int{}, nil, nil, nil, w.away
}

// notes are what a player was told: its own steps, and lines.
type notes struct {
	row, steps int
	lines      []string
}

func (w *witness) note() notes {
	w.mu.Lock()
	defer w.mu.Unlock()
	return notes{w.row, w.told, slices.Collect(maps.Keys(w.heard))}
}

// isIn reports whether it plays, and can come back when it must.
func (w *witness) isIn() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.in && !w.away && (w.had || !w.plays())
}

// wasAway reports whether it was away since begin.
func (w *witness) wasAway() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// did returns how many steps were made.
func (w *witness) did() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.steps
}

// state says what it is at.
func (w *witness) state() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := ""
	if w.p != nil {
		at = w.p.Way().Addr
	}
	return fmt.Sprintf("%s at %s: in %t, away %t, token %t, player %d, %d steps of %d, %q", w.name(), at, w.in, w.away, w.had, w.row, w.steps, w.asked, w.ended)
}
