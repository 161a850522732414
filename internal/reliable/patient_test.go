package reliable

import (
	"testing"
	"time"
)

// A patient sender does not give up a packet that is always lost while others are acknowledged, and does when none is: because the peer
// is silent, or because the span is used up behind the one.
func TestAPatientSenderGivesUpTheSilent(t *testing.T) {
	for _, patient := range []bool{false, true} {
		s := newSolo(t, SendConfig{Span: 1024, Tries: 6, GiveUpAfter: 5 * time.Second, TimerOnly: true, Patient: patient})
		s.send(100) // is never acknowledged
		s.poll()
		for range 600 { // a minute
			s.send(100)
			for _, n := range s.poll() {
				if n > 0 {
					s.ack(n)
				}
			}
			for _, x := range s.wait(100 * time.Millisecond) {
				if x.number > 0 {
					s.ack(x.number)
				}
			}
			if s.Failed() != 0 {
				break
			}
		}
		if gaveUp := s.Failed() != 0; gaveUp == patient {
			t.Errorf("patient %t, gave up %t after %v", patient, gaveUp, s.now.Sub(start))
		}
		if !patient {
			continue
		}
		quiet := s.now
		for s.Failed() == 0 && s.now.Sub(quiet) < 30*time.Second {
			s.wait(10 * time.Millisecond)
		}
		if took := s.now.Sub(quiet); s.Failed() != ReasonUnacknowledged || took < 4*time.Second || took > 8*time.Second {
			t.Errorf("%v, %v after the last acknowledgement", s.Failed(), took)
		}
	}
}
