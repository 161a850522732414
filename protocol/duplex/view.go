package duplex

import (
	"encoding/binary"
	"math/bits"
	"time"
)

// view is what a server's connection knows of what its client knows.
type view struct {
	elements *elements
	except   bitset // the elements that it may see; with all, those that it may not
	all      bool
	known    bitset // the elements that it was told of on main

	// Its two places in the log: what lies behind them was not told on the feed, and
	// on main. Each skips what is for the other.
	onFeed, onMain uint64

	// The sync of everything.
	due         bool // one is to begin
	running     bool // one has begun
	slot        int32
	began       time.Time // the last one
	nextSync    time.Time
	unconfirmed int // SYNC_ENDs without a SYNC_OK

	wantsIn bool        // CONN_INIT came: the Mux is to answer it
	full    func() bool // whether the server has as many players as it may
}

// gone is the data of an element that is no more.
var gone = []byte{0}

// join begins to tell: "The server also does so on joining and each resync interval".
func (v *view) join(now time.Time, resync time.Duration) {
	v.onFeed, v.onMain = v.elements.head(), v.elements.head()
	v.due = true
	v.schedule(now, resync)
}

func (v *view) schedule(now time.Time, resync time.Duration) {
	v.nextSync = time.Time{}
	if resync > 0 {
		v.nextSync = now.Add(resync)
	}
}

// timeout begins a sync when its time has come.
func (v *view) timeout(now time.Time, resync time.Duration) {
	if !v.nextSync.IsZero() && !now.Before(v.nextSync) {
		v.due = true
		v.schedule(now, resync)
	}
}

// request begins a sync, or has it begin as soon as one may again.
func (v *view) request() { v.due = true }

// mayBegin reports whether a sync may begin now. If one is due too early, it is put off.
func (v *view) mayBegin(now time.Time) bool {
	if !v.due || v.running {
		return false
	}
	at := v.began.Add(minSyncEvery)
	if v.began.IsZero() || !now.Before(at) {
		return true
	}
	v.due = false
	if v.nextSync.IsZero() || at.Before(v.nextSync) {
		v.nextSync = at
	}
	return false
}

// sees reports whether the client may see an element.
func (v *view) sees(slot int32) bool { return v.except.has(slot) != v.all }

// flip is what makes the words of except those of what the client may see.
func (v *view) flip() uint64 {
	if v.all {
		return ^uint64(0)
	}
	return 0
}

// show has the client see an element from now on, or not.
func (v *view) show(slot int32, may bool) {
	if may != v.all {
		v.except.add(slot)
	} else {
		v.except.remove(slot)
	}
}

// willName reports whether a sync that has begun has yet to come to a slot.
func (v *view) willName(slot int32) bool { return v.running && slot >= v.slot }

// fillMain puts into the queue of main what is made as room for it comes: a sync of
// everything, and what has changed while there is no feed.
func (e *Endpoint) fillMain() {
	v := e.view
	for e.state == StateOpen && e.hasRoom() {
		switch {
		case v.running:
			e.syncNext()
		case v.mayBegin(e.now):
			v.due, v.running, v.slot, v.began = false, true, 0, e.now
			v.schedule(e.now, e.cfg.Resync)
			e.stats.Syncs++
			e.signal(CodeSyncStart)
		case v.onMain < v.elements.head():
			e.syncChanged()
		default:
			return
		}
	}
}

// syncNext puts the next element of a sync into the queue, or its end.
func (e *Endpoint) syncNext() {
	v := e.view
	for int(v.slot) < len(v.elements.list) {
		slot, el := v.slot, &v.elements.list[v.slot]
		v.slot++
		if v.elements.live.has(slot) && v.sees(slot) {
			e.tellOnMain(slot, el)
			return
		}
		v.known.remove(slot)
	}
	v.running = false
	v.unconfirmed++
	e.signal(CodeSyncEnd)
}

