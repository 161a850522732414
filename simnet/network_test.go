package simnet

import (
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"
)

func TestADatagramArrivesAfterTheDelayToTheNanosecond(t *testing.T) {
	x := newPair(t, 1, Profile{Delay: 25 * time.Millisecond})
	x.sendAt(3*time.Second, "hello")
	x.run(4 * time.Second)
	want := []arrived{{epoch.Add(3025 * time.Millisecond), addr(1), "hello"}}
	if !slices.Equal(x.b.got, want) {
		t.Fatalf("got %v, want %v", x.b.got, want)
	}
}

func TestAnEchoOverAPerfectLinkTakesNoTime(t *testing.T) {
	x := newPair(t, 1, Profile{})
	x.b.onData = func(_ time.Time, from netip.AddrPort, b []byte) { x.b.send(from, string(b)) }
	x.a.send(addr(2), "before the run")
	if err := x.RunUntil(func() bool { return len(x.a.got) == 1 }, time.Second); err != nil {
		t.Fatal(err)
	}
	if x.Elapsed() != 0 || x.a.got[0].text != "before the run" {
		t.Fatalf("got %v at %v", x.a.got, x.Elapsed())
	}
}

func BenchmarkServerWith32Clients(b *testing.B) {
	b.ReportAllocs()
	n := New(1)
	n.SetLimits(Limits{Steps: math.MaxInt})
	n.Add(addr(1000), new(stream))
	for i := range 32 {
		n.Add(addr(1+i), &stream{to: addr(1000), size: 100, every: time.Millisecond, next: n.Now(), left: math.MaxInt})
	}
	n.Default(FourG())
	if err := n.Run(time.Second); err != nil {
		b.Fatal(err)
	}
	before := n.Stats().Sent
	for b.Loop() {
		if err := n.Run(time.Millisecond); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n.Stats().Sent-before)/b.Elapsed().Seconds(), "datagrams/s")
}

func BenchmarkDatagrams(b *testing.B) {
	for _, bench := range []struct {
		name string
		size int
		p    Profile
	}{
		{"perfect 64 bytes", 64, Profile{}},
		{"bad 64 bytes", 64, Bad()},
		{"bad 1200 bytes", 1200, Bad()},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			bench.p.Rate = 0
			n := New(1)
			n.SetLimits(Limits{Steps: math.MaxInt})
			s := &stream{to: addr(2), size: bench.size, every: time.Millisecond, next: n.Now(), left: math.MaxInt}
			n.Add(addr(1), s)
			n.Add(addr(2), new(stream))
			n.Default(bench.p)
			if err := n.Run(time.Second); err != nil {
				b.Fatal(err)
			}
			before := n.Stats().Sent
			for b.Loop() {
				if err := n.Run(time.Millisecond); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n.Stats().Sent-before)/b.Elapsed().Seconds(), "datagrams/s")
		})
	}
}
