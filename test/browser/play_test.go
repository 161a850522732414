package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"

	"parley/internal/promise"
)

// A player comes in, over WebTransport, and walks when a key is pressed.
func TestAPlayerWalks(t *testing.T) {
	promise.Keeps(t, "T77", "play page", 1)
	s := serve(t)
	p := open(t, s.play())
	p.join(t, "ann")
	if c := value[string](t, p, "parleyPage.game.world.carrier"); c != "wt" {
		t.Errorf("the carrier is %s, want wt", c)
	}
	p.wait(t, "document.getElementById('my-name').textContent === 'ann'")
	value[bool](t, p, "window.from = [parleyPage.game.own.x, parleyPage.game.own.y], true")
	moved := "Math.hypot(parleyPage.game.own.x - from[0], parleyPage.game.own.y - from[1]) > 5"
	for _, k := range []struct{ code, name string }{{"KeyD", "d"}, {"KeyA", "a"}, {"KeyW", "w"}, {"KeyS", "s"}} { // a wall may be on one side
		p.key(t, input.DispatchKeyEventTypeRawKeyDown, k.code, k.name, int64(strings.ToUpper(k.name)[0]))
		value[bool](t, p, "new Promise(r => setTimeout(() => r(true), 1000))")
		p.key(t, input.DispatchKeyEventTypeKeyUp, k.code, k.name, int64(strings.ToUpper(k.name)[0]))
		if value[bool](t, p, moved) {
			return
		}
	}
	t.Error("no key moves the player")
}

// Bots of each dialect that has players move on the page.
func TestBotsOfAllDialectsMove(t *testing.T) {
	promise.Keeps(t, "T77", "play page", 1)
	s := serve(t)
	s.bots(t, "replica=1,relay=1,duplex=1,realm=1")
	p := open(t, s.play())
	p.join(t, "ann")
	value[bool](t, p, `window.first = {}, window.walked = {}, setInterval(() => {
		for (const e of parleyPage.game?.list ?? []) {
			if (e.own || !e.dialect || e.x === undefined) continue
			const f = first[e.dialect] ??= [e.x, e.y]
			if (Math.hypot(e.x - f[0], e.y - f[1]) > 3) walked[e.dialect] = true
		}
	}, 50), true`)
	for _, d := range []string{"replica", "relay", "duplex", "realm"} {
		p.wait(t, "walked."+d)
	}
}
