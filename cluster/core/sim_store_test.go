package core

import "time"

type store struct {
	log       []entry
	last      uint64
	second    uint64        // what last was a second before the end
	at        time.Duration // of the last entry
	count     int           // messages
	empty     bool          // it has lost all entries
	record    Record
	snapshots []snapshotAt
}

type entry struct {
	seq, prev uint64
	bytes     []byte
}

type snapshotAt struct {
	seq   uint64
	bytes []byte
}

// record changes the room's record, and tells all nodes.
func (s *sim) record(rec Record) {
	if rec.Epoch <= s.store.record.Epoch {
		s.fail("epoch %d follows %d", rec.Epoch, s.store.record.Epoch)
	}
	s.store.record = rec
	for _, n := range s.nodes {
		if n.cut || s.isLost() {
			continue
		}
		n.lastRec = max(n.lastRec, s.now+s.way())
		s.after(n.lastRec-s.now, func() { n.do(func() { n.room.HandleRecord(n.clock(), rec) }) })
	}
}

// append adds an entry to the log, and tells all nodes.
func (s *sim) append(b []byte) uint64 {
	entries, ok := split(nil, b)
	if !ok {
		s.fail("a message of the log is malformed: %x", b)
	}
	for _, e := range entries {
		s.check(e)
	}
	s.gap, s.store.at = max(s.gap, s.now-s.store.at), s.now
	s.store.count++
	prev := s.store.last
	if s.store.empty {
		prev, s.store.empty = 0, false
	}
	s.store.last += 1 + s.rand.Uint64N(3) // other rooms have entries in the same stream
	e := entry{s.store.last, prev, b}
	s.store.log = append(s.store.log, e)
	for _, n := range s.nodes {
		if n.cut || s.isLost() {
			continue
		}
		times := 1
		if s.isLost() {
			times = 2
		}
		for range times {
			n.lastWay = max(n.lastWay, s.now+s.way()) // one subscription keeps its order
			s.after(n.lastWay-s.now, func() { n.do(func() { n.room.HandleTold(n.clock(), e.seq, e.prev, e.bytes) }) })
		}
	}
	return e.seq
}

// check runs an entry of the log as it is meant.
func (s *sim) check(entry []byte) {
	head, _ := s.truth.Head(entry)
	if head.Epoch < s.truth.Epoch() {
		s.fail("the log has an entry of epoch %d behind one of %d", head.Epoch, s.truth.Epoch())
		return
	}
	if err := s.truth.Apply(entry); err != nil {
		s.fail("the log: %v", err)
	}
	s.hashes[head.Tick] = s.truth.state.hash
	for _, r := range requestsOf(entry) {
		if _, ok := s.seen[r]; ok {
			s.fail("the log has request %d of node %x twice", r.number, r.node)
		}
		s.seen[r] = head.Tick
	}
}

// save keeps a snapshot, and removes the entries behind the older of the newest two.
func (s *sim) save(seq uint64, b []byte) {
	k := len(s.store.snapshots)
	if k > 0 && s.store.snapshots[k-1].seq >= seq {
		return
	}
	s.store.snapshots = append(s.store.snapshots, snapshotAt{seq, b})
	if k == 0 {
		return
	}
	older := s.store.snapshots[k-1].seq
	for len(s.store.log) > 1 && s.store.log[0].seq <= older {
		s.store.log = s.store.log[1:]
	}
}
