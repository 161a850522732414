package reliable

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"parley/simnet"

	"parley/internal/kit"
	"parley/internal/kit/tcp"
)

// bulk sends ordered packets of 1,200 bytes as fast as it is let for the whole
// run and counts what the other side delivers.
type bulk struct {
	net      *simnet.Network
	src, dst *peer
	host     *simnet.Host
	goodput  int
	index    uint32
}

func addBulk(n *simnet.Network, seed uint64, from, to netip.AddrPort, data, back *simnet.Link) *bulk {
	recv := &ReceiveConfig{Rules: [lanes]Rule{Contiguous}}
	b := &bulk{net: n}
	b.src = newPeer(n.Now(), peerConfig{seed: seed, rule: Contiguous, recv: recv}, to)
	b.dst = newPeer(n.Now(), peerConfig{seed: seed + 1, rule: Contiguous, recv: recv}, from)
	b.host = n.Add(from, b.src)
	dst := n.Add(to, b.dst)
	n.Route(b.host, dst, data)
	n.Route(dst, b.host, back)
	b.dst.handle = func(_ time.Time, m message) { b.goodput += m.size }
	dst.AfterTurn(b.dst.drain)
	b.host.AfterTurn(b.fill)
	return b
}

func (b *bulk) fill(now time.Time) {
	for b.src.sender.Ready(1200) == nil {
		if b.src.send(now, 1200, true, true, b.index) != nil {
			return
		}
		b.index++
	}
}

// bytes returns what the other side has delivered.
func (b *bulk) bytes() int64 { return int64(b.goodput) }

// begin lets the flow start now.
func (b *bulk) begin() { b.fill(b.net.Now()); b.host.Poke() }

// measure runs the network for warm and then for span, and returns the share of
// rate that goes to each of the counted flows.
func measure(t *testing.T, n *simnet.Network, warm, span time.Duration, rate int, sizes ...func() int64) []float64 {
	t.Helper()
	if err := n.Run(warm); err != nil {
		t.Fatal(err)
	}
	was := make([]int64, len(sizes))
	for i, s := range sizes {
		was[i] = s()
	}
	if err := n.Run(span); err != nil {
		t.Fatal(err)
	}
	shares := make([]float64, len(sizes))
	for i, s := range sizes {
		shares[i] = float64(s()-was[i]) * 8 / span.Seconds() / float64(rate)
	}
	return shares
}

const tenMbit = 10_000_000

func bottleneck(n *simnet.Network, delay time.Duration, loss float64, queue time.Duration, rate int) (data, back *simnet.Link) {
	// A little jitter makes each seed another run.
	data = n.NewLink(simnet.Profile{Delay: delay, Jitter: time.Millisecond / 2, Rate: rate, Queue: queue, Loss: loss})
	back = n.NewLink(simnet.Profile{Delay: delay, Jitter: time.Millisecond / 2, Loss: loss})
	return data, back
}

