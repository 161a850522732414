package kit

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/kit/tcp"
	"parley/simnet"
)

// slowShared is a way down that players share with each other, or with a download.
type slowShared struct {
	rate     int           // bits a second
	players  int           // the first is there at the beginning
	download tcp.Control   // or 0
	come     time.Duration // within it the others come, each at a random time
	from     time.Duration // when measuring begins
	measured time.Duration
}

// share is a run. It returns what the download got too, in bytes on the link.
func (d Slow) share(seed uint64, s slowShared) (got SlowCount, download int, err error) {
	path := SlowPath{Rate: s.rate, For: s.from + s.measured}
	r := d.newRun(seed, s.players, path)
	r.from = s.from
	r.join(d, seed)
	r.begin()
	for range s.players - 1 {
		r.net.After(r.upTo(s.come), "join", func() { r.join(d, seed) })
	}
	var flow *tcp.Flow
	if s.download != 0 {
		from, to := ServerAddr.Addr().Next(), ClientAddr.Addr().Next().Next()
		flow = tcp.Join(r.net, s.download, netip.AddrPortFrom(from, 80), netip.AddrPortFrom(to, 80), r.down, r.net.NewLink(simnet.Profile{Delay: slowDelay}))
		r.net.After(r.upTo(s.come), "download", flow.Start)
	}
	if err := r.net.Run(s.from); err != nil {
		return r.SlowCount, 0, err
	}
	if n := r.server.Entered(); n < s.players {
		return r.SlowCount, 0, fmt.Errorf("%d of %d players have entered after %v", n, s.players, s.from)
	}
	before := int64(0)
	if flow != nil {
		before = flow.Received()
	}
	for _, p := range r.players {
		if !d.Watch {
			p.play(0)
		}
	}
	if err := r.net.Run(s.measured); err != nil {
		return r.SlowCount, 0, err
	}
	r.sum()
	if flow != nil {
		const segment, packet = 1448, 1500
		download = int(flow.Received()-before) * packet / segment
	}
	return r.SlowCount, download, nil
}

// Shares is the law of a shared link: two players have about the same of it, a player and a download leave each other enough, and a
// hundred players can all play.
func (d Slow) Shares(t *testing.T) {
	if d.raced(t) {
		return
	}
	for _, rate := range []int{400_000, 800_000} {
		t.Run(fmt.Sprintf("two players, %d kbit/s", rate/1000), func(t *testing.T) { d.twoShare(t, rate) })
		for _, c := range []tcp.Control{tcp.Reno, tcp.Cubic} {
			t.Run(fmt.Sprintf("a player and %v, %d kbit/s", c, rate/1000), func(t *testing.T) { d.sharesWithTCP(t, rate, c) })
		}
	}
	t.Run("a hundred players, 10 Mbit/s, or fewer with as much each", d.hundredShare)
}

// "two players behind one link share it (35–65%)"
func (d Slow) twoShare(t *testing.T, rate int) {
	for _, seed := range chance.Seeds(Tier(1, 8, 200)) {
		got, _, err := d.share(seed, slowShared{rate: rate, players: 2, come: 10 * time.Second, from: 20 * time.Second, measured: 60 * time.Second})
		if err != nil {
			t.Fatalf("seed=%d: %v", seed, err)
		}
		first := float64(got.Players[0].Used) / float64(got.Used)
		t.Logf("seed=%d: %.2f, %v", seed, first, got)
		if first < .35 || first > .65 {
			t.Errorf("seed=%d: the first player has %.2f of what both get", seed, first)
		}
		if 100*got.Dropped > got.Sent {
			t.Errorf("seed=%d: %d of %d datagrams were dropped by the full queue, want 1%% at most", seed, got.Dropped, got.Sent)
		}
		allPlay(t, seed, got)
	}
}

