package core

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/world"
)

// load has the world loaded anew.
func (r *Room) load(now time.Time) {
	r.unload(now)
	r.want(now, Order{Kind: Load})
}

// loadLater does so after a while, as the world was just loaded and could not go on.
func (r *Room) loadLater(now time.Time) {
	r.unload(now)
	r.fetching, r.wanted, r.askedAt = true, Load, now.Add(reloadAfter-repeatStore)
}

func (r *Room) unload(now time.Time) {
	if r.flight != nil {
		r.doubt = r.seq + 1
	}
	r.role, r.flight, r.missing, r.moving, r.met, r.soon, r.lost = loading, nil, true, false, false, 0, time.Time{}
	if lost := r.ahead.forget(); lost > 0 {
		r.stats.Undone += uint64(lost)
		r.world.Undone(lost)
	}
	r.in.clear()
	r.out.again(now)
}

// HandleSnapshot takes the newest snapshot, which is of the world behind entry seq. Without one, seq is 0 and b nil.
func (r *Room) HandleSnapshot(now time.Time, seq uint64, b []byte) {
	if r.role != loading || !r.answered(Load) {
		return
	}
	if r.awaits(now, seq) {
		r.fetching, r.askedAt = true, now.Add(complainEach-repeatStore)
		return
	}
	if r.differed(seq, b); r.role == stopped {
		return
	}
	if err := r.world.Load(b); err != nil {
		r.stop(fmt.Errorf("the snapshot behind entry %d cannot be loaded: %w", seq, err))
		return
	}
	r.stats.Loaded++
	r.reached = r.world.Epoch()
	r.out.done(r.world.Done(r.cfg.Node))
	r.role, r.seq, r.heard, r.awake = r.stage(), seq, now, false
	r.fetch(now)
}

// fetch asks for the entry behind the last that was run.
func (r *Room) fetch(now time.Time) { r.want(now, Order{Kind: Fetch, Seq: r.seq}) }

// HandleTold takes an entry that the store tells all nodes: seq is its place in the log, and prev that of the entry before it in the same
// log. Entries may be missing, and come again.
func (r *Room) HandleTold(now time.Time, seq, prev uint64, entry []byte) {
	r.newest = max(r.newest, seq)
	switch {
	case r.role == stopped || seq <= r.seq && r.role != loading:
		return
	case r.role != loading && prev == r.seq:
		r.met = true
		r.comes(now, seq, entry)
		r.drain(now)
		return
	}
	r.keep(told{seq, prev, entry})
	r.missing = true
	if r.role != loading && !r.fetching {
		r.fetch(now)
	}
}

// keep holds an entry that is ahead of a gap.
func (r *Room) keep(t told) {
	i, found := slices.BinarySearchFunc(r.backlog, t, func(a, b told) int { return int(int64(a.seq - b.seq)) })
	if found {
		return
	}
	for len(r.backlog) >= maxBacklog || r.backlogBytes+len(t.entry) > maxBacklogBytes {
		r.stats.Dropped++
		last := len(r.backlog) - 1
		if i > last {
			return
		}
		r.backlogBytes -= len(r.backlog[last].entry)
		r.backlog = slices.Delete(r.backlog, last, last+1)
	}
	t.entry = bytes.Clone(t.entry)
	r.backlogBytes += len(t.entry)
	r.backlog = slices.Insert(r.backlog, i, t)
}

// drain runs what was held and is next.
func (r *Room) drain(now time.Time) {
	for len(r.backlog) > 0 && r.role != loading && r.role != stopped {
		t := r.backlog[0]
		if t.seq > r.seq && t.prev != r.seq {
			if !r.fetching {
				r.fetch(now)
			}
			return
		}
		r.backlogBytes -= len(t.entry)
		r.backlog = slices.Delete(r.backlog, 0, 1)
		if t.seq > r.seq {
			r.met = true
			r.comes(now, t.seq, t.entry)
		}
	}
}

// HandleFetched takes the first entry behind after, which is seq; 0 if there is none.
func (r *Room) HandleFetched(now time.Time, after, seq uint64, entry []byte) {
	if r.role == loading || r.role == stopped || !r.fetching || r.wanted != Fetch {
		return
	}
	if after != r.seq { // it was told meanwhile
		r.fetch(now)
		return
	}
	r.fetching = false
	if seq == 0 {
		r.missing, r.met = false, true
		r.caughtUp(now)
		return
	}
	if head, ok := r.head(entry); ok && head.Tick > r.world.Next() && head.Epoch >= r.reached {
		if r.gap == r.seq+1 {
			r.loadLater(now) // the snapshot that it needs is not there yet
			return
		}
		r.gap = r.seq + 1
		r.load(now) // those before it were removed, behind a snapshot
		return
	}
	r.stats.Fetched++
	r.comes(now, seq, entry)
	if r.role == loading || r.role == stopped {
		return
	}
	if r.drain(now); !r.fetching {
		if r.role == sequencing && !r.missing {
			return
		}
		r.fetch(now)
	}
}

// caughtUp goes on when the log has no more entries.
func (r *Room) caughtUp(now time.Time) {
	switch r.role {
	case catching:
		r.begin(now)
	case bidding:
		r.bid(now)
	case sequencing:
		if r.refused {
			r.offerSoon(now)
		}
	}
}

// comes takes the message that follows the last.
func (r *Room) comes(now time.Time, seq uint64, message []byte) {
	if r.flight != nil && bytes.Equal(message, r.flight) {
		r.appended(now, seq)
		return
	}
	head, ok := r.head(message)
	switch {
	case !ok: // no stage can read it
		r.stats.Malformed++
		r.pass(now, seq)
	case head.Epoch < r.reached:
		r.stats.Void++
		r.pass(now, seq)
	default:
		if r.role == sequencing {
			r.stepDown(now)
		}
		if r.role != loading {
			r.run(now, seq, head.Epoch)
		}
	}
}

// pass goes over an entry that is void.
func (r *Room) pass(now time.Time, seq uint64) {
	r.seq = seq
	if r.flight != nil {
		r.offer(now) // behind it
	}
}

// run runs the entries of another node's message, which are in parts.
func (r *Room) run(now time.Time, seq, epoch uint64) {
	before := r.reached
	for _, entry := range r.parts {
		if err := r.world.Apply(entry); err != nil {
			switch {
			case errors.Is(err, world.ErrDiverged):
				r.diverge(now, seq, err)
			case r.fails(now):
				r.stop(fmt.Errorf("entry %d cannot be run: %w", seq, err))
			default:
				r.loadLater(now)
			}
			return
		}
		r.stats.Ran++
	}
	r.seq, r.heard, r.reached = seq, now, epoch
	switch {
	case r.role == bidding:
		r.role = following
	case (r.role == catching || r.role == giving) && epoch > r.epoch:
		r.stepDown(now)
	}
	r.ran(now)
	if epoch > before { // its predecessor may have taken what it does not know of
		r.out.again(now)
	}
}

// ran is called when a tick was run.
func (r *Room) ran(now time.Time) {
	r.out.done(r.world.Done(r.cfg.Node))
	r.look(now)
}

func (r *Room) stop(why error) {
	r.role, r.flight, r.backlog, r.backlogBytes = stopped, nil, nil, 0
	r.order(Order{Kind: Stop, Err: why})
}
