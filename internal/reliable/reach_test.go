package reliable

import (
	"testing"
	"time"

	"parley/internal/pace"
)

// track is a path in virtual time whose values are acknowledged: each has to wait for the ones before it, at a rate.
type track struct {
	*solo
	rtt     time.Duration
	rate    int // bytes a second; 0 is no limit
	lose    int // every so many is lost; 0 is none
	sent    int
	free    time.Time
	wire    []arrival
	budgets []int
}

type arrival struct {
	number uint64
	at     time.Time
}

const reachTick = 50 * time.Millisecond

func newTrack(t *testing.T, rtt time.Duration, rate int) *track {
	k := &track{solo: newSolo(t, SendConfig{}), rtt: rtt, rate: rate}
	k.Sample(rtt)
	return k
}

// tick sends as much of need as it may, in packets of a usual size, and lets a tick pass.
func (k *track) tick(need int) {
	budget := k.Budget(k.now)
	k.budgets = append(k.budgets, budget)
	for left := max(min(budget, need), 60); left > 0; left -= mss {
		k.value(min(left, mss))
	}
	for {
		x, ok := k.Poll(k.now)
		if !ok {
			break
		}
		if k.free.Before(k.now) {
			k.free = k.now
		}
		if k.rate > 0 {
			k.free = k.free.Add(time.Duration(len(x.Packet)+28) * time.Second / time.Duration(k.rate))
		}
		if k.sent++; k.lose == 0 || k.sent%k.lose != 0 {
			k.wire = append(k.wire, arrival{x.Number, k.free.Add(k.rtt)})
		}
	}
	end := k.now.Add(reachTick)
	for len(k.wire) > 0 && !k.wire[0].at.After(end) {
		k.now = k.wire[0].at
		k.HandleTimeout(k.now)
		k.ack(k.wire[0].number)
		k.wire = k.wire[1:]
	}
	k.now = end
	k.HandleTimeout(k.now)
	for _, ok := k.PollLost(); ok; _, ok = k.PollLost() {
	}
}

// queue returns how long the path has to send what it was given.
func (k *track) queue() time.Duration { return k.free.Sub(k.now) }

// A path without a limit is used in full soon, however long it is.
func TestALongPathIsFilledSoon(t *testing.T) {
	t.Run("the handshake has shown the round trip", func(t *testing.T) { fillsALongPath(t, true) })
	t.Run("it has not", func(t *testing.T) { fillsALongPath(t, false) })
}

func fillsALongPath(t *testing.T, known bool) {
	for _, rtt := range []time.Duration{5 * time.Millisecond, 40 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		k := newTrack(t, rtt, 0)
		if !known {
			k.solo = newSolo(t, SendConfig{})
		}
		for range 60 {
			k.tick(3000)
		}
		// It doubles with each round trip.
		soon := int(2*rtt/reachTick) + int(4*rtt/reachTick) + 4
		if !known { // the first is taken for lost before it can be acknowledged
			soon += int(rtt / reachTick)
		}
		for i, budget := range k.budgets[soon:] {
			if budget != pace.Unlimited {
				t.Errorf("%v: tick %d may send %d bytes", rtt, soon+i, budget)
				break
			}
		}
		if k.Narrow() {
			t.Errorf("%v: it is taken for narrow", rtt)
		}
	}
}

// untilNarrow ticks until the path is known as narrow, and fails if something waits for longer meanwhile.
func (k *track) untilNarrow(need int, most time.Duration) {
	k.t.Helper()
	longest := time.Duration(0)
	for i := 0; !k.Narrow() && i < 60; i++ {
		k.tick(need)
		longest = max(longest, k.queue())
	}
	if longest > most {
		k.t.Errorf("something waited for %v, want %v at most", longest, most)
	}
	if !k.Narrow() {
		k.t.Error("it is not known as narrow")
	}
}

// On a path that takes much less than there is to tell, no tick adds to a queue before it is known.
func TestTheFirstTicksMakeNoLongQueue(t *testing.T) {
	newTrack(t, 40*time.Millisecond, 12_500).untilNarrow(3000, 150*time.Millisecond)
}

// A path that takes less from one tick to the next gets one tick too much, and no second.
func TestAPathThatTakesLessGetsOneTickTooMuch(t *testing.T) {
	k := newTrack(t, 40*time.Millisecond, 0)
	for range 100 {
		k.tick(3000)
	}
	k.rate = 25_000
	// A tick takes 125 ms, of which 50 have passed, and half as much was allowed.
	k.untilNarrow(3000, 140*time.Millisecond)
}

// What is lost now and then does not bound the ticks for long.
func TestALossIsNotAQueue(t *testing.T) {
	k := newTrack(t, 40*time.Millisecond, 0)
	k.lose = 23
	for range 400 {
		k.tick(3000)
	}
	bounded := 0
	for _, budget := range k.budgets[20:] {
		if budget < 3000 {
			bounded++
		}
	}
	if bounded > 8 || k.Narrow() {
		t.Errorf("%d ticks were bounded; narrow: %v", bounded, k.Narrow())
	}
}

// Bulk data in flight is none of the values.
func TestBulkInFlightLeavesRoomForValues(t *testing.T) {
	k := newTrack(t, 40*time.Millisecond, 0)
	for range 40 {
		k.tick(3000)
	}
	for range 10 {
		k.send(mss)
	}
	k.poll()
	if got := k.Budget(k.now); got != pace.Unlimited {
		t.Errorf("a tick may send %d bytes", got)
	}
}
