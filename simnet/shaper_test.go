package simnet

import (
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// A shaper does with datagrams what a link of a network does: the same draws, the same times.
func TestAShaperAgreesWithALink(t *testing.T) {
	profile := Profile{
		Delay: 25 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: .1, Duplicate: .1, Corrupt: .05,
		Reorder: .1, ReorderBy: 50 * time.Millisecond, Rate: 2_000_000, MTU: 1400,
	}
	s := NewShaper(1, 2, profile)
	var link Link
	initLink(&link, nil, 1, 2, profile)
	var arrivals []Arrival
	for i := range 20_000 {
		now, size := time.Duration(i)*time.Millisecond, 20+i%1500
		arrivals = s.Pass(now, size, arrivals[:0])
		sentAt, fate := link.enter(int64(now), header4Bytes+size)
		if (fate != 0) != (len(arrivals) == 0) {
			t.Fatalf("datagram %d: %d arrivals, but the link says %v", i, len(arrivals), fate)
		}
		if fate != 0 {
			continue
		}
		want := 1
		check := func(n int, isCopy bool) {
			at, _ := link.arrival(sentAt, isCopy)
			if corrupt := link.chance(link.corrupt); arrivals[n] != (Arrival{time.Duration(at), corrupt}) {
				t.Fatalf("datagram %d: %+v, want %v, %v", i, arrivals[n], time.Duration(at), corrupt)
			}
			s.Arrived(size)
		}
		check(0, false)
		if link.chance(link.duplicate) {
			want = 2
			check(1, true)
		}
		if len(arrivals) != want {
			t.Fatalf("datagram %d: %d arrivals, want %d", i, len(arrivals), want)
		}
	}
	stats := s.Stats()
	if err := stats.Balance(); err != nil {
		t.Error(err)
	}
	if stats.Lost == 0 || stats.Duplicated == 0 || stats.Corrupted == 0 || stats.Reordered == 0 || stats.TooBig == 0 {
		t.Errorf("not every fate was seen: %+v", stats)
	}
}

func TestAShaperTakesANewProfile(t *testing.T) {
	s := NewShaper(1, 1, Profile{})
	if got := s.Pass(0, 100, nil); len(got) != 1 || got[0].At != 0 {
		t.Fatalf("a perfect link gives %+v", got)
	}
	s.SetProfile(Profile{Loss: 1})
	if got := s.Pass(0, 100, nil); len(got) != 0 || s.Profile().Loss != 1 {
		t.Fatalf("a link that loses all gives %+v", got)
	}
}

// A burst is a count of datagrams, so whoever sends one again at once would meet the same burst over and over.
func TestABurstIsOverForADatagramThatIsSentAgain(t *testing.T) {
	s := NewShaper(1, 1, Profile{Burst: &Gilbert{GoodToBad: 1, BadToGood: 0, LossBad: 1}})
	if got := s.Pass(0, 100, nil); len(got) != 0 {
		t.Fatalf("a burst gives %+v", got)
	}
	s.SetProfile(Profile{Burst: &Gilbert{LossBad: 1}})
	if got := s.PassAgain(0, 100, nil); len(got) != 1 {
		t.Fatalf("sent again, it gives %+v", got)
	}
	if got := s.Pass(0, 100, nil); len(got) != 0 {
		t.Fatalf("the next in the burst gives %+v", got)
	}
	if st := s.Stats(); st.LostInBurst != 2 || st.Sent != 3 {
		t.Errorf("%+v", st)
	}
}

func TestABacklogIsWhatADatagramWouldWait(t *testing.T) {
	s := NewShaper(1, 1, Profile{Rate: 8_000_000})
	for range 3 {
		s.Pass(time.Second, 1000-header4Bytes, nil) // a millisecond each
	}
	for at, want := range map[time.Duration]time.Duration{0: 3 * time.Millisecond, time.Millisecond: 2 * time.Millisecond, time.Hour: 0} {
		if got := s.Backlog(time.Second + at); got != want {
			t.Errorf("after %v the backlog is %v, want %v", at, got, want)
		}
	}
}

func TestAShaperAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	s := NewShaper(1, 1, Bad())
	var room [2]Arrival
	now := time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += time.Millisecond
		s.Pass(now, 100, room[:0])
	}); n != 0 {
		t.Errorf("%v allocations a datagram", n)
	}
}
