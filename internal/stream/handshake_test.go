package stream

import (
	"crypto/tls"
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
)

func porchOf(host, total int) admission.PorchConfig {
	return admission.PorchConfig{Host: host, Total: total}
}

// Hosts take turns: one that begins many handshakes waits for them itself.
func TestHostsTakeTurns(t *testing.T) {
	h := newHandshakes(&tls.Config{}, true)
	now := time.Now()
	begin := func(addr string) *handshake {
		s := h.begin(now, netip.MustParseAddr(addr), now.Add(time.Hour))
		if s == nil {
			t.Fatal("refused")
		}
		return s
	}
	first := begin("192.0.2.1")
	if !first.take() {
		t.Fatal("nobody else computes, and there is no turn")
	}
	names := map[*handshake]string{}
	wait := func(name, addr string) *handshake {
		s := begin(addr)
		names[s] = name
		h.mu.Lock()
		defer h.mu.Unlock()
		h.enqueue(s)
		return s
	}
	for range 3 {
		wait("flood", "192.0.2.1")
	}
	wait("flood v6", "2001:db8::1")
	wait("flood v6", "2001:db8::2") // of the same /64
	wait("honest", "192.0.2.2")
	wait("late", "192.0.2.3").cancel()
	h.mu.Lock()
	first.waits = true // it goes on after its client has answered
	names[first] = "goes on"
	h.again.Push(first)
	h.mu.Unlock()
	var got []string
	for holder := first; ; {
		holder.give()
		h.mu.Lock()
		holder = nil
		for s := range names {
			if s.holds {
				holder = s
			}
		}
		h.mu.Unlock()
		if holder == nil {
			break
		}
		got = append(got, names[holder])
	}
	want := []string{"goes on", "flood", "flood v6", "honest", "flood", "flood v6", "flood"}
	if len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if h.busy || len(h.lines) > 0 {
		t.Error("nobody is there, and somebody has the turn")
	}
}

// A host begins at most its burst at once and its rate after, whatever others do; an IPv6 host has one rate for its /64.
func TestHandshakesHaveARate(t *testing.T) {
	h := newHandshakes(&tls.Config{}, true)
	start := time.Now()
	for _, addrs := range [][]string{{"192.0.2.1"}, {"2001:db8::1", "2001:db8::2"}} {
		count := 0
		for i := range 3500 * 4 { // 3,500 a second
			now := start.Add(time.Duration(i) * time.Second / 3500)
			if h.begin(now, netip.MustParseAddr(addrs[i%len(addrs)]), now) != nil {
				count++
			}
		}
		if most := hostRate.Burst + 4*hostRate.Rate; count > most || count < most-2 {
			t.Errorf("%v began %d handshakes in 4 s, want %d", addrs, count, most)
		}
	}
	if h.begin(start.Add(4*time.Second), netip.MustParseAddr("192.0.2.2"), start) == nil {
		t.Error("an honest neighbour was refused")
	}
}
