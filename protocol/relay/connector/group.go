package connector

import (
	"time"

	"parley/protocol/relay"
)

// groups are the messages of other players that wait to share a package to one player: "several may share a package". There is one
// group for each mode. What comes within 10 ms goes together, from whichever player: all that is passed on can be decoded
// (see Config.PassForeign), so no player can spoil another's messages by sharing a package with them.
type groups struct {
	of   [3]relay.Builder
	send [3]func(payload []byte)
}

// newGroups returns empty groups. send is called with each package that is complete, which it
// must not keep.
func newGroups(delay time.Duration, send func(mode relay.Mode, payload []byte)) *groups {
	g := &groups{}
	for i := range g.of {
		mode := relay.Mode(i)
		g.of[i].Delay = unreliableGroup
		if mode.Reliable() {
			g.of[i].Delay = max(delay, 0)
		}
		g.send[i] = func(payload []byte) { send(mode, payload) }
	}
	// "A semi-ordered package is delivered after every reliable package with a smaller id": so
	// what waits unordered, some of which its sender may have sent before, goes first.
	semi := g.send[relay.SemiOrdered]
	g.send[relay.SemiOrdered] = func(payload []byte) {
		g.flush(relay.Unordered)
		semi(payload)
	}
	return g
}

// push adds a message, with its sender's number in front of it. It fits: the largest message
// there is is smaller than a package.
func (g *groups) push(now time.Time, mode relay.Mode, message []byte) {
	if g.of[mode].Add(now, message, g.send[mode]) != nil {
		panic("connector: a message that does not fit into a package")
	}
}

// flush sends what waits in a mode.
func (g *groups) flush(mode relay.Mode) { g.of[mode].Flush(g.send[mode]) }

// flushAll sends all that waits.
func (g *groups) flushAll() {
	g.flush(relay.Unreliable)
	g.flush(relay.Unordered)
	g.flush(relay.SemiOrdered)
}

// handleTimeout sends what has waited for long enough.
func (g *groups) handleTimeout(now time.Time) {
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
