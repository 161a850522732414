package core

import (
	"slices"
	"testing"
	"time"

	"parley/simnet"
)

// joined returns a world with a client in the game, and its first sync done.
func joined(t testing.TB, seed uint64, c Config, path simnet.Profile) (*world, *client) {
	w := newWorld(t, seed, c, path)
	x := w.dial(0)
	w.runUntil("joining", func() bool { return x.synced > 0 && x.conn().e.joined }, 10*time.Second)
	return w, x
}

func TestAClientJoinsWithAFeed(t *testing.T) {
	w := newWorld(t, 1, Config{}, simnet.Profile{Delay: 20 * time.Millisecond})
	w.set(7, 70)
	w.set(-9, 90)
	w.flush(0)
	x := w.dial(0)
	w.run(time.Second)
	if want := []string{"joined true", "sync 7 010000000000000046", "sync -9 01000000000000005a", "synced"}; !slices.Equal(x.events, want) {
		t.Errorf("the client saw %q, want %q", x.events, want)
	}
	if want := []string{"joined true", "synced"}; !slices.Equal(w.log, want) {
		t.Errorf("the server saw %q, want %q", w.log, want)
	}
	if x.Player() != 1 || !x.FeedUp() || !x.agrees(w.truth()) || x.conn().e.FeedAddr() != x.host.Addr() {
		t.Errorf("player %d, feed %t, %v", x.Player(), x.FeedUp(), x.state)
	}
}

func TestUpdatesGoOverTheFeed(t *testing.T) {
	w, x := joined(t, 1, Config{Resync: -1}, simnet.Profile{Delay: 20 * time.Millisecond})
	for i := range uint64(10) {
		w.tell(7, i, 50*time.Millisecond)
	}
	// The first says that there is such an element, and must arrive.
	if got := x.events[2]; got != "sync 7 010000000000000000" {
		t.Errorf("the first word of an element is %q", got)
	}
	if s := x.conn().Stats(); s.Updates != 9 || !x.agrees(w.truth()) {
		t.Errorf("%d updates; the client knows %v", s.Updates, x.state)
	}
	w.mux.Remove(7)
	w.flush(time.Second)
	if !x.agrees(w.truth()) || x.events[len(x.events)-1] != "gone 7" {
		t.Errorf("the client saw %q", x.events)
	}
}

func TestAClientWithoutAFeedGoesOnWithMainAlone(t *testing.T) {
	w := newWorld(t, 1, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Loss: 1})
	x := w.dial(0)
	w.set(7, 1)
	w.flush(0)
	w.runUntil("joining", func() bool { return x.synced == 1 }, 6*time.Second)
	if x.FeedUp() || x.conn().FeedUp() {
		t.Error("there is a feed over a path that loses all")
	}
	for i := range uint64(5) {
		w.tell(7, 100+i, 30*time.Millisecond)
		if !x.agrees(w.truth()) {
			t.Fatalf("the client knows %v", x.state)
		}
	}
	if err := x.Update(x.host.Now(), x.Player(), valueOf(5)[1:]); err != nil {
		t.Fatal(err)
	}
	x.run(30 * time.Millisecond)
	if got := w.log[len(w.log)-1]; got != "sync 1 0000000000000005" {
		t.Errorf("the server saw %q", got)
	}
	// The path comes back, and so does the feed.
	w.net.Default(simnet.Profile{Delay: 20 * time.Millisecond})
	w.runUntil("the feed is back", func() bool { return x.FeedUp() && x.conn().FeedUp() }, 4*time.Second)
}

func TestAFeedThatFallsSilentIsReplacedByMain(t *testing.T) {
	w, x := joined(t, 3, Config{}, simnet.Profile{Delay: 5 * time.Millisecond})
	w.net.Default(simnet.Profile{Loss: 1})
	w.runUntil("both notice", func() bool { return !x.FeedUp() && !x.conn().FeedUp() }, 14*time.Second)
	w.tell(7, 1, 20*time.Millisecond)
	if !x.agrees(w.truth()) {
		t.Errorf("without a feed the client knows %v", x.state)
	}
	w.net.Default(simnet.Profile{Delay: 5 * time.Millisecond})
	w.runUntil("the feed is back", func() bool { return x.FeedUp() && x.conn().FeedUp() }, 4*time.Second)
	if got := slices.DeleteFunc(x.events, func(s string) bool { return s != "feed true" && s != "feed false" }); !slices.Equal(got, []string{"feed false", "feed true"}) {
		t.Errorf("the client saw %q", got)
	}
}

func TestANATThatForgetsMovesTheFeed(t *testing.T) {
	w, x := joined(t, 3, Config{}, simnet.Profile{Delay: 5 * time.Millisecond})
	old := x.host.Addr()
	x.host.Rebind(addrPort("10.0.0.2:6000"))
	w.runUntil("the feed moves", func() bool { return x.conn().e.FeedAddr() == x.host.Addr() }, 4*time.Second)
	w.tell(7, 1, 20*time.Millisecond)
	if !x.agrees(w.truth()) || w.mux.feeds[old] != nil || len(w.mux.feeds) != 1 {
		t.Errorf("the client knows %v, and feeds are %v", x.state, w.mux.feeds)
	}
}

// A path that works one way only: the client, who hears nothing, tells the server.
func TestAFeedThatIsLostOneWay(t *testing.T) {
	w, x := joined(t, 3, Config{Resync: -1}, simnet.Profile{Delay: 5 * time.Millisecond})
	w.net.LinkBetween(w.server, x.host).SetProfile(simnet.Profile{Loss: 1})
	w.runUntil("both notice", func() bool { return !x.FeedUp() && !x.conn().FeedUp() }, 14*time.Second)
	if w.net.Now().Sub(x.conn().e.feed.heard) > 4*time.Second {
		t.Error("the server hears nothing either: the test shows nothing")
	}
	w.tell(7, 1, 20*time.Millisecond)
	w.tell(7, 2, 20*time.Millisecond)
	if !x.agrees(w.truth()) {
		t.Errorf("the client knows %v", x.state)
	}
	w.net.LinkBetween(w.server, x.host).SetProfile(simnet.Profile{Delay: 5 * time.Millisecond})
	w.runUntil("the feed is back", func() bool { return x.FeedUp() && x.conn().FeedUp() }, 4*time.Second)
}

// A server's connections have no elements of their own: those are the Mux's.
func TestAServersConnectionKnowsNoElements(t *testing.T) {
	r := newRoom(t, Config{})
	g := r.join("10.0.0.2")
	r.put(5, valueOf(1))
	if data, ok := g.e.Element(5); ok {
		t.Errorf("it knows %x", data)
	}
	for sid := range g.e.Elements() {
		t.Errorf("it yields %d", sid)
	}
}
