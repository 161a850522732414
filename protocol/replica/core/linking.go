package core

import (
	"time"

	"parley/internal/reliable"
)

// linkState is a connection's part in linking.
type linkState struct {
	out []Packet // link packets that wait for the window; a table is cut when it goes

	// Server.
	requested bool   // the client has asked
	waiting   bool   // a table is out and not answered
	from, to  int    // the items in it
	done      int    // items that were answered
	finished  bool   // an answer to the last table came, once at least
	refused   []bool // by item; nil if none is
}

// isFinished reports whether the client has answered a last table, once at least.
func (l *linkState) isFinished() bool { return l != nil && l.finished }

// linked reports whether a client has accepted an item.
func (l *linkState) linked(i int) bool {
	return l != nil && i < l.done && (l.refused == nil || i >= len(l.refused) || !l.refused[i])
}

// all reports whether a client has accepted all of n items.
func (l *linkState) all(n int) bool { return l != nil && l.done >= n && l.refused == nil }

// Link asks the server for its table. A client that wants replication calls it once after
// EventConnected. EventLinked comes with each part of the table. If Config.Pass is not acknowledged yet, the server is asked
// when it is.
func (e *Endpoint) Link(now time.Time) error {
	e.now = now
	if err := e.mayTalk(); err != nil {
		return err
	}
	if e.side != FromClient || e.link != nil && e.link.requested {
		return nil
	}
	e.linking().requested = true
	if e.client.passing { // "link.init follows the acknowledgement of the pass"
		e.client.linkDue = true
		return nil
	}
	e.linkOut(now, KindLinkInit)
	return nil
}

// linking returns the connection's part in linking, which begins now if it has not.
func (e *Endpoint) linking() *linkState {
	if e.link == nil {
		e.link = new(linkState)
	}
	return e.link
}

func (e *Endpoint) linkOut(now time.Time, k Kind) {
	l := e.linking()
	l.out = append(l.out, Packet{Kind: k, Reliable: true, Ordered: true})
	e.pumpLinks(now)
}

// pumpLinks moves link packets into the window, as pump does messages.
func (e *Endpoint) pumpLinks(now time.Time) {
	l := e.link
	for len(l.out) > 0 && e.talking() {
		link, ok := e.mayFollow(laneLink)
		if !ok {
			return
		}
		p := l.out[0]
		p.Sequence, p.OrderLink = uint16(e.sender.Next()), link
		if e.sender.Ready(maxPacketBytes) != nil {
			return
		}
		buf := e.buffers.Take(maxPacketBytes)
		var b []byte
		if p.Kind == KindLinkTable {
			b = e.cutTable(buf[:0], &p)
		} else {
			b = p.AppendTo(buf[:0])
		}
		err := e.sender.Send(now, b, reliable.Options{Lane: laneLink, Pass: true})
		e.buffers.Give(buf)
		if err != nil {
			return
		}
		l.out = append(l.out[:0], l.out[1:]...)
	}
}

// cutTable writes as many items as one packet holds: "split into as many ordered
// link.table packets as it takes to keep each within 1,200 bytes, the next only
// after the answer to the last". In a packet variables come before entities, so one
// that was declared after a kind begins the next.
func (e *Endpoint) cutTable(b []byte, head *Packet) []byte {
	var w TableWriter
	w.Start(b, head, e.most())
	l, s := e.link, e.store
	l.from, l.to = l.done, l.done
	for ; l.to < len(s.items); l.to++ {
		it := s.items[l.to]
		if it.kind < 0 {
			v := &s.variables[it.variable]
			if w.entity.countAt != 0 || !w.Variable(uint16(it.variable), v.typ, v.name) {
				break
			}
			continue
		}
		k := &s.kinds[it.kind]
		v := k.variables[it.variable]
		if !w.Add(uint16(it.kind), k.name, uint8(it.variable), v.Type, v.Name) {
			break
		}
	}
	return w.Bytes()
}

// handleLink takes a link packet in its order.
func (e *Endpoint) handleLink(p *Packet) {
	switch p.Kind {
	case KindLinkInit:
		// "The client asks (link.init; ignored while linking)"
		if l := e.linking(); !l.requested {
			l.requested = true
			e.nextTable()
		}
	case KindLinkAccept, KindLinkReject:
		e.answered(p.Kind == KindLinkAccept)
	case KindLinkTable:
		e.takeTable(p)
	}
}

// nextTable sends what the client does not know yet, if anything.
func (e *Endpoint) nextTable() {
	l := e.link
	if e.store == nil || l == nil || !l.requested || l.waiting || l.finished && l.done == len(e.store.items) {
		return
	}
	l.waiting = true
	e.linkOut(e.now, KindLinkTable)
}

// answered takes the client's answer to the table that is out.
func (e *Endpoint) answered(accepted bool) {
	l := e.link
	if l == nil || !l.waiting || len(l.out) > 0 {
		e.stats.OutOfState++
		return
	}
	if !accepted && l.refused == nil {
		l.refused = make([]bool, l.to)
	}
	for i := l.from; i < l.to && l.refused != nil; i++ {
		for len(l.refused) <= i {
			l.refused = append(l.refused, false)
		}
		l.refused[i] = !accepted
	}
	l.done, l.waiting, l.finished = l.to, false, true
	if l.done == len(e.store.items) {
		e.events = append(e.events, Event{Kind: EventLinked})
	}
	e.nextTable()
}
