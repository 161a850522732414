package core

import (
	"bytes"
	"testing"

	"parley/internal/kit"
)

// A message of which some bytes are written is written to its end, whatever is thrown away
// behind it: or the peer would read the next one as its rest.
func TestClearKeepsWhatIsBegun(t *testing.T) {
	r := kit.Rand(t)
	for range kit.Rounds(20_000, 1_000_000) {
		s := &Shared{}
		var o outbox
		var all []byte
		var ends []int
		for range 1 + r.IntN(5) {
			m := randomMessage(r, KindChatSend)
			f := s.frame(testCodec, &m)
			o.put(f)
			all = append(all, f.b...)
			ends = append(ends, len(all))
			s.release(f)
		}
		buf := make([]byte, r.IntN(len(all)+1))
		n := o.moveTo(buf, s)
		if n != len(buf) || !bytes.Equal(buf, all[:n]) {
			t.Fatalf("%x came first, want %x", buf, all[:n])
		}
		o.clear(s)
		want := 0
		for i, end := range ends {
			start := 0
			if i > 0 {
				start = ends[i-1]
			}
			if start < n && n < end {
				want = end - n
			}
		}
		rest := make([]byte, 1000)
		if got := o.moveTo(rest, s); got != want || !bytes.Equal(rest[:got], all[n:n+got]) || o.held != 0 {
			t.Fatalf("%d bytes are left after %d of %v, want %d; %d held", got, n, ends, want, o.held)
		}
	}
}

// A broadcast's bytes are in all queues and nowhere twice, and are used again when the last has
// let go of them.
func TestFramesAreSharedAndUsedAgain(t *testing.T) {
	s := new(Shared)
	var queues [3]outbox
	f := s.frame(testCodec, &Message{Kind: KindChatSend, Text: []byte("hello")})
	for i := range queues {
		queues[i].put(f)
	}
	s.release(f)
	var buf [64]byte
	for i := range queues {
		if s.frames.Len() != 0 {
			t.Errorf("the frame is free while %d queues hold it", len(queues)-i)
		}
		if n := queues[i].moveTo(buf[:], s); string(buf[3:n]) != "hello" {
			t.Errorf("%q", buf[:n])
		}
	}
	if s.frames.Len() != 1 {
		t.Errorf("%d frames are free", s.frames.Len())
	}
	defer func() {
		if recover() == nil {
			t.Error("a frame was let go twice")
		}
	}()
	s.release(f)
}

// One that is dropped in the middle of a message still reads the exit: the message is ended
// first.
func TestAnExitComesBehindWhatIsBegun(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{MaxQueue: 2048})
	ann := w.join("ann")
	w.mux.Say(1, []byte("a line of chat that is written in part"))
	var got []byte
	if c, n, ok := w.mux.PollBytes(w.buf[:7]); !ok || n != 7 || c != ann.conn {
		t.Fatal(n, ok)
	}
	got = append(got, w.buf[:7]...)
	w.mux.Block(ann.conn)
	for ann.conn.endpoint.State() == StatePlaying {
		w.mux.Say(1, []byte("and one that nobody will read"))
	}
	w.mux.Unblock(w.now, ann.conn)
	for _, n, ok := w.mux.PollBytes(w.buf[:]); ok; _, n, ok = w.mux.PollBytes(w.buf[:]) {
		got = append(got, w.buf[:n]...)
	}
	said := decode(FromServer, MaxMessage, got)
	if len(said) != 3 || said[1] != "0202" || said[2] != "0 held" {
		t.Errorf("%q", said)
	}
}
