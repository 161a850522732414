package simnet

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"time"
)

// Node is the interface of an endpoint that a Network drives, without socket, goroutine or clock. The network calls
// the methods from the goroutine of Run, one at a time.
type Node interface {
	// HandleDatagram takes a datagram that arrived. b is valid until it returns, and the node may write to it. The
	// network then overwrites b, so that a node that keeps b fails at once.
	HandleDatagram(now time.Time, from netip.AddrPort, b []byte)

	// HandleTimeout is called at the time of NextTimeout.
	HandleTimeout(now time.Time)

	// NextTimeout returns when to call HandleTimeout next, or false for never.
	NextTimeout() (time.Time, bool)

	// PollTransmit writes the next datagram to send into buf, which is as large as a datagram can be. It is called
	// until it returns false.
	PollTransmit(buf []byte) (n int, to netip.AddrPort, ok bool)
}

// epoch is where virtual time starts: where it starts in testing/synctest too.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Network is a network in memory and in virtual time. New makes one. It is not safe for use from several goroutines:
// everything happens in the goroutine that calls Run.
type Network struct {
	seed   uint64
	now    int64 // nanoseconds since epoch
	seq    uint64
	limits Limits
	rng    *rand.Rand
	filter func(Packet) Verdict
	err    error // what ended the run; it stays

	events eventHeap
	timers timers

	hosts    []*Host
	byAddr   map[netip.AddrPort]*Host // only looked up in, never ranged over: a map's order differs from run to run
	addrs    uint64                   // grows when byAddr changes, so that hosts know when their cache is stale
	def      Profile
	defLinks []*Link
	numLinks uint64

	datagrams     []datagram
	freeDatagrams []uint32
	scripts       []script
	freeScripts   []uint32
	scratch       []byte

	run         uint64 // calls of Run
	steps       int    // in this one
	scriptSteps stepCount

	counts counts
	trace  trace
}

// A datagram is one that is under way. They and their buffers are used again.
type datagram struct {
	from, to netip.AddrPort
	src, dst *Host // src is nil for an injected one
	link     *Link // nil for an injected one
	buf      []byte
	sum      uint32
}

type script struct {
	what string
	do   func()
}

// New returns an empty network. The same seed, nodes and calls give the same run, to the bit.
func New(seed uint64) *Network {
	n := &Network{
		seed:    seed,
		limits:  Limits{}.withDefaults(),
		byAddr:  make(map[netip.AddrPort]*Host),
		scratch: make([]byte, maxDatagramBytes),
		rng:     rand.New(rand.NewPCG(mix(seed, 1), mix(1, seed))),
	}
	n.trace.hash = mix(seed, 2)
	return n
}

// Seed returns the seed that New was given.
func (n *Network) Seed() uint64 { return n.seed }

// Now returns the virtual time. It starts at midnight of 1 January 2000, UTC, as in testing/synctest.
func (n *Network) Now() time.Time { return epoch.Add(time.Duration(n.now)) }

// Elapsed returns the virtual time since New.
func (n *Network) Elapsed() time.Duration { return time.Duration(n.now) }

// Rand returns a random source made from the seed, for nodes and scripts. Links do not use it.
func (n *Network) Rand() *rand.Rand { return n.rng }

// SetLimits changes the bounds of a run. Limits has the defaults.
func (n *Network) SetLimits(l Limits) { n.limits = l.withDefaults() }

// TraceTo writes each later record of the trace to w, one on each line: the time, the event, the hosts, the size
// and a checksum of the bytes. It is slow, and Hash does not need it.
func (n *Network) TraceTo(w io.Writer) { n.trace.w = w }

// Hash returns a hash of everything that has happened so far. Two runs with the same hash are the same run.
func (n *Network) Hash() uint64 { return n.trace.hash }

// Stats returns the counters of all datagrams so far.
func (n *Network) Stats() Stats { return n.counts.stats() }

