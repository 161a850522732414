package match

// line is those who wait for the same game, the longest first. It is a list through the waiters themselves, so that whoever hangs
// up leaves it at no cost.
type line struct {
	game        game
	first, last *waiter
	n           int
	index       int // in the heap of complete lines, -1 if it is not complete
}

// game is what those of a line want.
type game struct {
	mode    string
	players int
}

// push adds a waiter at the end.
func (l *line) push(w *waiter) { l.insert(w, l.last) }

// insert adds a waiter behind another, or at the front if that is nil.
func (l *line) insert(w, after *waiter) {
	w.before = after
	if after == nil {
		w.behind, l.first = l.first, w
	} else {
		w.behind, after.behind = after.behind, w
	}
	if w.behind == nil {
		l.last = w
	} else {
		w.behind.before = w
	}
	l.n++
}

func (l *line) remove(w *waiter) {
	if w.before == nil {
		l.first = w.behind
	} else {
		w.before.behind = w.behind
	}
	if w.behind == nil {
		l.last = w.before
	} else {
		w.behind.before = w.before
	}
	w.before, w.behind = nil, nil
	l.n--
}

func (l *line) complete() bool { return l.n >= l.game.players }

// lines is a heap of the complete lines. The first is the one whose first player waits longest.
type lines []*line

func (h lines) Len() int           { return len(h) }
func (h lines) Less(i, j int) bool { return h[i].first.id < h[j].first.id }
func (h lines) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *lines) Push(x any) {
	l := x.(*line)
	l.index = len(*h)
	*h = append(*h, l)
}
func (h *lines) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	last.index = -1
	return last
}
