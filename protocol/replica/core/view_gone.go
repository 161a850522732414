package core

import (
	"encoding/binary"
	"time"

	"parley/internal/reliable"
)

const (
	goneName  = "parley.gone"
	goneBytes = 3
)

// sendGone announces slots that were left: "a reliable, unordered message named
// `parley.gone`, one or more of (entity link id u16, entity id u8)".
func (c *Conn) sendGone(now time.Time) {
	v := c.endpoint.view
	maxGone := (v.most - messageOverhead - len(goneName)) / goneBytes // in one message
	for v.going != nil {
		data := c.mux.draft.buf[:0]
		last := v.going
		for n, s := 0, v.going; n < maxGone && s != nil; n, s = n+1, s.behind {
			data = binary.LittleEndian.AppendUint16(data, s.kind)
			data = append(data, s.id)
			last = s
		}
		p := Packet{Kind: KindMessage, Reliable: true, Sequence: uint16(c.endpoint.sender.Next()), Time: c.endpoint.ServerTime(now), Name: []byte(goneName), Data: data}
		tag := c.endpoint.store.batches.begin(v)
		if c.endpoint.sendReliable(now, &p, messageOverhead+len(goneName)+len(data), reliable.Options{Tag: tag}) != nil {
			c.endpoint.store.batches.end(v, tag)
			return
		}
		c.endpoint.store.batches.at(tag).gone = v.going
		v.going, last.behind = last.behind, nil
	}
}

// settled takes the fate of a packet that carried values or slots that are gone.
func (e *Endpoint) settled(tag uint32, arrived bool) {
	v, b := e.view, *e.store.batches.at(tag)
	e.store.batches.end(v, tag)
	if arrived {
		v.watch.arrived(b.cargo)
	} else if b.cargo != nil {
		v.again(e.store, b.cargo)
	}
	e.store.cargos.give(b.cargo)
	for s := b.gone; s != nil; {
		next := s.behind
		if arrived { // "the server reuses a slot only after the message is acknowledged"
			v.kinds[s.kind].used[s.id] = nil
			e.store.giveSlot(s)
		}
		s = next
	}
}

// again makes those values that a lost packet carried and that are still the newest be sent once
// more. A newer one was sent since, or is about to be. No value has a version that another ever
// had, so a slot that is someone else's by now is left alone.
func (v *view) again(store *Store, lost *cargo) {
	for _, x := range lost.values {
		if x.kind == ofTheGame {
			if store.variables[x.variable].version == x.version {
				v.part()
				v.sent[x.variable] = 0
			}
			continue
		}
		s := v.kinds[x.kind].used[x.id]
		if s != nil && s.entity != nil && s.entity.versions[x.variable] == x.version {
			v.part()
			s.sent[x.variable], s.upto = 0, 0
		}
	}
}

// closeView gives back what a view holds, which nobody needs any more.
func (e *Endpoint) closeView() {
	v := e.view
	if v == nil {
		return
	}
	e.view = nil
	for v.batch != 0 {
		e.store.cargos.give(e.store.batches.at(v.batch).cargo)
		e.store.batches.end(v, v.batch)
	}
	for _, ks := range v.kinds {
		for _, s := range ks.used { // also those that are going or gone
			if s != nil {
				e.store.giveSlot(s)
			}
		}
	}
}