// Add puts a node on the network. The next Run first polls it for datagrams and its timeout. Add panics if the
// address is in use or not valid.
func (n *Network) Add(addr netip.AddrPort, node Node) *Host {
	if node == nil {
		panic("simnet: Add of a nil node")
	}
	h := &Host{net: n, index: int32(len(n.hosts)), timerPos: -1}
	n.claim(addr, h)
	n.hosts = append(n.hosts, h)
	h.start(node)
	return h
}

// At runs f at virtual time t, or at the start of the next Run if t has passed. what is its name in the trace.
func (n *Network) At(t time.Time, what string, f func()) {
	ref := uint32(len(n.scripts))
	if k := len(n.freeScripts); k > 0 {
		ref = n.freeScripts[k-1]
		n.freeScripts = n.freeScripts[:k-1]
	} else {
		n.scripts = append(n.scripts, script{})
	}
	n.scripts[ref] = script{what, f}
	n.schedule(int64(t.Sub(epoch)), eventScript, ref)
}

// After runs f when d has passed.
func (n *Network) After(d time.Duration, what string, f func()) { n.At(n.Now().Add(d), what, f) }

// NewLink returns a link for Route. It panics if the profile is not valid.
func (n *Network) NewLink(p Profile) *Link {
	l := new(Link)
	n.numLinks++
	initLink(l, n, n.seed, 1<<63|n.numLinks, p)
	return l
}

// Route sends datagrams from one host to the other, in this direction, over l. Routes that share a link share its
// queue and its rate.
func (n *Network) Route(from, to *Host, l *Link) {
	if l.net != n || from.net != n || to.net != n {
		panic("simnet: Route with a host or a link of another network")
	}
	*from.linkTo(to) = l
}

// Default gives each pair of hosts without a Route a link of its own with this profile, one for each direction. A
// pair that already has such a link keeps it, with its queue and its random source. That link gets the new profile,
// unless Link.SetProfile has set one.
func (n *Network) Default(p Profile) {
	if err := p.Validate(); err != nil {
		panic(err.Error())
	}
	n.def = p
	for _, l := range n.defLinks {
		if !l.isOwn {
			l.set(p)
		}
	}
	n.trace.profile(n.now, &p)
}

// LinkBetween returns the link that datagrams from one host to the other take now.
func (n *Network) LinkBetween(from, to *Host) *Link {
	slot := from.linkTo(to)
	if *slot == nil {
		l := new(Link)
		// The random stream comes from the pair, not from a count: the order of first sends must not decide which link gets which losses.
		initLink(l, n, n.seed, uint64(from.index)<<32|uint64(to.index), n.def)
		n.defLinks = append(n.defLinks, l)
		*slot = l
	}
	return *slot
}

// Partition cuts the path from a to b, and unless oneWay the path back too. Datagrams sent meanwhile are dropped.
// Datagrams in flight arrive.
func (n *Network) Partition(a, b *Host, oneWay bool) {
	*a.cutTo(b) = true
	n.trace.host(markCut, n.now, a, ">"+b.Name())
	if !oneWay {
		*b.cutTo(a) = true
		n.trace.host(markCut, n.now, b, ">"+a.Name())
	}
}

// Heal opens both paths between a and b.
func (n *Network) Heal(a, b *Host) {
	*a.cutTo(b), *b.cutTo(a) = false, false
	n.trace.host(markHeal, n.now, a, " "+b.Name())
}

// Host returns the host that has this address now, nil if none.
func (n *Network) Host(addr netip.AddrPort) *Host { return n.byAddr[unmap(addr)] }

// claim gives addr to h, which has none at this time.
func (n *Network) claim(addr netip.AddrPort, h *Host) {
	addr = unmap(addr)
	if !addr.IsValid() {
		panic("simnet: the address of a host is not valid")
	}
	if other := n.byAddr[addr]; other != nil {
		panic(fmt.Sprintf("simnet: address %v is in use by host %s", addr, other.Name()))
	}
	n.byAddr[addr] = h
	n.addrs++
	h.addr = addr
}

// unmap makes a 4-in-6 address the IPv4 address that it stands for, so that one peer has one name.
func unmap(a netip.AddrPort) netip.AddrPort {
	if a.Addr().Is4In6() {
		return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	}
	return a
}
