package match

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"parley/internal/admission"
)

// Config sets up a queue. The zero Config is usable.
type Config struct {
	// Wait is how long a player waits for others. Default 30 s.
	Wait time.Duration

	// MaxWaiting bounds the players in the queue. Default 16,384.
	MaxWaiting int

	// PerAddress bounds the players of one address in the queue; with IPv6, of a /64. Default 64; negative means no limit.
	PerAddress int

	// MaxPlayers is the size of the largest group. Default 1,000.
	MaxPlayers int
}

// Wish is what a player waits for.
type Wish struct {
	Mode    string // of the game, as players write it; at most MaxMode bytes
	Players int    // of the group, the player itself included

	// From is the player's address. The zero Addr is that of the operator's own programs, and has no limit.
	From netip.Addr
}

// ID is a player in the queue. Those who came later have larger ones.
type ID uint64

// Group is the players of a match, in the order of waiting.
type Group struct {
	Mode string
	IDs  []ID
}

// Errors of Join. Test for them with errors.Is.
var (
	// ErrFull means that Config.MaxWaiting players wait.
	ErrFull = errors.New("match: too many players wait")
	// ErrCrowd means that Config.PerAddress players of the address wait.
	ErrCrowd = errors.New("match: too many players of one address wait")
	// ErrWish means that the mode is too long, or no group has that many players.
	ErrWish = errors.New("match: no such match")
)

// Stats counts the fates of wishes. Joined is the sum of the others.
type Stats struct {
	Joined  uint64 // were let into the queue
	Matched uint64
	Left    uint64 // hung up
	Expired uint64
	Failed  uint64 // were to be matched, and no room could be opened
	Waiting int    // are in the queue now

	Refused uint64 // were not let into the queue: it was full, or their address had too many in it
}

// Queue has the players who wait. It is not safe for concurrent use.
type Queue struct {
	cfg     Config
	lines   map[game]*line // those with somebody in them
	ready   lines          // those that are complete
	waiters map[ID]*waiter
	oldest  *waiter // of all waiters, in the order of their IDs
	newest  *waiter
	crowd   *admission.Crowd
	last    ID
	expired []ID
	stats   Stats
}

// waiter is a player in the queue.
type waiter struct {
	id             ID
	line           *line
	from           netip.Addr
	until          time.Time
	before, behind *waiter // in its line
	older, newer   *waiter // in the queue
	aside          bool    // in a group that was taken: its room is being opened
	left           bool    // and has hung up meanwhile
}

// New returns an empty queue.
func New(c Config) *Queue {
	c.Wait = cmp.Or(c.Wait, defaultWait)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, defaultMaxWaiting)
	c.PerAddress = cmp.Or(c.PerAddress, defaultPerAddress)
	c.MaxPlayers = cmp.Or(c.MaxPlayers, defaultMaxPlayers)
	return &Queue{cfg: c, lines: map[game]*line{}, waiters: map[ID]*waiter{}, crowd: admission.NewCrowd(c.PerAddress)}
}

// Join has a player wait.
func (q *Queue) Join(now time.Time, w Wish) (ID, error) {
	switch {
	case len(w.Mode) > MaxMode:
		return 0, fmt.Errorf("%w: a mode of %d bytes: the limit is %d", ErrWish, len(w.Mode), MaxMode)
	case w.Players < MinPlayers || w.Players > q.cfg.MaxPlayers:
		return 0, fmt.Errorf("%w: a match has %d to %d players, not %d", ErrWish, MinPlayers, q.cfg.MaxPlayers, w.Players)
	case len(q.waiters) >= q.cfg.MaxWaiting:
		q.stats.Refused++
		return 0, ErrFull
	case w.From.IsValid() && !q.crowd.Enter(w.From):
		q.stats.Refused++
		return 0, ErrCrowd
	}
	q.last++
	q.stats.Joined++
	g := game{w.Mode, w.Players}
	x := &waiter{id: q.last, from: w.From, until: now.Add(q.cfg.Wait), line: q.lineOf(g), older: q.newest}
	if q.newest == nil {
		q.oldest = x
	} else {
		q.newest.newer = x
	}
	q.newest = x
	q.waiters[x.id] = x
	x.line.push(x)
	q.arrange(x.line)
	return x.id, nil
}

func (q *Queue) lineOf(g game) *line {
	l := q.lines[g]
	if l == nil {
		l = &line{game: g, index: -1}
		q.lines[g] = l
	}
	return l
}

