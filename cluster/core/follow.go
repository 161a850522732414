package core

import (
	"bytes"
	"errors"
	"slices"
	"time"
)

// ErrDiverged is what World.Apply returns for an entry that was made for another state than the world has.
var ErrDiverged = errors.New("cluster: the state differs from the log")

// load has the world loaded anew.
func (r *Room) load(now time.Time) {
	r.role, r.flight, r.missing = loading, nil, true
	r.in.clear()
	r.out.again(now)
	r.want(now, Order{Kind: Load})
}

// HandleSnapshot takes the newest snapshot, which is of the world behind entry seq. Without one, seq is 0 and b nil.
func (r *Room) HandleSnapshot(now time.Time, seq uint64, b []byte) {
	if r.role != loading || !r.answered(Load) {
		return
	}
	if err := r.world.Load(b); err != nil {
		r.stop()
		return
	}
	r.stats.Loaded++
	r.role, r.seq, r.heard, r.awake = following, seq, now, false
	if r.record.Node == r.cfg.Node && r.record.Epoch == r.epoch { // an entry of the one before came first
		r.role = catching
	}
	r.fetch(now)
}

// fetch asks for the entry behind the last that was run.
func (r *Room) fetch(now time.Time) { r.want(now, Order{Kind: Fetch, Seq: r.seq}) }

// HandleTold takes an entry that the store tells all nodes: seq is its place in the log, and prev that of the entry before it in the same
// log. Entries may be missing, and come again.
func (r *Room) HandleTold(now time.Time, seq, prev uint64, entry []byte) {
	switch {
	case r.role == stopped || seq <= r.seq && r.role != loading:
		return
	case r.role != loading && prev == r.seq:
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
	if len(r.backlog) >= maxBacklog {
		r.stats.Dropped++
		if i == len(r.backlog) {
			return
		}
		r.backlog = r.backlog[:len(r.backlog)-1]
	}
	t.entry = bytes.Clone(t.entry)
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
		r.backlog = slices.Delete(r.backlog, 0, 1)
		if t.seq > r.seq {
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
		r.missing = false
		r.caughtUp(now)
		return
	}
	if head, err := r.world.Head(entry); err == nil && head.Tick > r.world.Next() && head.Epoch >= r.world.Epoch() {
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
	}
}

// comes takes the entry that follows the last.
func (r *Room) comes(now time.Time, seq uint64, entry []byte) {
	if r.flight != nil && bytes.Equal(entry, r.flight) {
		r.appended(now, seq)
		return
	}
	head, err := r.world.Head(entry)
	switch {
	case err != nil: // no stage can read it
		r.stats.Malformed++
		r.pass(now, seq)
	case head.Epoch < r.world.Epoch():
		r.stats.Void++
		r.pass(now, seq)
	case r.role == sequencing: // what it took is not in the log; it may still be the next to write
		r.stats.Deposed++
		r.load(now)
	default:
		r.run(now, seq, head.Epoch, entry)
	}
}

// pass goes over an entry that is void.
func (r *Room) pass(now time.Time, seq uint64) {
	r.seq = seq
	if r.flight != nil {
		r.offer(now) // behind it
	}
}

// run runs an entry of another node.
func (r *Room) run(now time.Time, seq, epoch uint64, entry []byte) {
	if err := r.world.Apply(entry); err != nil {
		if errors.Is(err, ErrDiverged) && r.tooOften(now) {
			r.stop()
			return
		}
		r.load(now)
		return
	}
	r.stats.Ran++
	r.seq, r.heard = seq, now
	if r.role == bidding || r.role == catching && epoch > r.epoch {
		r.role = following
	}
	r.ran(now)
}

// ran is called when a tick was run.
func (r *Room) ran(now time.Time) {
	r.out.done(r.world.Done(r.cfg.Node))
	r.look(now)
}

// tooOften notes a divergence, and reports whether this machine computes otherwise than the others.
func (r *Room) tooOften(now time.Time) bool {
	r.stats.Diverged++
	r.diverged = slices.DeleteFunc(r.diverged, func(t time.Time) bool { return now.Sub(t) > divergedSpan })
	r.diverged = append(r.diverged, now)
	return len(r.diverged) >= maxDiverged
}

func (r *Room) stop() {
	r.role, r.flight, r.backlog = stopped, nil, nil
	r.order(Order{Kind: Stop})
}
