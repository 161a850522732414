package simnet

import (
	"bytes"
	"net/netip"
	"time"
)

// Host is a host on the network: an address, a clock and the node that runs there. Network.Add makes it.
type Host struct {
	net   *Network
	index int32
	name  string
	addr  netip.AddrPort
	node  Node // nil while crashed
	after func(now time.Time)
	clock clock

	life   uint64 // grows with each crash and restart, so that a turn of the old node stops
	inTurn bool

	timerAt  int64 // network time
	timerSeq uint64
	timerPos int // in Network.timers, -1 when not there

	links []*Link // by the other host's index; nil for not used yet
	cuts  []bool  // by the other host's index

	lastTo    netip.AddrPort // the last address that was sent to, and whose it is: most nodes talk to few
	lastHost  *Host
	lastAddrs uint64

	steps stepCount

	sent, sentBytes, received, receivedBytes uint64
}

// Named gives the host a name for the trace and for plans, and returns the host. The default name is its first
// address.
func (h *Host) Named(name string) *Host {
	h.name = name
	return h
}

// Name returns the host's name.
func (h *Host) Name() string {
	if h.name == "" {
		h.name = h.addr.String()
	}
	return h.name
}

// Addr returns the address from which the host sends now.
func (h *Host) Addr() netip.AddrPort { return h.addr }

// Node returns the node that runs on the host, nil while it is crashed.
func (h *Host) Node() Node { return h.node }

// Now returns the time of the host's own clock: the network's time, with Skew and ShiftClock.
func (h *Host) Now() time.Time { return epoch.Add(time.Duration(h.clock.local(h.net.now))) }

// HostStats counts what a host's nodes sent and received.
type HostStats struct {
	Sent, SentBytes         uint64
	Received, ReceivedBytes uint64
}

// Stats returns the counters of this host so far, over all its restarts.
func (h *Host) Stats() HostStats {
	return HostStats{h.sent, h.sentBytes, h.received, h.receivedBytes}
}

// AfterTurn sets a function that is called after each HandleDatagram, HandleTimeout and Poke, and before PollTransmit.
// f takes the node's events and acts on them. now is the host's clock. Datagrams that f makes the node send are sent
// in the same turn. f stays set over a restart.
func (h *Host) AfterTurn(f func(now time.Time)) { h.after = f }

// Poke says that the application called into the node outside a turn, for example to send: the network polls the node
// now. In a turn of the same host it does nothing, as the node is polled anyway.
func (h *Host) Poke() {
	if h.node == nil || h.inTurn {
		return
	}
	h.net.trace.host(markPoke, h.net.now, h, "")
	h.inTurn = true
	h.finishTurn(h.life)
}

// Crash stops the host's node at once: its timers are gone, and datagrams that arrive are dropped. Datagrams that it
// has sent still arrive. The node must not be used again.
func (h *Host) Crash() {
	if h.node == nil {
		return
	}
	h.node = nil
	h.life++
	h.net.timers.remove(h)
	h.net.trace.host(markCrash, h.net.now, h, "")
}

// Restart replaces the host's node, crashed or running, with a new one.
func (h *Host) Restart(node Node) {
	if node == nil {
		panic("simnet: Restart with a nil node; see Crash")
	}
	h.Crash()
	h.net.trace.host(markRestart, h.net.now, h, "")
	h.start(node)
}

// Rebind gives the host another address, as a NAT that lost a mapping does: its datagrams now come from there, and
// datagrams to the old address are dropped. The node is not told. Rebind panics if the address is in use.
func (h *Host) Rebind(addr netip.AddrPort) {
	if unmap(addr) == h.addr {
		return
	}
	h.Name() // keeps the first address as the name
	old := h.addr
	h.net.claim(addr, h)
	delete(h.net.byAddr, old)
	h.net.trace.host(markRebind, h.net.now, h, " "+h.addr.String())
}

// Skew makes the host's clock run fast by ppm millionths from now on, or slow if negative. It affects the times that
// the node is given and when its timeouts come. Real clocks stay within 500 ppm.
func (h *Host) Skew(ppm float64) {
	if !(ppm >= -maxSkewPPM && ppm <= maxSkewPPM) {
		panic("simnet: skew out of range")
	}
	h.clock.setRate(h.net.now, ppm)
	h.clockChanged(markSkew)
}

