package simnet

import (
	"fmt"
	"slices"
	"strings"
)

// Shrink looks for a smaller plan that still fails. It removes steps, many at a time and then one by one, and after
// that single faults of profiles. fails must build a new network, apply the plan that it is given and report whether
// the failure occurs. The plan that Shrink returns fails, but it is not always the smallest.
func (p Plan) Shrink(fails func(Plan) bool) Plan {
	s := shrinker{best: p, fails: fails, left: maxShrinkRuns}
	for size := len(p.Steps) / 2; size > 0; size /= 2 {
		for i := 0; i < len(s.best.Steps) && s.left > 0; {
			smaller := slices.Delete(slices.Clone(s.best.Steps), i, min(i+size, len(s.best.Steps)))
			if !s.try(smaller) {
				i += size
			}
		}
	}
	for i := range s.best.Steps {
		for _, clean := range cleaners {
			if s.left == 0 {
				return s.best
			}
			steps := slices.Clone(s.best.Steps)
			before := steps[i].Profile.String()
			clean(&steps[i].Profile)
			if steps[i].Profile.String() != before {
				s.try(steps)
			}
		}
	}
	return s.best
}

type shrinker struct {
	best  Plan
	fails func(Plan) bool
	left  int
}

// try keeps the steps if the plan fails with them.
func (s *shrinker) try(steps []Step) bool {
	s.left--
	next := s.best
	next.Steps = steps
	if !s.fails(next) {
		return false
	}
	s.best = next
	return true
}

// cleaners take one fault each from a profile.
var cleaners = []func(p *Profile){
	func(p *Profile) { *p = Profile{} },
	func(p *Profile) { p.Loss = 0 },
	func(p *Profile) { p.Burst = nil },
	func(p *Profile) { p.Duplicate = 0 },
	func(p *Profile) { p.Corrupt = 0 },
	func(p *Profile) { p.Reorder, p.ReorderBy = 0, 0 },
	func(p *Profile) { p.Jitter = 0 },
	func(p *Profile) { p.Delay = 0 },
	func(p *Profile) { p.Rate, p.Queue = 0, 0 },
	func(p *Profile) { p.MTU = 0 },
}

// Report returns the text that a test prints when a seed fails: how to run that seed again, and the plan as a
// script, which has the seed in it.
func Report(seed uint64, plan Plan) string {
	if plan.Seed == 0 {
		plan.Seed = seed
	}
	var b strings.Builder
	fmt.Fprintf(&b, "simnet: seed=%d fails. Run it again with: go test -run <this test> -seed %d\n", seed, seed)
	b.WriteString("or give this plan to simnet.ParsePlan, simnet.New its seed, and take lines away while it fails:\n\n")
	b.WriteString(plan.String())
	return b.String()
}
