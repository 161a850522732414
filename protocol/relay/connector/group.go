package connector

import (
	"time"

	"parley/protocol/relay/core"
)

// groups are the messages of other players that wait to share a package to one player: "several may share a package". There is one
// group for each mode. Only what is back to back waits: a message goes out at once, with all that came in the same turn, unless a package
// in its mode went out less than 20 ms before (10 ms if unreliable); then it waits for that time to be over. So a player who gets little gets it at
// once, and one who gets much gets at most 50 packages a second, from whichever players: all that is passed on can be decoded
// (see Config.PassForeign), so no player can spoil another's messages by sharing a package with them.
type groups struct {
	of   [3]core.Builder
	sent [3]time.Time // when the last package went out
	now  time.Time    // of the newest call
	send [3]func(payload []byte)
}

// newGroups returns empty groups. send is called with each package that is complete, which it
// must not keep.
func newGroups(send func(mode core.Mode, payload []byte)) *groups {
	g := &groups{}
	for i := range g.send {
		g.send[i] = func(payload []byte) {
			g.sent[i] = g.now
			send(core.Mode(i), payload)
		}
	}
	// "A semi-ordered package is delivered after every reliable package with a smaller id": so
	// what waits unordered, some of which its sender may have sent before, goes first.
	semi := g.send[core.SemiOrdered]
	g.send[core.SemiOrdered] = func(payload []byte) {
		g.flush(core.Unordered)
		semi(payload)
	}
	return g
}

// groupOf returns how long after a package the next one in its mode goes out.
func groupOf(mode core.Mode) time.Duration {
	if mode.Reliable() {
		return reliableGroup
	}
	return unreliableGroup
}

// push adds a message, with its sender's number in front of it. It fits: the largest message
// there is is smaller than a package.
func (g *groups) push(now time.Time, mode core.Mode, message []byte) {
	g.now = now
	if _, waits := g.of[mode].NextTimeout(); !waits {
		g.of[mode].Delay = max(g.sent[mode].Add(groupOf(mode)).Sub(now), 0)
	}
	if g.of[mode].Add(now, message, g.send[mode]) != nil {
		panic("connector: a message that does not fit into a package")
	}
}

// flush sends what waits in a mode.
func (g *groups) flush(mode core.Mode) { g.of[mode].Flush(g.send[mode]) }

// flushAll sends all that waits.
func (g *groups) flushAll() {
	g.flush(core.Unreliable)
	g.flush(core.Unordered)
	g.flush(core.SemiOrdered)
}

// handleTimeout sends what has waited for long enough.
func (g *groups) handleTimeout(now time.Time) {
	g.now = now
	for i := range g.of {
		g.of[i].HandleTimeout(now, g.send[i])
	}
}

// nextTimeout returns when handleTimeout is to be called, false while nothing waits.
func (g *groups) nextTimeout() (first time.Time, any bool) {
	for i := range g.of {
		if at, ok := g.of[i].NextTimeout(); ok && (!any || at.Before(first)) {
			first, any = at, true
		}
	}
	return first, any
}
