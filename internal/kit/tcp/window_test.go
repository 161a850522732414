package tcp

import (
	"math"
	"testing"
	"time"
)

// round grows a window as its acknowledgements do in the round trip that ends now.
func round(w *window, now time.Time, rtt time.Duration) {
	for n := int(w.size); n > 0; n-- {
		w.grow(now, 1, rtt)
	}
}

func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

func TestRenoHalvesAndAddsOneARoundTrip(t *testing.T) {
	w := newWindow(Reno)
	now := time.Unix(0, 0)
	for _, want := range []float64{20, 40, 80} { // slow start
		if round(&w, now, time.Second); w.size != want {
			t.Fatalf("the window is %v, want %v", w.size, want)
		}
	}
	w.reduce()
	if w.size != 40 {
		t.Errorf("after a loss at 80 the window is %v", w.size)
	}
	for range 10 {
		round(&w, now, time.Second)
	}
	if !near(w.size, 50, 0.5) {
		t.Errorf("ten round trips after that it is %v", w.size)
	}
	w.restart()
	if w.size != 1 || !near(w.threshold, 25, 0.5) {
		t.Errorf("after a timeout it is %v, and slow start ends at %v", w.size, w.threshold)
	}
}

// With a long round trip CUBIC follows its curve: it is flat at the window of the loss after K seconds, and steeper beyond.
func TestCubicFollowsItsCurve(t *testing.T) {
	const rtt = 100 * time.Millisecond
	w := newWindow(Cubic)
	w.size, w.threshold = 1000, 1
	w.reduce()
	if w.size != 700 {
		t.Fatalf("after a loss at 1000 the window is %v", w.size)
	}
	k := math.Cbrt(300 / 0.4) // 9.1 s
	start := time.Unix(0, 0)
	for i := range 181 {
		at := float64(i) * rtt.Seconds()
		round(&w, start.Add(time.Duration(i)*rtt), rtt)
		if want := 0.4*math.Pow(at+rtt.Seconds()-k, 3) + 1000; i > 0 && !near(w.size, want, 8) {
			t.Fatalf("%.1f s after the loss the window is %.0f, want %.0f", at, w.size, want)
		}
	}
	if w.size < 1200 {
		t.Errorf("it ends at %.0f", w.size)
	}
}

// With a short round trip, on which the curve would be slower than Reno, CUBIC is as fast as Reno.
func TestCubicIsNotSlowerThanReno(t *testing.T) {
	const rtt = 5 * time.Millisecond
	w := newWindow(Cubic)
	w.size, w.threshold = 50, 1
	w.reduce()
	start := time.Unix(0, 0)
	for i := range 20 {
		round(&w, start.Add(time.Duration(i)*rtt), rtt)
	}
	if want := 35 + 20*cubicAlpha; !near(w.size, want, 1) {
		t.Errorf("after 20 round trips the window is %.1f, want %.1f", w.size, want)
	}
}

// Who meets a loss earlier than the last time has company, and makes room for it.
func TestCubicMakesRoomForOthers(t *testing.T) {
	w := newWindow(Cubic)
	w.size, w.threshold = 100, 1
	w.reduce()
	if w.most != 100 {
		t.Errorf("the curve is flat at %v, want 100", w.most)
	}
	w.size = 90
	w.reduce()
	if !near(w.most, 76.5, 0.01) {
		t.Errorf("the curve is flat at %v, want 76.5", w.most)
	}
}
