package roster

import (
	"net/netip"
	"testing"
	"time"
)

func hostAddr(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

// Every operation in any order, against a list.
func TestALobbyAgreesWithAModel(t *testing.T) {
	rng := newRand(t)
	l := NewLobby[*conn](EnterWithin, 5)
	l.size = 40
	now := time.Unix(0, 0)
	type seat struct {
		c     *conn
		addr  netip.Addr
		until time.Time
	}
	var model []seat
	var inside []*conn // have a place
	gaveWay, refused, late, full := 0, 0, 0, 0
	count := func(a netip.Addr) (n int) {
		for _, s := range model {
			if s.addr == a {
				n++
			}
		}
		return n
	}
	most := func() (n int) {
		for _, s := range model {
			n = max(n, count(s.addr))
		}
		return n
	}
	leave := func(c *conn) {
		for i := range model {
			if model[i].c == c {
				model = append(model[:i:i], model[i+1:]...)
				return
			}
		}
		t.Fatal("one left that was not there")
	}
	for range 20_000 {
		switch a := hostAddr(rng.IntN(12)); rng.IntN(8) {
		case 0, 1, 2:
			n := count(a)
			room := n < lobbyOfHost && (len(model) < 40 || n < most())
			if l.HasRoom(a) != room {
				t.Fatalf("room for %v: %v, want %v", a, !room, room)
			}
			if !room {
				refused++
				break
			}
			c := new(conn)
			gone, ok := l.Come(now, a, c)
			if ok != (len(model) == 40) {
				t.Fatalf("with %d in the lobby one gives way: %v", len(model), ok)
			}
			if ok {
				gaveWay++
				at := 0
				for model[at].c != gone {
					at++
				}
				if count(model[at].addr) != most() {
					t.Fatal("one gives way that is not of the busiest")
				}
				for _, s := range model[:at] {
					if s.addr == model[at].addr {
						t.Fatal("not the oldest of its address gives way")
					}
				}
				leave(gone)
			}
			model = append(model, seat{c, a, now.Add(EnterWithin)})
		case 3:
			if len(model) > 0 {
				c := model[rng.IntN(len(model))].c
				waited := Waiting(&c.Member)
				if l.Leave(c); !waited || Waiting(&c.Member) {
					t.Fatal("it does not leave")
				}
				l.Leave(c) // which changes nothing
				leave(c)
			}
		case 6:
			if len(model) > 0 {
				c := model[rng.IntN(len(model))].c
				free := len(inside) < 5
				if l.Full() == free || l.Enter(c) != free || Entered(&c.Member) != free || Waiting(&c.Member) {
					t.Fatalf("with %d of 5 places taken it enters: %v", len(inside), Entered(&c.Member))
				}
				if leave(c); free {
					inside = append(inside, c)
				} else {
					full++
				}
			}
		case 7:
			if len(inside) > 0 && rng.IntN(3) == 0 {
				c := inside[0]
				if l.Leave(c); Entered(&c.Member) {
					t.Fatal("it keeps its place")
				}
				inside = inside[1:]
			}
		case 4, 5:
			now = now.Add(time.Duration(rng.IntN(500)) * time.Millisecond)
			for c, ok := l.Due(now); ok; c, ok = l.Due(now) {
				if model[0].c != c || model[0].until.After(now) {
					t.Fatal("not the one whose time is over")
				}
				late++
				leave(c)
			}
		}
		at, ok := l.NextTimeout()
		if l.Len() != len(model) || l.Taken() != len(inside) || ok != (len(model) > 0) || ok && !at.Equal(model[0].until) || ok && !at.After(now) {
			t.Fatalf("%d are there, want %d; the next time is %v", l.Len(), len(model), at)
		}
	}
	if gaveWay == 0 || refused == 0 || late == 0 || full == 0 {
		t.Errorf("%d gave way, %d were refused, %d were late, %d found no place: the test shows too little", gaveWay, refused, late, full)
	}
	for len(model) > 0 {
		l.Leave(model[0].c)
		leave(model[0].c)
	}
	if len(l.hosts)+len(l.guests) != 0 || l.oldest.first != nil || l.most() != 0 {
		t.Error("something is left in an empty lobby")
	}
}

// One address fills its 64 and no more; hosts of one IPv6 network are one.
func TestAnAddressHasItsShareOfTheLobby(t *testing.T) {
	for _, tt := range []struct {
		name string
		addr func(i int) netip.Addr
	}{
		{"IPv4", func(int) netip.Addr { return hostAddr(1) }},
		{"IPv6", func(i int) netip.Addr {
			b := netip.MustParseAddr("2001:db8:1:2::").As16()
			b[8], b[15] = byte(i), byte(i>>8)
			return netip.AddrFrom16(b)
		}},
	} {
		l := NewLobby[*conn](EnterWithin, 100)
		let := 0
		for i := range 1000 {
			if a := tt.addr(i); l.HasRoom(a) {
				l.Come(time.Unix(0, 0), a, new(conn))
				let++
			}
		}
		if let != 64 || !l.HasRoom(hostAddr(2)) {
			t.Errorf("%s: %d are in the lobby", tt.name, let)
		}
	}
}

// With the lobby full of others a newcomer gets in, whatever the others do.
func TestAFullLobbyLetsANewcomerIn(t *testing.T) {
	for _, each := range []int{1, 7, 64} {
		l := NewLobby[*conn](EnterWithin, 100)
		for i := 0; l.Len() < lobbyOfAll; i++ {
			l.Come(time.Unix(0, 0), hostAddr(i/each), new(conn))
		}
		if a := hostAddr(1 << 20); !l.HasRoom(a) {
			t.Errorf("with %d an address, there is no room for another", each)
		} else if _, ok := l.Come(time.Unix(0, 0), a, new(conn)); !ok || l.Len() != lobbyOfAll {
			t.Errorf("with %d an address, nobody gave way", each)
		}
	}
}
