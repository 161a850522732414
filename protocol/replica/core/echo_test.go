package core

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"parley/simnet"
)

// echoes is W1 in virtual time: ordered messages of 64 bytes at 60 Hz, echoed over 25 ms and 0 to 5 ms each way.
type echoes struct {
	p99              time.Duration
	datagrams, bytes float64 // for each message, both ways, without headers
}

func runEchoes(t testing.TB, seed uint64, c Config, loss float64, seconds int) (r echoes) {
	w := newWorld(t, seed, c, simnet.Profile{Delay: 25 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: loss})
	w.onEvent = func(_ time.Time, c *Conn, ev Event) {
		if ev.Kind == EventMessage {
			if err := c.Send(Ordered, "", ev.Data); err != nil {
				t.Fatal(err)
			}
			w.server.Poke()
		}
	}
	x := w.dial(0, c)
	w.Until("connected", 20*time.Second, func() bool { return x.State() == StateOpen && w.conn(x) != nil })
	var took []time.Duration
	counts := false
	x.onEvent = func(now time.Time, ev Event) {
		if ev.Kind == EventMessage && counts {
			took = append(took, now.Sub(time.Unix(0, int64(binary.LittleEndian.Uint64(ev.Data)))))
		}
	}
	w.Filter(func(p simnet.Packet) simnet.Verdict {
		if counts {
			r.datagrams++
			r.bytes += float64(len(p.Bytes))
		}
		return simnet.Verdict{}
	})
	say := func(n int) {
		data := make([]byte, 64)
		for range n {
			binary.LittleEndian.PutUint64(data, uint64(x.host.Now().UnixNano()))
			x.send(Ordered, "", string(data))
			w.Pass(time.Second / 60)
		}
	}
	say(10 * 60) // until the loss is known
	counts = true
	say(seconds * 60)
	slices.Sort(took)
	n := float64(len(took))
	return echoes{took[len(took)*99/100], r.datagrams / n, r.bytes / n}
}

// "Hiding loss costs bytes, and hardly any datagrams": copies ride along, and so do their acks. A copy that finds no company in time
// has a datagram of its own, so an echo is as fast as without bundles.
func TestCopiesRideAlong(t *testing.T) {
	const seeds = 3
	mean := func(c Config, loss float64) (m echoes) {
		for seed := range uint64(seeds) {
			r := runEchoes(t, seed+1, c, loss, 30)
			m.p99, m.datagrams, m.bytes = m.p99+r.p99/seeds, m.datagrams+r.datagrams/seeds, m.bytes+r.bytes/seeds
		}
		return m
	}
	none := mean(Config{}, 0)
	if alone := mean(Config{NoBundles: true}, 0); none.datagrams > alone.datagrams*.77 || none.bytes+28*none.datagrams > alone.bytes+28*alone.datagrams {
		t.Errorf("without loss: %+v, without bundles %+v", none, alone)
	}
	for _, tt := range []struct{ loss, p99, datagrams, bytes float64 }{
		{.02, 1.10, 1.55, 2.1},
		{.05, 1.15, 1.6, 3.1},
		{.10, 1.25, 1.6, 4.2},
	} {
		got, alone := mean(Config{}, tt.loss), mean(Config{NoBundles: true}, tt.loss)
		t.Logf("%.0f%%: %+v, without bundles %+v, without loss %+v", tt.loss*100, got, alone, none)
		if got.p99.Seconds() > tt.p99*none.p99.Seconds() || got.datagrams > tt.datagrams*none.datagrams || got.bytes > tt.bytes*none.bytes {
			t.Errorf("%.0f%%: %+v, without loss %+v", tt.loss*100, got, none)
		}
	}
}
