package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	"parley/world"
)

// toy is a world whose state is the sum of all that was ever asked for, in order.
type toy struct {
	state toyState
	taken []byte            // of the next entry
	newly map[uint64]uint64 // what Done is once that is run
	seal  []byte
	rises uint64 // the epoch that was sealed last: that of package world does the same
	bad   bool   // the state is another than it should be
	room  int    // for how many requests an entry has room

	cannot error // set if it can read nothing

	ran    func(t *toy, tick uint64, entry []byte) // told of each tick that was run
	loaded func()                                  // told before the world is another
	undone func(ticks int)
}

type toyState struct {
	tick, epoch, hash uint64
	due               int64
	asked             uint64 // the tick behind the last that had a request
	done              map[uint64]uint64
}

func newToy(room int) *toy {
	t := &toy{room: room}
	t.Load(nil)
	return t
}

func (t *toy) Next() uint64  { return t.state.tick }
func (t *toy) Epoch() uint64 { return max(t.state.epoch, t.rises) }
func (t *toy) Due() int64    { return t.state.due }
func (t *toy) Awake() bool   { return t.state.asked > 0 && t.state.tick < t.state.asked+100 }

func (t *toy) Done(node uint64) uint64 { return max(t.state.done[node], t.newly[node]) }

func (t *toy) Take(node, number uint64, body []byte) bool {
	if len(t.newly) > 0 && len(t.taken) >= t.room*20 {
		return false
	}
	if number != t.Done(node)+1 {
		panic(fmt.Sprintf("request %d of node %d follows %d", number, node, t.Done(node)))
	}
	t.taken = binary.LittleEndian.AppendUint64(t.taken, node)
	t.taken = binary.LittleEndian.AppendUint64(t.taken, number)
	t.taken = append(t.taken, body[:4]...)
	t.newly[node] = number
	return true
}

func (t *toy) Seal(due int64, epoch, skipped uint64) []byte {
	if t.seal != nil {
		panic("Seal twice")
	}
	b := make([]byte, 0, 40+len(t.taken))
	for _, v := range []uint64{t.state.tick, epoch, 0, uint64(due), t.state.hash} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	t.seal, t.rises = append(b, t.taken...), epoch
	return t.seal
}

func (t *toy) Advance() {
	if t.bad {
		panic("a sequencer has another state")
	}
	entry := t.seal
	t.reset()
	t.apply(entry)
}

func (t *toy) Head(entry []byte) (world.EntryHead, error) {
	if len(entry) < 40 {
		return world.EntryHead{}, errors.New("short")
	}
	u := func(i int) uint64 { return binary.LittleEndian.Uint64(entry[8*i:]) }
	return world.EntryHead{Tick: u(0), Epoch: u(1), Node: u(2), Due: int64(u(3))}, nil
}

func (t *toy) Apply(entry []byte) error {
	head, err := t.Head(entry)
	if err != nil {
		return err
	}
	if t.cannot != nil {
		return t.cannot
	}
	if t.seal != nil || len(t.newly) > 0 {
		panic("Apply with an entry of its own")
	}
	if t.bad || head.Tick != t.state.tick || binary.LittleEndian.Uint64(entry[32:]) != t.state.hash {
		return fmt.Errorf("tick %d where %d follows: %w", head.Tick, t.state.tick, world.ErrDiverged)
	}
	t.apply(entry)
	return nil
}

func (t *toy) apply(entry []byte) {
	s := &t.state
	head, _ := t.Head(entry)
	if head.Due < s.due {
		panic("due goes back")
	}
	s.epoch, s.due = head.Epoch, head.Due
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, s.hash))
	h.Write(entry)
	s.hash = h.Sum64()
	for _, r := range requestsOf(entry) {
		s.done[r.node], s.asked = r.number, s.tick+1
	}
	s.tick++
	if t.ran != nil {
		t.ran(t, head.Tick, entry)
	}
}

func (t *toy) Undone(ticks int) {
	if t.undone != nil {
		t.undone(ticks)
	}
}

// Snapshot is the state in text.
func (t *toy) Snapshot() []byte {
	if t.seal != nil || len(t.newly) > 0 {
		panic("Snapshot with an entry under way")
	}
	s := &t.state
	hash := s.hash
	if t.bad {
		hash++
	}
	b := fmt.Appendf(nil, "%d %d %d %d %d", s.tick, s.epoch, hash, s.due, s.asked)
	for node, n := range s.done {
		b = fmt.Appendf(b, " %d %d", node, n)
	}
	return b
}

func (t *toy) Load(b []byte) error {
	if t.loaded != nil {
		t.loaded()
	}
	t.reset()
	s := toyState{done: map[uint64]uint64{}}
	if b != nil && t.cannot != nil {
		return t.cannot
	}
	if b != nil {
		var fields []uint64
		for len(b) > 0 {
			var v uint64
			n := 0
			for ; n < len(b) && b[n] != ' '; n++ {
				v = v*10 + uint64(b[n]-'0')
			}
			fields, b = append(fields, v), b[min(n+1, len(b)):]
		}
		s.tick, s.epoch, s.hash, s.due, s.asked = fields[0], fields[1], fields[2], int64(fields[3]), fields[4]
		for f := fields[5:]; len(f) > 0; f = f[2:] {
			s.done[f[0]] = f[1]
		}
	}
	t.state = s
	return nil
}

func (t *toy) reset() {
	t.taken, t.newly, t.seal, t.bad, t.rises = nil, map[uint64]uint64{}, nil, false, 0
}

type toyRequest struct{ node, number uint64 }

// requestsOf returns the requests of an entry, in order.
func requestsOf(entry []byte) (all []toyRequest) {
	for b := entry[40:]; len(b) > 0; b = b[20:] {
		all = append(all, toyRequest{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])})
	}
	return all
}
