package admission

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"parley/internal/kit/chance"
)

// A porch of a few places against a model, with hosts that come and go at random: the bounds hold, who is refused has its
// share or meets hosts that have no more than it would have, and who makes room is the newest of the busiest.
func TestPorchAgainstAModel(t *testing.T) {
	forEachSeed(t, 300, func(t *testing.T, rng *rand.Rand) {
		c := PorchConfig{Host: 1 + rng.IntN(4), Network: 2 + rng.IntN(8), Total: 1 + rng.IntN(16)}
		p := NewPorch[int](c)
		var here []*Place[int]
		of := func(addr netip.Addr) (host, network, most int) {
			counts := map[netip.Addr]int{}
			for _, place := range here {
				counts[place.host]++
				most = max(most, counts[place.host])
				if place.network == Network(addr) {
					network++
				}
			}
			return counts[Host(addr)], network, most
		}
		for i := range 200 {
			if len(here) > 0 && rng.IntN(3) == 0 {
				k := rng.IntN(len(here))
				p.Leave(here[k])
				p.Leave(here[k])
				here = append(here[:k:k], here[k+1:]...)
			}
			addr := netip.MustParseAddr([]string{
				fmt.Sprintf("192.0.%d.%d", rng.IntN(3), rng.IntN(4)),
				fmt.Sprintf("2001:db8:0:%x::%x", rng.IntN(3)<<8, rng.IntN(1000)),
			}[rng.IntN(2)])
			own, network, most := of(addr)
			place, out := p.Enter(addr, i)
			full := len(here) == c.Total
			if want := own < c.Host && network < c.Network && (!full || most > own+1); (place != nil) != want {
				t.Fatalf("%+v, %d of the host, %d of its network, %d in all, the busiest has %d: let in %t", c, own, network, len(here), most, place != nil)
			}
			if (out != nil) != (place != nil && full) {
				t.Fatalf("full %t, let in %t, one made room %t", full, place != nil, out != nil)
			}
			if out != nil {
				n, _, _ := of(out.host)
				k := -1
				for i, place := range here {
					if place.host == out.host {
						k = i // the newest
					}
				}
				if n != most || here[k] != out || p.Has(out) {
					t.Fatalf("one of a host that has %d made room, the busiest has %d; the newest %t", n, most, here[k] == out)
				}
				here = append(here[:k:k], here[k+1:]...)
			}
			if place != nil {
				here = append(here, place)
			}
			if p.Len() != len(here) || !p.Has(place) && place != nil {
				t.Fatalf("%d are there, want %d", p.Len(), len(here))
			}
		}
		for _, place := range here {
			p.Leave(place)
		}
		if p.Len() != 0 || len(p.hosts) != 0 || p.networks.Len() != 0 {
			t.Fatal("nobody is there, and somebody is counted")
		}
	})
}

// T31: ten times as many as there are places, from hosts that take all that they may, keep out none of a hundred honest
// ones.
func TestAFullPorchLetsHonestOnesIn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	p := NewPorch[int](PorchConfig{})
	asked := 10 * porchTotal
	if chance.Race { // one goroutine
		asked = 2 * porchTotal
	}
	for i := range asked {
		p.Enter(netip.AddrFrom4([4]byte{10, byte(rng.IntN(16)), byte(rng.IntN(16)), byte(rng.IntN(4))}), i)
	}
	if p.Len() != porchTotal {
		t.Fatalf("%d places are taken", p.Len())
	}
	for i := range 100 {
		place, out := p.Enter(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), i)
		if place == nil || out == nil {
			t.Fatalf("honest client %d was refused", i)
		}
		p.Leave(place)
		p.Enter(netip.AddrFrom4([4]byte{10, byte(rng.IntN(16)), byte(rng.IntN(16)), byte(rng.IntN(4))}), i)
	}
}
