package main

import (
	"math"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"parley/world"
)

// What a player sees of a walker tells which one it is, and from which tick.
func TestAWalkerTellsItsTick(t *testing.T) {
	var clock tickClock
	sim, err := world.New(narrowGame(&clock), world.Config{TickRate: narrowRate})
	if err != nil {
		t.Fatal(err)
	}
	for range roundTicks + 10 {
		sim.Advance()
	}
	now := len(clock.all()) - 1
	if now != roundTicks+10 {
		t.Fatalf("%d ticks were noted, want %d", now, roundTicks+10)
	}
	i := 0
	for _, a := range world.All[Walker](sim.World()) {
		if got := walkerAt(a.X, a.Y); got != i {
			t.Errorf("walker %d at (%v, %v) is taken for walker %d", i, a.X, a.Y, got)
		}
		if !isOnRound(i, a.X, a.Y) {
			t.Errorf("walker %d at (%v, %v) has left its round", i, a.X, a.Y)
		}
		for name, got := range map[string]int{"place": phaseAt(i, a.X, a.Y), "angle": phaseTowards(a.Angle)} {
			if want := phaseOf(i, int64(now)); got != want {
				t.Errorf("walker %d: its %s is that of phase %d, want %d", i, name, got, want)
			}
		}
		i++
	}
	if i != narrowWalkers {
		t.Errorf("there are %d walkers", i)
	}
}

func TestHomesAreInSightAndApart(t *testing.T) {
	for i, a := range homes {
		if d := math.Hypot(a[0], a[1]); d+2*roundRadius > narrowSight || i > 0 && d < math.Hypot(homes[i-1][0], homes[i-1][1])-1e-9 {
			t.Errorf("home %d is %v cells away", i, d)
		}
		for k, b := range homes[:i] {
			if d := math.Hypot(a[0]-b[0], a[1]-b[1]); d < 2*roundRadius+2 {
				t.Errorf("homes %d and %d are %v apart", i, k, d)
			}
		}
	}
}

func TestAgesAreSinceTheTickThatWasSeen(t *testing.T) {
	began := time.Unix(1000, 0)
	var ticks []time.Time
	for i := range 2000 {
		ticks = append(ticks, began.Add(time.Duration(i)*50*time.Millisecond))
	}
	g := glance{At: began.Add(60*time.Second + 10*time.Millisecond), Phases: make([]int, narrowWalkers)}
	for i := range g.Phases {
		g.Phases[i] = phaseOf(i, 1200)
	}
	g.Phases[0] = phaseOf(0, 1100) // the nearest
	g.Phases[149] = phaseOf(149, 1190)
	g.Phases[148] = -1
	near, far := agesOf([]glance{g}, ticks)
	if len(near) != narrowNear || len(far) != narrowWalkers-narrowNear {
		t.Fatalf("%d are near and %d far", len(near), len(far))
	}
	ages := slices.Sorted(slices.Values(append(near, far...)))
	const ms = time.Millisecond
	if want := []time.Duration{510 * ms, 5010 * ms, 60010 * ms}; !slices.Equal(ages[147:], want) || ages[0] != 10*ms || ages[146] != 10*ms {
		t.Errorf("got %v, want %v and 10ms", ages[140:], want)
	}
	if !slices.Contains(near, 5010*ms) {
		t.Errorf("the nearest is not among %v", near)
	}
}

// packetPair is a device and its other end.
func packetPair(t *testing.T) (device *os.File, end net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	far := os.NewFile(uintptr(fds[1]), "end")
	defer far.Close()
	if end, err = net.FileConn(far); err != nil {
		t.Fatal(err)
	}
	device = os.NewFile(uintptr(fds[0]), "device")
	t.Cleanup(func() { end.Close(); device.Close() })
	return device, end
}

func TestTheNarrowLinkCountsWhatItDoes(t *testing.T) {
	w := newNarrowWay(1, 1)
	w.change(narrowSet{Rate: 1_000_000})
	const packets, bytes, ms = 60, 1250, time.Millisecond // 10 ms each
	// A queue of 200 ms has 20 of them, and one more is on its way.
	const passed = 21
	for i := range packets {
		at, ok := w.enter(5*ms, bytes)
		if want := 5*ms + time.Duration(i+1)*10*ms + narrowDelay; ok != (i < passed) || ok && at != want {
			t.Errorf("packet %d arrives %v at %v, want it at %v", i, ok, at, want)
		}
	}
	want := narrowCounts{Packets: packets, Bytes: packets * bytes, Dropped: packets - passed, Used: passed * bytes, Passed: passed, Waits: 2100 * ms}
	if w.counts != want {
		t.Errorf("got %+v, want %+v", w.counts, want)
	}
	w.change(narrowSet{Loss: 1})
	if _, ok := w.enter(5*time.Second, bytes); ok || w.counts.Dropped != want.Dropped || w.counts.Used != want.Used+bytes || w.counts.Passed != passed {
		t.Errorf("a packet that was lost was not dropped by the queue: %+v", w.counts)
	}
}

