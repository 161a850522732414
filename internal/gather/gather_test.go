package gather

import (
	"testing"
	"time"
)

func TestAReaderThatIsWokenSeldomDoesNotWait(t *testing.T) {
	g := Gatherer{Span: Default}
	now := time.Unix(0, 0)
	for range 100 {
		now = now.Add(below)
		if g.Due(now) {
			t.Fatal("it waits although nothing more is to come")
		}
	}
}

func TestAReaderThatIsWokenOftenWaitsAsLongAsItPays(t *testing.T) {
	g := Gatherer{Span: Default}
	now := time.Unix(0, 0)
	g.Due(now)
	for i := range 1000 {
		now = now.Add(below / 4)
		if !g.Due(now) {
			t.Fatalf("wake %d: it does not wait", i)
		}
		g.Brought(worth, worth)
	}
}

// Someone who asks and waits for the answer is woken as often as a crowd would wake it.
func TestWaitsInVainBecomeRare(t *testing.T) {
	g := Gatherer{Span: Default}
	now := time.Unix(0, 0)
	waits := 0
	for range 100 * MaxSkip {
		now = now.Add(below / 4)
		if g.Due(now) {
			waits++
			g.Brought(worth-1, worth-1)
		}
	}
	if waits < 90 || waits > 110 {
		t.Errorf("%d waits in %d wakes", waits, 100*MaxSkip)
	}
	// And when it pays again, it is noticed.
	for i := 0; !g.Due(now); i++ {
		if i > MaxSkip {
			t.Fatal("it never tries again")
		}
	}
	g.Brought(worth, worth)
	if !g.Due(now) {
		t.Error("it does not wait although it paid")
	}
}

func TestNoSpanIsNoWait(t *testing.T) {
	g := Gatherer{}
	for range 10 {
		if g.Due(time.Unix(0, 0)) {
			t.Fatal("it waits")
		}
	}
}

// While it pays the reader waits again without the poller, but not for ever: in a row of waits
// the scheduler does not have its processor.
func TestAWaitThatPaidIsRepeatedAFewTimes(t *testing.T) {
	g := Gatherer{Span: Default}
	now := time.Unix(0, 0)
	g.Due(now)
	for range 3 {
		now = now.Add(below / 4)
		if !g.Due(now) {
			t.Fatal("it does not wait although it paid")
		}
		waits := 1
		for ; g.Brought(worth, worth); waits++ {
			if waits > maxRow {
				t.Fatal("it never sleeps in the poller")
			}
		}
		if waits != maxRow {
			t.Errorf("%d waits in a row, want %d", waits, maxRow)
		}
	}
	g.Due(now)
	if g.Brought(enough, enough) || !g.Due(now) {
		t.Error("it waits for what is there anyway, or is punished for it")
	}
	// A row that ends with a wait in vain has paid all the same.
	g.Due(now)
	if !g.Brought(worth, worth) || g.Brought(0, 0) || !g.Due(now) {
		t.Error("it is punished for the end of a row")
	}
}

// The sender of a long train waits for its acknowledgement: to wait for more of it is in vain.
func TestBulkIsNotWaitedFor(t *testing.T) {
	g := Gatherer{Span: Default}
	now := time.Unix(0, 0)
	g.Due(now)
	waits := 0
	for range 10 * MaxSkip {
		now = now.Add(below / 4)
		if g.Due(now) {
			waits++
			if g.Brought(5*train, 5) {
				t.Fatal("it waits again")
			}
		}
	}
	if waits > 20 {
		t.Errorf("%d waits in %d wakes", waits, 10*MaxSkip)
	}
}
