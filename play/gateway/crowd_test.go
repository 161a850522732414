package gateway

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// sitFrom has somebody enter from an address.
func (d *desk) sitFrom(addr string, spectator bool) *Seat {
	s := d.chair()
	s.from, s.spectator = netip.MustParseAddr(addr), spectator
	d.inbox.put(request{seat: s, ask: askEnter})
	return s
}

// seated counts those who are in, and those who were told that their address has too many.
func seated(list []*Seat) (in, crowded int) {
	for _, s := range list {
		switch {
		case s.kicked == RefusedCrowd:
			crowded++
		case s.kicked == nil && s.view != nil:
			in++
		}
	}
	return in, crowded
}

// "At most `--per-address` (default 256, −1 is no limit) seats of an address are taken at once, over all dialects … the next is told
// `too many from your address`. Loopback counts like others."
func TestAnAddressHasSoManySeats(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int
		from  func(i int) string
		want  int
	}{
		{"by default", 0, func(int) string { return "192.0.2.1" }, 256},
		{"loopback", 0, func(int) string { return "127.0.0.1" }, 256},
		{"three", 3, func(int) string { return "192.0.2.1" }, 3},
		{"IPv4 in IPv6 is the same address", 3, func(i int) string { return []string{"192.0.2.1", "::ffff:192.0.2.1"}[i%2] }, 3},
		{"a network of IPv6 is one address", 3, func(i int) string { return fmt.Sprintf("2001:db8::%x", i+1) }, 3},
		{"networks of IPv6 are several", 3, func(i int) string { return fmt.Sprintf("2001:db8:0:%x::1", i%2) }, 6},
		{"no limit", -1, func(int) string { return "192.0.2.1" }, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, d := newDesk(t, Config{PerAddress: tt.limit})
			var list []*Seat
			for i := range 400 {
				list = append(list, d.sitFrom(tt.from(i), i%10 == 9)) // a spectator has a seat too
			}
			ticks(t, h, 2)
			if in, crowded := seated(list); in != tt.want || crowded != 400-tt.want {
				t.Errorf("%d are in, %d were told; want %d and %d", in, crowded, tt.want, 400-tt.want)
			}
			other := d.sitFrom("198.51.100.1", false)
			ticks(t, h, 1)
			if other.player == nil {
				t.Errorf("another address is told %q", other.kicked)
			}
			if tt.want < 400 {
				i := 0
				for ; list[i].kicked != nil; i++ {
				}
				d.inbox.put(request{seat: list[i], ask: askLeave})
				ticks(t, h, 1)
				next := d.sitFrom(tt.from(i), false)
				ticks(t, h, 1)
				if next.player == nil {
					t.Errorf("where one has left the next is told %q", next.kicked)
				}
			}
			h.look()
			if st := h.Stats(); st.Crowded != uint64(400-tt.want) {
				t.Errorf("%d are counted", st.Crowded)
			}
		})
	}
}

// Nobody takes seats, and gives them up again, as fast as a machine can: each takes a number for a minute.
func TestAnAddressTakesSeatsSoFast(t *testing.T) {
	h, d := newDesk(t, Config{})
	start := time.Now()
	h.now = start
	comeAndGo := func(n int, addr func(i int) string) (in int) {
		for i := range n {
			s := d.sitFrom(addr(i), false)
			ticks(t, h, 1)
			if s.player != nil {
				in++
			}
			d.inbox.put(request{seat: s, ask: askLeave})
		}
		return in
	}
	one := func(int) string { return "192.0.2.1" }
	if in := comeAndGo(600, one); in != 512 {
		t.Errorf("%d came and went at once, want 512", in)
	}
	h.now = start.Add(10 * time.Second)
	if in := comeAndGo(400, one); in != 320 {
		t.Errorf("%d came and went after ten seconds, want 320", in)
	}
	if in := comeAndGo(2000, func(i int) string { return fmt.Sprintf("192.0.2.%d", 2+i%250) }); in != 2048-320 {
		t.Errorf("%d more of its prefix came and went, want %d", in, 2048-320)
	}
	if in := comeAndGo(10, func(int) string { return "198.51.100.1" }); in != 10 {
		t.Errorf("%d of another prefix came", in)
	}
}
