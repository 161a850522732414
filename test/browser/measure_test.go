package browser

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// presses has the page press keys and look how long it takes until its picture moves. It is in the page's own clock.
const presses = `new Promise(async done => {
	const took = [], frame = () => new Promise(requestAnimationFrame), view = parleyPage.view, keys = ["KeyA", "KeyD", "KeyW", "KeyS"]
	for (let i = 0, missed = 0; took.length < 80 && missed < 60; i++) {
		for (let still = 0, x, y; still < 20; await frame()) { // it stands, and so does its picture
			still = x === view.x && y === view.y ? still + 1 : 0;
			[x, y] = [view.x, view.y]
		}
		await new Promise(r => setTimeout(r, 100 * Math.random()))
		const code = keys[i % 4], { x, y } = view, began = performance.now()
		dispatchEvent(new KeyboardEvent("keydown", { code, bubbles: true }))
		let t = 0
		while (Math.hypot(view.x - x, view.y - y) < .01 && t < 1500) {
			await frame()
			t = performance.now() - began
		}
		dispatchEvent(new KeyboardEvent("keyup", { code, bubbles: true }))
		if (t < 1500 && Math.hypot(view.x - x, view.y - y) < 30) took.push(t) // neither a wall nor a new life
		else missed++
	}
	done(took)
})`

// The figures of docs/performance.md: from a key to the picture, over a round trip of 100 ms.
func TestFromAKeyToThePicture(t *testing.T) {
	if os.Getenv("PARLEY_MEASURE") == "" {
		t.Skip("PARLEY_MEASURE=1 measures")
	}
	s := serve(t)
	for _, carrier := range []string{"wt", "ws"} {
		for _, query := range []string{"", "?predict=off"} {
			p := open(t, slow(t, s, carrier, "--delay", "50ms")+query)
			p.allow("WebTransport", "net::ERR_")
			p.join(t, "ann")
			if c := value[string](t, p, "parleyPage.game.world.carrier"); c != carrier {
				t.Fatalf("the carrier is %s, want %s", c, carrier)
			}
			p.wait(t, "parleyPage.game.world.ticks.others > 0")
			value[bool](t, p, "window.measured = null, "+presses+".then(m => window.measured = m), true")
			for range 10 { // as long as it takes
				if value[bool](t, p, "new Promise(r => { const i = setInterval(() => measured && (clearInterval(i), r(true)), 100); setTimeout(() => r(false), 20_000) })") {
					break
				}
			}
			took := value[[]float64](t, p, "measured")
			if len(took) < 60 {
				t.Fatalf("%d presses only", len(took))
			}
			slices.Sort(took)
			load, _ := os.ReadFile("/proc/loadavg")
			t.Logf("%s%s: %d presses, p50 %.0f ms, p95 %.0f ms, longest %.0f ms; round trip %.0f ms, load %s", carrier, query, len(took), took[len(took)/2], took[len(took)*95/100],
				took[len(took)-1], value[float64](t, p, "parleyPage.game.world.rtt"), strings.Fields(string(load))[0])
			value[bool](t, p, "parleyPage.link.world.leave(), true")
		}
	}
}
