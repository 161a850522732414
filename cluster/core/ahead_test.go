package core

import (
	"slices"
	"testing"
	"time"
)

// TestARoomAloneAppendsOnceASecond: its ticks are run at once, and twenty are one message; when another node has a stage, each is one again.
func TestARoomAloneAppendsOnceASecond(t *testing.T) {
	for seed := range uint64(10) {
		s := newSim(seed, 1, time.Second)
		s.calm = true
		n := s.nodes[0]
		s.after(0, n.play)
		s.run(10 * time.Second)
		wantMessages := func(name string, least, most int) {
			t.Helper()
			ticks, count := n.world.Next(), s.store.count
			s.run(s.now + 20*time.Second)
			if ticks, count = n.world.Next()-ticks, s.store.count-count; ticks < 395 || ticks > 405 || count < least || count > most {
				t.Errorf("seed %d: %s: %d ticks in %d messages", seed, name, ticks, count)
			}
		}
		wantMessages("alone", 18, 21)
		other := s.add()
		s.run(s.now + 50*time.Millisecond)
		wantMessages("with another", 395, 405)
		other.kill()
		s.run(s.now + aloneAfter + time.Second)
		wantMessages("alone again", 18, 21)
		if s.err != nil || n.room.Stats().Undone != 0 || n.room.Stats().Loaded != 1 {
			t.Errorf("seed %d: %v, %+v", seed, s.err, n.room.Stats())
		}
	}
}

// TestWhatADeadNodeLoses: at most the second that was not appended, and the room goes on from there.
func TestWhatADeadNodeLoses(t *testing.T) {
	for seed := range uint64(10) {
		s := newSim(seed, 1, time.Second)
		s.calm = true
		n := s.nodes[0]
		s.after(0, n.play)
		s.run(10*time.Second + time.Duration(seed)*100*time.Millisecond)
		was := n.world.Next()
		n.kill()
		lost := int(was) - int(s.truth.Next())
		if lost < 0 || lost > 21 {
			t.Errorf("seed %d: %d ticks are lost", seed, lost)
		}
		other := s.add()
		s.run(s.now + 10*time.Second)
		if s.err != nil || !other.room.Sequences() || s.truth.Next() < was+50 || n.room.Stats().Ahead == 0 {
			t.Errorf("seed %d: %v, tick %d, was %d", seed, s.err, s.truth.Next(), was)
		}
	}
}

// TestOthersDoNotWaitForASecond: what a node asks for that the sequencer has not heard of is in the log a tick later, behind all that the
// sequencer was ahead.
func TestOthersDoNotWaitForASecond(t *testing.T) {
	s := newSim(5, 1, time.Second)
	s.calm = true
	s.after(0, s.nodes[0].play)
	s.run(10*time.Second + 300*time.Millisecond)
	other := s.add()
	at := s.now
	other.do(func() { other.room.Ask(other.clock(), []byte("here")) })
	for s.truth.Done(other.id) == 0 && s.now < at+time.Second {
		s.run(s.now + time.Millisecond)
	}
	if took := s.now - at; took > 130*time.Millisecond || s.err != nil {
		t.Errorf("it took %v, %v", took, s.err)
	}
}

func TestMessages(t *testing.T) {
	several := severalMark + "\x02ab\x01c\x00"
	for _, tt := range []struct {
		message string
		want    []string
		ok      bool
	}{
		{"an entry", []string{"an entry"}, true},
		{"", []string{""}, true},
		{several, []string{"ab", "c", ""}, true},
		{severalMark, nil, false},
		{several[:len(several)-2], []string{"ab"}, false},
		{severalMark + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", nil, false},
	} {
		parts, ok := split(nil, []byte(tt.message))
		var got []string
		for _, p := range parts {
			got = append(got, string(p))
		}
		if ok != tt.ok || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, %v", tt.message, got, ok)
		}
	}
}

// FuzzMessage: whatever a message is, its entries are parts of it.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(severalMark + "\x02ab\x01c\x00"))
	f.Add([]byte("an entry"))
	f.Fuzz(func(t *testing.T, message []byte) {
		parts, ok := split(nil, message)
		if !ok {
			return
		}
		n := 0
		for _, p := range parts {
			n += len(p)
		}
		if len(parts) == 0 || n > len(message) || len(parts) > 1 && n+len(parts)+len(severalMark) > len(message) {
			t.Errorf("%x: %d entries of %d bytes", message, len(parts), n)
		}
	})
}
