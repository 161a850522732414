package field

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/play/bots"
)

// Patience ends a wait that would else last for ever. It is no measure.
const Patience = 3 * time.Minute

// Visitor is a player of any dialect, and what it was told.
type Visitor struct {
	*bots.Player
	mu    sync.Mutex
	said  []string
	acts  int
	end   string
	watch func(*bots.Sight)
}

// Visit connects a player. It may be turned away later.
func Visit(ctx context.Context, dialect, addr string, c bots.Config) (*Visitor, error) {
	v := &Visitor{}
	c.Notice = v.notice
	p, err := bots.Join(ctx, dialect, addr, c)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Player = p
	return v, err
}

func (v *Visitor) notice(n bots.Notice) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch n.Kind {
	case bots.Said:
		v.said = append(v.said, n.Text)
	case bots.Acted:
		v.acts++
	case bots.Updated:
		if v.watch != nil {
			v.See(v.watch)
		}
	case bots.Ended:
		v.end = cmp.Or(n.Text, "without a word")
	}
}

// Watch has look called with each update from now on.
func (v *Visitor) Watch(look func(*bots.Sight)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.watch = look
}

// Heard reports whether somebody said a line.
func (v *Visitor) Heard(line string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Contains(v.said, line)
}

// Acts returns how many actions it saw.
func (v *Visitor) Acts() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.acts
}

// Ended returns why its connection ended, and "" while it is open.
func (v *Visitor) Ended() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.end
}

// Gone waits until its connection has ended, and returns why.
func (v *Visitor) Gone() string {
	defer patient.End().Stop()
	for v.Ended() == "" {
		time.Sleep(time.Millisecond)
	}
	return v.Ended()
}

// In reports whether it is in the game: it sees itself or, in a dialect of spectators, anything.
func (v *Visitor) In() (in bool) {
	if v.Dialect != "stamp" {
		_, in = v.Own()
		return in
	}
	v.See(func(s *bots.Sight) { in = len(s.Things) > 0 })
	return in
}

// Wait waits until it is in the game or turned away, but not for longer than most, and reports whether it is in.
func (v *Visitor) Wait(most time.Duration) (in bool) {
	over := time.After(most)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if v.In() {
			return true
		}
		if v.Ended() != "" {
			return false
		}
		select {
		case <-look.C:
		case <-over:
			return false
		}
	}
}

// Enter has a player enter, who comes again when it is turned away: a server that is behind the clock lets nobody in. It
// leaves with the test.
func Enter(t testing.TB, dialect, addr string, c bots.Config) *Visitor {
	t.Helper()
	for end := time.Now().Add(Patience); ; {
		v, err := Visit(t.Context(), dialect, addr, c)
		if err == nil {
			t.Cleanup(v.Leave)
			if v.Wait(time.Until(end)) {
				return v
			}
			v.Leave()
		}
		if time.Now().After(end) {
			t.Fatalf("%s: a player is kept out: %v, %s", dialect, err, v.Ended())
		}
	}
}

// Leave leaves the game. More calls do nothing.
func (v *Visitor) Leave() { v.Close(context.Background()) }
