package relay

import (
	"fmt"
	"slices"
	"testing"

	"parley/internal/shell/shelltest"
)

// BenchmarkRoomOf32 is the bar of the server: a room of 32, each of whom sends 30 packages of 100
// bytes a second to all others, 29,760 datagrams a second out. CPU time is that of the whole
// process, the collector's included, and is held against a process with a bare loop of recvmmsg
// and sendmmsg that gets and sends as many datagrams of the same sizes; latency is from one
// participant to the next. The two take turns of 100 ms. An iteration takes 20 s, ten for each;
// figures are medians of seconds.
func BenchmarkRoomOf32(b *testing.B) {
	for _, mode := range []Mode{Unreliable, Unordered, SemiOrdered} {
		b.Run(mode.String(), func(b *testing.B) { benchRoom(b, mode) })
	}
}

const (
	roomRounds = 10
	roomTurns  = 10 // of either, in a round
)

// roomBench is a server, a bare loop, and a crowd at each.
type roomBench struct {
	tb           testing.TB
	server       *Server
	bare, crowds *shelltest.Helper
	ours, floor  roomCost
}

// roomCost is what one of the two did: packages that came to it, and copies that arrived.
type roomCost struct {
	shelltest.Burden
	packages, got int64
	nsEach        []float64 // CPU time for a datagram, of each round
}

func newRoomBench(tb testing.TB, mode Mode) *roomBench {
	s, err := Listen("127.0.0.1:0", Config{}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	r := &roomBench{tb: tb, server: s}
	r.bare, r.crowds = shelltest.StartHelper(tb, loadVariable, fmt.Sprint("bare ", mode)), shelltest.StartHelper(tb, loadVariable, "crowd")
	var addr, done string
	r.bare.Ask(tb, "listen", &addr)
	r.crowds.Ask(tb, fmt.Sprint("join ", s.Addr(), " ", uint8(mode)), &done)
	r.crowds.Ask(tb, fmt.Sprint("bare ", addr, " ", uint8(mode)), &done)
	return r
}

// burdens returns what the server and the bare loop have cost so far.
func (r *roomBench) burdens() (x, bare shelltest.Burden) {
	r.bare.Ask(r.tb, "burden", &bare.CPU, &bare.Datagrams)
	return shelltest.BurdenOf(r.server.Stats().Socket), bare
}

// round has both crowds send, and adds what that cost.
func (r *roomBench) round() {
	before, bareBefore := r.burdens()
	var sent, got, bareSent, bareGot int64
	r.crowds.Ask(r.tb, fmt.Sprint("run ", roomTurns), &sent, &got, &bareSent, &bareGot)
	x, bare := r.burdens()
	r.ours.add(x, before, sent, got)
	r.floor.add(bare, bareBefore, bareSent, bareGot)
}

func (c *roomCost) add(now, then shelltest.Burden, packages, got int64) {
	c.CPU += now.CPU - then.CPU
	c.Datagrams += now.Datagrams - then.Datagrams
	c.packages += packages
	c.got += got
	c.nsEach = append(c.nsEach, now.Since(then))
}

// latencies returns the median and the 99th percentile in µs since it was last asked.
func (r *roomBench) latencies() (median, p99, bareMedian, bareP99 float64) {
	r.crowds.Ask(r.tb, "latency", &median, &p99, &bareMedian, &bareP99)
	return median / 1000, p99 / 1000, bareMedian / 1000, bareP99 / 1000
}

func benchRoom(b *testing.B, mode Mode) {
	r := newRoomBench(b, mode)
	r.round() // so that round trips are known and pools are filled
	r.ours, r.floor = roomCost{}, roomCost{}
	r.latencies()
	for b.Loop() {
		for range roomRounds {
			r.round()
		}
	}
	var ratios []float64
	for i, ns := range r.ours.nsEach {
		ratios = append(ratios, ns/r.floor.nsEach[i])
	}
	median, p99, bareMedian, bareP99 := r.latencies()
	datagrams, floorDatagrams := float64(r.ours.Datagrams)/float64(r.ours.packages), float64(r.floor.Datagrams)/float64(r.floor.packages)
	lost := r.ours.packages*(crowdSize-1) - r.ours.got
	for _, m := range []struct {
		value float64
		unit  string
	}{
		{shelltest.Median(r.ours.nsEach), "cpu-ns/datagram"}, {shelltest.Median(r.floor.nsEach), "floor-ns/datagram"},
		{shelltest.Median(ratios), "x-floor"}, {slices.Min(ratios), "x-floor-least"}, {slices.Max(ratios), "x-floor-most"},
		{median, "µs-median"}, {bareMedian, "µs-floor-median"}, {p99, "µs-p99"}, {bareP99, "µs-floor-p99"},
		{datagrams, "datagrams/package"}, {floorDatagrams, "floor-datagrams/package"},
		{float64(lost), "lost"}, {0, "ns/op"}, // of all together: means nothing
	} {
		b.ReportMetric(m.value, m.unit)
	}
	if st := r.server.Stats(); st.Conns != crowdSize || mode.Reliable() && lost != 0 || st.Socket.OutLost > 0 {
		b.Errorf("%d of %d packages are lost; the server counts %+v", lost, r.ours.packages, st)
	}
	if datagrams < floorDatagrams*0.98 || datagrams > floorDatagrams*1.02 {
		b.Errorf("%.2f datagrams a package, the bare loop has %.2f: that is no comparison", datagrams, floorDatagrams)
	}
}
