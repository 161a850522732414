package keep

import "sync"

// A line is a list of rooms that wait for a goroutine. It is bounded by the number of rooms, as each is in it once.
type line struct {
	mu     sync.Mutex
	some   sync.Cond
	rooms  []*Room
	closed bool
}

func newLine() *line {
	l := &line{}
	l.some.L = &l.mu
	return l
}

// put adds a room. The caller sees to it that it is not there yet.
func (l *line) put(r *Room) {
	l.mu.Lock()
	l.rooms = append(l.rooms, r)
	l.mu.Unlock()
	l.some.Signal()
}

// all waits for rooms and takes them all. After close it returns what is left, and then none.
func (l *line) all(into []*Room) []*Room {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait()
	into = append(into, l.rooms...)
	clear(l.rooms)
	l.rooms = l.rooms[:0]
	return into
}

// one waits for a room and takes it. After close it returns what is left, and then nil.
func (l *line) one() (r *Room) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait()
	if len(l.rooms) > 0 {
		r = l.rooms[0]
		l.rooms = append(l.rooms[:0], l.rooms[1:]...)
	}
	return r
}

func (l *line) wait() {
	for len(l.rooms) == 0 && !l.closed {
		l.some.Wait()
	}
}

func (l *line) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.some.Broadcast()
}
