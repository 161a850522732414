package core

import (
	"math"
	"time"

	"parley/internal/reliable"
	"parley/internal/wire"
)

// bundling is how far two peers have agreed on bundles: "Each of our own peers (bit 7 both ways), once the connection is
// proven and open, sends an empty reliable message `parley.bundles`".
type bundling uint8

const (
	bundlesTold  bundling = 1 << iota // we have sent it
	bundlesKnown                      // it has come: the ack of it did, or a bundle, which only those send who have it
	bundlesHeard                      // the peer has sent it
)

const (
	bundlesName = "parley.bundles"

	// bundlesTag marks our parley.bundles among what is acknowledged. The tags of a view are far below it.
	bundlesTag = math.MaxUint32
)

// tellBundles says that we take bundles, as soon as it may be said.
func (e *Endpoint) tellBundles(now time.Time) {
	if e.state != StateOpen || !e.extended || e.cfg.NoBundles {
		return
	}
	number := uint16(e.sender.Next())
	b, err := e.sender.Place(now, messageOverhead+len(bundlesName), reliable.Options{Tag: bundlesTag})
	if err != nil {
		return // the window is full: afterEngine tries again
	}
	appendNamed(b[:0], flagReliable, number, e.ServerTime(now), bundlesName, nil)
	e.bundles |= bundlesTold
}

// saysBundles reports whether a message of the peer is its parley.bundles.
func (e *Endpoint) saysBundles(b []byte) bool {
	if !e.extended || flagsOf(b) != flagReliable || len(b) < messageOverhead+len(bundlesName) {
		return false
	}
	name, _ := rereadNamed(b)
	return string(name) == bundlesName
}

// hearBundles takes a new message that may be the peer's parley.bundles. That is not left to the application's reading: the
// peer sends bundles as soon as it has the ack.
func (e *Endpoint) hearBundles(b []byte) {
	if !e.cfg.NoBundles && e.saysBundles(b) {
		e.bundles |= bundlesHeard
	}
}

// takeOurs takes a datagram of type 7 or 8, or of a type that there is not. "From a peer that has not said it, … types 7 and
// 8 are what any undefined type is"; "a malformed one is dropped whole and counted once".
func (e *Endpoint) takeOurs(now time.Time, b []byte) {
	var p Packet
	if e.bundles&bundlesHeard == 0 || !p.Parse(e.side.Other(), b) {
		e.stats.In++
		e.noteMalformed(now)
		return
	}
	e.bundles |= bundlesKnown
	if p.Kind == KindAckRun {
		e.stats.In++
		e.tookAcks(now, p.Acked, p.Count)
		return
	}
	for packet, rest := cutBundled(p.Bundle.body); ; packet, rest = cutBundled(rest) {
		e.takeBundled(now, packet)
		if len(rest) == 0 || e.state == StateClosed {
			return
		}
	}
}

// takeBundled takes a packet of a bundle that was checked.
func (e *Endpoint) takeBundled(now time.Time, b []byte) {
	e.stats.In++
	if e.takeUsual(now, b) {
		return
	}
	if typeOf(b) == TypeAckRun {
		e.tookAcks(now, wire.LittleU16At(b, 1), wire.LittleU16At(b, 3))
		return
	}
	var p Packet
	if !p.Parse(e.side.Other(), b) {
		panic("replica: a bundle that was checked holds a packet that is none")
	}
	e.handle(now, &p, b)
}
