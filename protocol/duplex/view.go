package duplex

import (
	"encoding/binary"
	"time"
)

// view is what a server's connection knows of what its client knows.
type view struct {
	elements *elements
	sight    func(sid int16) bool // what the client may see; nil is everything
	known    bitset               // the elements that it was told of on main

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
func (v *view) sees(sid int16) bool { return v.sight == nil || v.sight(sid) }

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
		if el.live && v.sees(el.sid) {
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
	slot, newest := v.elements.at(v.onMain)
	v.onMain++
	el := &v.elements.list[slot]
	switch {
	case !newest:
	case !v.known.has(slot):
		if v.sees(el.sid) {
			e.tellOnMain(slot, el)
			if v.onFeed == v.onMain-1 {
				v.onFeed++ // it need not be told twice
			}
		}
	case !e.feed.up || !e.fits(el):
		e.tellOnMain(slot, el)
	}
	if !e.feed.up {
		v.onFeed = v.onMain
	}
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
	for head := v.elements.head(); v.onFeed < head; {
		slot, newest := v.elements.at(v.onFeed)
		v.onFeed++
		el := &v.elements.list[slot]
		if !newest || !v.known.has(slot) || !e.fits(el) {
			continue
		}
		buf[0] = CodeUpdate
		binary.BigEndian.PutUint16(buf[1:], uint16(el.sid))
		e.stats.Updates++
		return 3 + copy(buf[3:], el.data), true
	}
	return 0, false
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

// look compares what the client may see with what it knows.
func (e *Endpoint) look() {
	v := e.view
	if v.sight == nil {
		return
	}
	for i := range v.elements.list {
		slot, el := int32(i), &v.elements.list[i]
		if !el.live {
			continue
		}
		known := v.known.has(slot)
		switch sees := v.sight(el.sid); {
		case sees && !known && !v.willName(slot):
			e.offer(slot, el)
		case !sees && known:
			e.retire(slot, el.sid)
		}
	}
}
