package core

import (
	"encoding/binary"
	"time"
)

// view is what a server's connection knows of what its client knows.
type view struct {
	elements *elements
	except   bitset // the elements that it may see; with all, those that it may not
	known    bitset // the elements that it was told of on main
	all      bool
	turned   bool // what it may see has changed since it looked
	answers  bool // the client's own element is told twice: see Conn.Answer
	busy     bool // the last tick had so much to tell that nothing is told twice

	feedOut uint32 // bytes of the feed so far; as feedIn they wrap around, and are where they cost a connection no memory

	// Its two places in the log: what lies behind them was not told on the feed, and
	// on main. Each skips what is for the other.
	onFeed, onMain uint64

	// The sync of everything.
	due         bool // one is to begin
	running     bool // one has begun
	chosen      bool // the program chooses what the client is told: the log is not followed, and syncs are spread
	slot        int32
	spread      int32     // bytes of it that may go out before the next tick
	unconfirmed int32     // SYNC_ENDs without a SYNC_OK
	began       time.Time // the last one
	nextSync    time.Time

	wantsIn bool   // CONN_INIT came: the Mux is to answer it
	feedIn  uint32 // bytes of the feed so far
	conn    *Conn  // whose it is
}

// reset has the client see all elements of a scene, of which it was told nothing.
func (v *view) reset(t *elements) {
	v.elements, v.except, v.known, v.all, v.turned, v.slot = t, nil, nil, true, false, 0
	v.onFeed, v.onMain = t.head(), t.head()
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

// willName reports whether a sync that has begun has yet to come to a slot.
func (v *view) willName(slot int32) bool { return v.running && slot >= v.slot }

// fillMain puts into the queue of main what is made as room for it comes: a sync of
// everything, and what has changed while there is no feed.
func (e *Endpoint) fillMain() {
	v := e.view
	for e.state == StateOpen && e.hasRoom() && !(v.chosen && v.spread <= 0) {
		switch {
		case v.running:
			before := e.out.size
			e.syncNext()
			v.spread -= int32(e.out.size - before)
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

// syncChanged puts the next element that has changed and is main's into the queue.
func (e *Endpoint) syncChanged() {
	v := e.view
	slot, at := v.next(e.mains(), v.onMain)
	if v.onMain = at; at < v.elements.head() {
		v.onMain++
		e.tellOnMain(slot, &v.elements.list[slot])
	}
}

// mains is what main carries.
func (e *Endpoint) mains() share {
	if e.feed.up {
		return mainsBeside
	}
	return mainsAlone
}

// skip passes over what is for others, and reports whether something is left for main, and for the feed.
func (e *Endpoint) skip() (onMain, onFeed bool) {
	v, head := e.view, e.view.elements.head()
	if v.chosen {
		v.onMain, v.onFeed = head, head
		return v.running && v.spread > 0, e.feed.loose.Len() > 0
	}
	_, v.onMain = v.next(e.mains(), v.onMain)
	if _, v.onFeed = v.next(theFeeds, v.onFeed); !e.feed.up {
		v.onFeed = v.onMain
	}
	return v.onMain < head, v.onFeed < head
}

// turn has the places in the log follow the feed, as it comes and goes.
func (v *view) turn(up bool) {
	if !up {
		v.onMain = min(v.onMain, v.onFeed) // what the feed did not carry is main's now
	}
	v.onFeed = v.onMain
}

func (e *Endpoint) tellOnMain(slot int32, el *element) {
	e.view.known.add(slot)
	el.told++
	_ = e.putMain(&Message{Kind: KindSync, SID: el.sid, Data: el.data}) // if it fails, the connection ends
}

// nextUpdate writes the next element that has changed into buf, as an update.
func (e *Endpoint) nextUpdate(buf []byte) (int, bool) {
	v := e.view
	if v == nil || !e.feed.up || e.state != StateOpen {
		return 0, false
	}
	slot, at := v.next(theFeeds, v.onFeed)
	if v.onFeed = at; at == v.elements.head() {
		return 0, false
	}
	v.onFeed++
	el := &v.elements.list[slot]
	e.answer(el)
	buf[0] = CodeUpdate
	binary.BigEndian.PutUint16(buf[1:], uint16(el.sid))
	e.stats.Updates++
	el.told++
	return 3 + copy(buf[3:], el.data), true
}

// answer has an element that is told now told again, if it is the client's own and answers what the player asked for. That is also
// for receivers that drop what another datagram has overtaken: the second time comes behind the rest of the tick.
func (e *Endpoint) answer(el *element) {
	if el.sid != e.Player() {
		return
	}
	e.feed.forget(el.sid)
	if e.view.answers {
		if e.view.answers = false; e.view.busy {
			return
		}
		e.feed.keep(e.now, el.sid, el.data, 1)
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
