package tcp

import (
	"math"
	"time"
)

// Control is a congestion control.
type Control uint8

const (
	Reno  Control = iota + 1 // RFC 5681: half the window at a loss, a segment more each round trip
	Cubic                    // RFC 9438: 0.7 of the window at a loss, then back along a cubic curve
)

// String returns the name.
func (c Control) String() string { return []string{"unset", "Reno", "CUBIC"}[c] }

const (
	firstWindow = 10 // segments: RFC 6928
	leastWindow = 2

	cubicC    = 0.4
	cubicBeta = 0.7
	// cubicAlpha is by how much a window that falls to cubicBeta has to grow each round trip to be as fast as Reno's.
	cubicAlpha = 3 * (1 - cubicBeta) / (1 + cubicBeta)
)

// window is the congestion window, in segments.
type window struct {
	control   Control
	size      float64
	threshold float64 // below it, slow start

	since  time.Time // when CUBIC's curve began, zero if it is to begin
	most   float64   // the height at which the curve is flat
	k      float64   // seconds until then
	prior  float64   // the window at the last loss
	asReno float64   // the window that Reno would have
}

func newWindow(c Control) window {
	return window{control: c, size: firstWindow, threshold: math.Inf(1)}
}

// grow says that so many segments arrived, none of them late.
func (w *window) grow(now time.Time, segments int, rtt time.Duration) {
	n := float64(segments)
	switch {
	case w.size < w.threshold:
		w.size += n
	case w.control == Reno:
		w.size += n / w.size
	default:
		w.size += n * w.cubic(now, n, rtt)
	}
	w.size = min(w.size, mostWindow)
}

// cubic returns by how much the window grows for each segment.
func (w *window) cubic(now time.Time, n float64, rtt time.Duration) float64 {
	if w.since.IsZero() {
		w.since, w.asReno = now, w.size
		w.most = max(w.most, w.size) // after slow start without a loss there is no curve to come back to
		w.k = math.Cbrt((w.most - w.size) / cubicC)
	}
	alpha := cubicAlpha
	if w.asReno >= w.prior {
		alpha = 1
	}
	w.asReno += alpha * n / w.size
	at := func(t float64) float64 { return cubicC*math.Pow(t-w.k, 3) + w.most }
	t := now.Sub(w.since).Seconds()
	if at(t) < w.asReno { // the region in which Reno would be faster
		return max(0, w.asReno-w.size) / n
	}
	target := min(max(at(t+rtt.Seconds()), w.size), 1.5*w.size)
	return (target - w.size) / w.size
}

// reduce answers a loss.
func (w *window) reduce() {
	beta := 0.5
	if w.control == Cubic {
		beta = cubicBeta
		before := w.most
		w.prior, w.most, w.since = w.size, w.size, time.Time{}
		if w.size < before { // others came since, and it makes room
			w.most = w.size * (1 + cubicBeta) / 2
		}
	}
	w.size = max(w.size*beta, leastWindow)
	w.threshold = w.size
}

// restart answers a timeout.
func (w *window) restart() {
	w.reduce()
	w.size = 1
}
