package reliable

import "time"

// AssemblyConfig bounds messages that come in parts. The zero AssemblyConfig is usable. It must not be changed
// after use.
type AssemblyConfig struct {
	// MaxMessage bounds a whole message, and so the memory of one connection here. Default 1 MiB.
	MaxMessage int
}

// Budget bounds the partial messages of all connections together. Small ones are always taken. A larger one
// needs a place, which has room for the largest possible message, so that a message that has begun can
// always be completed. When no place is free, its sender waits: it is not read until another message is
// complete. No connection is closed because others use the budget. Only a message that has stopped growing
// gives way to one that waits. A message whose parts have all come needs no place, so slow senders do not
// delay it.
type Budget struct {
	max, used int
	placed    int   // bytes of the places that are taken
	holders   queue // assemblers with a place, by the time of their newest progress
	waiters   queue // assemblers that wait for a place, the oldest first
	stalls    uint64
}

// NewBudget returns a budget of max bytes for large messages; 0 means 32 MiB. There is always room for one
// message.
func NewBudget(max int) *Budget {
	orElse(&max, partialOfAll)
	return &Budget{max: max}
}

// Used returns the bytes in use.
func (b *Budget) Used() int { return b.used }

// Waiting returns the number of messages that wait for a place.
func (b *Budget) Waiting() int { return b.waiters.len }

// Wake returns the owner of a waiting message that may get a place now, nil if there is none. It returns
// each owner once, until its message has to wait again.
func (b *Budget) Wake() any {
	if a := b.waiters.first; a != nil && !a.woken && b.hasPlace(a.cfg.MaxMessage) {
		a.woken = true
		return a.Owner
	}
	return nil
}

func (b *Budget) hasPlace(size int) bool { return b.placed == 0 || b.placed+size <= b.max }

// Assembler assembles one message at a time from parts that come in order, as in an ordered stream. Make one
// with NewAssembler.
type Assembler struct {
	// Owner is the value that Budget.Wake returns.
	Owner any
	// Arrived means that the rest of the message has been received and waits to be read, or that no more
	// comes because the connection has ended. The message then needs no place, as it gives its memory back
	// at once. Release unsets Arrived.
	Arrived bool

	cfg    *AssemblyConfig
	budget *Budget
	born   time.Time

	message []byte // so far
	begun   bool
	whole   bool // message was returned and is dropped at the next call
	failed  bool
	woken   bool          // while it waits
	at      time.Duration // when the newest stalledBytes were complete
	mark    int           // len(message) at that time

	list         *queue // the queue that it is in, nil if none
	older, newer *Assembler
}

// AssemblyFate is the fate of a part.
type AssemblyFate uint8

const (
	// Part means that more parts are to come.
	Part AssemblyFate = iota + 1
	// Whole means that the message is complete and returned.
	Whole
	// Oversize means that the message is larger than the limit.
	Oversize
	// Stalled means that the message grew too slowly while another waited for its room. It cannot be
	// completed.
	Stalled
	// Wait means that the part was not taken, as all room is in use. Give it again.
	Wait
)

// String returns the fate's name.
func (f AssemblyFate) String() string {
	return nameOf(uint8(f), "unset", "part", "whole", "oversize", "stalled", "wait")
}

// NewAssembler returns an assembler that shares a budget with others.
func NewAssembler(now time.Time, cfg *AssemblyConfig, b *Budget) Assembler {
	c := AssemblyConfig{}
	if cfg != nil {
		c = *cfg
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = 1 << 20
		cfg = &c
	}
	return Assembler{cfg: cfg, budget: b, born: now}
}

// Append takes the next part. If more is false it is the last, and the whole message is returned, valid
// until the next call. After Oversize and Stalled the message is dropped. The connection cannot go on, as a
// reliable message is lost.
func (a *Assembler) Append(now time.Time, part []byte, more bool) ([]byte, AssemblyFate) {
	a.Read()
	switch {
	case a.failed:
		return nil, Stalled
	case len(a.message)+len(part) > a.cfg.MaxMessage:
		a.Release()
		return nil, Oversize
	case !a.begun && !more:
		return part, Whole
	case !a.grow(now, len(part)):
		return nil, Wait
	}
	a.message = append(a.message, part...)
	a.begun = true
	if a.list == &a.budget.holders && len(a.message)-a.mark >= stalledBytes {
		a.progress(now)
	}
	if more {
		return nil, Part
	}
	a.whole = true
	return a.message, Whole
}

