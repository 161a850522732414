package reliable

import (
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// Whatever is sent, lost, late, acknowledged twice or never, the counts of values are those of the packets that there are: if they were
// not, a tick would have too little for ever, or too much.
func TestTheCountsOfValuesAreTrue(t *testing.T) {
	for _, seed := range chance.Seeds(tier(8, 200, 200)) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newSolo(t, SendConfig{Span: 64, GiveUpAfter: time.Hour, NoCongestion: r.IntN(2) == 0})
		s.Budget(s.now)
		s.Sample(40 * time.Millisecond)
		var sent []uint64
		for range 2000 {
			switch n := r.IntN(16); n {
			case 0, 1:
				if got := s.Budget(s.now); got < 0 {
					t.Fatalf("seed=%d: a budget of %d", seed, got)
				}
			case 2, 3, 4, 5, 6:
				_ = s.Send(s.now, make([]byte, 1+r.IntN(mss)), Options{Report: n < 5, Lane: uint8(r.IntN(2))})
			case 7:
				s.Found(s.now, int64(r.IntN(100_000)), time.Duration(r.Int64N(int64(time.Second))))
			case 8:
				s.Beside(s.now, r.IntN(1000))
				s.BesideAcked(s.now, time.Duration(r.Int64N(int64(time.Second))), r.IntN(1000))
				s.BesideLost(s.now, r.IntN(1000))
			case 9, 10, 11:
				sent = append(sent, s.poll()...)
			default:
				if len(sent) > 0 {
					s.ack(sent[max(0, len(sent)-1-r.IntN(40))])
				}
				s.ack(s.Next() + uint64(r.IntN(3))) // a lie
			}
			s.now = s.now.Add(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
			s.HandleTimeout(s.now)
			for _, ok := s.PollLost(); ok && r.IntN(3) > 0; _, ok = s.PollLost() {
			}
			bytes, waiting := int32(0), uint32(0)
			for id := s.flights.head; id != s.flights.head+s.flights.count; id++ {
				if e := s.flights.at(id); e.report && e.state == flying {
					bytes += int32(len(e.data))
				} else if e.report && e.state == queued {
					waiting++
				}
			}
			if waiting != s.values || bytes != s.path.reach.flying {
				t.Fatalf("seed=%d: %d values wait and %d bytes fly, counted are %d and %d", seed, waiting, bytes, s.values, s.path.reach.flying)
			}
		}
	}
}
