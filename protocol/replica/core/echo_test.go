package core

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// echoes is W1 in virtual time: ordered messages of 64 bytes at 60 Hz, echoed over 25 ms and 0 to 5 ms each way.
type echoes struct {
	took             []time.Duration
	datagrams, bytes float64 // both ways, without headers
}

// each returns how many datagrams and bytes there were for each message.
func (r *echoes) each() (datagrams, bytes float64) {
	n := float64(len(r.took))
	return r.datagrams / n, r.bytes / n
}

func (r *echoes) p99() time.Duration {
	slices.Sort(r.took)
	return r.took[len(r.took)*99/100]
}

// run adds a run to the others.
func (r *echoes) run(t testing.TB, seed uint64, c Config, loss float64, seconds int) {
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
	counts := false
	x.onEvent = func(now time.Time, ev Event) {
		if ev.Kind == EventMessage && counts {
			r.took = append(r.took, now.Sub(time.Unix(0, int64(binary.LittleEndian.Uint64(ev.Data)))))
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
}

// "Hiding loss costs bytes, and hardly any datagrams": copies ride along, and so do their acks. A copy that finds no company in time
// has a datagram of its own, so 99 of 100 echoes are nearly as fast as without loss.
func TestCopiesRideAlong(t *testing.T) {
	seeds := kit.Tier(8, 16, 16) // in one run of half a minute, 1% is 18 messages, or five losses
	runs := func(c Config, loss float64) (r echoes) {
		for seed := range uint64(seeds) {
			r.run(t, seed+1, c, loss, 30)
		}
		return r
	}
	if kit.Race { // there is one goroutine, and one run is too few to judge
		runs(Config{}, .05)
		return
	}
	none, alone := runs(Config{}, 0), runs(Config{NoBundles: true}, 0)
	usual := none.p99()
	datagrams, bytes := none.each()
	if d, b := alone.each(); datagrams > d*.77 || bytes+28*datagrams > b+28*d || bytes > 170 {
		t.Errorf("without loss: %.2f datagrams and %.1f bytes, without bundles %.2f and %.1f", datagrams, bytes, d, b)
	}
	for _, tt := range []struct{ loss, p99, datagrams, bytes float64 }{
		{.02, 1.10, 1.40, 2.1},
		{.05, 1.15, 1.42, 2.9},
		{.10, 1.25, 1.45, 3.6},
	} {
		got := runs(Config{}, tt.loss)
		d, b := got.each()
		late, more, larger := got.p99().Seconds()/usual.Seconds(), d/datagrams, b/bytes
		t.Logf("%.0f%%: p99 %v, %.2f datagrams and %.1f bytes: %.3f, %.2f and %.2f times as much as without loss", tt.loss*100, got.p99(), d, b, late, more, larger)
		if late > tt.p99 || more > tt.datagrams || larger > tt.bytes {
			t.Errorf("%.0f%%: p99 %.3f, datagrams %.2f and bytes %.2f times those without loss, want %v, %v and %v", tt.loss*100, late, more, larger, tt.p99, tt.datagrams, tt.bytes)
		}
	}
}

// runBulk has a client send ordered messages of a size over a link of 10 Mbit/s, as fast as they are taken, and returns the share of the link that the
// server's application gets, in percent, and how many datagrams went out for each kilobyte.
func runBulk(t testing.TB, seed uint64, c Config, loss float64, size, total int) (share, datagrams float64) {
	const rate = 10_000_000 / 8 // bytes a second
	w := newWorld(t, seed, c, simnet.Profile{Delay: 20 * time.Millisecond, Loss: loss, Rate: 8 * rate})
	got := 0
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) { got += len(ev.Data) }
	x := w.dial(0, c)
	w.Until("connected", 20*time.Second, func() bool { return x.State() == StateOpen && w.conn(x) != nil })
	w.Pass(time.Second)
	sent, n, data := 0, 0, make([]byte, size)
	w.Filter(func(p simnet.Packet) simnet.Verdict {
		if p.From == x.host {
			n++
		}
		return simnet.Verdict{}
	})
	begun := w.Now()
	for got < total {
		for sent < total && x.Send(x.host.Now(), Ordered, "", data) == nil {
			sent += size
		}
		x.host.Poke()
		w.Pass(time.Millisecond)
		if w.Now().Sub(begun) > time.Minute {
			t.Fatalf("seed=%d: %d of %d bytes after a minute", seed, got, total)
		}
	}
	return float64(total) / w.Now().Sub(begun).Seconds() / rate * 100, float64(n) * 1000 / float64(total)
}

// Bulk data takes as much of a link with bundles as without: parts of large messages fill their datagrams anyway. Small messages take more of it, as
// they share headers.
func TestBulkIsNoSlowerInBundles(t *testing.T) {
	if kit.Race { // there is one goroutine, and one run is too short to judge
		runBulk(t, 1, Config{}, .05, 64, 1<<16)
		return
	}
	seeds := kit.Tier(1, 4, 4)
	for _, tt := range []struct {
		size, total int
		least       float64 // of what it is without bundles
	}{
		{1 << 20, 10 << 20, .98}, // with 30 seeds at 5% they are equal: 84.7% and 85.0%
		{64, 1 << 20, 1.15},
	} {
		for _, loss := range []float64{0, .05} {
			var with, without, datagrams float64
			each := float64(seeds)
			for seed := range uint64(seeds) {
				a, n := runBulk(t, seed+1, Config{}, loss, tt.size, tt.total)
				b, _ := runBulk(t, seed+1, Config{NoBundles: true}, loss, tt.size, tt.total)
				with, without, datagrams = with+a/each, without+b/each, datagrams+n/each
			}
			t.Logf("messages of %d bytes, loss %.0f%%: %.1f%% of the link, %.1f%% without bundles, %.1f datagrams a kB", tt.size, loss*100, with, without, datagrams)
			// At 5% loss each way a tenth is sent twice, as a lost ack looks like a lost packet: 87% would be all.
			if with < tt.least*without || tt.size == 1<<20 && min(with, without) < 84 {
				t.Errorf("messages of %d bytes, loss %.0f%%: %.1f%% of the link, %.1f%% without bundles", tt.size, loss*100, with, without)
			}
		}
	}
}
