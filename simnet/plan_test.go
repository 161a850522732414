package simnet

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// examplePlan has each verb and each word.
const examplePlan = `seed 42
link a>b delay=25ms jitter=5ms inorder loss=0.2 burst=0.01/0.3/0.001/0.9 dup=0.1 corrupt=0.01 reorder=0.1/500ms rate=10000000 queue=100ms mtu=1200
link *>* perfect
skew a -312.5
at 1.25s partition a b
at 1.5s cut b>a
at 3s heal a b
at 4s crash a
at 5s restart a
at 6s rebind b
at 7s rebind b 10.9.9.9:4000
at 8s shift a 1h0m0s
at 9s shift a -1h0m0s
at 40s heal * *
at 40s link a>* delay=10ms
calm 40s
`

func TestAPlanIsWrittenAsItWasRead(t *testing.T) {
	p, err := ParsePlan(examplePlan)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.String(); got != examplePlan {
		t.Fatalf("got\n%s\nwant\n%s", got, examplePlan)
	}
	if p.Seed != 42 || p.Calm != 40*time.Second || len(p.Steps) != 14 {
		t.Errorf("read as %+v", p)
	}
	if got, want := p.Steps[3], (Step{At: 1250 * time.Millisecond, Verb: VerbPartition, A: "a", B: "b"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if g := p.Steps[0].Profile.Burst; g == nil || *g != (Gilbert{0.01, 0.3, 0.001, 0.9}) {
		t.Errorf("burst %+v", g)
	}
}

func TestAPlanMayHaveCommentsNamedProfilesAndWordsInAnyOrder(t *testing.T) {
	p, err := ParsePlan("# what broke\n\n  link  a>b  loss=0.5 delay=1s # why\nat 1s link a>b 4g loss=0\n\nat 0s crash a\r\n")
	if err != nil {
		t.Fatal(err)
	}
	fourG := FourG()
	fourG.Loss = 0
	want := []Step{
		{Verb: VerbLink, A: "a", B: "b", Profile: Profile{Loss: 0.5, Delay: time.Second}},
		{At: time.Second, Verb: VerbLink, A: "a", B: "b", Profile: fourG},
		{Verb: VerbCrash, A: "a"},
	}
	if !reflect.DeepEqual(p.Steps, want) {
		t.Fatalf("got %+v, want %+v", p.Steps, want)
	}
}

func TestALineThatIsNoStepIsRefusedWithItsNumber(t *testing.T) {
	for _, line := range []string{
		"at", "at 1s", "at x crash a", "at -1s crash a", "at 1000h crash a", "seed", "seed -1", "seed 1 2", "calm", "calm x", "calm -1s",
		"nonsense a", "unset a", "crash", "crash a b", "crash *", "crash a>b", "crash a=b", "restart", "partition a", "partition a b c", "partition a *",
		"cut a b", "cut a>", "cut >b", "cut a>b>c", "heal a", "heal a b c", "link", "link a", "link a>b loss", "link a>b loss=2", "link a>b loss=NaN",
		"link a>b loss=x", "link a>b what=1", "link a>b delay=1", "link a>b delay=-1s", "link a>b burst=1", "link a>b burst=1/2/3/4", "link a>b burst=a/b/c/d",
		"link a>b reorder=0.1", "link a>b reorder=x/1s", "link a>b mtu=-1", "link a>b rate=1.5", "link a>b loss=0.1 4g", "skew a", "skew a x", "skew a 1e9", "skew a NaN",
		"shift a", "shift a 1", "shift a 100h", "rebind", "rebind a x", "rebind a 1.2.3.4:5 b",
	} {
		_, err := ParsePlan("crash ok\n" + line)
		if err == nil || !strings.HasPrefix(err.Error(), "simnet: plan: line 2: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// FuzzParsePlan: whatever is read is written in a way that reads the same.
func FuzzParsePlan(f *testing.F) {
	f.Add(examplePlan)
	f.Add("link a>b bad\nlink a>b satellite jitter=1ns queue=-1ns")
	f.Add("at 1h2m3.000000004s skew [::1]:80 -0")
	for seed := range uint64(5) {
		f.Add(RandomPlan(seed, []string{"s", "c"}, PlanLimits{}).String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePlan(text)
		if err != nil {
			return
		}
		written := p.String()
		again, err := ParsePlan(written)
		if err != nil {
			t.Fatalf("%q was read and written as %q, and then: %v", text, written, err)
		}
		if !reflect.DeepEqual(p, again) {
			t.Fatalf("%q: got %+v, want %+v", text, again, p)
		}
	})
}

func TestRandomPlansRoundTripAndKeepTheirLimits(t *testing.T) {
	hosts := []string{"server", "c1", "c2", "c3"}
	limits := PlanLimits{}.withDefaults()
	seen := map[Verb]int{}
	most := Profile{}
	seeds := 2000
	if chance.Race { // one goroutine
		seeds = 500
	}
	for _, seed := range chance.Seeds(seeds) {
		p := RandomPlan(seed, hosts, PlanLimits{Mesh: seed%2 == 0})
		again, err := ParsePlan(p.String())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("seed=%d: %v\n%v", seed, err, p)
		}
		for i, s := range p.Steps {
			seen[s.Verb]++
			if i > 0 && s.At < p.Steps[i-1].At || s.At > p.Calm {
				t.Fatalf("seed=%d: step %d is out of order or after the calm\n%v", seed, i, p)
			}
			if (s.Verb == VerbRebind || s.Verb == VerbLink && seed%2 == 1 && s.A != "server") && s.A == hosts[0] {
				t.Fatalf("seed=%d: %v", seed, s)
			}
			if s.PPM < -limits.MaxSkewPPM || s.PPM > limits.MaxSkewPPM {
				t.Fatalf("seed=%d: %v", seed, s)
			}
			q := s.Profile
			if q.MTU != 0 && (q.MTU < 576 || q.MTU > 1500) {
				t.Fatalf("seed=%d: %v", seed, s)
			}
			most.Loss, most.Duplicate, most.Corrupt = max(most.Loss, q.Loss), max(most.Duplicate, q.Duplicate), max(most.Corrupt, q.Corrupt)
			most.Delay, most.Jitter, most.ReorderBy = max(most.Delay, q.Delay), max(most.Jitter, q.Jitter), max(most.ReorderBy, q.ReorderBy)
		}
	}
	if chance.Flag() != 0 {
		return
	}
	for v := VerbLink; v < VerbShift; v++ {
		if seen[v] == 0 {
			t.Errorf("no plan has a %v", v)
		}
	}
	// The draws reach their limits, and never pass them.
	near := func(name string, got, limit float64) {
		if got > limit || got < 0.95*limit {
			t.Errorf("the most of %s is %v, the limit %v", name, got, limit)
		}
	}
	near("loss", most.Loss, limits.MaxLoss)
	near("dup", most.Duplicate, limits.MaxDuplicate)
	near("corrupt", most.Corrupt, limits.MaxCorrupt)
	near("delay", float64(most.Delay), float64(limits.MaxDelay))
	near("jitter", float64(most.Jitter), float64(limits.MaxJitter))
	near("reorder", float64(most.ReorderBy), float64(limits.MaxReorderBy))
}

func TestNegativeLimitsOfAPlanMeanNever(t *testing.T) {
	limits := PlanLimits{
		MaxLoss: -1, MaxDuplicate: -1, MaxCorrupt: -1, MaxDelay: -1, MaxJitter: -1, MaxReorderBy: -1, MinMTU: -1,
		MaxPartition: -1, MaxSkewPPM: -1, MaxRebinds: -1, MaxCrashes: -1,
	}
	for _, seed := range chance.Seeds(200) {
		for _, s := range RandomPlan(seed, []string{"s", "c"}, limits).Steps {
			isCalm := s.At == 40*time.Second
			if !isCalm && (s.Verb != VerbLink || s.Profile != Profile{}) {
				t.Fatalf("seed=%d: %v", seed, s)
			}
		}
	}
}

// When a plan is over, all hosts are up, all links are calm and nothing is cut.
func TestAfterItsCalmAPlanHasNoFaults(t *testing.T) {
	for _, seed := range chance.Seeds(300) {
		n := New(seed)
		names := []string{"s", "c1", "c2"}
		var hosts []*Host
		for i, name := range names {
			hosts = append(hosts, n.Add(addr(i+1), new(toy)).Named(name))
		}
		limits := PlanLimits{Mesh: seed%2 == 0}
		plan := RandomPlan(seed, names, limits)
		if err := plan.Apply(n, func(*Host) Node { return new(toy) }, hosts...); err != nil {
			t.Fatal(err)
		}
		if err := n.Run(plan.Calm); err != nil {
			t.Fatal(err)
		}
		for i, a := range hosts {
			if a.Node() == nil {
				t.Fatalf("%s is down\n%s", a.Name(), Report(seed, plan))
			}
			for j, b := range hosts {
				isTalk := limits.Mesh || i == 0 || j == 0
				if a != b && (a.isCut(b) || isTalk && n.LinkBetween(a, b).Profile() != Profile{Delay: 10 * time.Millisecond}) {
					t.Fatalf("%s>%s is not calm\n%s", a.Name(), b.Name(), Report(seed, plan))
				}
			}
		}
	}
}

func TestApplyDoesEachStepAtItsTime(t *testing.T) {
	plan, err := ParsePlan(`
		link a>b delay=10ms
		skew b 100
		at 1s cut a>b
		at 2s heal * *
		at 3s crash b
		at 4s restart b
		at 5s rebind b
		at 6s rebind a 10.0.0.1:2
		at 7s rebind a 10.0.0.1:77
		at 8s shift a 1h
		at 9s link *>a loss=1`)
	if err != nil {
		t.Fatal(err)
	}
	x := newPair(t, 1, Profile{})
	var log []string
	note := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	restart := func(h *Host) Node {
		note("restart %s at %v", h.Name(), x.Elapsed())
		return new(toy)
	}
	if err := plan.Apply(x.Network, restart, x.ha, x.hb); err != nil {
		t.Fatal(err)
	}
	state := func() {
		note("%v cut %v up %v at %v %v ahead %v loss %v", x.Elapsed(), x.ha.isCut(x.hb), x.hb.Node() != nil, x.ha.Addr(), x.hb.Addr(),
			x.ha.Now().Sub(x.Now()), x.ba.Profile().Loss)
	}
	if x.ab.Profile().Delay != 10*time.Millisecond || x.hb.clock.ppb != 100_000 {
		t.Error("steps at the start wait for the first run")
	}
	for i := range 9 {
		x.After(time.Duration(i+1)*time.Second+1, "look", state)
	}
	x.run(10 * time.Second)
	want := []string{
		"1.000000001s cut true up true at 10.0.0.1:1 10.0.0.1:2 ahead 0s loss 0",
		"2.000000001s cut false up true at 10.0.0.1:1 10.0.0.1:2 ahead 0s loss 0",
		"3.000000001s cut false up false at 10.0.0.1:1 10.0.0.1:2 ahead 0s loss 0",
		"restart b at 4s",
		"4.000000001s cut false up true at 10.0.0.1:1 10.0.0.1:2 ahead 0s loss 0",
		"5.000000001s cut false up true at 10.0.0.1:1 10.0.0.1:1024 ahead 0s loss 0",
		"6.000000001s cut false up true at 10.0.0.1:2 10.0.0.1:1024 ahead 0s loss 0",
		"7.000000001s cut false up true at 10.0.0.1:77 10.0.0.1:1024 ahead 0s loss 0",
		"8.000000001s cut false up true at 10.0.0.1:77 10.0.0.1:1024 ahead 1h0m0s loss 0",
		"9.000000001s cut false up true at 10.0.0.1:77 10.0.0.1:1024 ahead 1h0m0s loss 1",
	}
	if !slices.Equal(log, want) {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(log, "\n"), strings.Join(want, "\n"))
	}
}

func TestApplyRefusesAPlanThatDoesNotFit(t *testing.T) {
	for _, tt := range []struct {
		name string
		plan Plan
		want string
	}{
		{"a host that is not there", Plan{Steps: []Step{{Verb: VerbCrash, A: "x"}}}, `no host is named "x"`},
		{"another that is not there", Plan{Steps: []Step{{Verb: VerbCut, A: "a", B: "x"}}}, `no host is named "x"`},
		{"a restart without a way to make a node", Plan{Steps: []Step{{Verb: VerbRestart, A: "a"}}}, "no way to make a node"},
		{"no verb", Plan{Steps: []Step{{A: "a"}}}, "unset is no step"},
		{"a profile that is not valid", Plan{Steps: []Step{{Verb: VerbLink, A: "a", B: "b", Profile: Profile{Loss: 2}}}}, "loss 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newPair(t, 1, Profile{})
			tt.plan.Steps = append([]Step{{Verb: VerbCrash, A: "b"}}, tt.plan.Steps...)
			err := tt.plan.Apply(x.Network, nil, x.ha, x.hb)
			if err == nil || !strings.Contains(err.Error(), "step 2: ") || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v", err)
			}
			if x.hb.Node() == nil {
				t.Error("the first step was done all the same")
			}
		})
	}
}

func TestAReportReplaysTheRunThatFailed(t *testing.T) {
	for _, seed := range chance.Seeds(20) {
		run := func(plan Plan) uint64 {
			n := New(plan.Seed)
			a := n.Add(addr(1), &stream{to: addr(2), size: 100, every: 50 * time.Millisecond, next: n.Now(), left: 1000}).Named("server")
			b := n.Add(addr(2), new(stream)).Named("client")
			if err := plan.Apply(n, func(*Host) Node { return new(stream) }, a, b); err != nil {
				t.Fatal(err)
			}
			if err := n.Run(time.Minute); err != nil {
				t.Fatal(err)
			}
			return n.Hash()
		}
		plan := RandomPlan(seed, []string{"server", "client"}, PlanLimits{})
		text := Report(seed, plan)
		if !strings.Contains(text, fmt.Sprintf("-seed %d\n", seed)) {
			t.Errorf("seed=%d: %s", seed, text)
		}
		_, script, _ := strings.Cut(text, "\n\n")
		again, err := ParsePlan(script)
		if err != nil {
			t.Fatal(err)
		}
		if run(plan) != run(again) {
			t.Fatalf("seed=%d: the printed plan makes another run\n%s", seed, text)
		}
	}
}

func TestShrinkLeavesOnlyTheCause(t *testing.T) {
	for _, seed := range chance.Seeds(20) {
		plan := RandomPlan(seed, []string{"s", "c1", "c2", "c3"}, PlanLimits{Mesh: true})
		rng := rand.New(rand.NewPCG(seed, 9))
		cause := []Step{
			{At: time.Second, Verb: VerbShift, A: "c2", Shift: time.Minute},
			{At: 2 * time.Second, Verb: VerbLink, A: "s", B: "c3", Profile: Profile{Loss: 0.77, Delay: time.Second, MTU: 600}},
		}
		for _, s := range cause {
			plan.Steps = slices.Insert(plan.Steps, rng.IntN(len(plan.Steps)), s)
		}
		runs := 0
		got := plan.Shrink(func(p Plan) bool {
			runs++
			has := func(f func(Step) bool) bool { return slices.ContainsFunc(p.Steps, f) }
			return has(func(s Step) bool { return s.Verb == VerbShift }) && has(func(s Step) bool { return s.Profile.Loss == 0.77 })
		})
		if len(got.Steps) != 2 || got.Seed != plan.Seed {
			t.Fatalf("seed=%d: left\n%v", seed, got)
		}
		for _, s := range got.Steps {
			if want := (Profile{Loss: 0.77}); s.Verb == VerbLink && s.Profile != want {
				t.Errorf("seed=%d: left %v", seed, s)
			}
		}
		if runs > maxShrinkRuns {
			t.Errorf("seed=%d: %d runs", seed, runs)
		}
	}
}

func TestShrinkStopsAtItsBound(t *testing.T) {
	steps := slices.Repeat([]Step{{Verb: VerbCrash, A: "a"}}, maxShrinkRuns)
	runs := 0
	Plan{Steps: steps}.Shrink(func(Plan) bool { runs++; return false })
	if runs != maxShrinkRuns {
		t.Fatalf("%d runs", runs)
	}
}

func TestNamedProfilesAreValidAndRoundTrip(t *testing.T) {
	if got, want := strings.Join(Names(), " "), "perfect lan wifi 4g bad satellite"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range Names() {
		p, ok := ByName(name)
		if !ok || p.Validate() != nil {
			t.Errorf("%s: %v", name, p.Validate())
		}
		for _, text := range []string{name, p.String()} {
			if again, err := ParseProfile(text); err != nil || !reflect.DeepEqual(p, again) {
				t.Errorf("%s: %v, %v", text, again, err)
			}
		}
	}
	if _, ok := ByName("5g"); ok {
		t.Error("5g has a profile")
	}
	if p, ok := ByName("4g"); !ok || !reflect.DeepEqual(p, FourG()) {
		t.Errorf("4g is %v", p)
	}
}

// The figures in the comments of the named profiles are those that a long flow meets.
func TestNamedProfilesLoseWhatTheirCommentsSay(t *testing.T) {
	if chance.Race {
		t.Skip("one goroutine")
	}
	for _, tt := range []struct {
		name   string
		lost   float64 // alone and in bursts
		lo, hi time.Duration
	}{
		{"perfect", 0, 0, 0},
		{"lan", 0, 200 * time.Microsecond, 301 * time.Microsecond},
		{"wifi", 0.005, 10 * time.Millisecond, 19 * time.Millisecond},
		{"4g", 0.015, 30 * time.Millisecond, 71 * time.Millisecond},
		{"bad", 0.0975, 80 * time.Millisecond, 201 * time.Millisecond},
		{"satellite", 0.01, 280 * time.Millisecond, 311 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const count = 50_000
			p, _ := ByName(tt.name)
			x := newPair(t, 1, p)
			var lo, hi time.Duration = 1 << 62, 0
			x.b.onData = func(now time.Time, _ netip.AddrPort, b []byte) {
				number := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16
				if delay := now.Sub(epoch) - time.Duration(number-1)*10*time.Millisecond; delay > 0 || tt.hi == 0 {
					lo, hi = min(lo, delay), max(hi, delay)
				}
			}
			flood(x, count, 64, 10*time.Millisecond)
			x.run(count*10*time.Millisecond + time.Second)
			s := x.ab.Stats()
			lost := float64(s.Lost+s.LostInBurst) / count
			if lost < 0.75*tt.lost || lost > 1.25*tt.lost {
				t.Errorf("lost %.4f, want %.4f", lost, tt.lost)
			}
			if s.Corrupted == 0 && (lo < tt.lo || hi > tt.hi) {
				t.Errorf("took %v to %v, want %v to %v", lo, hi, tt.lo, tt.hi)
			}
		})
	}
}