func TestPacketsArriveWhenTheyAreDue(t *testing.T) {
	w := newNarrowWay(1, 1)
	past := time.Now().Add(-time.Hour)
	for i, after := range []time.Duration{20, 10, 10, 0, 2 * 3600_000} {
		w.put(past.Add(after*time.Millisecond), []byte{byte(i)})
	}
	for _, want := range []byte{3, 1, 2, 0} {
		if p, wait, ok := w.next(); !ok || wait > 0 || p.bytes[0] != want {
			t.Errorf("got %v after %v, want %d", p.bytes, wait, want)
		}
	}
	if p, wait, ok := w.next(); !ok || wait < 59*time.Minute {
		t.Errorf("packet %v of an hour from now is due in %v", p.bytes, wait)
	}
	if _, late := w.count(); len(late) != 4 || late[0] < 59*time.Minute {
		t.Errorf("they were late by %v", late)
	}
	if w.end(); len(w.under) != 1 {
		t.Errorf("%d are under way", len(w.under))
	}
	if _, _, ok := w.next(); ok {
		t.Error("it goes on after its end")
	}
}

func TestTheNarrowLinkCarriesBothWays(t *testing.T) {
	server, atServer := packetPair(t)
	player, atPlayer := packetPair(t)
	newNarrowLink(server, player, 1, narrowSet{Rate: 1_000_000})
	buf := make([]byte, 2*narrowMTU)
	for _, way := range []struct {
		name     string
		from, to net.Conn
	}{{"down", atServer, atPlayer}, {"up", atPlayer, atServer}} {
		began := time.Now()
		if _, err := way.from.Write(make([]byte, 1250)); err != nil {
			t.Fatal(err)
		}
		n, err := way.to.Read(buf)
		if took := time.Since(began); err != nil || n != 1250 || took < narrowDelay {
			t.Errorf("%s: got %d bytes after %v, %v", way.name, n, took, err)
		}
	}
}

func TestWhatALinkCouldCarry(t *testing.T) {
	for _, tt := range []struct {
		kase  string
		toSay float64
		want  float64
		free  string
	}{
		{"100 kbit/s", 700_000, 100_000, "no limit"},
		{"2 Mbit/s, 2% lost", 700_000, 700_000, "no limit, 2% lost"},
		{"2 M, 200 k, 2 Mbit/s", 800_000, 600_000, "no limit"},
	} {
		c, ok := narrowCaseNamed(tt.kase)
		if got := c.could(tt.toSay); !ok || got != tt.want || c.free() != tt.free {
			t.Errorf("%s: got %v and %q, want %v and %q", tt.kase, got, c.free(), tt.want, tt.free)
		}
	}
}

func TestANarrowRowIsJudgedBesideTheOneWithoutALimit(t *testing.T) {
	free := map[string]float64{"steps": 100, "p99": 90, "lines": 100, "linep99": 90, "used": 600, "dropped": 0, "wait": 0, "near95": 70, "oldest": 120}
	good := map[string]float64{"steps": 100, "p99": 300, "lines": 100, "linep99": 400, "used": 85, "dropped": .5, "wait": 20, "near95": 250, "oldest": 2000}
	bad := map[string]float64{"steps": 99, "p99": 320, "lines": 90, "linep99": 600, "used": 75, "dropped": 2, "wait": 31, "near95": 500, "oldest": 4000}
	for name, tt := range map[string]struct {
		figures map[string]float64
		met     int
	}{"good": {good, 9}, "bad": {bad, 0}} {
		r := &Report{}
		r.add(Sample{Work: "W6", Case: "no limit", Peer: "replica player", Round: 1, Figures: free})
		r.add(Sample{Work: "W6", Case: "100 kbit/s", Peer: "replica player", Round: 1, Figures: tt.figures})
		r.settle()
		met := 0
		for _, b := range r.Bars {
			if b.Met {
				met++
			}
		}
		if len(r.Bars) != 9 || met != tt.met {
			t.Errorf("%s: %d of %d bars are met, want %d: %+v", name, met, len(r.Bars), tt.met, r.Bars)
		}
	}
	spectator := &Report{}
	spectator.add(Sample{Work: "W6", Case: "no limit", Peer: "stamp player", Round: 1, Figures: map[string]float64{"used": 600}})
	spectator.add(Sample{Work: "W6", Case: "2 Mbit/s", Peer: "stamp player", Round: 1, Figures: map[string]float64{"used": 600}})
	if spectator.settle(); len(spectator.Bars) != 5 {
		t.Errorf("a spectator has %d bars, want those of the link and of age: %+v", len(spectator.Bars), spectator.Bars)
	}
}
