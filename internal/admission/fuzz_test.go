package admission

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

// model is a HalfOpen of 8, crowded above 3, as plainly as it can be written: a list in
// order of age.
type model struct {
	open  []modelEntry
	seen  [2]map[netip.AddrPort]bool
	until time.Duration
	stats HalfOpenStats
}

type modelEntry struct {
	key   netip.AddrPort
	until time.Duration
	value int
}

func (m *model) expire(now time.Duration) {
	for len(m.open) > 0 && m.open[0].until <= now {
		m.open = m.open[1:]
		m.stats.Expired++
	}
}

func (m *model) find(now time.Duration, key netip.AddrPort) int {
	m.expire(now)
	for i, e := range m.open {
		if e.key == key {
			return i
		}
	}
	return -1
}

func (m *model) mark(now time.Duration, key netip.AddrPort) bool {
	if now >= m.until {
		if now-m.until >= seenLife || m.seen[0] == nil {
			m.seen[0] = nil
		}
		m.seen = [2]map[netip.AddrPort]bool{{}, m.seen[0]}
		m.until = now + seenLife
	}
	before := m.seen[0][key] || m.seen[1][key]
	m.seen[0][key] = true
	return before
}

func (m *model) openOne(now time.Duration, key netip.AddrPort) (*int, Verdict) {
	if i := m.find(now, key); i >= 0 {
		m.stats.Repeated++
		return &m.open[i].value, Repeated
	}
	if len(m.open) > 3 && !m.mark(now, key) {
		m.stats.Deferred++
		return nil, Deferred
	}
	if len(m.open) == 8 {
		m.open = m.open[1:]
		m.stats.Evicted++
	}
	m.stats.Opened++
	m.open = append(m.open, modelEntry{key: key, until: now + halfOpenLife})
	return &m.open[len(m.open)-1].value, Opened
}

func (m *model) take(now time.Duration, key netip.AddrPort, count *uint64) (int, bool) {
	i := m.find(now, key)
	if i < 0 {
		return 0, false
	}
	*count++
	v := m.open[i].value
	m.open = append(m.open[:i:i], m.open[i+1:]...)
	return v, true
}

// FuzzHalfOpen reads its input as a script of operations and compares with the model.
func FuzzHalfOpen(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 5, 1, 2, 2, 3, 4, 200, 0, 1})
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		script := make([]byte, 2000)
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		h := NewHalfOpen[int](HalfOpenConfig{Max: 8, Crowded: 3}, testKey)
		h.table.at(start)
		m := &model{}
		now := time.Duration(0)
		for i := 0; i+1 < len(script); i += 2 {
			op, arg := script[i], script[i+1]
			p := peer(int(arg % 24))
			switch op % 8 {
			case 0, 1, 2, 3:
				got, verdict := h.Open(at(now), p)
				want, wantVerdict := m.openOne(now, p)
				if verdict != wantVerdict || (got == nil) != (want == nil) || got != nil && *got != *want {
					t.Fatalf("step %d: open %v: got %v, want %v", i, p, verdict, wantVerdict)
				}
				if got != nil {
					*got, *want = i+1, i+1
				}
			case 4:
				got, ok := h.Prove(at(now), p)
				want, wantOK := m.take(now, p, &m.stats.Proven)
				if got != want || ok != wantOK {
					t.Fatalf("step %d: prove: got %v %v, want %v %v", i, got, ok, want, wantOK)
				}
			case 5:
				ok := h.Drop(at(now), p)
				if _, want := m.take(now, p, &m.stats.Dropped); ok != want {
					t.Fatalf("step %d: drop: got %v, want %v", i, ok, want)
				}
			case 6:
				got, want := h.Get(at(now), p), m.find(now, p)
				if (got == nil) != (want < 0) || got != nil && *got != m.open[want].value {
					t.Fatalf("step %d: get: got %v, want entry %d", i, got, want)
				}
			case 7:
				now += time.Duration(arg) * 10 * time.Millisecond
				h.Expire(at(now))
				m.expire(now)
				if h.Len() != len(m.open) {
					t.Fatalf("step %d: %d are open, want %d", i, h.Len(), len(m.open))
				}
			}
			checkTable(t, &h.table)
		}
		h.Expire(at(now))
		m.expire(now)
		if h.Stats() != m.stats || h.Len() != len(m.open) {
			t.Fatalf("got %+v, %d open; want %+v, %d open", h.Stats(), h.Len(), m.stats, len(m.open))
		}
	})
}

// checkTable checks that each slot is in exactly one chain or in the free list, and that
// the order of age is the order of deadlines.
func checkTable[V any](t *testing.T, tab *table[V]) {
	t.Helper()
	used := 0
	for head, i := range tab.heads {
		for ; i != none; i = tab.slots[i].next {
			if int(tab.slots[i].head) != head {
				t.Fatalf("slot %d is in chain %d, want %d", i, head, tab.slots[i].head)
			}
			used++
		}
	}
	inOrder, last := 0, int64(-1)<<63
	for i := tab.oldest; i != none; i = tab.slots[i].newer {
		if tab.slots[i].deadline < last {
			t.Fatalf("slot %d ends before the one that is older", i)
		}
		last = tab.slots[i].deadline
		inOrder++
	}
	free := 0
	for i := tab.free; i != none; i = tab.slots[i].next {
		free++
	}
	if used != tab.used || inOrder != tab.used || used+free != len(tab.slots) {
		t.Fatalf("%d in chains, %d in order, %d free of %d, %d counted", used, inOrder, free, len(tab.slots), tab.used)
	}
}
