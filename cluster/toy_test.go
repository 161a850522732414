package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	"parley/world"
)

// toy is a world whose state is a hash of all that was ever asked for, in order.
type toy struct {
	state toyState
	taken []byte
	newly map[uint64]uint64
	seal  []byte
	ran   func(tick, hash uint64, requests []toyRequest)

	complain func(error) // of an entry that does not follow
}

type toyState struct {
	tick, epoch, hash uint64
	due               int64
	done              map[uint64]uint64
}

type toyRequest struct{ node, number uint64 }

func newToy(ran func(tick, hash uint64, requests []toyRequest)) *toy {
	t := &toy{ran: ran}
	_ = t.Load(nil)
	return t
}

func (t *toy) Next() uint64            { return t.state.tick }
func (t *toy) Epoch() uint64           { return t.state.epoch }
func (t *toy) Due() int64              { return t.state.due }
func (t *toy) Awake() bool             { return len(t.state.done) > 0 }
func (t *toy) Done(node uint64) uint64 { return max(t.state.done[node], t.newly[node]) }

func (t *toy) Take(node, number uint64, body []byte) bool {
	t.taken = binary.LittleEndian.AppendUint64(t.taken, node)
	t.taken = binary.LittleEndian.AppendUint64(t.taken, number)
	t.newly[node] = number
	return true
}

func (t *toy) Seal(due int64, epoch, skipped uint64) []byte {
	b := make([]byte, 0, 32+len(t.taken))
	for _, v := range []uint64{t.state.tick, epoch, uint64(due), t.state.hash} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	t.seal = append(b, t.taken...)
	return t.seal
}

func (t *toy) Advance() {
	entry := t.seal
	t.forget()
	t.apply(entry)
}

func (t *toy) Head(entry []byte) (world.EntryHead, error) {
	if len(entry) < 32 {
		return world.EntryHead{}, errors.New("short")
	}
	u := func(i int) uint64 { return binary.LittleEndian.Uint64(entry[8*i:]) }
	return world.EntryHead{Tick: u(0), Epoch: u(1), Due: int64(u(2))}, nil
}

func (t *toy) Apply(entry []byte) error {
	head, err := t.Head(entry)
	if err != nil {
		return err
	}
	if head.Tick != t.state.tick || binary.LittleEndian.Uint64(entry[24:]) != t.state.hash {
		err := fmt.Errorf("tick %d of epoch %d behind %x, where tick %d follows behind %x: %w", head.Tick, head.Epoch, binary.LittleEndian.Uint64(entry[24:]), t.state.tick, t.state.hash, world.ErrDiverged)
		if t.complain != nil {
			t.complain(err)
		}
		return err
	}
	t.apply(entry)
	return nil
}

func (t *toy) apply(entry []byte) {
	s := &t.state
	head, _ := t.Head(entry)
	s.epoch, s.due = head.Epoch, head.Due
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, s.hash))
	h.Write(entry)
	s.hash = h.Sum64()
	var list []toyRequest
	for b := entry[32:]; len(b) > 0; b = b[16:] {
		q := toyRequest{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
		s.done[q.node] = q.number
		list = append(list, q)
	}
	s.tick++
	t.ran(head.Tick, s.hash, list)
}

func (t *toy) Undone(int) {}

func (t *toy) Snapshot() []byte {
	s := &t.state
	b := []byte{}
	for _, v := range []uint64{s.tick, s.epoch, s.hash, uint64(s.due)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for node, n := range s.done {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, node), n)
	}
	return b
}

func (t *toy) Load(b []byte) error {
	t.forget()
	s := toyState{done: map[uint64]uint64{}}
	if b != nil {
		u := func() uint64 { v := binary.LittleEndian.Uint64(b); b = b[8:]; return v }
		s.tick, s.epoch, s.hash, s.due = u(), u(), u(), int64(u())
		for len(b) > 0 {
			node := u()
			s.done[node] = u()
		}
	}
	t.state = s
	return nil
}

func (t *toy) forget() { t.taken, t.newly, t.seal = nil, map[uint64]uint64{}, nil }
