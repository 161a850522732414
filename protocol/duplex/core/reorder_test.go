package core

import (
	"testing"
	"time"

	"parley/simnet"
)

// newReordered is a client with so many elements that all change in each tick, over a path.
func newReordered(t *testing.T, path simnet.Profile) *chooser {
	s := newChooser(t, Config{Resync: -1}, 12)
	for _, l := range []*simnet.Link{s.net.LinkBetween(s.server, s.x.host), s.net.LinkBetween(s.x.host, s.server)} {
		l.SetProfile(path)
	}
	return s
}

// Datagrams that overtake each other are put in order: none is dropped, and each value is the newest when the tick is over.
func TestDatagramsArePutInOrder(t *testing.T) {
	s := newReordered(t, simnet.Profile{Delay: 25 * time.Millisecond, Jitter: 5 * time.Millisecond})
	for range 40 { // until it is known how late they are
		s.tick(nil)
	}
	late, old := s.x.stats.Late, 0
	for range 200 {
		if s.tick(nil); s.newest() < int(s.count) {
			old++
		}
	}
	if n := s.x.stats.Late - late; n > 24 || old > 10 {
		t.Errorf("of 2,400 datagrams %d were late, and after %d of 200 ticks something was old", n, old)
	}
	if o := &s.x.feed.order; o.wait < 4*time.Millisecond || o.wait > 7*time.Millisecond {
		t.Errorf("a datagram waits up to %v", o.wait)
	}
}

// On a path that keeps the order, nothing waits for what is lost.
func TestNothingWaitsForWhatIsLost(t *testing.T) {
	s := newReordered(t, simnet.Profile{Delay: 25 * time.Millisecond, Loss: .1})
	list := s.watch()
	for range 200 {
		began := s.net.Now().Sub(s.x.born)
		s.tick(nil)
		for _, x := range *list {
			if x.at-began != 25*time.Millisecond {
				t.Fatalf("an update came after %v", x.at-began)
			}
		}
		*list = (*list)[:0]
	}
}

// What is later than maxReorder is not waited for, and no more than maxReordered wait.
func TestTheWaitForOthersIsBounded(t *testing.T) {
	s := newReordered(t, simnet.Profile{Delay: 5 * time.Millisecond, Jitter: 45 * time.Millisecond})
	list := s.watch()
	for range 100 {
		s.tick(nil)
		if o := &s.x.feed.order; o.wait > maxReorder || len(o.held) > maxReordered {
			t.Fatalf("%d datagrams wait up to %v", len(o.held), o.wait)
		}
	}
	if len(*list) < 300 {
		t.Errorf("%d updates in 100 ticks", len(*list))
	}
	last := make(map[int16]string)
	for _, x := range *list {
		if x.value < last[x.sid] {
			t.Fatal("an element went back")
		}
		last[x.sid] = x.value
	}
}
