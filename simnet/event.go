package simnet

// An event is a thing that will happen at a known instant: a datagram arrives or a script step runs. Timeouts are not
// events, because they move: see timers.
type event struct {
	at   int64  // nanoseconds since epoch
	seq  uint64 // order of birth; breaks ties, so that a run has one order only
	ref  uint32 // index into the datagrams or the scripts
	kind eventKind
}

type eventKind uint8

const (
	eventArrive eventKind = iota + 1
	eventScript
)

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// eventHeap is a heap of four children a node. It is written out, because container/heap would box each event in an
// interface, which allocates. The zero value is an empty heap.
type eventHeap struct {
	items []event
}

func (h *eventHeap) push(e event) {
	h.items = append(h.items, e)
	i := len(h.items) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h.items[parent]) {
			break
		}
		h.items[i] = h.items[parent]
		i = parent
	}
	h.items[i] = e
}

// top is the earliest event, nil when there is none. It is valid until the next push or pop.
func (h *eventHeap) top() *event {
	if len(h.items) == 0 {
		return nil
	}
	return &h.items[0]
}

// pop removes the earliest event. The heap must not be empty.
func (h *eventHeap) pop() event {
	first := h.items[0]
	n := len(h.items) - 1
	last := h.items[n]
	h.items = h.items[:n]
	if n == 0 {
		return first
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, n); c++ {
			if h.items[c].before(&h.items[least]) {
				least = c
			}
		}
		if !h.items[least].before(&last) {
			break
		}
		h.items[i] = h.items[least]
		i = least
	}
	h.items[i] = last
	return first
}

// timers is a binary heap of the hosts that wait for a timeout. A host knows its place in it, so that a timeout that
// moves, as a retransmission timer does with each acknowledgement, leaves nothing stale behind.
type timers struct {
	hosts []*Host
}

func (t *timers) top() *Host {
	if len(t.hosts) == 0 {
		return nil
	}
	return t.hosts[0]
}

// set puts h at its timerAt and timerSeq, wherever it was before.
func (t *timers) set(h *Host) {
	if h.timerPos < 0 {
		h.timerPos = len(t.hosts)
		t.hosts = append(t.hosts, h)
	}
	t.down(t.up(h.timerPos))
}

func (t *timers) remove(h *Host) {
	if h.timerPos < 0 {
		return
	}
	i, n := h.timerPos, len(t.hosts)-1
	t.swap(i, n)
	t.hosts[n] = nil
	t.hosts = t.hosts[:n]
	h.timerPos = -1
	if i < n {
		t.down(t.up(i))
	}
}

func (t *timers) less(i, j int) bool {
	a, b := t.hosts[i], t.hosts[j]
	return a.timerAt < b.timerAt || a.timerAt == b.timerAt && a.timerSeq < b.timerSeq
}

func (t *timers) swap(i, j int) {
	t.hosts[i], t.hosts[j] = t.hosts[j], t.hosts[i]
	t.hosts[i].timerPos, t.hosts[j].timerPos = i, j
}

func (t *timers) up(i int) int {
	for i > 0 && t.less(i, (i-1)/2) {
		t.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (t *timers) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(t.hosts); c++ {
			if t.less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		t.swap(i, least)
		i = least
	}
}
