// Package pace says how many bytes a tick may put on the path to one player.
//
// A Path watches what a connection sends and what of it is confirmed. While nothing waits on the way, a tick is Unlimited.
package pace

import (
	"math"
	"time"
)

// Unlimited is the budget of a path that is not known to be narrow.
const Unlimited = math.MaxInt32

// Path is the estimate of one connection's path. The zero value is ready. Times are those of a clock that does not go back,
// from 1 on.
type Path struct{ budget int }

// Estimate is what is known of a path.
type Estimate struct {
	Rate   int64         // bytes a second that it takes, 0 if nothing has shown it to be narrow
	Queue  time.Duration // how much of the round trip is waiting
	Budget int           // bytes of the last tick, Unlimited if it is not narrow
}

// Sent says that n bytes went out: values, messages, resends and copies alike.
func (p *Path) Sent(at time.Duration, n int) {}

// Acked says that n bytes are known to have arrived. rtt is how long the newest of them took, 0 if that is not known.
func (p *Path) Acked(at, rtt time.Duration, n int) {}

// Lost says that n bytes are taken for lost.
func (p *Path) Lost(at time.Duration, n int) {}

// Budget returns how many bytes the tick that begins now may send, of all kinds. Call it once a tick. If it is 0, what a
// player cannot do without goes out all the same, and is paid back by later ticks.
func (p *Path) Budget(at time.Duration) int { return Unlimited }

// Narrow reports whether the path has been seen to hold back what we send: then nothing is sent twice ahead of loss.
func (p *Path) Narrow() bool { return false }

// Estimate returns what is known.
func (p *Path) Estimate() Estimate { return Estimate{Budget: Unlimited} }
