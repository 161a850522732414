package core

import "time"

// outbox packs messages into packages, apart for each mode and target. The zero value is
// empty.
type outbox struct {
	delay    time.Duration
	builders *[SemiOrdered + 1][ToServer + 1]Builder // made with the first message
}

// Queue adds a message to the package of its mode and target. That package is sent when the
// next message does not fit, or Config.FlushAfter after its first message. Messages must mark
// their own ends: see Builder. Messages of Queue are not kept in order with packages of Send.
func (e *Endpoint) Queue(now time.Time, mode Mode, to Target, message []byte) error {
	e.now = now
	if err := e.maySend(mode, message); err != nil {
		return err
	}
	if mode.Reliable() && int(e.backlog.held)+outgoingBytes+MaxPayload > e.rules.MaxBacklog {
		return ErrBacklogFull // what is taken now could not be sent later
	}
	b := e.seldom().queue.builder(mode, to)
	return b.Add(now, message, func(payload []byte) { e.sendPacked(now, mode, to, payload) })
}

func (q *outbox) builder(mode Mode, to Target) *Builder {
	if q.builders == nil {
		q.builders = new([SemiOrdered + 1][ToServer + 1]Builder)
		for m := range q.builders {
			for t := range q.builders[m] {
				q.builders[m][t].Delay = max(q.delay, 0)
			}
		}
	}
	return &q.builders[mode][min(to, ToServer)]
}

func (e *Endpoint) sendPacked(now time.Time, mode Mode, to Target, payload []byte) {
	// Queue has seen to it that there is room.
	_ = e.sendCopy(now, mode, to == ToServer, payload)
}

// flush sends the packages that have waited for long enough, or all.
func (e *Endpoint) flush(now time.Time, all bool) {
	if e.rare == nil || e.queue.builders == nil {
		return
	}
	for m := range e.queue.builders {
		for t := range e.queue.builders[m] {
			b := &e.queue.builders[m][t]
			send := func(payload []byte) { e.sendPacked(now, Mode(m), Target(t), payload) }
			if all {
				b.Flush(send)
			} else {
				b.HandleTimeout(now, send)
			}
		}
	}
}

func (q *outbox) nextTimeout() (next time.Time, ok bool) {
	if q.builders == nil {
		return next, false
	}
	for m := range q.builders {
		for t := range q.builders[m] {
			if at, any := q.builders[m][t].NextTimeout(); any && (!ok || at.Before(next)) {
				next, ok = at, true
			}
		}
	}
	return next, ok
}
