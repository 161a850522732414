package world

// flight are the packets that are on their way and what is in them, in two
// rings that grow with them. The zero value has none.
type flight struct {
	packets []packet
	records []sent
	last    uint64 // the newest packet
	oldest  uint64 // none before it is on its way
	added   uint32 // the next record; these numbers wrap
	needed  uint32 // none before it is needed
	first   uint32 // the first of the newest packet
}

// A packet ends where the next one starts.
type packet struct {
	start uint32 // its first record
	ended bool
}

// A sent is one change in a packet.
type sent struct {
	mask   uint64
	at     uint32 // of the entry; of a departure departed
	serial uint32 // of the entry or the departure
}

const departed = 1<<32 - 1

func (f *flight) packet(number uint64) *packet {
	return &f.packets[number&uint64(len(f.packets)-1)]
}

func (f *flight) record(number uint32) *sent {
	return &f.records[number&uint32(len(f.records)-1)]
}

func (f *flight) open(v *View) uint64 {
	if f.packets == nil {
		f.packets, f.records = make([]packet, minPackets), make([]sent, minPackets)
		f.oldest = 1
	}
	for f.last+1-f.oldest >= uint64(len(f.packets)) {
		f.makePacket(v)
	}
	f.last++
	f.first = f.added
	*f.packet(f.last) = packet{start: f.added}
	return f.last
}

// makePacket makes room for one more packet in the ring.
func (f *flight) makePacket(v *View) {
	switch f.skip(); {
	case f.last+1-f.oldest < uint64(len(f.packets)):
	case len(f.packets) == maxPackets:
		f.end(v, f.oldest, false)
	default:
		old := *f
		f.packets = make([]packet, 2*len(f.packets))
		for n := f.oldest; n <= f.last; n++ {
			*f.packet(n) = *old.packet(n)
		}
	}
}

// skip finds the oldest packet that is on its way. The records before its first
// are free.
func (f *flight) skip() {
	for f.oldest <= f.last && f.packet(f.oldest).ended {
		f.oldest++
	}
	f.needed = f.added
	if f.oldest <= f.last {
		f.needed = f.packet(f.oldest).start
	}
}

func (f *flight) add(v *View, s sent) {
	if f.last == 0 {
		panic("world: Take without Open in a view that is not reliable")
	}
	for f.added-f.needed >= uint32(len(f.records)) {
		f.makeRecord(v)
	}
	*f.record(f.added) = s
	f.added++
}

// makeRecord makes room for one more record in the ring.
func (f *flight) makeRecord(v *View) {
	switch f.skip(); {
	case f.added-f.needed < uint32(len(f.records)):
	case len(f.records) == maxSent:
		f.end(v, f.oldest, false)
	default:
		old := *f
		f.records = make([]sent, 2*len(f.records))
		for n := f.needed; n != f.added; n++ {
			*f.record(n) = *old.record(n)
		}
	}
}

// full reports whether the open packet has as many records as there may be.
func (f *flight) full() bool { return f.added-f.first >= maxSent-1 }

// end settles what was in a packet.
func (f *flight) end(v *View, number uint64, arrived bool) {
	if f.packets == nil || number < f.oldest || number > f.last || f.packet(number).ended {
		return
	}
	end := f.added
	if number < f.last {
		end = f.packet(number + 1).start
	} else {
		f.first = f.added
	}
	for n := f.packet(number).start; n != end; n++ {
		v.settle(f.record(n), arrived)
	}
	f.packet(number).ended = true
}