// syncChanged puts the next element that has changed into the queue, unless it is for the
// feed: that has what the client knows and what fits into a datagram.
func (e *Endpoint) syncChanged() {
	v := e.view
	slot, at := v.elements.next(v.onMain, v.except, v.flip())
	if at == v.elements.head() {
		v.onMain = at
	} else {
		v.onMain = at + 1
		el := &v.elements.list[slot]
		switch {
		case !v.known.has(slot):
			if _, next := v.elements.next(v.onFeed, v.known, 0); next > at {
				v.onFeed = v.onMain // it need not be told twice
			}
			e.tellOnMain(slot, el)
		case !e.feed.up || !e.fits(el):
			e.tellOnMain(slot, el)
		}
	}
	if !e.feed.up {
		v.onFeed = v.onMain
	}
}

// skip passes over what is for others, and reports whether something has changed that is not.
func (v *view) skip(feed bool) (onMain, onFeed bool) {
	head := v.elements.head()
	_, v.onMain = v.elements.next(v.onMain, v.except, v.flip())
	if _, v.onFeed = v.elements.next(v.onFeed, v.known, 0); !feed {
		v.onFeed = v.onMain
	}
	return v.onMain < head, v.onFeed < head
}

// fits reports whether an element can be told in a datagram.
func (e *Endpoint) fits(el *element) bool { return HeaderBytes+3+len(el.data) <= e.cfg.MaxUpdate }

// turn has the places in the log follow the feed, as it comes and goes.
func (v *view) turn(up bool) {
	if !up {
		v.onMain = min(v.onMain, v.onFeed) // what the feed did not carry is main's now
	}
	v.onFeed = v.onMain
}

func (e *Endpoint) tellOnMain(slot int32, el *element) {
	e.view.known.add(slot)
	_ = e.putMain(&Message{Kind: KindSync, SID: el.sid, Data: el.data}) // if it fails, the connection ends
}

// nextUpdate writes the next element that has changed into buf, as an update.
func (e *Endpoint) nextUpdate(buf []byte) (int, bool) {
	v := e.view
	if v == nil || !e.feed.up || e.state != StateOpen {
		return 0, false
	}
	for {
		slot, at := v.elements.next(v.onFeed, v.known, 0)
		if at == v.elements.head() {
			v.onFeed = at
			return 0, false
		}
		v.onFeed = at + 1
		el := &v.elements.list[slot]
		if !e.fits(el) {
			continue
		}
		buf[0] = CodeUpdate
		binary.BigEndian.PutUint16(buf[1:], uint16(el.sid))
		e.stats.Updates++
		return 3 + copy(buf[3:], el.data), true
	}
}

// offer tells of an element on main, now or with the next sync of everything: what a client
// that reads slowly is owed does not pile up.
func (e *Endpoint) offer(slot int32, el *element) {
	if !e.hasRoom() {
		e.view.due = true
		return
	}
	e.tellOnMain(slot, el)
}

// retire tells that an element is gone for this client, if it knows of it.
func (e *Endpoint) retire(slot int32, sid int16) {
	v := e.view
	if !v.known.has(slot) {
		return
	}
	v.known.remove(slot)
	if e.state != StateOpen || v.willName(slot) {
		return
	}
	if !e.cfg.rules.elements[FromServer].kinds || !e.hasRoom() {
		v.due = true
		return
	}
	_ = e.putMain(&Message{Kind: KindSync, SID: sid, Data: gone})
}

// look compares what the client may see with what it knows. Who may see everything is told of what is new
// to it as that changes.
func (e *Endpoint) look() {
	v := e.view
	if v.all && len(v.except) == 0 {
		return
	}
	flip := v.flip()
	for w, live := range v.elements.live {
		sees, known := live&(v.except.word(w)^flip), v.known.word(w)
		for word := sees ^ known; word != 0; word &= word - 1 {
			slot := int32(w<<6 + bits.TrailingZeros64(word))
			el := &v.elements.list[slot]
			switch {
			case known&(word&-word) != 0:
				e.retire(slot, el.sid)
			case !v.willName(slot):
				e.offer(slot, el)
			}
		}
	}
}
