package roster

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

func newRand(t *testing.T) *rand.Rand {
	seed := chance.Seed(t, 1)
	return rand.New(rand.NewPCG(seed, seed))
}

type conn struct {
	Member
	addr            netip.AddrPort
	events, packets int
	next            time.Time
	timed           bool
}

func addr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(i))
}

// Every operation, in any order, against maps that say who is there and what is due.
func TestARosterAgreesWithAModel(t *testing.T) {
	rng := newRand(t)
	r := New[*conn]()
	now := time.Unix(0, 0)
	there := map[netip.AddrPort]*conn{}
	due := map[*conn]time.Time{}
	for range 50_000 {
		a := addr(rng.IntN(40))
		c := there[a]
		switch rng.IntN(6) {
		case 0:
			if c == nil {
				c = &conn{addr: a}
				r.Add(a, c)
				there[a] = c
			}
		case 1:
			if c != nil {
				r.Remove(a, c)
				delete(there, a)
				delete(due, c)
			}
		case 2:
			if c != nil {
				c.events, c.packets, c.timed = rng.IntN(3), rng.IntN(3), rng.IntN(4) > 0
				c.next = now.Add(time.Duration(rng.IntN(50)) * time.Millisecond)
				r.Touch(c)
			}
		case 3:
			for c, ok := r.Eventful(); ok; c, ok = r.Eventful() {
				if c.events--; c.events < 0 {
					c.events = 0
					r.Calm(c)
				}
			}
		case 4:
			for c, ok := r.Busy(); ok; c, ok = r.Busy() {
				if c.packets--; c.packets >= 0 {
					continue
				}
				c.packets = 0
				r.Rest(c, c.next, c.timed)
				delete(due, c)
				if c.timed && !Gone(&c.Member) {
					due[c] = c.next
				}
			}
		case 5:
			now = now.Add(time.Duration(rng.IntN(10)) * time.Millisecond)
			for c, ok := r.Due(now); ok; c, ok = r.Due(now) {
				if at, is := due[c]; !is || at.After(now) {
					t.Fatalf("%v was due at %v, which is not its time: %v", c.addr, now, at)
				}
				delete(due, c)
			}
			for c, at := range due {
				if !at.After(now) {
					t.Fatalf("%v waits at %v since %v", c.addr, now, at)
				}
			}
		}
		check(t, r, there, due)
	}
	for a, c := range there {
		r.Remove(a, c)
	}
	drain(r)
	if !r.Idle() {
		t.Error("something of those who left is still held")
	}
}

