package connector

import "time"

// meter is how often one thing may be asked: a bucket that refills, as the time at which it is full again, in
// nanoseconds since the lobby's start. The zero meter is full.
type meter int64

// allowance is the size of a bucket and how often it gets one more.
type allowance struct {
	burst int
	every time.Duration
}

// has reports whether n more may be asked at a time.
func (m meter) has(at time.Duration, n int, a allowance) bool {
	return max(m, meter(at))+meter(n)*meter(a.every)-meter(at) <= meter(a.burst)*meter(a.every)
}

// take takes n out, which has was asked for.
func (m *meter) take(at time.Duration, n int, a allowance) {
	*m = max(*m, meter(at)) + meter(n)*meter(a.every)
}

// ask is something that a client may ask the server for. Each has a bucket of its own, so that pings do not use up what a
// Leave needs.
type ask uint8

const (
	askPing  ask = iota // and whatever is answered with NotJoined
	askOpen             // OpenGame
	askJoin             // Join
	askLeave            // Leave
	askReady            // Readiness
	asks     = iota
)

// asksToMain and asksToGame are by the kind of the message.
var (
	asksToMain = [...]ask{ToMainPing: askPing, ToMainOpen: askOpen}
	asksToGame = [...]ask{ToGamePing: askPing, ToGameJoin: askJoin, ToGameLeave: askLeave, ToGameReadiness: askReady}
)

// order is what a package asks for: how much of each.
type order [asks]int

// affords reports whether a guest may ask for all of it now, and if so takes it out of its buckets.
func (g *guest) affords(at time.Duration, o *order) bool {
	for i, n := range o {
		if n > 0 && !g.meters[i].has(at, n, allowances[i]) {
			return false
		}
	}
	for i, n := range o {
		if n > 0 {
			g.meters[i].take(at, n, allowances[i])
		}
	}
	return true
}

// eager reports whether less than half of a guest's pings are left: more than any client of the game asks for.
func (g *guest) eager(at time.Duration) bool {
	a := allowances[askPing]
	return !g.meters[askPing].has(at, a.burst/2, a)
}
