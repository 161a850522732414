package core

import (
	"slices"
	"time"

	"parley/internal/lend"
	"parley/internal/way"
)

// asked are our queries that wait for their replies. "Queries carry no id", so a reply
// belongs to the oldest query of its code.
type asked struct {
	lastID uint32
	main   []question // in the order in which they were sent
	feed   []question // one a code at most
	next   time.Time  // when something on the feed is due
}

// question is a query of ours.
type question struct {
	id   uint32
	code uint8

	// abandoned: nobody wants the reply any more. On main it will still come.
	abandoned bool

	// Of one on the feed.
	data  []byte
	sends int
	wait  time.Duration
	next  time.Time // when it is sent again, or when it is forgotten: see quiet
}

// Query sends a query to the peer, and returns the ID of its EventReply. On main, queries of one
// code are answered in order. The feed takes only queries that the schema marks idempotent, one
// of each code at a time, and repeats them until the reply comes. While there is no feed, they go
// over main.
func (e *Endpoint) Query(now time.Time, on Channel, code uint8, data []byte) (id uint32, err error) {
	m := Message{Kind: KindQuery, Code: code, Data: data}
	if code < FirstQuery || code > LastQuery {
		return 0, ErrCode
	}
	if err := e.ready(now, &m); err != nil {
		return 0, err
	}
	if e.feed.again != nil {
		e.feed.again.left = 0 // what was said before must not come behind it
	}
	fits := e.fits(1 + len(data))
	if on == Feed && !e.cfg.rules.queries[code-FirstQuery].Idempotent {
		return 0, ErrNotIdempotent
	}
	if on == Feed && e.feed.up && fits {
		return e.askFeed(now, &m)
	}
	if len(e.asked.main) >= maxQuestions {
		return 0, ErrBusy
	}
	if err := e.putMain(&m); err != nil {
		return 0, err
	}
	e.asked.lastID++
	e.asked.main = append(e.asked.main, question{id: e.asked.lastID, code: code})
	return e.asked.lastID, nil
}

// askFeed sends a query on the feed: "one in flight a code".
func (e *Endpoint) askFeed(now time.Time, m *Message) (uint32, error) {
	a := &e.asked
	if slices.ContainsFunc(a.feed, func(q question) bool { return q.code == m.Code }) {
		return 0, ErrBusy
	}
	a.lastID++
	a.feed = append(a.feed, question{
		id: a.lastID, code: m.Code, data: append(e.lender.Take(len(m.Data))[:0], m.Data...),
		sends: 1, wait: askRepeat, next: now.Add(askRepeat),
	})
	e.putFeed(m)
	a.schedule()
	return a.lastID, nil
}

func (a *asked) schedule() {
	a.next = time.Time{}
	for i := range a.feed {
		if at := a.feed[i].next; a.next.IsZero() || at.Before(a.next) {
			a.next = at
		}
	}
}

// Cancel gives up a query: nobody waits for its reply any more.
func (e *Endpoint) Cancel(now time.Time, id uint32) {
	e.now = now
	a := &e.asked
	for i := range a.main {
		if a.main[i].id == id {
			a.main[i].abandoned = true
		}
	}
	for i := range a.feed {
		if a.feed[i].id == id && !a.feed[i].abandoned {
			e.hush(&a.feed[i])
		}
	}
	a.schedule()
}

// hush has a query on the feed that is over wait until no reply to it can come: "after a
// repeated one the client sends no other of that code for 1 s and drops replies to
// it".
func (e *Endpoint) hush(q *question) {
	e.lender.Give(q.data)
	q.data, q.abandoned, q.next = nil, true, e.now.Add(quiet)
}

// askTimeout repeats queries on the feed, and forgets those that are over.
func (e *Endpoint) askTimeout(now time.Time) {
	a := &e.asked
	if a.next.IsZero() || now.Before(a.next) {
		return
	}
	a.feed = slices.DeleteFunc(a.feed, func(q question) bool { return q.abandoned && !now.Before(q.next) })
	for i := range a.feed {
		q := &a.feed[i]
		if q.abandoned || now.Before(q.next) {
			continue
		}
		q.sends++
		q.wait = min(2*q.wait, maxAskRepeat)
		q.next = now.Add(q.wait)
		if e.feed.up {
			e.putFeed(&Message{Kind: KindQuery, Code: q.code, Data: q.data})
		}
	}
	a.schedule()
}

