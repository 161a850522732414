package simnet

import (
	"fmt"
	"time"
)

// LivelockError is returned when a run exceeds one of its Limits.
type LivelockError struct {
	Host  string        // the host that exceeded it; for Steps, the host that took the most
	What  string        // which limit: "steps at one instant", "steps in a run", "transmits in a turn", "datagrams in flight"
	Limit int           // its value
	At    time.Duration // virtual time since New
}

func (e *LivelockError) Error() string {
	return fmt.Sprintf("simnet: livelock at %v: host %s: more than %d %s", e.At, e.Host, e.Limit, e.What)
}

// TimeLimitError is returned when the time limit of RunUntil passes and the condition does not hold.
type TimeLimitError struct {
	Limit time.Duration // the limit given to RunUntil
	At    time.Duration // virtual time since New
}

func (e *TimeLimitError) Error() string {
	return fmt.Sprintf("simnet: the condition did not come true within %v (now at %v)", e.Limit, e.At)
}

// Run lets d of virtual time pass, up to and including its last instant. It returns early with a *LivelockError if a
// limit is exceeded, or with the error of the trace's writer. After such an error, each later Run returns it again.
func (n *Network) Run(d time.Duration) error {
	end := n.now + int64(d)
	n.beginRun()
	for n.err == nil && n.step(end) {
	}
	return n.endRun(end)
}

// RunUntil lets virtual time pass until cond holds. It checks cond at the start and after each step. It returns a
// *TimeLimitError if limit passes first, and other errors as Run does.
func (n *Network) RunUntil(cond func() bool, limit time.Duration) error {
	end := n.now + int64(limit)
	n.beginRun()
	for n.err == nil {
		if cond() {
			return n.endRun(n.now)
		}
		if !n.step(end) {
			break
		}
	}
	if err := n.endRun(end); err != nil {
		return err
	}
	if cond() {
		return nil
	}
	return &TimeLimitError{Limit: limit, At: n.Elapsed()}
}

func (n *Network) beginRun() {
	n.run++
	n.steps = 0
}

func (n *Network) endRun(end int64) error {
	if n.err == nil && n.trace.err != nil {
		n.err = fmt.Errorf("simnet: trace: %w", n.trace.err)
	}
	if n.err == nil {
		n.now = max(n.now, end)
	}
	return n.err
}

// step does the next thing that is due by end, and says whether there was one.
func (n *Network) step(end int64) bool {
	e, h := n.events.top(), n.timers.top()
	if h != nil && (e == nil || h.timerAt < e.at || h.timerAt == e.at && h.timerSeq < e.seq) {
		if h.timerAt > end {
			return false
		}
		n.now = max(n.now, h.timerAt)
		if n.count(&h.steps) {
			h.timeout()
		} else {
			n.failSteps(h.Name(), &h.steps)
		}
		return true
	}
	if e == nil || e.at > end {
		return false
	}
	due := n.events.pop()
	n.now = max(n.now, due.at)
	if due.kind == eventArrive {
		n.arrive(due.ref)
	} else {
		n.runScript(due.ref)
	}
	return true
}

func (n *Network) runScript(ref uint32) {
	s := n.scripts[ref]
	n.scripts[ref] = script{}
	n.freeScripts = append(n.freeScripts, ref)
	if !n.count(&n.scriptSteps) {
		n.failSteps("(script: "+s.what+")", &n.scriptSteps)
		return
	}
	n.trace.script(n.now, s.what)
	s.do()
}

// stepCount counts the steps of one host, or of the script.
type stepCount struct {
	instant   int64 // what atInstant is about
	atInstant int
	run       uint64 // what inRun is about
	inRun     int
}

// count counts a step, and is false when that is one too many.
func (n *Network) count(c *stepCount) bool {
	if c.instant != n.now {
		c.instant, c.atInstant = n.now, 0
	}
	if c.run != n.run {
		c.run, c.inRun = n.run, 0
	}
	c.atInstant++
	c.inRun++
	n.steps++
	return c.atInstant <= n.limits.StepsAtOnce && n.steps <= n.limits.Steps
}

// failSteps ends the run for steps of c that were too many.
func (n *Network) failSteps(name string, c *stepCount) {
	if c.atInstant > n.limits.StepsAtOnce {
		n.fail(name, "steps at one instant", n.limits.StepsAtOnce)
		return
	}
	most := c
	for _, h := range n.hosts {
		if h.steps.run == n.run && h.steps.inRun > most.inRun {
			name, most = h.Name(), &h.steps
		}
	}
	n.fail(name, "steps in a run", n.limits.Steps)
}

// fail ends the run, if nothing has ended it before.
func (n *Network) fail(host, what string, limit int) {
	if n.err == nil {
		n.err = &LivelockError{Host: host, What: what, Limit: limit, At: n.Elapsed()}
	}
}

// schedule puts an event at a time, or at now if that has passed.
func (n *Network) schedule(at int64, kind eventKind, ref uint32) {
	n.seq++
	n.events.push(event{at: max(at, n.now), seq: n.seq, ref: ref, kind: kind})
}