func check(t *testing.T, r *Roster[*conn], there map[netip.AddrPort]*conn, due map[*conn]time.Time) {
	t.Helper()
	if r.Len() != len(there) {
		t.Fatalf("%d are in the table, want %d", r.Len(), len(there))
	}
	for c := range r.All() {
		if there[c.addr] != c || r.Get(c.addr) != c || Gone(&c.Member) {
			t.Fatalf("%v is not the one that was put there", c.addr)
		}
	}
	var first time.Time
	for _, at := range due {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if at, ok := r.NextTimeout(); ok != (len(due) > 0) || ok && !at.Equal(first) {
		t.Fatalf("the next time is %v (%v), want %v of %d", at, ok, first, len(due))
	}
}

func drain(r *Roster[*conn]) {
	for c, ok := r.Eventful(); ok; c, ok = r.Eventful() {
		r.Calm(c)
	}
	for c, ok := r.Busy(); ok; c, ok = r.Busy() {
		r.Rest(c, time.Time{}, false)
	}
}

func TestAConnectionIsPolledOnceHoweverOftenItWasTouched(t *testing.T) {
	r := New[*conn]()
	a, b := &conn{addr: addr(1)}, &conn{addr: addr(2)}
	r.Add(a.addr, a)
	r.Add(b.addr, b)
	for range 10 {
		r.Touch(b)
		r.Touch(a)
	}
	var got []*conn
	for c, ok := r.Busy(); ok; c, ok = r.Busy() {
		got = append(got, c)
		r.Rest(c, time.Time{}, false)
	}
	if !slices.Equal(got, []*conn{b, a}) {
		t.Errorf("%d were polled, want the two in the order of their touch", len(got))
	}
}

// T34: the same link-local address on two interfaces is two hosts; an IPv4 address is the same
// in both of its forms.
func TestWhichAddressesAreOne(t *testing.T) {
	promise.Keeps(t, "T34", "roster", 1)
	at := netip.MustParseAddrPort
	for _, tt := range []struct {
		a, b netip.AddrPort
		same bool
	}{
		{at("[fe80::1%eth0]:5"), at("[fe80::1%eth1]:5"), false},
		{at("[fe80::1%eth0]:5"), at("[fe80::1]:5"), false},
		{at("[fe80::1%eth0]:5"), at("[fe80::1%eth0]:5"), true},
		{at("[fe80::1%eth0]:5"), at("[fe80::1%eth0]:6"), false},
		{at("10.0.0.1:5"), at("[::ffff:10.0.0.1]:5"), true},
		{at("10.0.0.1:5"), at("10.0.0.2:5"), false},
	} {
		r := New[*conn]()
		c := &conn{addr: tt.a}
		r.Add(tt.a, c)
		if got := r.Get(tt.b) == c; got != tt.same {
			t.Errorf("%v is found at %v: %v, want %v", tt.a, tt.b, got, tt.same)
		}
	}
}

func TestRepliesGoOutInTheirOrder(t *testing.T) {
	var r Replies
	for i := range 100 {
		r.Put(addr(i), []byte{byte(i)})
	}
	var buf [MaxReply]byte
	for i := range 100 {
		n, to, ok := r.MoveTo(buf[:])
		if !ok || n != 1 || buf[0] != byte(i) || to != addr(i) {
			t.Fatalf("%x to %v came where reply %d was due", buf[:n], to, i)
		}
	}
	if _, _, ok := r.MoveTo(buf[:]); ok || r.Len() != 0 {
		t.Error("an empty queue had a reply")
	}
}

func TestTheTableAllocatesNothingOnceItHasGrown(t *testing.T) {
	r := New[*conn]()
	now := time.Unix(0, 0)
	var conns []*conn
	for i := range 100 {
		c := &conn{addr: addr(i)}
		conns = append(conns, c)
		r.Add(c.addr, c)
	}
	turn := func() {
		for _, c := range conns {
			r.Touch(r.Get(c.addr))
		}
		for c, ok := r.Eventful(); ok; c, ok = r.Eventful() {
			r.Calm(c)
		}
		for c, ok := r.Busy(); ok; c, ok = r.Busy() {
			r.Rest(c, now, true)
		}
		for _, ok := r.Due(now); ok; _, ok = r.Due(now) {
		}
	}
	turn()
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("a turn allocates %v times", n)
	}
}

// What is only to be sent is no event.
func TestLoadMakesBusyAndNotEventful(t *testing.T) {
	r := New[*conn]()
	c := &conn{addr: addr(1)}
	r.Add(c.addr, c)
	r.Load(c)
	r.Load(c)
	if _, ok := r.Eventful(); ok {
		t.Error("eventful")
	}
	if got, ok := r.Busy(); !ok || got != c {
		t.Errorf("busy: %v, %t", got, ok)
	}
	r.Rest(c, time.Time{}, false)
	if _, ok := r.Busy(); ok {
		t.Error("busy twice")
	}
	r.Load(c)
	r.Touch(c)
	if got, ok := r.Eventful(); !ok || got != c {
		t.Errorf("eventful after Touch: %v, %t", got, ok)
	}
}

// An address is known by its bytes, its port and its zone; IPv4 inside IPv6 is IPv4.
func TestAddressesAreToldApart(t *testing.T) {
	r := New[*conn]()
	same := netip.MustParseAddrPort("[::ffff:10.0.0.1]:4000")
	all := []netip.AddrPort{
		netip.MustParseAddrPort("10.0.0.1:4000"), netip.MustParseAddrPort("10.0.0.1:4001"), netip.MustParseAddrPort("10.0.0.2:4000"),
		netip.MustParseAddrPort("[fe80::1]:4000"), netip.MustParseAddrPort("[fe80::1%a]:4000"), netip.MustParseAddrPort("[fe80::1%b]:4000"),
		netip.MustParseAddrPort("[::10.0.0.1]:4000"),
	}
	for _, a := range all {
		if r.Get(a) != nil {
			t.Errorf("%v is known as another", a)
		}
		r.Add(a, &conn{addr: a})
	}
	if c := r.Get(same); c == nil || c.addr != all[0] {
		t.Errorf("%v is not %v", same, all[0])
	}
	for _, a := range all {
		c := r.Get(a)
		if c == nil || c.addr != a {
			t.Fatalf("%v finds %v", a, c)
		}
		r.Remove(a, c)
	}
	if !r.Idle() {
		t.Error("something of those that left is held")
	}
}