// Leave takes a player out who has hung up. One whose group was taken is out with the next Settle or Restore, and its group is not
// matched without it.
func (q *Queue) Leave(id ID) {
	w := q.waiters[id]
	switch {
	case w == nil:
	case w.aside:
		w.left = true
	default:
		q.stats.Left++
		q.unline(w)
		q.forget(w)
	}
}

// HandleTimeout takes out those who have waited long enough. PollExpired returns them.
func (q *Queue) HandleTimeout(now time.Time) {
	for w := q.oldest; w != nil && !w.until.After(now); {
		next := w.newer
		if !w.aside { // else its room may be there in a moment
			q.expired = append(q.expired, w.id)
			q.stats.Expired++
			q.unline(w)
			q.forget(w)
		}
		w = next
	}
}

// NextTimeout returns when the next player has waited long enough.
func (q *Queue) NextTimeout() (time.Time, bool) {
	w := q.oldest
	for w != nil && w.aside {
		w = w.newer
	}
	if w == nil {
		return time.Time{}, false
	}
	return w.until, true
}

// PollExpired returns a player who is out, as nobody was found in time.
func (q *Queue) PollExpired() (ID, bool) {
	if len(q.expired) == 0 {
		return 0, false
	}
	id := q.expired[0]
	if q.expired = q.expired[1:]; len(q.expired) == 0 {
		q.expired = nil
	}
	return id, true
}

// Take returns the next group: of those that are complete, the one whose first player waits longest. Settle or Restore must follow.
func (q *Queue) Take() (Group, bool) {
	if len(q.ready) == 0 {
		return Group{}, false
	}
	l := q.ready[0]
	g := Group{l.game.mode, make([]ID, 0, l.game.players)}
	for range l.game.players {
		w := l.first
		w.aside = true
		l.remove(w)
		g.IDs = append(g.IDs, w.id)
	}
	q.arrange(l)
	return g, true
}

// Settle takes a group out of the queue, and returns true. If one of the group has hung up since Take, it restores the others and returns
// false.
func (q *Queue) Settle(g Group) bool {
	for _, id := range g.IDs {
		if q.waiters[id].left {
			q.Restore(g)
			return false
		}
	}
	for _, id := range g.IDs {
		q.stats.Matched++
		q.forget(q.waiters[id])
	}
	return true
}

// Restore has a group wait again, where it was.
func (q *Queue) Restore(g Group) {
	var after *waiter
	for _, id := range g.IDs {
		w := q.waiters[id]
		if w.left {
			q.stats.Left++
			q.forget(w)
			continue
		}
		w.aside, w.line = false, q.lineOf(w.line.game)
		x := w.line.first
		if after != nil {
			x = after.behind
		}
		for ; x != nil && x.id < w.id; x = x.behind { // several groups of a line may come back in any order, and their players may alternate
			after = x
		}
		w.line.insert(w, after)
		after = w
		q.arrange(w.line)
	}
}

// Abandon takes a group out of the queue that cannot be matched.
func (q *Queue) Abandon(g Group) {
	for _, id := range g.IDs {
		q.stats.Failed++
		q.forget(q.waiters[id])
	}
}

// Len returns how many wait.
func (q *Queue) Len() int { return len(q.waiters) }

// Stats returns the counters.
func (q *Queue) Stats() Stats {
	st := q.stats
	st.Waiting = len(q.waiters)
	return st
}

// unline takes a waiter out of its line.
func (q *Queue) unline(w *waiter) {
	w.line.remove(w)
	q.arrange(w.line)
}

// arrange puts a line that has changed in its place.
func (q *Queue) arrange(l *line) {
	switch {
	case l.complete() && l.index < 0:
		heap.Push(&q.ready, l)
	case l.complete():
		heap.Fix(&q.ready, l.index)
	case l.index >= 0:
		heap.Remove(&q.ready, l.index)
	}
	if l.n == 0 {
		delete(q.lines, l.game)
	}
}

// forget takes a waiter out of the queue.
func (q *Queue) forget(w *waiter) {
	if w.older == nil {
		q.oldest = w.newer
	} else {
		w.older.newer = w.newer
	}
	if w.newer == nil {
		q.newest = w.older
	} else {
		w.newer.older = w.older
	}
	if w.from.IsValid() {
		q.crowd.Leave(w.from)
	}
	delete(q.waiters, w.id)
}
