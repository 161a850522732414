package core

import (
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/queue"
)

// waiting are the addresses that have answered their challenge and have shown no ticket yet. Each is
// known for 10 s, and answers again if it needs longer. The zero value is empty.
type waiting struct {
	until map[netip.AddrPort]time.Time
	order queue.Fifo[waiter] // by when they end; some have gone in by then
	hosts *admission.Crowd
}

type waiter struct {
	addr  netip.AddrPort
	until time.Time
}

// add notes an address, and reports false when there are too many of its host, or in all.
func (w *waiting) add(now time.Time, addr netip.AddrPort) bool {
	if w.until == nil {
		w.until, w.hosts = map[netip.AddrPort]time.Time{}, admission.NewCrowd(maxWaitingHere)
	}
	w.expire(now)
	if _, known := w.until[addr]; known {
		return true
	}
	if len(w.until) >= maxWaiting || !w.hosts.Enter(addr.Addr()) {
		return false
	}
	until := now.Add(waitingLife)
	w.until[addr] = until
	w.order.Push(waiter{addr, until})
	return true
}

// has reports whether an address waits.
func (w *waiting) has(now time.Time, addr netip.AddrPort) bool {
	w.expire(now)
	_, ok := w.until[addr]
	return ok
}

// remove forgets an address.
func (w *waiting) remove(addr netip.AddrPort) {
	if _, ok := w.until[addr]; ok {
		delete(w.until, addr)
		w.hosts.Leave(addr.Addr())
	}
}

func (w *waiting) expire(now time.Time) {
	for w.order.Len() > 0 && !w.order.First().until.After(now) {
		x := w.order.Pop()
		if w.until[x.addr].Equal(x.until) {
			w.remove(x.addr)
		}
	}
	w.order.Trim()
}
