package reliable

import "time"

// AssemblyConfig bounds messages that come in parts. The zero AssemblyConfig is
// usable. It is not changed after use.
type AssemblyConfig struct {
	// MaxMessage bounds a whole message and so what one connection may hold
	// here. Default 1 MiB.
	MaxMessage int
	// Expiry lets go of a message that got no further part for this long.
	// Default 0: never, as reliable parts do come.
	Expiry time.Duration
}

// Budget is what the partial messages of all connections may take together. A
// peer that begins messages and never ends them costs others nothing: when the
// budget is used up, a message goes that has waited long for a part and has grown the
// slowest since it began. Either alone would let those who never end theirs drive out
// honest ones: by a part now and then, or by beginning anew.
type Budget struct {
	max, used   int
	oldest      *Assembler // a list by time of the newest part
	newest      *Assembler
	evictions   uint64
	expirations uint64
}

// NewBudget returns a budget of max bytes; 0 is 64 MiB.
func NewBudget(max int) *Budget {
	orElse(&max, 64<<20)
	return &Budget{max: max}
}

// Used returns the bytes in use.
func (b *Budget) Used() int { return b.used }

// Assembler puts one message at a time together from parts that come in order:
// a continued message of an ordered stream. Make one with NewAssembler.
type Assembler struct {
	cfg    *AssemblyConfig
	budget *Budget
	born   time.Time

	message []byte // so far
	begun   bool
	whole   bool // message was returned and is let go at the next call
	evicted bool
	since   time.Duration // of the first part
	at      time.Duration // of the newest part

	older, newer *Assembler // in the budget's list
}

// AssemblyFate is what became of a part.
type AssemblyFate uint8

const (
	// Part: more is to come.
	Part AssemblyFate = iota + 1
	// Whole: the message is complete and returned.
	Whole
	// Oversize: the message is larger than any may be.
	Oversize
	// Evicted: earlier parts had to be let go. The message cannot be completed.
	Evicted
)

// String returns the fate's name.
func (f AssemblyFate) String() string {
	return nameOf(uint8(f), "unset", "part", "whole", "oversize", "evicted")
}

// NewAssembler returns an assembler that draws on a budget shared with others.
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

// Append takes the next part. With more unset it is the last, and the whole
// message is returned, valid until the next call. After Oversize and Evicted
// nothing is held, and the connection cannot go on: a reliable message is lost.
func (a *Assembler) Append(now time.Time, part []byte, more bool) ([]byte, AssemblyFate) {
	a.Expire(now)
	switch {
	case a.evicted:
		return nil, Evicted
	case len(a.message)+len(part) > a.cfg.MaxMessage:
		a.Release()
		return nil, Oversize
	case !a.begun && !more:
		return part, Whole
	}
	if !a.grow(now, len(part)) {
		a.evicted = true
		return nil, Evicted
	}
	a.message = append(a.message, part...)
	a.at = now.Sub(a.born)
	if !a.begun {
		a.begun, a.since = true, a.at
	}
	a.budget.touch(a)
	if more {
		return nil, Part
	}
	a.whole = true
	return a.message, Whole
}

// grow makes room for n more bytes, at the cost of others' stalled messages if
// it must; false if even that is not enough.
func (a *Assembler) grow(now time.Time, n int) bool {
	need := len(a.message) + n
	if need <= cap(a.message) {
		return true
	}
	size := min(max(need, 2*cap(a.message), 4096), a.cfg.MaxMessage)
	b := a.budget
	for b.used+size-cap(a.message) > b.max {
		victim := b.slowest(now, a)
		if victim == nil {
			a.Release()
			return false
		}
		victim.Release()
		victim.evicted = true
		b.evictions++
	}
	b.used += size - cap(a.message)
	grown := make([]byte, len(a.message), size)
	copy(grown, a.message)
	a.message = grown
	return true
}

// slowest returns the message that has grown the least a second since it began, of those
// that have waited longest for a part; but not the one that asks.
func (b *Budget) slowest(now time.Time, asks *Assembler) (victim *Assembler) {
	least := 0.0
	a := b.oldest
	for range slowestOf {
		if a == nil {
			break
		}
		if a != asks {
			rate := float64(len(a.message)) / max(now.Sub(a.born)-a.since, time.Millisecond).Seconds()
			if victim == nil || rate < least {
				victim, least = a, rate
			}
		}
		a = a.newer
	}
	return victim
}

// Expire lets go of a whole message that was returned, and of a partial one that
// got no part for too long. Call it at NextTimeout.
func (a *Assembler) Expire(now time.Time) {
	if a.whole {
		a.Release()
		return
	}
	if a.begun && a.cfg.Expiry > 0 && now.Sub(a.born)-a.at >= a.cfg.Expiry {
		a.Release()
		a.evicted = true
		a.budget.expirations++
	}
}

// NextTimeout returns when Expire is to be called.
func (a *Assembler) NextTimeout() (time.Time, bool) {
	if !a.begun || a.cfg.Expiry <= 0 {
		return time.Time{}, false
	}
	return a.born.Add(a.at + a.cfg.Expiry), true
}

// Begun reports whether parts of a message are waiting for more.
func (a *Assembler) Begun() bool { return a.begun && !a.whole }

// Failed reports whether a partial message was let go, so that the connection
// cannot go on.
func (a *Assembler) Failed() bool { return a.evicted }

// Release lets go of what is held, as when the connection ends.
func (a *Assembler) Release() {
	a.budget.remove(a)
	a.budget.used -= cap(a.message)
	a.message, a.begun, a.whole = nil, false, false
}

// touch makes a the newest of the list.
func (b *Budget) touch(a *Assembler) {
	if b.newest == a {
		return
	}
	b.remove(a)
	a.older = b.newest
	if b.newest != nil {
		b.newest.newer = a
	} else {
		b.oldest = a
	}
	b.newest = a
}

func (b *Budget) remove(a *Assembler) {
	if b.oldest != a && a.older == nil {
		return // not in the list
	}
	if a.older != nil {
		a.older.newer = a.newer
	} else {
		b.oldest = a.newer
	}
	if a.newer != nil {
		a.newer.older = a.older
	} else {
		b.newest = a.older
	}
	a.older, a.newer = nil, nil
}
