package account

import (
	"net/netip"
	"slices"
)

// A lane is a queue of bounded length in which addresses take turns: the first job of each comes
// before the second of any. So one address that asks a thousand times delays another by one
// job, and when the lane is full it is the address with the most jobs that loses its last one.
//
// It is start-time fair queueing with jobs of one size: a job's turn is the one after its address's
// last, but not before the turn that is being served.
type lane struct {
	max     int
	serving uint64 // the turn of the last job that was taken
	jobs    []*job // by turn, and among equal ones by arrival
	sources map[netip.Prefix]place
}

// place is what a lane knows of an address that has jobs in it.
type place struct {
	jobs int
	last uint64 // turn of its last job
}

func newLane(size int) *lane {
	return &lane{max: size, sources: make(map[netip.Prefix]place)}
}

// push adds a job and returns the one that there is no room for, which may be the same, or
// nil.
func (l *lane) push(j *job) (lost *job) {
	p := l.sources[j.from]
	j.turn = max(l.serving, p.last) + 1
	if len(l.jobs) >= l.max {
		if last := l.jobs[len(l.jobs)-1]; last.turn <= j.turn {
			return j
		}
		lost = l.remove(len(l.jobs) - 1)
		p = l.sources[j.from]
	}
	i, _ := slices.BinarySearchFunc(l.jobs, j.turn, func(other *job, turn uint64) int {
		if other.turn <= turn {
			return -1 // j comes after those of the same turn
		}
		return 1
	})
	l.jobs = slices.Insert(l.jobs, i, j)
	l.sources[j.from] = place{p.jobs + 1, j.turn}
	return lost
}

// pop takes the first job, or nil.
func (l *lane) pop() *job {
	if len(l.jobs) == 0 {
		return nil
	}
	return l.take(0)
}

// take takes the job at an index, to be served.
func (l *lane) take(i int) *job {
	l.serving = max(l.serving, l.jobs[i].turn)
	return l.remove(i)
}

// remove takes a job out that is not served.
func (l *lane) remove(i int) *job {
	j := l.jobs[i]
	l.jobs = slices.Delete(l.jobs, i, i+1)
	p := l.sources[j.from]
	p.jobs--
	if p.jobs == 0 {
		delete(l.sources, j.from)
		return j
	}
	if p.last == j.turn {
		p.last--
	}
	l.sources[j.from] = p
	return j
}