func TestOneBulkFlowFillsTheLink(t *testing.T) {
	for _, tt := range []struct {
		delay, queue time.Duration
		loss         float64
		rate         int
		want         float64
		maxQueue     time.Duration // what it may add to the round trip of others
	}{
		{5 * time.Millisecond, 100 * time.Millisecond, 0, tenMbit, .85, 40 * time.Millisecond},
		{25 * time.Millisecond, 100 * time.Millisecond, 0, tenMbit, .85, 40 * time.Millisecond},
		{50 * time.Millisecond, 100 * time.Millisecond, 0, tenMbit, .85, 40 * time.Millisecond},
		{25 * time.Millisecond, 100 * time.Millisecond, .01, tenMbit, .85, 40 * time.Millisecond},
		{25 * time.Millisecond, 100 * time.Millisecond, .05, tenMbit, .70, 40 * time.Millisecond},
		{25 * time.Millisecond, 100 * time.Millisecond, .10, tenMbit, .60, 40 * time.Millisecond},
		{25 * time.Millisecond, 5 * time.Millisecond, 0, tenMbit, .70, 10 * time.Millisecond},
		{25 * time.Millisecond, 200 * time.Millisecond, 0, 512_000, .80, 150 * time.Millisecond},
		{25 * time.Millisecond, 300 * time.Millisecond, 0, 128_000, .80, 300 * time.Millisecond},
	} {
		name := fmt.Sprintf("%d kbit, %v each way, queue %v, loss %.0f%%", tt.rate/1000, tt.delay, tt.queue, tt.loss*100)
		if testing.Short() && tt.delay != 25*time.Millisecond || kit.Race && tt.rate == tenMbit && tt.loss != .05 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			kit.Seeds(t, tier(1, 3, 20), func(t *testing.T, seed uint64) {
				n := simnet.New(seed)
				n.SetLimits(simnet.Limits{Steps: 10_000_000})
				data, back := bottleneck(n, tt.delay, tt.loss, tt.queue, tt.rate)
				b := addBulk(n, seed, addrA, addrB, data, back)
				b.begin()
				var queueSum time.Duration
				samples := 0
				for i := range 600 {
					n.After(5*time.Second+time.Duration(i)*50*time.Millisecond, "look", func() { queueSum += data.Backlog(); samples++ })
				}
				share := measure(t, n, 5*time.Second, 30*time.Second, tt.rate, b.bytes)[0]
				queue := queueSum / time.Duration(samples)
				st := b.src.sender.Stats()
				t.Logf("seed=%d: %.1f%% of the link, mean queue %v, mode %d, window %d, rtt %v, %d sent, %d resent, %d fast", seed, share*100, queue,
					b.src.sender.cong.mode, b.src.sender.cong.window, b.src.sender.RTT(), st.Transmitted, st.Resent, st.FastResent)
				if share < tt.want {
					t.Errorf("reached %.1f%% of the link, want at least %.0f%%", share*100, tt.want*100)
				}
				if queue > tt.maxQueue {
					t.Errorf("the mean queue is %v, want at most %v", queue, tt.maxQueue)
				}
			})
		})
	}
}

// Under the race detector there is nothing to find here: it is one goroutine.
func TestABulkFlowSharesWithTCP(t *testing.T) {
	for _, delay := range []time.Duration{5 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond} {
		for _, late := range []time.Duration{0, 5 * time.Second, -5 * time.Second} {
			if !all() && delay != 25*time.Millisecond || testing.Short() && late != 0 || kit.Race {
				continue
			}
			name := fmt.Sprintf("%v each way, TCP starts %v after", delay, late)
			t.Run(name, func(t *testing.T) {
				kit.Seeds(t, tier(1, 3, 20), func(t *testing.T, seed uint64) {
					n := simnet.New(seed)
					n.SetLimits(simnet.Limits{Steps: 10_000_000})
					data, back := bottleneck(n, delay, 0, 100*time.Millisecond, tenMbit)
					b := addBulk(n, seed, addrA, addrB, data, back)
					download := tcp.Join(n, tcp.Reno, netip.MustParseAddrPort("10.0.0.3:3"), netip.MustParseAddrPort("10.0.0.4:4"), data, back)
					first, second := b.begin, download.Start
					if late < 0 {
						first, second = second, first
					}
					first()
					n.After(abs(late), "second flow", second)
					shares := measure(t, n, 15*time.Second, 60*time.Second, tenMbit, b.bytes, download.Received)
					ours := shares[0] / (shares[0] + shares[1])
					t.Logf("seed=%d: ours %.1f%% of the link, TCP %.1f%%: we take %.0f%%; mode %d", seed, shares[0]*100, shares[1]*100, ours*100, b.src.sender.cong.mode)
					if ours < .3 || ours > .7 {
						t.Errorf("we take %.0f%%, want 30%% to 70%%", ours*100)
					}
					if shares[0]+shares[1] < .85 {
						t.Errorf("together %.0f%% of the link, want at least 85%%", (shares[0]+shares[1])*100)
					}
				})
			})
		}
	}
}