// grow makes room for n more bytes; false if there is none now.
func (a *Assembler) grow(now time.Time, n int) bool {
	need := len(a.message) + n
	if need <= cap(a.message) {
		return true
	}
	most := ownPartialBytes
	if need > most {
		if !a.place(now) {
			return false
		}
		most = a.cfg.MaxMessage
	}
	size := min(max(need, 2*cap(a.message), leastPartialBytes), most)
	a.budget.used += size - cap(a.message)
	grown := make([]byte, len(a.message), size)
	copy(grown, a.message)
	a.message = grown
	return true
}

// leastPartialBytes is the first buffer of a message.
const leastPartialBytes = 256

// place takes a place among the large messages; false if it has to wait for one.
func (a *Assembler) place(now time.Time) bool {
	b := a.budget
	switch {
	case a.list == &b.holders:
		return true
	case a.Arrived:
		a.leave()
		return true
	case b.waiters.first != nil && b.waiters.first != a: // others asked first
	default:
		b.unstall(now, a.cfg.MaxMessage)
		if b.hasPlace(a.cfg.MaxMessage) {
			b.placed += a.cfg.MaxMessage
			a.progress(now)
			return true
		}
	}
	if a.list == nil {
		b.waiters.push(a)
	}
	a.woken = false
	return false
}

// progress notes that a message with a place has grown, or may from now on.
func (a *Assembler) progress(now time.Time) {
	a.at, a.mark = now.Sub(a.born), len(a.message)
	a.leave()
	a.budget.holders.push(a)
}

// unstall drops messages that have stopped growing until there is a place.
func (b *Budget) unstall(now time.Time, size int) {
	for a := b.holders.first; a != nil && !b.hasPlace(size) && now.Sub(a.born)-a.at >= stalledAfter; a = b.holders.first {
		a.Release()
		a.failed = true
		b.stalls++
	}
}

// Read gives back the memory of the message that Append returned, once the caller has read it.
func (a *Assembler) Read() {
	if a.whole {
		a.Release()
	}
}

// Len returns the number of bytes of the message so far.
func (a *Assembler) Len() int { return len(a.message) }

// Begun reports whether parts of a message are waiting for more.
func (a *Assembler) Begun() bool { return a.begun && !a.whole }

// Waits reports whether the next part waits for a place.
func (a *Assembler) Waits() bool { return a.list == &a.budget.waiters }

// Failed reports whether a partial message was dropped, so that the connection cannot go on.
func (a *Assembler) Failed() bool { return a.failed }

// Release drops the message, for example when the connection ends.
func (a *Assembler) Release() {
	if a.list == &a.budget.holders {
		a.budget.placed -= a.cfg.MaxMessage
	}
	a.leave()
	a.budget.used -= cap(a.message)
	a.message, a.begun, a.whole, a.mark, a.Arrived = nil, false, false, 0, false
}

func (a *Assembler) leave() {
	if a.list != nil {
		a.list.remove(a)
	}
}

// queue is a first-in, first-out list of assemblers. Each assembler is in one queue at most.
type queue struct {
	first, last *Assembler
	len         int
}

func (q *queue) push(a *Assembler) {
	a.list, a.older, a.newer = q, q.last, nil
	if q.last != nil {
		q.last.newer = a
	} else {
		q.first = a
	}
	q.last = a
	q.len++
}

func (q *queue) remove(a *Assembler) {
	if a.older != nil {
		a.older.newer = a.newer
	} else {
		q.first = a.newer
	}
	if a.newer != nil {
		a.newer.older = a.older
	} else {
		q.last = a.older
	}
	a.list, a.older, a.newer = nil, nil, nil
	q.len--
}
