package core

import (
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// echoLatency sends packages of 64 bytes at 60 Hz over 25 ms and 0 to 5 ms each way, which the
// other end sends back, and returns how long each took, sorted, and how many datagrams the
// network had to carry. Neither end may take the other for gone.
func echoLatency(t testing.TB, seed uint64, mode Mode, loss float64, span time.Duration) (took []time.Duration, datagrams uint64) {
	d := newDuo(t, seed, Rules{}, 0, simnet.Profile{Delay: 25 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: loss})
	var sent []time.Time
	back := 0
	for i := range d.hosts {
		d.hosts[i].AfterTurn(func(now time.Time) {
			d.drain(i, now)
			for _, p := range d.got[i] {
				if i == 1 {
					if err := d.ends[1].Send(now, mode, ToServer, p.Payload); err != nil {
						t.Fatalf("seed=%d, loss %.0f%%: %v", seed, loss*100, err)
					}
					continue
				}
				took = append(took, now.Sub(sent[numberOf(p.Payload)]))
				back++
			}
			d.got[i] = d.got[i][:0]
		})
	}
	for range int(span * 60 / time.Second) {
		b := make([]byte, 64)
		copy(b, number(len(sent)))
		sent = append(sent, d.hosts[0].Now())
		if err := d.send(0, mode, string(b)); err != nil {
			t.Fatalf("seed=%d, loss %.0f%%: %v", seed, loss*100, err)
		}
		d.run(time.Second / 60)
	}
	d.until("all came back", time.Minute, func() bool { return back == len(sent) })
	slices.Sort(took)
	for _, e := range d.ends {
		datagrams += e.Stats().Out
	}
	return took, datagrams
}

func quantile(took []time.Duration, q float64) time.Duration {
	return took[min(int(q*float64(len(took))), len(took)-1)]
}

// What is sent again ahead of loss spares most of what the path loses the 120 ms of a resend. A
// semi-ordered package that is lost with its copies still holds up those behind it for that long, so
// of these it is the p95 that stays.
func TestLatencyUnderLossStaysNearTheLosslessOne(t *testing.T) {
	const span = 60 * time.Second
	type flow struct {
		mode Mode
		seed uint64
	}
	type echoes struct {
		trips     []time.Duration
		datagrams uint64
	}
	without := map[flow]echoes{} // loss, which all rows of a mode are held against
	for _, tt := range []struct {
		mode                         Mode
		loss, at, latency, datagrams float64
	}{
		{Unordered, 0.02, .99, 1.15, 2},
		{Unordered, 0.05, .99, 1.2, 2},
		{Unordered, 0.10, .99, 1.4, 2.7},
		{SemiOrdered, 0.02, .95, 1.15, 2.1},
		{SemiOrdered, 0.05, .95, 1.2, 2.7},
	} {
		if kit.Race && tt.loss != .05 { // there is one goroutine
			continue
		}
		for seed := range uint64(kit.Tier(1, 10, 100)) {
			free, ok := without[flow{tt.mode, seed}]
			if !ok {
				free.trips, free.datagrams = echoLatency(t, seed, tt.mode, 0, span)
				without[flow{tt.mode, seed}] = free
			}
			clean, least := free.trips, free.datagrams
			lossy, more := echoLatency(t, seed, tt.mode, tt.loss, span)
			late := float64(quantile(lossy, tt.at)) / float64(quantile(clean, tt.at))
			times := float64(more) / float64(least)
			t.Logf("seed=%d %v, loss %.0f%%: p50 %v p95 %v p99 %v max %v (lossless p99 %v): p%.0f %.2fx, datagrams %.2fx",
				seed, tt.mode, tt.loss*100, quantile(lossy, .5), quantile(lossy, .95), quantile(lossy, .99), lossy[len(lossy)-1], quantile(clean, .99), tt.at*100, late, times)
			if late > tt.latency || times > tt.datagrams {
				t.Errorf("want at most %.2f and %.2f", tt.latency, tt.datagrams)
			}
		}
	}
}
