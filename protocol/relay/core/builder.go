package core

import "time"

// Builder packs messages into packages: as many as fit, and none waits longer than Delay.
// Messages stay whole and in order. The builder does not mark where a message ends: the
// messages must show that themselves. The zero value is usable and has no delay: it packs
// the messages that are added before the next HandleTimeout.
//
// It is pure: its owner calls it when time passes, such as a lobby with a Timer.
type Builder struct {
	// Delay is how long the first message of a package may wait for others.
	Delay time.Duration
	// Limit is the size of the largest package in bytes. Default MaxPayload.
	Limit int

	data  []byte // of the package that is being packed
	since time.Time
}

// Add adds a message. If it does not fit behind the others, their package is passed to
// flush first. The error is ErrPayloadSize if the message is too large for a package.
func (b *Builder) Add(now time.Time, message []byte, flush func(payload []byte)) error {
	limit := b.limit()
	if len(message) == 0 || len(message) > limit {
		return ErrPayloadSize
	}
	if len(b.data)+len(message) > limit {
		b.Flush(flush)
	}
	if len(b.data) == 0 {
		b.since = now
	}
	if b.data == nil {
		b.data = make([]byte, 0, limit)
	}
	b.data = append(b.data, message...)
	return nil
}

func (b *Builder) limit() int {
	if b.Limit <= 0 || b.Limit > MaxPayload {
		return MaxPayload
	}
	return b.Limit
}

// Flush passes the packed messages to flush, which must not keep the payload.
func (b *Builder) Flush(flush func(payload []byte)) {
	if len(b.data) == 0 {
		return
	}
	// It may add to the builder again.
	data := b.data
	b.data = nil
	flush(data)
	if b.data == nil {
		b.data = data[:0]
	}
}

// NextTimeout returns when to call HandleTimeout, false while nothing is waiting.
func (b *Builder) NextTimeout() (time.Time, bool) {
	if len(b.data) == 0 {
		return time.Time{}, false
	}
	return b.since.Add(b.Delay), true
}

// HandleTimeout passes the packed messages to flush if they have waited long enough.
func (b *Builder) HandleTimeout(now time.Time, flush func(payload []byte)) {
	if at, ok := b.NextTimeout(); ok && !now.Before(at) {
		b.Flush(flush)
	}
}
