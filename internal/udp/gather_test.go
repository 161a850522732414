package udp

import (
	"testing"
	"time"
)

func TestAReaderThatIsWokenSeldomDoesNotWait(t *testing.T) {
	g := gatherer{span: defaultGather}
	now := time.Unix(0, 0)
	for range 100 {
		now = now.Add(gatherBelow)
		if g.due(now) {
			t.Fatal("it waits although nothing more is to come")
		}
	}
}

func TestAReaderThatIsWokenOftenWaitsAsLongAsItPays(t *testing.T) {
	g := gatherer{span: defaultGather}
	now := time.Unix(0, 0)
	g.due(now)
	for i := range 1000 {
		now = now.Add(gatherBelow / 4)
		if !g.due(now) {
			t.Fatalf("wake %d: it does not wait", i)
		}
		g.brought(gatherWorth, gatherWorth)
	}
}

// Someone who asks and waits for the answer is woken as often as a crowd would wake it.
func TestWaitsInVainBecomeRare(t *testing.T) {
	g := gatherer{span: defaultGather}
	now := time.Unix(0, 0)
	waits := 0
	for range 100 * maxGatherSkip {
		now = now.Add(gatherBelow / 4)
		if g.due(now) {
			waits++
			g.brought(gatherWorth-1, gatherWorth-1)
		}
	}
	if waits < 90 || waits > 110 {
		t.Errorf("%d waits in %d wakes", waits, 100*maxGatherSkip)
	}
	// And when it pays again, it is noticed.
	for i := 0; !g.due(now); i++ {
		if i > maxGatherSkip {
			t.Fatal("it never tries again")
		}
	}
	g.brought(gatherWorth, gatherWorth)
	if !g.due(now) {
		t.Error("it does not wait although it paid")
	}
}

func TestNoSpanIsNoWait(t *testing.T) {
	g := gatherer{}
	for range 10 {
		if g.due(time.Unix(0, 0)) {
			t.Fatal("it waits")
		}
	}
}

// While it pays the reader waits again without the poller, but not for ever: in a row of waits
// the scheduler does not have its processor.
func TestAWaitThatPaidIsRepeatedAFewTimes(t *testing.T) {
	g := gatherer{span: defaultGather}
	now := time.Unix(0, 0)
	g.due(now)
	for range 3 {
		now = now.Add(gatherBelow / 4)
		if !g.due(now) {
			t.Fatal("it does not wait although it paid")
		}
		waits := 1
		for ; g.brought(gatherWorth, gatherWorth); waits++ {
			if waits > maxGatherRow {
				t.Fatal("it never sleeps in the poller")
			}
		}
		if waits != maxGatherRow {
			t.Errorf("%d waits in a row, want %d", waits, maxGatherRow)
		}
	}
	g.due(now)
	if g.brought(gatherEnough, gatherEnough) || !g.due(now) {
		t.Error("it waits for what is there anyway, or is punished for it")
	}
	// A row that ends with a wait in vain has paid all the same.
	g.due(now)
	if !g.brought(gatherWorth, gatherWorth) || g.brought(0, 0) || !g.due(now) {
		t.Error("it is punished for the end of a row")
	}
}

// The sender of a long train waits for its acknowledgement: to wait for more of it is in vain.
func TestBulkIsNotWaitedFor(t *testing.T) {
	g := gatherer{span: defaultGather}
	now := time.Unix(0, 0)
	g.due(now)
	waits := 0
	for range 10 * maxGatherSkip {
		now = now.Add(gatherBelow / 4)
		if g.due(now) {
			waits++
			if g.brought(5*gatherTrain, 5) {
				t.Fatal("it waits again")
			}
		}
	}
	if waits > 20 {
		t.Errorf("%d waits in %d wakes", waits, 10*maxGatherSkip)
	}
}
