package tcp

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/shell/shelltest"
	"parley/simnet"
)

func addr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 80)
}

const (
	delay  = 20 * time.Millisecond
	queue  = 200 * time.Millisecond
	twoMb  = 2_000_000
	settle = 10 * time.Second
)

// span is how long downloads are measured.
func span() time.Duration { return time.Duration(max(shelltest.Tier(100, 300, 300), 50)) * time.Second }

// share runs downloads over one link and returns what each had of it, with its headers, after they settled. They begin at
// random times, so that each seed is another run.
func share(t *testing.T, seed uint64, p simnet.Profile, controls ...Control) (shares []float64, flows []*Flow) {
	t.Helper()
	n := simnet.New(seed)
	n.SetLimits(simnet.Limits{Steps: 10_000_000})
	link, back := n.NewLink(p), n.NewLink(simnet.Profile{Delay: p.Delay})
	was := make([]int64, len(controls))
	for i, c := range controls {
		f := Join(n, c, addr(2*i+1), addr(2*i+2), link, back)
		flows = append(flows, f)
		n.After(time.Duration(n.Rand().Int64N(int64(settle/4))), "start", f.Start)
		n.After(settle, "settled", func() { was[i] = f.Received() })
	}
	if err := n.Run(settle + span()); err != nil {
		t.Fatalf("seed=%d: %v", seed, err)
	}
	for i, f := range flows {
		bytes := float64(f.Received()-was[i]) * (segmentBytes + 52) / segmentBytes
		shares = append(shares, bytes*8/span().Seconds()/float64(p.Rate))
	}
	return shares, flows
}

func TestADownloadAloneUsesTheLink(t *testing.T) {
	for _, c := range []Control{Reno, Cubic} {
		for _, loss := range []float64{0, 0.001} {
			for _, seed := range chance.Seeds(shelltest.Tier(1, 5, 5)) {
				got, flows := share(t, seed, simnet.Profile{Delay: delay, Rate: twoMb, Queue: queue, Loss: loss}, c)
				t.Logf("seed=%d: %v, loss %v: %.3f %+v", seed, c, loss, got[0], flows[0].Stats())
				if got[0] < 0.85 || got[0] > 1.01 { // what came before its turn counts when it has its turn
					t.Errorf("seed=%d: %v alone uses %.2f of the link", seed, c, got[0])
				}
				if s := flows[0].Stats(); s.Timeouts > 3 || s.Reductions == 0 {
					t.Errorf("seed=%d: %v: %+v", seed, c, s)
				}
			}
		}
	}
}

func TestDownloadsShareALink(t *testing.T) {
	for _, pair := range [][]Control{{Reno, Reno}, {Cubic, Reno}, {Reno, Cubic}, {Cubic, Cubic}} {
		t.Run(fmt.Sprint(pair), func(t *testing.T) {
			for _, seed := range chance.Seeds(shelltest.Tier(1, 5, 5)) {
				got, flows := share(t, seed, simnet.Profile{Delay: delay, Rate: twoMb, Queue: queue}, pair...)
				first := got[0] / (got[0] + got[1])
				t.Logf("seed=%d: %.3f %.3f: %.2f, %+v %+v", seed, got[0], got[1], first, flows[0].Stats(), flows[1].Stats())
				if first < 0.3 || first > 0.7 || got[0]+got[1] < 0.9 {
					t.Errorf("seed=%d: %.2f and %.2f of the link", seed, got[0], got[1])
				}
			}
		})
	}
}

// All arrives once and in order, whatever is lost, acknowledgements too.
func TestADownloadGoesOnOverABadLink(t *testing.T) {
	for _, words := range []string{"delay=20ms loss=20%", "bad", "4g", "delay=20ms jitter=50ms rate=400k", "delay=20ms rate=100k queue=0", "satellite"} {
		for _, c := range []Control{Reno, Cubic} {
			for _, seed := range chance.Seeds(shelltest.Tier(1, 5, 5)) {
				p, err := simnet.ParseProfile(words)
				if err != nil {
					t.Fatal(err)
				}
				p.MTU, p.Corrupt = 0, 0
				p.Burst = nil // it lasts for a number of datagrams: one that is sent again and again after ever longer waits is in it for minutes
				n := simnet.New(seed)
				f := Join(n, c, addr(1), addr(2), n.NewLink(p), n.NewLink(p))
				f.Start()
				before := int64(0)
				for i := range 6 {
					if err := n.Run(20 * time.Second); err != nil {
						t.Fatalf("seed=%d: %s: %v", seed, words, err)
					}
					if got := f.Received(); got <= before {
						t.Errorf("seed=%d: %s: after %d bytes nothing came in part %d: %+v", seed, words, got, i, f.Stats())
					}
					before = f.Received()
				}
				check(t, f)
			}
		}
	}
}

// check counts what is under way anew.
func check(t *testing.T, f *Flow) {
	t.Helper()
	flying, lost := 0, 0
	for _, g := range f.sender.sender.flight {
		switch {
		case g.lost:
			lost++
		case !g.acked:
			flying++
		}
	}
	if s := &f.sender.sender; flying != s.inFlight || lost != s.lost || len(s.flight) > mostWindow {
		t.Errorf("%d in flight and %d lost of %d, counted as %d and %d", flying, lost, len(s.flight), s.inFlight, s.lost)
	}
}

// A link that is gone for seconds is asked ever more seldom, and used again when it is back.
func TestADownloadOutlivesABlackout(t *testing.T) {
	n := simnet.New(1)
	p := simnet.Profile{Delay: delay, Rate: twoMb, Queue: queue}
	link := n.NewLink(p)
	f := Join(n, Cubic, addr(1), addr(2), link, n.NewLink(simnet.Profile{Delay: delay}))
	f.Start()
	run := func(d time.Duration) (int64, Stats) {
		bytes, stats := f.Received(), f.Stats()
		if err := n.Run(d); err != nil {
			t.Fatal(err)
		}
		now := f.Stats()
		return f.Received() - bytes, Stats{now.Sent - stats.Sent, now.Resent - stats.Resent, now.Reductions - stats.Reductions, now.Timeouts - stats.Timeouts}
	}
	run(20 * time.Second)
	link.SetProfile(simnet.Profile{Loss: 1})
	if bytes, s := run(10 * time.Second); bytes > 50_000 || s.Timeouts < 3 || s.Timeouts > 6 || s.Sent > 50 {
		t.Errorf("in a blackout: %d bytes, %+v", bytes, s)
	}
	link.SetProfile(p)
	run(20 * time.Second)
	if bytes, s := run(20 * time.Second); float64(bytes)*8/20 < 0.85*twoMb || s.Timeouts > 0 {
		t.Errorf("after it: %d bytes, %+v", bytes, s)
	}
}
