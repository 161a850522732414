package core

import (
	"encoding/binary"
	"errors"
	"time"
)

// ErrBusy means that too many requests of this node wait for the room's log.
var ErrBusy = errors.New("cluster: too much waits for the log of the room; try again when it goes on")

// outbox holds the requests of this node that the log does not have yet, in the order of their numbers.
type outbox struct {
	list  []waiting // the oldest first
	bytes int
	last  uint64 // the newest number that was given

	rounds uint64 // how often all were sent again
	sent   uint64 // the newest number that was sent in this round
	mark   uint64 // the newest number that was sent at markAt: if the log does not have the oldest of those soon, all are sent again
	markAt time.Time
	due    time.Time // when a batch is to be sent; zero if none is
	batch  []byte
}

type waiting struct {
	number uint64
	body   []byte
}

// add gives a request its number. It copies body.
func (o *outbox) add(now time.Time, body []byte) (uint64, error) {
	if len(o.list) >= MaxWaiting || o.bytes+len(body) > MaxWaitingBytes {
		return 0, ErrBusy
	}
	o.last++
	o.list = append(o.list, waiting{o.last, append([]byte(nil), body...)})
	o.bytes += len(body)
	if at := now.Add(gather); o.due.IsZero() || at.Before(o.due) {
		o.due = at
	}
	return o.last, nil
}

// done forgets the requests that the log has.
func (o *outbox) done(number uint64) {
	n := 0
	for n < len(o.list) && o.list[n].number <= number {
		o.bytes -= len(o.list[n].body)
		o.list[n] = waiting{}
		n++
	}
	if o.list = o.list[n:]; len(o.list) == 0 {
		o.list, o.due = nil, time.Time{}
	}
}

// again has all be sent again, from the oldest.
func (o *outbox) again(now time.Time) {
	if o.sent, o.mark = 0, 0; len(o.list) > 0 {
		o.due = now.Add(gather)
	}
}

// take returns a batch of what is to be sent by now, if something is: those that were not sent yet, and all again if the log does not have the oldest
// repeatAsk after it was sent. Players who go on asking do not put that off: what follows a batch that was lost is of no use to the sequencer.
//
//	batch    node u64, and requests: number v, from 1, size v, body; or one with number 0, which is a complaint: tick u64
func (o *outbox) take(now time.Time, node uint64) ([]byte, bool) {
	if o.due.IsZero() || now.Before(o.due) || len(o.list) == 0 {
		return nil, false
	}
	first := o.list[0].number
	marks := first > o.mark
	if !marks && !now.Before(o.markAt.Add(repeatAsk)) {
		o.sent, marks = 0, true
		o.rounds++
	}
	if marks {
		defer func() { o.mark, o.markAt = o.sent, now }()
	}
	if o.sent >= o.last { // all are on their way
		o.due = now.Add(repeatAsk)
		return nil, false
	}
	b := binary.LittleEndian.AppendUint64(o.batch[:0], node)
	for n := 0; ; n++ {
		i := 0
		if o.sent >= first {
			i = int(o.sent-first) + 1 // numbers have no gaps
		}
		if i >= len(o.list) {
			o.due = now.Add(repeatAsk)
			break
		}
		if w := &o.list[i]; n < maxBatch && (n == 0 || len(b)+len(w.body) <= maxBatchBytes) {
			b = appendRequest(b, w.number, w.body)
			o.sent = w.number
			continue
		}
		o.due = now.Add(gather)
		break
	}
	o.batch = b
	return b, true
}

func appendRequest(b []byte, number uint64, body []byte) []byte {
	b = binary.AppendUvarint(b, number)
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...)
}

// readBatch calls each for the requests of a batch, which may have none, and returns its node. It stops at what is malformed, and reports
// whether nothing is.
func readBatch(b []byte, each func(node, number uint64, body []byte)) (node uint64, ok bool) {
	if len(b) < 8 {
		return 0, false
	}
	node = binary.LittleEndian.Uint64(b)
	for b = b[8:]; len(b) > 0; {
		number, n := binary.Uvarint(b)
		if n <= 0 {
			return node, false
		}
		size, m := binary.Uvarint(b[n:])
		if m <= 0 || size > uint64(len(b)-n-m) {
			return node, false
		}
		b = b[n+m:]
		each(node, number, b[:size])
		b = b[size:]
	}
	return node, true
}

// inbox holds what the sequencer was asked for since it made the last entry: of each node requests without gaps.
type inbox struct {
	nodes []asked
}

type asked struct {
	node uint64
	next uint64 // the number that comes next
	list []waiting
}

// put takes a request in. One that is there already is dropped, and so is one before which another is missing: its node will send
// both again. It reports whether it was taken in.
func (x *inbox) put(node, number, done uint64, body []byte) bool {
	a := x.of(node, done)
	if number != a.next || len(a.list) >= maxAhead {
		return false
	}
	a.next++
	a.list = append(a.list, waiting{number, append([]byte(nil), body...)})
	return true
}

func (x *inbox) of(node, done uint64) *asked {
	for i := range x.nodes {
		if x.nodes[i].node == node {
			return &x.nodes[i]
		}
	}
	x.nodes = append(x.nodes, asked{node: node, next: done + 1})
	return &x.nodes[len(x.nodes)-1]
}

// some reports whether something waits.
func (x *inbox) some() bool {
	for i := range x.nodes {
		if len(x.nodes[i].list) > 0 {
			return true
		}
	}
	return false
}

// give moves what waits into the world's next entry, a request of each node in turn. What the entry has no room for goes on waiting.
func (x *inbox) give(w World) {
	for more := true; more; {
		more = false
		for i := range x.nodes {
			a := &x.nodes[i]
			if len(a.list) == 0 {
				continue
			}
			if !w.Take(a.node, a.list[0].number, a.list[0].body) {
				return
			}
			a.list[0] = waiting{}
			a.list = a.list[1:]
			more = true
		}
	}
	x.nodes = x.nodes[:0] // the next request of a node is the one behind what the log has by then
}

func (x *inbox) clear() { *x = inbox{} }
