package simnet

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// PlanLimits bounds what RandomPlan draws. In each field, zero means the default and negative means "never".
type PlanLimits struct {
	Until        time.Duration // all faults end here; default 40 s
	MaxLoss      float64       // default 0.5
	MaxDuplicate float64       // default 0.25
	MaxCorrupt   float64       // default 0.01
	MaxDelay     time.Duration // default 2 s
	MaxJitter    time.Duration // default 200 ms
	MaxReorderBy time.Duration // default 500 ms
	MinMTU       int           // MTUs are drawn from this to 1,500; default 576
	MaxPartition time.Duration // the longest time of one partition; default 30 s
	MaxSkewPPM   float64       // to either side; default 500
	MaxRebinds   int           // in the whole plan; default 3
	MaxCrashes   int           // in the whole plan, each with a restart up to 5 s later; default 2

	// Mesh draws faults between all hosts. Otherwise they are between the first host, which is taken for the server,
	// and each of the others.
	Mesh bool

	// Calm is the profile of all links after the faults. The default is a perfect link with 10 ms of delay.
	Calm Profile
}

const (
	planMaxMTU      = 1500
	planMaxDown     = 5 * time.Second
	planChangeOdds  = 2 // one link in this many changes its profile on the way
	planCalmDelay   = 10 * time.Millisecond
	planResolution  = time.Millisecond // times are drawn in these, so that a plan can be read
	planProbability = 10_000           // and probabilities in parts of this
)

func (l PlanLimits) withDefaults() PlanLimits {
	l.Until = otherwise(l.Until, 40*time.Second)
	l.MaxLoss = otherwise(l.MaxLoss, 0.5)
	l.MaxDuplicate = otherwise(l.MaxDuplicate, 0.25)
	l.MaxCorrupt = otherwise(l.MaxCorrupt, 0.01)
	l.MaxDelay = otherwise(l.MaxDelay, 2*time.Second)
	l.MaxJitter = otherwise(l.MaxJitter, 200*time.Millisecond)
	l.MaxReorderBy = otherwise(l.MaxReorderBy, 500*time.Millisecond)
	l.MinMTU = otherwise(l.MinMTU, 576)
	l.MaxPartition = otherwise(l.MaxPartition, 30*time.Second)
	l.MaxSkewPPM = otherwise(l.MaxSkewPPM, 500)
	l.MaxRebinds = otherwise(l.MaxRebinds, 3)
	l.MaxCrashes = otherwise(l.MaxCrashes, 2)
	if l.Calm == (Profile{}) {
		l.Calm.Delay = planCalmDelay
	}
	return l
}

// otherwise is value, or the default if that is zero, or zero if that is negative.
func otherwise[T cmp.Ordered](value, byDefault T) T {
	var zero T
	if value == zero {
		return byDefault
	}
	return max(value, zero)
}

