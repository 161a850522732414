package simnet

import (
	"math"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// flood has a send count datagrams of a size to b, one each interval.
func flood(x *pair, count, size int, every time.Duration) *stream {
	s := &stream{to: addr(2), size: size, every: every, next: x.Now(), left: count}
	x.ha.Restart(s)
	return s
}

// within fails unless a count of n draws with probability p is within 4.5 standard deviations: once in 150,000 fair
// seeds, and the seeds are fixed.
func within(t *testing.T, what string, got uint64, n int, p float64) {
	t.Helper()
	mean, sigma := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
	if math.Abs(float64(got)-mean) > 4.5*sigma {
		t.Errorf("%s: got %d of %d, want %.0f +- %.0f", what, got, n, mean, 4.5*sigma)
	}
}

func TestEachFaultComesAsOftenAsItsProbabilitySays(t *testing.T) {
	count := 20_000
	if chance.Race { // one goroutine
		count = 2000
	}
	for _, p := range []float64{0.001, 0.01, 0.1, 0.5, 0.9} {
		for _, tt := range []struct {
			name    string
			profile Profile
			read    func(Stats) uint64
		}{
			{"loss", Profile{Loss: p}, func(s Stats) uint64 { return s.Lost }},
			{"duplicate", Profile{Duplicate: p}, func(s Stats) uint64 { return s.Duplicated }},
			{"corrupt", Profile{Corrupt: p}, func(s Stats) uint64 { return s.Corrupted }},
			{"reorder", Profile{Reorder: p, ReorderBy: time.Second}, func(s Stats) uint64 { return s.Reordered }},
		} {
			for _, seed := range chance.Seeds(1) {
				x := newPair(t, seed, tt.profile)
				flood(x, count, 16, time.Millisecond)
				x.run(time.Minute)
				within(t, tt.name, tt.read(x.ab.Stats()), count, p)
			}
		}
	}
}

func TestProbabilitiesZeroAndOneAreNeverAndAlways(t *testing.T) {
	x := newPair(t, 1, Profile{Loss: 1})
	flood(x, 1000, 16, time.Millisecond)
	x.run(time.Minute)
	if s := x.ab.Stats(); s.Lost != 1000 {
		t.Errorf("loss 1: %+v", s)
	}
	x = newPair(t, 1, Profile{})
	flood(x, 1000, 16, time.Millisecond)
	x.run(time.Minute)
	if s := x.ab.Stats(); s.Delivered != 1000 || s.Dropped()+s.Duplicated+s.Corrupted+s.Reordered != 0 {
		t.Errorf("perfect: %+v", s)
	}
}

func TestLossesAreIndependentOfTheOneBefore(t *testing.T) {
	if chance.Race {
		t.Skip("one goroutine")
	}
	const count, p = 100_000, 0.2
	x := newPair(t, 1, Profile{Loss: p})
	var both, before int
	lost := lostNumbers(x, count)
	for i := 1; i < count; i++ {
		if lost[i-1] {
			before++
			if lost[i] {
				both++
			}
		}
	}
	within(t, "lost after a loss", uint64(both), before, p)
}

// lostNumbers says for each of count datagrams whether it was lost.
func lostNumbers(x *pair, count int) []bool {
	lost := slices.Repeat([]bool{true}, count)
	x.b.onData = func(now time.Time, _ netip.AddrPort, _ []byte) { lost[now.Sub(epoch)/time.Millisecond] = false }
	flood(x, count, 16, time.Millisecond)
	x.run(time.Duration(count) * time.Millisecond)
	return lost
}

func TestBurstsAreAsLongAndAsFrequentAsGilbertSays(t *testing.T) {
	if chance.Race {
		t.Skip("one goroutine")
	}
	const count = 200_000
	g := Gilbert{GoodToBad: 0.01, BadToGood: 0.25, LossBad: 1}
	x := newPair(t, 1, Profile{Burst: &g})
	lost := lostNumbers(x, count)
	bursts, inBursts := 0, 0
	for i := range lost {
		if lost[i] {
			inBursts++
			if i == 0 || !lost[i-1] {
				bursts++
			}
		}
	}
	if got := x.ab.Stats().LostInBurst; got != uint64(inBursts) {
		t.Errorf("counted %d, saw %d", got, inBursts)
	}
	length := float64(inBursts) / float64(bursts)
	if want := 1 / g.BadToGood; math.Abs(length-want) > 0.1*want {
		t.Errorf("bursts are %.2f long, want %.2f", length, want)
	}
	share := float64(inBursts) / count
	if want := g.GoodToBad / (g.GoodToBad + g.BadToGood); math.Abs(share-want) > 0.1*want {
		t.Errorf("%.4f is lost, want %.4f", share, want)
	}
}

func TestGilbertLosesInEachStateAsItSays(t *testing.T) {
	const count = 100_000
	x := newPair(t, 1, Profile{Burst: &Gilbert{GoodToBad: 0.5, BadToGood: 0.5, LossGood: 0.1, LossBad: 0.7}})
	flood(x, count, 16, time.Millisecond)
	x.run(time.Hour)
	within(t, "lost", x.ab.Stats().LostInBurst, count, 0.4)
}

func TestALinkStartsGoodAndKeepsItsStateWhenItsProfileChanges(t *testing.T) {
	x := newPair(t, 1, Profile{Burst: &Gilbert{LossBad: 1}})
	change := func(at time.Duration, g *Gilbert) {
		x.After(at, "change", func() { x.ab.SetProfile(Profile{Burst: g}) })
	}
	x.sendAt(1*time.Second, "good for ever")
	change(2*time.Second, &Gilbert{GoodToBad: 1, LossBad: 1})
	x.sendAt(3*time.Second, "turns bad")
	change(4*time.Second, &Gilbert{LossBad: 1})
	x.sendAt(5*time.Second, "still bad")
	change(6*time.Second, nil)
	x.sendAt(7*time.Second, "no bursts")
	x.run(8 * time.Second)
	if got := x.b.texts(); !slices.Equal(got, []string{"good for ever", "no bursts"}) {
		t.Fatalf("got %q", got)
	}
}

func TestARateIsExactToTheNanosecondOverALongQueue(t *testing.T) {
	// 72+28 bytes are 800 bits; at 3 Mbit/s that is 266,666.67 ns each. The third must end at exactly 800 us.
	x := newPair(t, 1, Profile{Rate: 3_000_000, Delay: time.Millisecond, Queue: time.Second})
	text := strings.Repeat("x", 72)
	for range 3000 {
		x.a.send(addr(2), text)
	}
	x.run(2 * time.Second)
	if len(x.b.got) != 3000 {
		t.Fatalf("%d arrived", len(x.b.got))
	}
	for i, a := range x.b.got {
		want := time.Millisecond + time.Duration(int64(i+1)*800*1000/3)
		if got := a.at.Sub(epoch); got != want {
			t.Fatalf("datagram %d arrived at %v, want %v", i, got, want)
		}
	}
}

func TestHeadersOfIPv6TakeMoreOfTheRate(t *testing.T) {
	n := New(1)
	six := netip.MustParseAddrPort("[2001:db8::2]:2")
	a, b := new(toy), new(toy)
	n.Add(netip.MustParseAddrPort("[2001:db8::1]:1"), a)
	n.Add(six, b)
	n.Default(Profile{Rate: 8_000_000})
	a.send(six, "12")
	if err := n.Run(time.Second); err != nil {
		t.Fatal(err)
	}
	if got, want := b.got[0].at.Sub(epoch), 50*time.Microsecond; got != want {
		t.Fatalf("2 bytes and headers took %v, want %v", got, want)
	}
}

func TestAFullQueueDropsTheNewest(t *testing.T) {
	// 1,000 bytes with headers are 1 ms at 8 Mbit/s. A wait of exactly 10 ms is let in, one of 11 ms is not.
	text := strings.Repeat("x", 1000-header4Bytes)
	for _, tt := range []struct {
		name  string
		queue time.Duration
		want  int
	}{
		{"of 10 ms: one is being sent and ten wait", 10 * time.Millisecond, 11},
		{"of the default 200 ms", 0, 201},
		{"of none", -1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newPair(t, 1, Profile{Rate: 8_000_000, Queue: tt.queue})
			const sent = 300
			for range sent {
				x.a.send(addr(2), text)
			}
			x.run(0)
			if got, want := x.ab.Backlog(), time.Duration(tt.want)*time.Millisecond; got != want {
				t.Errorf("backlog %v, want %v", got, want)
			}
			x.run(time.Second)
			if got := x.ab.Stats(); got.Delivered != uint64(tt.want) || got.QueueFull != uint64(sent-tt.want) {
				t.Errorf("want %d delivered: %+v", tt.want, got)
			}
			if last := x.b.got[len(x.b.got)-1].at.Sub(epoch); last != time.Duration(tt.want)*time.Millisecond {
				t.Errorf("the last came at %v", last)
			}
			x.sendAt(2*time.Second, text)
			x.run(2 * time.Second)
			if last := x.b.got[len(x.b.got)-1].at.Sub(epoch); last != 2001*time.Millisecond {
				t.Errorf("after the queue was empty, one came at %v", last)
			}
		})
	}
}

