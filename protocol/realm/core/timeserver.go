package core

import (
	"encoding/binary"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/queue"
)

// TimeServer is the pure core of the time server: it "allows the client to synchronise its clock with the
// server's". It answers only addresses with a live connection, "so that nothing can be reflected".
type TimeServer struct {
	live   func(netip.Addr) bool
	unix   func(now time.Time) uint64
	now    time.Time
	guests *admission.Buckets // what addresses without a connection are answered, by address; nil: nothing

	bursts  map[netip.Addr]*burst
	running queue.Fifo[*burst]  // in the order of their next times, as all have the same step
	replies queue.Fifo[timeOut] // to be sent
	stats   TimeStats
}

// burst is a run of times to one address.
type burst struct {
	to    netip.AddrPort
	next  time.Time
	left  int  // datagrams: a server that is late sends no fewer
	guest bool // of an address without a connection
}

// timeOut is a datagram to be sent: 8 bytes, or with the question 16.
type timeOut struct {
	to       netip.AddrPort
	question [timeBytes]byte
	echo     bool
}

// TimeStats counts the fate of each datagram.
type TimeStats struct {
	In        uint64 // datagrams: the sum of the six below
	Bursts    uint64 // started a burst of answers
	Exchanges uint64 // answered once
	Strangers uint64 // from addresses without a connection, and not answered
	Limited   uint64 // from such addresses, beyond the rate at which ServeAll answers them
	Running   uint64 // asked for a burst while one ran, or while too much was under way
	Malformed uint64 // of a wrong size

	Out uint64 // datagrams sent

	Banned uint64 // datagrams of banned addresses, which are not in In: the shell counts them
}

// NewTimeServer returns a time server. live reports whether an address has a live connection. unix is the server's
// clock in Unix µs.
func NewTimeServer(live func(netip.Addr) bool, unix func(now time.Time) uint64) *TimeServer {
	return &TimeServer{live: live, unix: unix, bursts: map[netip.Addr]*burst{}}
}

// ServeAll makes the time server also answer addresses without a connection, such as those of players behind a proxy.
// Each is answered at a limited rate. The answers to an empty datagram have at most three times its bytes, counting
// headers, as its source may be forged. key is random and secret.
func (t *TimeServer) ServeAll(key [32]byte) {
	t.guests = admission.NewBuckets(admission.BucketsConfig{
		Source: admission.Limit{Rate: guestRate, Burst: guestRate},
		Prefix: admission.Limit{Rate: guestPrefixRate, Burst: guestPrefixRate},
		Total:  admission.Limit{Rate: guestTotalRate, Burst: guestTotalRate},
	}, key)
}

// Stats returns the counters.
func (t *TimeServer) Stats() TimeStats { return t.stats }

// HandleDatagram takes a question: "An empty datagram starts a burst of u64 Unix µs, 8 bytes each, every 100 ms for
// 1 s. An 8-byte datagram (version 10) is answered once with those 8 bytes and the server's u64."
func (t *TimeServer) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	t.now = now
	t.stats.In++
	addr := from.Addr().Unmap()
	if len(b) != 0 && len(b) != timeBytes {
		t.stats.Malformed++
		return
	}
	guest := !t.live(addr)
	switch {
	case guest && t.guests == nil:
		t.stats.Strangers++
	case guest && !t.guests.Allow(now, addr, 1):
		t.stats.Limited++
	case len(b) == timeBytes:
		if t.replies.Len() >= maxBursts {
			t.stats.Running++
			return
		}
		t.stats.Exchanges++
		t.replies.Push(timeOut{to: from, question: [timeBytes]byte(b), echo: true})
	case t.bursts[addr] != nil || len(t.bursts) >= maxBursts:
		t.stats.Running++
	default:
		t.stats.Bursts++
		run := &burst{to: from, left: int(burstSpan / burstStep), guest: guest}
		if guest {
			run.left = guestBurst
		}
		t.bursts[addr] = run
		t.step(now, run)
	}
}

// step sends one time of a burst, and ends it or notes when the next is due.
func (t *TimeServer) step(now time.Time, run *burst) {
	addr := run.to.Addr().Unmap()
	if run.left--; run.left < 0 || !run.guest && !t.live(addr) {
		delete(t.bursts, addr)
		return
	}
	t.replies.Push(timeOut{to: run.to})
	run.next = now.Add(burstStep)
	t.running.Push(run)
}

// NextTimeout returns when to call HandleTimeout next.
func (t *TimeServer) NextTimeout() (time.Time, bool) {
	if t.running.Len() == 0 {
		return time.Time{}, false
	}
	return (*t.running.First()).next, true
}

// HandleTimeout continues the bursts.
func (t *TimeServer) HandleTimeout(now time.Time) {
	t.now = now
	for t.running.Len() > 0 && !(*t.running.First()).next.After(now) {
		t.step(now, t.running.Pop())
	}
	t.running.Trim()
}

// Advance sets the time.
func (t *TimeServer) Advance(now time.Time) { t.now = now }

// Ready reports whether PollTransmit has a datagram.
func (t *TimeServer) Ready() bool { return t.replies.Len() > 0 }

// PollTransmit writes the next datagram into buf. The time in it is that of the last Advance: with a real clock,
// call Advance before each call.
func (t *TimeServer) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if t.replies.Len() == 0 {
		t.replies.Trim()
		return 0, netip.AddrPort{}, false
	}
	out := t.replies.Pop()
	t.stats.Out++
	b := buf[:0]
	if out.echo {
		b = append(b, out.question[:]...)
	}
	return len(binary.BigEndian.AppendUint64(b, t.unix(t.now))), out.to, true
}
