package clocksync

import (
	"encoding/binary"
	"testing"
	"time"
)

// FuzzOps reads its input as a script of samples and readings. Whatever they are, the
// readings go forward, at a speed within the slew limit, and nothing overflows.
func FuzzOps(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 10, 0, 0, 0, 20, 2, 0, 0, 0, 30, 0, 0, 0, 9, 3, 0, 0, 1, 0, 0, 0, 0, 0})
	f.Add([]byte("a1234567b1234567c1234567d1234567e1234567f1234567g1234567"))
	f.Fuzz(func(t *testing.T, script []byte) {
		var four FourTime
		var one OneWay
		checkFour, checkOne := stepCheck{t: t, c: &four}, stepCheck{t: t, c: &one}
		now := origin
		var adds, accepts, stamps uint64
		for len(script) >= 9 {
			op, a, b := script[0], binary.LittleEndian.Uint32(script[1:]), binary.LittleEndian.Uint32(script[5:])
			script = script[9:]
			now = now.Add(time.Duration(a))
			peer := uint64(now.Sub(origin).Microseconds()) + uint64(int64(int32(b)))<<(op>>3)
			sent := now.Add(-time.Duration(int32(b>>4)) << (op & 7))
			switch op % 5 {
			case 0:
				four.Add(Exchange{sent, peer, peer + uint64(a&0xffff), now})
				adds++
			case 1:
				one.Accept(sent, peer, now)
				accepts++
			case 2:
				one.Stamp(now, peer)
				stamps++
			case 3:
				four.Local(peer)
				one.Local(peer)
			}
			checkFour.step(now)
			checkOne.step(now)
		}
		if s := four.Stats(); s.Kept+s.Repeated+s.Backwards+s.TooLong+s.Far != adds {
			t.Errorf("%d exchanges counted as %+v", adds, s)
		}
		if s := one.Stats(); s.Kept+s.Unset+s.Backwards+s.TooLong+s.Far+s.Future+s.Late+s.Restarted != accepts+stamps {
			t.Errorf("%d stamps counted as %+v", accepts+stamps, s)
		}
	})
}

// stepCheck compares each reading with the last.
type stepCheck struct {
	t      *testing.T
	c      reader
	seen   bool
	at     time.Time
	remote uint64
}

func (s *stepCheck) step(now time.Time) {
	if !s.c.Synced() {
		return
	}
	if got := s.c.RTT(); got < 0 || got > 10*time.Second {
		s.t.Fatalf("round trip %v", got)
	}
	if got := s.c.ErrorBound(now); got < 0 {
		s.t.Fatalf("error bound %v", got)
	}
	got := s.c.Remote(now)
	if s.seen {
		passed := now.Sub(s.at).Nanoseconds()
		moved := int64(got-s.remote) * 1000
		if moved < 0 || moved < passed-passed/slewDivisor-2000 || moved > passed+passed/slewDivisor+2000 {
			s.t.Fatalf("moved by %d ns in %d ns", moved, passed)
		}
	}
	if back := s.c.Local(got); back.After(now) || now.Sub(back) > 1100*time.Nanosecond {
		s.t.Fatalf("Local(Remote(now)) is %v away from now", back.Sub(now))
	}
	s.seen, s.at, s.remote = true, now, got
}