func TestRoutesThatShareALinkShareItsQueue(t *testing.T) {
	n := New(1)
	senders := []*stream{
		{to: addr(9), size: 972, every: time.Millisecond, next: n.Now(), left: 10_000},
		{to: addr(9), size: 972, every: time.Millisecond, next: n.Now(), left: 10_000},
	}
	sink := new(stream)
	server := n.Add(addr(9), sink)
	bottleneck := n.NewLink(Profile{Rate: 8_000_000, Queue: 5 * time.Millisecond}) // one datagram a millisecond
	for i, s := range senders {
		n.Route(n.Add(addr(1+i), s), server, bottleneck)
	}
	if err := n.Run(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	s := bottleneck.Stats()
	if s.Sent != 20_000 || s.Delivered != 10_000 || s.Balance() != nil {
		t.Fatalf("two senders of the full rate each: %+v", s)
	}
}

func TestTheMTUCountsTheHeaders(t *testing.T) {
	x := newPair(t, 1, Profile{MTU: 576})
	x.a.send(addr(2), strings.Repeat("x", 576-header4Bytes))
	x.a.send(addr(2), strings.Repeat("x", 576-header4Bytes+1))
	x.run(0)
	if s := x.Stats(); s.Delivered != 1 || s.TooBig != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestCorruptionFlipsOneToSevenBitsAndNeverNone(t *testing.T) {
	x := newPair(t, 1, Profile{Corrupt: 1})
	want := strings.Repeat("\x00", 4)
	seen := map[int]bool{}
	for i := range 2000 {
		x.sendAt(time.Duration(i)*time.Millisecond, want)
	}
	x.sendAt(3*time.Second, "")
	x.run(4 * time.Second)
	for _, a := range x.b.got[:2000] {
		flipped := 0
		for i := range len(a.text) {
			flipped += bits.OnesCount8(a.text[i])
		}
		if len(a.text) != len(want) || flipped < 1 || flipped > 7 {
			t.Fatalf("%x: %d bits flipped", a.text, flipped)
		}
		seen[flipped] = true
	}
	if !seen[1] || !seen[3] || !seen[5] {
		t.Errorf("flips seen: %v", seen)
	}
	if last := x.b.got[2000]; last.text != "" {
		t.Errorf("the empty datagram became %x", last.text)
	}
}

func TestADuplicateIsTheSameBytesWithAJitterOfItsOwn(t *testing.T) {
	x := newPair(t, 1, Profile{Duplicate: 1, Delay: 10 * time.Millisecond, Jitter: 10 * time.Millisecond})
	x.sendAt(0, "twice")
	x.run(time.Second)
	if got := x.b.texts(); !slices.Equal(got, []string{"twice", "twice"}) {
		t.Fatalf("got %q", got)
	}
	if x.b.got[0].at.Equal(x.b.got[1].at) {
		t.Errorf("both came at %v", x.b.got[0].at)
	}
}

func TestJitterIsUniformAndReordersUnlessKeepOrder(t *testing.T) {
	const count = 20_000
	for _, keep := range []bool{false, true} {
		x := newPair(t, 1, Profile{Delay: 25 * time.Millisecond, Jitter: 5 * time.Millisecond, KeepOrder: keep})
		for i := range count {
			x.sendAt(time.Duration(i)*time.Millisecond, string(rune(i+1)))
		}
		x.run(time.Minute)
		overtaken, low, late := 0, 0, time.Duration(0)
		lastSent := -1
		for _, a := range x.b.got {
			sent := int([]rune(a.text)[0]) - 1
			if sent < lastSent {
				overtaken++
			}
			lastSent = max(sent, lastSent)
			delay := a.at.Sub(epoch) - time.Duration(sent)*time.Millisecond
			if delay < 25*time.Millisecond || delay > 30*time.Millisecond {
				t.Fatalf("delay of %v", delay)
			}
			late = max(late, delay)
			if delay < 26*time.Millisecond {
				low++
			}
		}
		if keep {
			if overtaken > 0 {
				t.Errorf("%d overtaken in spite of KeepOrder", overtaken)
			}
			continue
		}
		within(t, "in the lowest fifth", uint64(low), count, 0.2)
		if overtaken < count/10 || late < 29*time.Millisecond {
			t.Errorf("%d overtaken, latest %v", overtaken, late)
		}
	}
}

func TestReorderHoldsBackUpToItsTimeEvenInOrderedLinks(t *testing.T) {
	x := newPair(t, 1, Profile{KeepOrder: true, Reorder: 0.1, ReorderBy: 50 * time.Millisecond})
	for i := range 5000 {
		x.sendAt(time.Duration(i)*10*time.Millisecond, string(rune(i+1)))
	}
	x.run(time.Minute)
	held, most := 0, time.Duration(0)
	for _, a := range x.b.got {
		delay := a.at.Sub(epoch) - time.Duration([]rune(a.text)[0]-1)*10*time.Millisecond
		if delay > 0 {
			held++
		}
		most = max(most, delay)
	}
	if held != int(x.ab.Stats().Reordered) || most > 50*time.Millisecond || most < 45*time.Millisecond {
		t.Errorf("%d held back, counted %d, at most %v", held, x.ab.Stats().Reordered, most)
	}
}

func TestAnotherLinkDoesNotChangeALinksDraws(t *testing.T) {
	run := func(others int) []arrived {
		x := newPair(t, 7, Profile{Loss: 0.3, Jitter: time.Millisecond})
		for i := range others {
			s := &stream{to: addr(2), size: 8, every: time.Millisecond, next: x.Now(), left: 100}
			h := x.Add(addr(100+i), s)
			x.Route(h, x.hb, x.NewLink(Profile{Loss: 0.5}))
		}
		for i := range 200 {
			x.sendAt(time.Duration(i)*time.Millisecond, "x")
		}
		x.run(time.Second)
		return slices.DeleteFunc(x.b.got, func(a arrived) bool { return a.from != addr(1) })
	}
	if !slices.Equal(run(0), run(3)) {
		t.Fatal("traffic on other links changed what this one lost")
	}
}

func TestDefaultGivesEachDirectionOfEachPairItsOwnLinkWhoeverSendsFirst(t *testing.T) {
	run := func(first, second int) [2]uint64 {
		n := New(3)
		nodes := map[int]*toy{1: new(toy), 2: new(toy)}
		n.Add(addr(1), nodes[1])
		n.Add(addr(2), nodes[2])
		n.Default(Profile{Loss: 0.5})
		for i := range 400 {
			from := first
			if i >= 200 {
				from = second
			}
			n.After(time.Duration(i)*time.Millisecond, "send", func() {
				nodes[from].send(addr(3-from), "x")
				n.Host(addr(from)).Poke()
			})
		}
		if err := n.Run(time.Second); err != nil {
			t.Fatal(err)
		}
		return [2]uint64{uint64(len(nodes[1].got)), uint64(len(nodes[2].got))}
	}
	a, b := run(1, 2), run(2, 1)
	if a != b {
		t.Fatalf("got %v and %v", a, b)
	}
	if a[0] == a[1] {
		t.Logf("both directions lost the same number, %v; they should not lose the same datagrams", a)
	}
}

func TestDefaultChangesLinksThatNobodySet(t *testing.T) {
	n := New(1)
	a, b := n.Add(addr(1), new(toy)), n.Add(addr(2), new(toy))
	set, unset := n.LinkBetween(a, b), n.LinkBetween(b, a)
	set.SetProfile(Profile{Loss: 0.25})
	n.Default(Profile{Loss: 0.75})
	if set.Profile().Loss != 0.25 || unset.Profile().Loss != 0.75 {
		t.Fatalf("got %v and %v", set.Profile(), unset.Profile())
	}
}

func TestAProfileThatIsNotValidPanics(t *testing.T) {
	for _, p := range []Profile{
		{Loss: -0.1}, {Loss: 1.1}, {Loss: math.NaN()}, {Duplicate: 2}, {Corrupt: -1}, {Reorder: 7},
		{Burst: &Gilbert{LossBad: 2}}, {Delay: -1}, {Jitter: -1}, {ReorderBy: -1}, {Delay: 48 * time.Hour}, {Rate: -1}, {MTU: -1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was taken", p)
				}
			}()
			New(1).NewLink(p)
		}()
	}
}
