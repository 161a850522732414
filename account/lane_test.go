package account

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

func fromNumber(n int) netip.Prefix {
	return Source(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}))
}

// order pushes jobs of these addresses and returns the addresses as they come out.
func order(l *lane, from ...int) (out []int) {
	numbers := map[netip.Prefix]int{}
	for _, n := range from {
		numbers[fromNumber(n)] = n
		l.push(&job{from: fromNumber(n)})
	}
	for j := l.pop(); j != nil; j = l.pop() {
		out = append(out, numbers[j.from])
	}
	return out
}

func wantOrder(t *testing.T, what string, got []int, want ...int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

func TestAddressesTakeTurns(t *testing.T) {
	l := newLane(8)
	wantOrder(t, "one address", order(l, 1, 1, 1), 1, 1, 1)
	wantOrder(t, "a greedy one and two others", order(l, 1, 1, 1, 1, 2, 3), 1, 2, 3, 1, 1, 1)
	wantOrder(t, "in turn", order(l, 1, 2, 1, 2, 3, 3), 1, 2, 3, 1, 2, 3)

	// Who comes later is not owed the turns that it did not want.
	for range 3 {
		l.push(&job{from: fromNumber(1)})
	}
	l.pop()
	l.pop()
	wantOrder(t, "a newcomer", order(l, 2, 2, 1), 1, 2, 2, 1)
	if len(l.sources) != 0 {
		t.Errorf("%d addresses are remembered", len(l.sources))
	}
}

func TestAFullLaneLosesTheGreediest(t *testing.T) {
	l := newLane(4)
	for range 4 {
		if lost := l.push(&job{from: fromNumber(1)}); lost != nil {
			t.Fatal("there was room")
		}
	}
	fifth := &job{from: fromNumber(1)}
	if l.push(fifth) != fifth {
		t.Error("the fifth of one address was let in")
	}
	for i := range 3 {
		if lost := l.push(&job{from: fromNumber(2 + i)}); lost == nil || lost.from != fromNumber(1) {
			t.Fatalf("newcomer %d: %+v was lost", i, lost)
		}
	}
	sixth := &job{from: fromNumber(9)}
	if l.push(sixth) != sixth {
		t.Error("one more came in where each has one")
	}
	if got := len(order(l)); got != 4 {
		t.Errorf("%d are left", got)
	}
}

// Whatever comes and goes, the lane is sorted, bounded and counts right.
func TestLaneKeepsItsBooks(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		l := newLane(1 + rng.IntN(20))
		for range 2000 {
			switch rng.IntN(5) {
			case 0:
				l.pop()
			case 1:
				if len(l.jobs) > 0 {
					l.take(rng.IntN(len(l.jobs)))
				}
			case 2:
				if len(l.jobs) > 0 {
					l.remove(rng.IntN(len(l.jobs)))
				}
			default:
				l.push(&job{from: fromNumber(rng.IntN(6))})
			}
			jobs := map[netip.Prefix]int{}
			for i, j := range l.jobs {
				jobs[j.from]++
				if i > 0 && l.jobs[i-1].turn > j.turn || l.sources[j.from].last < j.turn {
					t.Fatalf("seed=%d: out of order at %d", seed, i)
				}
			}
			for from, n := range jobs {
				if l.sources[from].jobs != n {
					t.Fatalf("seed=%d: %d jobs are counted as %d", seed, n, l.sources[from].jobs)
				}
			}
			if len(l.jobs) > l.max || len(l.sources) != len(jobs) {
				t.Fatalf("seed=%d: %d jobs of %d addresses, %d of them counted", seed, len(l.jobs), len(jobs), len(l.sources))
			}
		}
	}
}