// RandomPlan draws a plan of faults from a seed. Many seeds then give many kinds of bad networks. Each kind of
// fault is in about half of the plans, as a run with all of them at once hides failures that only show when one is
// missing. The first host is taken for the server: it may crash, but it keeps its address. At the end of the plan,
// all partitions are healed, all hosts are up and all links have the profile PlanLimits.Calm. Only a skewed clock
// stays skewed.
func RandomPlan(seed uint64, hosts []string, limits PlanLimits) Plan {
	d := drawer{
		rng:    rand.New(rand.NewPCG(mix(seed, 3), mix(3, seed))),
		limits: limits.withDefaults(),
		hosts:  hosts,
	}
	d.plan.Seed = seed
	d.plan.Calm = d.limits.Until
	d.disable()
	d.links()
	d.partitions()
	d.hostFaults()
	slices.SortStableFunc(d.plan.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	d.calm()
	return d.plan
}

// drawer is a plan in the making.
type drawer struct {
	rng    *rand.Rand
	limits PlanLimits
	hosts  []string
	plan   Plan
}

// disable takes away about half of the kinds of faults.
func (d *drawer) disable() {
	l := &d.limits
	for _, zero := range []func(){
		func() { l.MaxLoss = 0 }, func() { l.MaxDuplicate = 0 }, func() { l.MaxCorrupt = 0 },
		func() { l.MaxDelay = 0 }, func() { l.MaxJitter = 0 }, func() { l.MaxReorderBy = 0 },
		func() { l.MinMTU = 0 }, func() { l.MaxPartition = 0 }, func() { l.MaxSkewPPM = 0 },
		func() { l.MaxRebinds = 0 }, func() { l.MaxCrashes = 0 },
	} {
		if d.rng.IntN(2) == 0 {
			zero()
		}
	}
}

// eachPair calls f for the pairs that have traffic.
func (d *drawer) eachPair(f func(a, b string)) {
	for i, a := range d.hosts {
		if i > 0 && !d.limits.Mesh {
			return
		}
		for _, b := range d.hosts[i+1:] {
			f(a, b)
		}
	}
}

func (d *drawer) links() {
	link := func(a, b string) {
		d.add(Step{Verb: VerbLink, A: a, B: b, Profile: d.profile()})
		if d.rng.IntN(planChangeOdds) == 0 {
			d.add(Step{At: d.time(d.limits.Until), Verb: VerbLink, A: a, B: b, Profile: d.profile()})
		}
	}
	d.eachPair(func(a, b string) {
		link(a, b)
		link(b, a)
	})
}

func (d *drawer) profile() Profile {
	l := &d.limits
	p := Profile{
		Loss:      d.chance(l.MaxLoss),
		Duplicate: d.chance(l.MaxDuplicate),
		Corrupt:   d.chance(l.MaxCorrupt),
		Delay:     d.time(l.MaxDelay),
		Jitter:    d.time(l.MaxJitter),
	}
	if l.MaxReorderBy > 0 {
		p.Reorder, p.ReorderBy = d.chance(0.5), d.time(l.MaxReorderBy)
	}
	if l.MinMTU > 0 {
		p.MTU = l.MinMTU + d.rng.IntN(max(planMaxMTU-l.MinMTU, 0)+1)
	}
	return p
}

func (d *drawer) partitions() {
	if d.limits.MaxPartition <= 0 {
		return
	}
	d.eachPair(func(a, b string) {
		for range d.rng.IntN(3) {
			at := d.time(d.limits.Until)
			end := min(at+d.time(d.limits.MaxPartition), d.limits.Until)
			cut := Step{At: at, Verb: VerbPartition, A: a, B: b}
			switch d.rng.IntN(3) {
			case 0:
				cut.Verb = VerbCut
			case 1:
				cut.Verb, cut.A, cut.B = VerbCut, b, a
			}
			d.add(cut)
			d.add(Step{At: end, Verb: VerbHeal, A: a, B: b})
		}
	})
}

func (d *drawer) hostFaults() {
	if len(d.hosts) == 0 {
		return
	}
	l := &d.limits
	if tenths := int(l.MaxSkewPPM * 10); tenths > 0 {
		for _, name := range d.hosts {
			d.add(Step{Verb: VerbSkew, A: name, PPM: float64(d.rng.IntN(2*tenths+1)-tenths) / 10})
		}
	}
	if clients := d.hosts[1:]; len(clients) > 0 {
		for range d.rng.IntN(l.MaxRebinds + 1) {
			d.add(Step{At: d.time(l.Until), Verb: VerbRebind, A: clients[d.rng.IntN(len(clients))]})
		}
	}
	for range d.rng.IntN(l.MaxCrashes + 1) {
		name, at := d.hosts[d.rng.IntN(len(d.hosts))], d.time(l.Until)
		d.add(Step{At: at, Verb: VerbCrash, A: name})
		d.add(Step{At: min(at+d.time(planMaxDown), l.Until), Verb: VerbRestart, A: name})
	}
}

// calm ends what was begun.
func (d *drawer) calm() {
	until := d.limits.Until
	d.add(Step{At: until, Verb: VerbHeal, A: everyHost, B: everyHost})
	if d.limits.Mesh || len(d.hosts) == 0 {
		d.add(Step{At: until, Verb: VerbLink, A: everyHost, B: everyHost, Profile: d.limits.Calm})
		return
	}
	d.add(Step{At: until, Verb: VerbLink, A: d.hosts[0], B: everyHost, Profile: d.limits.Calm})
	d.add(Step{At: until, Verb: VerbLink, A: everyHost, B: d.hosts[0], Profile: d.limits.Calm})
}

func (d *drawer) add(s Step) { d.plan.Steps = append(d.plan.Steps, s) }

// time draws between 0 and upTo. Half of the draws are from the lowest tenth: a fault of 2 s is rare, and what
// is near to nothing has bugs of its own.
func (d *drawer) time(upTo time.Duration) time.Duration {
	if d.rng.IntN(2) == 0 {
		upTo /= 10
	}
	return time.Duration(d.rng.Int64N(int64(upTo/planResolution)+1)) * planResolution
}

func (d *drawer) chance(most float64) float64 {
	return float64(d.rng.IntN(int(most*planProbability)+1)) / planProbability
}
