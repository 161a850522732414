package core

import (
	"iter"
	"maps"
	"slices"
	"time"

	"parley/internal/queue"
)

// mirror is what a client knows of the server's elements.
type mirror struct {
	items   map[int16]*item
	bytes   int  // that they hold
	syncing bool // between SYNC_START and SYNC_END
	run     uint32
	gone    queue.Fifo[int16] // that the next EventSynced in the inbox comes after
}

// item is an element, or the memory that there was one.
type item struct {
	data []byte
	run  uint32 // the last sync that named it

	// live is false when main has said that it is gone. It is remembered until the next
	// sync begins, so that an update that was under way on the feed does not bring it
	// back.
	live bool
}

// itemBytes is what an item holds beside its data.
const itemBytes = 96

// Element returns the value of an element, as a client knows it. The bytes are valid until
// the next call of a Handle* method.
func (e *Endpoint) Element(sid int16) (data []byte, ok bool) {
	if e.mirror == nil {
		return nil, false // a server's are in its Mux
	}
	if it := e.mirror.items[sid]; it != nil && it.live {
		return it.data, true
	}
	return nil, false
}

// Elements yields the elements that a client knows, by SID.
func (e *Endpoint) Elements() iter.Seq2[int16, []byte] {
	return func(yield func(int16, []byte) bool) {
		if e.mirror == nil {
			return
		}
		for _, sid := range slices.Sorted(maps.Keys(e.mirror.items)) {
			if it := e.mirror.items[sid]; it.live && !yield(sid, it.data) {
				return
			}
		}
	}
}

// learn takes an update or a sync of the server, and reports whether it is to be told as
// such. Of an update that is not it counts the fate.
func (e *Endpoint) learn(now time.Time, m *Message, on Channel) bool {
	r := &e.cfg.rules.elements[FromServer]
	if r.moments[m.SID] {
		return true
	}
	it := e.mirror.items[m.SID]
	gone := r.isGone(m.Data)
	switch {
	case on == Feed && (gone || it != nil && !it.live):
		// "On main, an element that is gone is a SYNC_MSG": the feed says no such thing, and
		// what it says of an element that is gone is old.
		e.stats.Ghosts++
		return false
	case gone:
		e.forget(m.SID, it)
		return false
	}
	if it == nil {
		it = &item{}
		e.mirror.items[m.SID] = it
		e.mirror.bytes += itemBytes
	}
	e.mirror.bytes -= cap(it.data)
	it.data = append(it.data[:0], m.Data...)
	it.live = true
	if on == Main {
		it.run = e.mirror.run
	}
	if e.mirror.bytes += cap(it.data); e.mirror.bytes > e.cfg.MaxState {
		if on == Feed {
			e.stats.NoRoom++
		}
		e.end(Close{Reason: ReasonOverflow, Text: "the server has more elements than we keep"})
		return false
	}
	return true
}

// forget takes an element away of which main says that it is gone.
func (e *Endpoint) forget(sid int16, it *item) {
	if it == nil || !it.live {
		return
	}
	e.mirror.bury(it)
	e.tell(Event{Kind: EventGone, Channel: Main, SID: sid})
}

func (m *mirror) bury(it *item) {
	m.bytes -= cap(it.data)
	it.data, it.live = nil, false
}

// start begins a sync of everything. What is said of elements that are gone is not under
// way any more.
func (m *mirror) start() {
	m.syncing = true
	m.run++
	for sid, it := range m.items {
		if !it.live {
			delete(m.items, sid)
			m.bytes -= itemBytes
		}
	}
}

// endSync ends it: "After SYNC_END, every SID that was not named since SYNC_START is
// gone", and "the client answers SYNC_OK".
func (e *Endpoint) endSync() {
	m := e.mirror
	m.syncing = false
	var gone []int16
	for sid, it := range m.items {
		if it.live && it.run != m.run {
			gone = append(gone, sid)
		}
	}
	slices.Sort(gone) // so that a seed repeats a run
	for _, sid := range gone {
		m.bury(m.items[sid])
		m.gone.Push(sid)
	}
	e.inbox.list.Push(note{Event: Event{Kind: EventSynced, Channel: Main}, gone: len(gone)})
	e.signal(CodeSyncOK)
}

// nextGone returns the next element that is to be told to be gone, if the time has come.
func (e *Endpoint) nextGone() (int16, bool) {
	if e.inbox.list.Len() == 0 {
		return 0, false
	}
	n := e.inbox.list.First()
	if n.gone == 0 {
		return 0, false
	}
	n.gone--
	return e.mirror.gone.Pop(), true
}

// clear lets all go but what is still to be told.
func (m *mirror) clear() { m.items, m.bytes, m.syncing = nil, 0, false }