// answered takes a reply, and reports whether there is a query that it can belong to.
func (e *Endpoint) answered(on Channel, m *Message) bool {
	a := &e.asked
	code := m.Code - ReplyOffset
	list := &a.main
	if on == Feed {
		list = &a.feed
	}
	i := slices.IndexFunc(*list, func(q question) bool { return q.code == code })
	if i < 0 {
		return false
	}
	q := (*list)[i]
	if on == Main || !q.abandoned && q.sends == 1 {
		e.lender.Give(q.data)
		*list = slices.Delete(*list, i, i+1)
	} else if !q.abandoned {
		e.hush(&(*list)[i]) // another reply may be under way
	}
	a.schedule()
	if q.abandoned {
		return on == Main
	}
	e.inbox.put(Event{Kind: EventReply, Channel: on, Code: code, Status: m.Status, ID: q.id}, m.Data, e.lender)
	return true
}

func (a *asked) clear(lender *lend.Buffers) {
	for _, q := range a.feed {
		lender.Give(q.data)
	}
	*a = asked{lastID: a.lastID}
}

// owed are the peer's queries that the game has not replied to.
type owed struct {
	lastID uint32
	list   []debt // in the order in which they came
	bytes  int    // of replies that wait
}

// debt is a query of the peer.
type debt struct {
	id     uint32
	code   uint8
	on     Channel
	ready  bool // the game has replied, but an earlier one is to go first
	status uint8
	data   []byte
}

// hasRoom reports whether one more query may come.
func (o *owed) hasRoom() bool { return len(o.list) < maxQuestions && o.bytes < maxAnswerBytes }

// owe takes a query of the peer, and reports whether it is taken; if not, it is one of the
// feed, and its fate is counted.
func (e *Endpoint) owe(on Channel, m *Message) bool {
	if on == Feed {
		switch {
		case !e.cfg.rules.queries[m.Code-FirstQuery].Idempotent:
			e.stats.Malformed++
			return false
		case !e.owed.hasRoom() || slices.ContainsFunc(e.owed.list, func(d debt) bool { return d.on == Feed && d.code == m.Code }):
			e.stats.NoRoom++ // it is repeated
			return false
		}
	}
	e.owed.lastID++
	e.owed.list = append(e.owed.list, debt{id: e.owed.lastID, code: m.Code, on: on})
	e.inbox.put(Event{Kind: EventQuery, Channel: on, Code: m.Code, ID: e.owed.lastID}, m.Data, e.lender)
	return true
}

// Reply answers a query of the peer, on the channel that it came on. id is the ID of its
// EventQuery. Answer each query once, in any order. As "Replies on main come in the order of the
// queries of that code", a reply may wait for those before it.
func (e *Endpoint) Reply(now time.Time, id uint32, status uint8, data []byte) error {
	i := slices.IndexFunc(e.owed.list, func(d debt) bool { return d.id == id && !d.ready })
	if i < 0 && e.state < StateClosing {
		return ErrNoQuery
	}
	if i < 0 {
		return ErrClosed
	}
	d := &e.owed.list[i]
	m := Message{Kind: KindReply, Code: d.code + ReplyOffset, Status: status, Data: data}
	if err := e.ready(now, &m); err != nil {
		return err
	}
	if d.on == Feed {
		// A reply that does not fit a datagram cannot go elsewhere: nobody on main has asked.
		most := MaxDatagram
		if way.IsSession(e.feed.peer.Addr()) {
			most = way.Largest(e.feed.peer.Addr())
		}
		if HeaderBytes+2+len(data) > most {
			return ErrSize
		}
		e.owed.list = slices.Delete(e.owed.list, i, i+1)
		e.putFeed(&m)
		return nil
	}
	d.ready, d.status = true, status
	d.data = append(e.lender.Take(len(data))[:0], data...)
	e.owed.bytes += cap(d.data)
	return e.payMain(d.code)
}

// payMain sends the replies of a code whose turn it is.
func (e *Endpoint) payMain(code uint8) error {
	o := &e.owed
	for {
		i := slices.IndexFunc(o.list, func(d debt) bool { return d.on == Main && d.code == code })
		if i < 0 || !o.list[i].ready {
			return nil
		}
		d := o.list[i]
		o.list = slices.Delete(o.list, i, i+1)
		o.bytes -= cap(d.data)
		err := e.putMain(&Message{Kind: KindReply, Code: code + ReplyOffset, Status: d.status, Data: d.data})
		e.lender.Give(d.data)
		if err != nil {
			if e.state != StateClosed {
				// A reply that is not sent would shift all that follow.
				e.end(Close{Reason: ReasonSlow, Text: "a reply found no room"})
			}
			return err
		}
	}
}

func (o *owed) clear(lender *lend.Buffers) {
	for _, d := range o.list {
		lender.Give(d.data)
	}
	*o = owed{lastID: o.lastID}
}
