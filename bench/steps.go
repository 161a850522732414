package main

import (
	"math"
	"time"
)

// stepLog is the steps of a player of W5 or W6: each is a direction that it asks for, and no two are alike.
type stepLog struct {
	first float64 // the direction before the first step
	steps []step
	seen  int             // of steps
	times []time.Duration // from asking to seeing
}

type step struct {
	angle float32
	at    time.Time
}

const stepTurn = .25 // radians

// ask returns the direction of the next step.
func (l *stepLog) ask(now time.Time) (angle float32) {
	angle = float32(math.Remainder(l.first+stepTurn*float64(len(l.steps)+1), 2*math.Pi))
	l.steps = append(l.steps, step{angle, now})
	return angle
}

// see finds the step of a direction in which the player goes. With it those before are seen.
func (l *stepLog) see(angle float32, now time.Time) {
	for k := len(l.steps) - 1; k >= l.seen; k-- {
		if l.steps[k].angle != angle {
			continue
		}
		for ; l.seen <= k; l.seen++ {
			l.times = append(l.times, now.Sub(l.steps[l.seen].at))
		}
		return
	}
}

// waits reports whether there are steps that were not seen.
func (l *stepLog) waits() bool { return l.seen < len(l.steps) }

// end returns the times of all steps. One that was not seen counts with the time that it was waited for.
func (l *stepLog) end(now time.Time) []time.Duration {
	for _, s := range l.steps[l.seen:] {
		l.times = append(l.times, now.Sub(s.at))
	}
	return l.times
}
