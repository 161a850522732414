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
	until map[netip.AddrPort]term
	order queue.Fifo[waiter] // by when they end; some have gone in by then
	hosts *admission.Crowd
}

// term is until when an address is known, and its true one.
type term struct {
	end  time.Time
	from netip.Addr
}

type waiter struct {
	addr  netip.AddrPort
	until time.Time
}

// add notes an address, and reports false when there are too many of its host, or in all.
func (w *waiting) add(now time.Time, addr netip.AddrPort, from netip.Addr) bool {
	if w.until == nil {
		w.until, w.hosts = map[netip.AddrPort]term{}, admission.NewCrowd(maxWaitingHere)
	}
	w.expire(now)
	if _, known := w.until[addr]; known {
		return true
	}
	if len(w.until) >= maxWaiting || !w.hosts.Enter(from) {
		return false
	}
	until := now.Add(waitingLife)
	w.until[addr] = term{until, from}
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
	if t, ok := w.until[addr]; ok {
		delete(w.until, addr)
		w.hosts.Leave(t.from)
	}
}

func (w *waiting) expire(now time.Time) {
	for w.order.Len() > 0 && !w.order.First().until.After(now) {
		x := w.order.Pop()
		if w.until[x.addr].end.Equal(x.until) {
			w.remove(x.addr)
		}
	}
	w.order.Trim()
}
