package core

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"parley/internal/pace"
)

// told is an update that came, and when.
type told struct {
	sid   int16
	value string
	at    time.Duration
}

// watch has a client's updates noted.
func (s *chooser) watch() *[]told {
	var list []told
	s.x.onEvent = func(ev Event) {
		if ev.Kind == EventUpdate {
			list = append(list, told{ev.SID, string(ev.Data), s.net.Now().Sub(s.x.born)})
		}
	}
	return &list
}

// What answers a player is told once more after a few milliseconds, unless something newer is.
func TestAnAnswerIsToldTwice(t *testing.T) {
	s := newChooser(t, Config{Resync: -1}, 20)
	c, list := s.x.conn(), s.watch()
	of := func() (mine []told) {
		for _, x := range *list {
			if x.sid == c.Player() {
				mine = append(mine, x)
			}
		}
		*list = (*list)[:0]
		return mine
	}
	s.tick(nil)
	if mine := of(); len(mine) != 1 {
		t.Fatalf("without a question: %v", mine)
	}
	s.tick(c.Answer)
	if mine := of(); len(mine) != 2 || mine[1].at-mine[0].at != againAfter || mine[0].value != mine[1].value || mine[1].value != string(valueOf(s.value)) {
		t.Errorf("with one: %v", mine)
	}
	c.mux.hooks.Pace = func(time.Time, *Conn, int) (int, int, bool) { return pace.Unlimited, 0, false }
	for beside, want := range map[int32]int{answerBeside: 2, answerBeside + 1: 1} {
		s.tick(func() { c.e.feed.bytes = beside; c.Pace(); c.Answer() })
		if mine := of(); len(mine) != want {
			t.Errorf("behind a tick of %d bytes: %v", beside, mine)
		}
	}
	c.e.feed.bytes = 0
	c.Pace()
	for range 2 { // a tick of 5 ms
		s.value++
		s.set(c.Player(), s.value)
		c.Answer()
		s.flush(againAfter / 2)
	}
	s.run(time.Second)
	if mine := of(); len(mine) != 3 || mine[1].value != mine[2].value || mine[2].value != string(valueOf(s.value)) {
		t.Errorf("something old was told again: %v", mine)
	}
	if n := testing.AllocsPerRun(20, func() { c.e.feed.keep(c.e.now, 1, valueOf(1), 1) }); n > 1 { // that of valueOf
		t.Errorf("%v allocations", n)
	}
}

// A player who insists is heard three times, and of several values the last counts. Who goes on says each of them once.
func TestAPlayerInsists(t *testing.T) {
	s := newChooser(t, Config{Resync: -1}, 1)
	sid := s.x.Player()
	var heard []uint64
	var times []time.Duration
	s.onEvent = func(_ *Conn, ev Event) {
		if ev.Kind == EventUpdate {
			heard, times = append(heard, binary.BigEndian.Uint64(ev.Data)), append(times, s.net.Now().Sub(s.x.born))
		}
	}
	say := func(value uint64, pause time.Duration) {
		if err := s.x.Insist(s.x.host.Now(), sid, binary.BigEndian.AppendUint64(nil, value)); err != nil {
			t.Fatal(err)
		}
		s.x.host.Poke()
		s.run(pause)
	}
	say(1, time.Second)
	if !slices.Equal(heard, []uint64{1, 1, 1}) || times[1]-times[0] != againAfter || times[2]-times[1] != againGrows*againAfter {
		t.Errorf("it was heard as %v at %v", heard, times)
	}
	heard = nil
	for v := range uint64(10) {
		say(v, 20*time.Millisecond)
	}
	s.run(time.Second)
	if !slices.IsSorted(heard) || len(heard) != 10+1+2 { // the first once more, and the last twice
		t.Errorf("it was heard as %v", heard)
	}
}