// "beside a TCP download (a Reno and a CUBIC model in simnet) it takes 25–75%"
func (d Slow) sharesWithTCP(t *testing.T, rate int, c tcp.Control) {
	for _, seed := range chance.Seeds(Tier(1, 5, 200)) {
		got, download, err := d.share(seed, slowShared{rate: rate, players: 1, download: c, come: 10 * time.Second, from: 20 * time.Second, measured: 120 * time.Second})
		if err != nil {
			t.Fatalf("seed=%d: %v", seed, err)
		}
		share := float64(got.Used) / float64(got.Used+download)
		t.Logf("seed=%d: %.2f, %v", seed, share, got)
		if share < .25 || share > .75 {
			t.Errorf("seed=%d: the player has %.2f of what both get", seed, share)
		}
		// A tick's packets come at once to a queue that is nearly full, so many are dropped. But a player that does not see that sends ever more.
		if 10*got.Dropped > 4*got.Sent {
			t.Errorf("seed=%d: %d of %d datagrams were dropped by the full queue, want 40%% at most", seed, got.Dropped, got.Sent)
		}
		allPlay(t, seed, got)
	}
}

// crowd is how many players share a link of 100 kbit/s for each: a hundred in the gate.
func crowd() int { return max(Tier(30, 100, 100), 10) }

// "a hundred players behind one 10 Mbit/s link all play": all come before the first tick.
func (d Slow) hundredShare(t *testing.T) {
	for _, seed := range chance.Seeds(max(Tier(1, 3, 20), 1)) {
		n := crowd()
		got, err := d.Run(seed, n, SlowPath{Rate: n * 100_000, For: 20 * time.Second})
		if err != nil {
			t.Fatalf("seed=%d: %v", seed, err)
		}
		hundredPlay(t, seed, got)
	}
}

// Crowds is the law of a link to which a hundred players come one by one, while those before them are told about the world. The later find
// a full queue, and no path knows that it is theirs. They learn it when all pause: every three seconds where something is lost, every
// nine elsewhere. So 15 s after the last has come there was one of each, and time to share what that has shown.
func (d Slow) Crowds(t *testing.T) {
	if d.raced(t) {
		return
	}
	for _, seed := range chance.Seeds(max(Tier(1, 3, 20), 1)) {
		got, _, err := d.share(seed, slowShared{rate: crowd() * 100_000, players: crowd(), come: 5 * time.Second, from: 20 * time.Second, measured: 15 * time.Second})
		if err != nil {
			t.Fatalf("seed=%d: %v", seed, err)
		}
		hundredPlay(t, seed, got)
		if 100*got.Dropped > got.Sent {
			t.Errorf("seed=%d: %d of %d datagrams were dropped by the full queue, want 1%% at most", seed, got.Dropped, got.Sent)
		}
	}
}

func hundredPlay(t *testing.T, seed uint64, got SlowCount) {
	t.Helper()
	least, most := slices.MinFunc(got.Players, byUsed), slices.MaxFunc(got.Players, byUsed)
	even := got.Used / len(got.Players)
	t.Logf("seed=%d: %v, %.2f to %.2f of an even share", seed, got, float64(least.Used)/float64(even), float64(most.Used)/float64(even))
	if manyAbove(got.StepTimes, 500*time.Millisecond) || manyAbove(got.LineTimes, 500*time.Millisecond) {
		t.Errorf("seed=%d: not all can play: %v", seed, got)
	}
	if least.Used < even/4 {
		t.Errorf("seed=%d: a player gets %d bytes, an even share is %d", seed, least.Used, even)
	}
	allPlay(t, seed, got)
}

func byUsed(a, b SlowShare) int { return a.Used - b.Used }

// allPlay says which players have not seen all of their own steps.
func allPlay(t *testing.T, seed uint64, got SlowCount) {
	t.Helper()
	for i, p := range got.Players {
		if p.StepsSeen < p.Steps {
			t.Errorf("seed=%d: player %d sees %d of its %d steps", seed, i, p.StepsSeen, p.Steps)
		}
	}
	if got.LinesSeen < got.Lines {
		t.Errorf("seed=%d: %d of %d lines were seen", seed, got.LinesSeen, got.Lines)
	}
}
