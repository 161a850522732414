package reliable

import (
	"testing"
	"time"
)

// A player who sends twice a second cannot wait until the loss is measured. So packets have copies until the path is known to lose nothing, but
// not once the meter has found that it took late packets for lost.
func TestTheFirstPacketsHaveCopies(t *testing.T) {
	s := newSolo(t, SendConfig{CopyFirst: true})
	s.Sample(50 * time.Millisecond)
	s.wait(time.Second) // so that there are bytes for copies
	// copies sends packets, has each transmission acknowledged, and returns how many copies there were.
	copies := func(packets int) int {
		was := s.Stats().Copies
		for range packets {
			n := s.send(40)
			sent := len(s.poll())
			sent += len(s.wait(50 * time.Millisecond))
			for range sent {
				s.ack(n)
			}
			s.wait(450 * time.Millisecond)
		}
		return int(s.Stats().Copies - was)
	}
	if got := copies(30); got != 30 {
		t.Errorf("the first 30 packets have %d copies", got)
	}
	copies(20)
	if got := copies(50); got != 0 {
		t.Errorf("after 50 packets that came, 50 have %d copies", got)
	}
	s.loss.forget()
	if got := copies(50); got != 0 {
		t.Errorf("after a mistake, 50 packets that came have %d copies", got)
	}
}
