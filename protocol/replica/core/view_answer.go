package core

import (
	"time"

	"parley/internal/reliable"
)

// answer is an entity whose newest values are told again: those that answer what the player asked for. A lost packet of values is known to be lost after
// a round trip and a few ticks, and copies of all values would be as many bytes again.
type answer struct {
	slot  *slot // nil if nothing is to be told
	since uint64
	at    time.Time
}

const (
	// answerAfter is how long after a tick its answers are told again, so that a short burst of loss does not take both.
	answerAfter = 8 * time.Millisecond

	// answerBytes bounds what is told again: as much as a message that is copied ahead of loss.
	answerBytes = 256
)

// Answer has what has changed of an entity since the last Replicate told twice, a few milliseconds apart, if packets are lost on the path:
// the player asked for that, and waits to see it. On a narrow path it is a few bytes of what the tick may use. Call it before Replicate.
func (c *Conn) Answer(e *Entity) {
	v := c.endpoint.view
	if v == nil || e == nil || !c.endpoint.sender.Doubling() {
		return
	}
	v.answer = answer{v.seen[e], v.told, c.mux.now.Add(answerAfter)}
}

// tellAnswer tells it, if it is due and nothing newer is. If the packet is lost, nothing is told for that: the tick's own packet is another.
func (e *Endpoint) tellAnswer(now time.Time) {
	v := e.view
	a := v.answer
	if a.slot == nil || now.Before(a.at) {
		return
	}
	v.answer.slot = nil
	x := a.slot.entity
	if x == nil || v.seen[x] != a.slot {
		return
	}
	buf := e.buffers.Take(answerBytes)
	defer e.buffers.Give(buf)
	var w ReplicateWriter
	w.Start(buf[:0], &Packet{Kind: KindReplicate, Reliable: true}, answerBytes)
	first, empty := e.store.kinds[x.kind].firstItem, len(w.Bytes())
	for i, version := range x.versions {
		if version > a.since && e.link.linked(first+i) && !w.Add(a.slot.kind, uint16(i), a.slot.id, x.data[i]) {
			return // it is too much
		}
	}
	if len(w.Bytes()) == empty {
		return
	}
	tag := e.store.batches.begin(v)
	shared := e.buffers.Share(w.Bytes())
	if e.sender.Send(now, nil, reliable.Options{Report: true, Tag: tag, Shared: shared}) != nil {
		e.store.batches.end(v, tag)
	}
	e.buffers.Release(shared)
}