// ShiftClock sets the host's clock forward by d, or back if negative. Outside a test, a node that uses Go's monotonic
// clock never sees it go back.
func (h *Host) ShiftClock(d time.Duration) {
	h.clock.shift(h.net.now, int64(d))
	h.clockChanged(markShift)
}

func (h *Host) clockChanged(m mark) {
	h.net.trace.host(m, h.net.now, h, " "+h.Now().Format(time.RFC3339Nano))
	if h.node != nil && !h.inTurn {
		h.reschedule()
	}
}

// start installs a node. Its first turn is a script step, since the caller has yet to set routes.
func (h *Host) start(node Node) {
	h.node = node
	h.life++
	life := h.life
	h.inTurn = false
	h.net.After(0, "start", func() {
		if h.life == life {
			h.Poke()
		}
	})
}

func (h *Host) datagram(from netip.AddrPort, b []byte) {
	h.received++
	h.receivedBytes += uint64(len(b))
	life := h.life
	h.inTurn = true
	h.node.HandleDatagram(h.Now(), from, b)
	spoil(b)
	h.finishTurn(life)
}

// spoiled is a page of a byte that is neither zero nor text, so that a node that keeps what it was handed fails in a
// way that is easy to know.
var spoiled = bytes.Repeat([]byte{0xdb}, 2048)

// spoil overwrites b, by copies since those are far faster than a loop.
func spoil(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, spoiled):]
	}
}

func (h *Host) timeout() {
	h.net.timers.remove(h)
	h.net.trace.host(markTimeout, h.net.now, h, "")
	life := h.life
	h.inTurn = true
	h.node.HandleTimeout(h.Now())
	h.finishTurn(life)
}

// finishTurn is the rest of a turn. Each call out may crash or restart the host, which ends the turn.
func (h *Host) finishTurn(life uint64) {
	if h.after != nil && h.life == life {
		h.after(h.Now())
	}
	if h.life == life {
		h.transmit(life)
	}
	if h.life == life {
		h.inTurn = false
		h.reschedule()
	}
}

func (h *Host) transmit(life uint64) {
	n := h.net
	for i := 0; h.life == life; i++ {
		size, to, ok := h.node.PollTransmit(n.scratch)
		if !ok {
			return
		}
		if i == n.limits.TransmitsATurn {
			n.fail(h.Name(), "transmits in a turn", i)
			return
		}
		if size < 0 || size > len(n.scratch) {
			panic("simnet: PollTransmit wrote more than the buffer holds")
		}
		n.send(h, to, n.scratch[:size])
	}
}

// reschedule asks the node for its timeout and sets it.
func (h *Host) reschedule() {
	n := h.net
	t, ok := h.node.NextTimeout()
	if !ok {
		n.timers.remove(h)
		return
	}
	wait := min(t.Sub(h.Now()), maxTimeout)
	at := n.now
	if wait > 0 {
		at = h.clock.network(n.now, h.clock.local(n.now)+int64(wait))
	}
	if h.timerPos >= 0 && h.timerAt == at {
		return // its place among the events of that instant stays
	}
	n.seq++
	h.timerAt, h.timerSeq = at, n.seq
	n.timers.set(h)
}

func (h *Host) lookup(to netip.AddrPort) *Host {
	if h.lastAddrs != h.net.addrs || h.lastTo != to {
		h.lastTo, h.lastHost, h.lastAddrs = to, h.net.byAddr[to], h.net.addrs
	}
	return h.lastHost
}

func (h *Host) linkTo(to *Host) **Link {
	for int(to.index) >= len(h.links) {
		h.links = append(h.links, nil)
	}
	return &h.links[to.index]
}

func (h *Host) cutTo(to *Host) *bool {
	for int(to.index) >= len(h.cuts) {
		h.cuts = append(h.cuts, false)
	}
	return &h.cuts[to.index]
}

func (h *Host) isCut(to *Host) bool { return int(to.index) < len(h.cuts) && h.cuts[to.index] }
