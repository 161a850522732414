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
	for _, k := range []struct{ code, name string }{{"KeyD", "d"}, {"KeyA", "a"}, {"KeyW", "w"}, {"KeyS", "s"}} { // a wall may be on one side
		value[bool](t, p, "window.from = [parleyPage.game.own.x, parleyPage.game.own.y], window.since = parleyPage.game.world.ticks.own, true")
		p.key(t, input.DispatchKeyEventTypeRawKeyDown, k.code, k.name, int64(strings.ToUpper(k.name)[0]))
		moved := "Math.hypot(parleyPage.game.own.x - from[0], parleyPage.game.own.y - from[1]) > 5"
		p.wait(t, moved+" || parleyPage.game.world.ticks.own > since + 20")
		walks := value[bool](t, p, moved)
		p.key(t, input.DispatchKeyEventTypeKeyUp, k.code, k.name, int64(strings.ToUpper(k.name)[0]))
		if walks {
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

// Two tabs with one store are two players: the second is told that its name is taken, and each marks itself in the list.
func TestTwoTabsAreTwoPlayers(t *testing.T) {
	t.Parallel()
	promise.Keeps(t, "T77", "play page", 1)
	s := serve(t)
	first := open(t, s.play())
	first.join(t, "ann")
	second := first.beside(t, s.play())
	second.wait(t, "window.parleyPage && document.getElementById('name').value === 'ann'") // the name is asked once
	second.click(t, "#enter")
	second.playing(t)
	second.wait(t, "document.getElementById('my-name').textContent === 'ann#2' && document.getElementById('lines').textContent.includes('The name ann is taken')")
	for _, p := range []*tab{first, second} {
		p.click(t, "#who-button")
		p.wait(t, "document.querySelectorAll('#list li').length === 2")
		own := value[string](t, p, "document.querySelector('#list .own .name').textContent")
		if name := value[string](t, p, "document.getElementById('my-name').textContent"); own != name {
			t.Errorf("the list of %s marks %s as oneself", name, own)
		}
	}
	if value[bool](t, first, "document.getElementById('my-name').textContent !== 'ann'") {
		t.Error("the first tab has another name now")
	}
	entities := [2]int{value[int](t, first, "parleyPage.game.world.ownId"), value[int](t, second, "parleyPage.game.world.ownId")}
	if entities[0] == entities[1] {
		t.Error("both tabs have one entity")
	}
}

// A ball of one's own flies from the moment of the throw, long before the server has told of it, and is told of once.
func TestAnOwnBallFliesAtOnce(t *testing.T) {
	t.Parallel()
	promise.Keeps(t, "T77", "play page", 1)
	s := serve(t)
	page := slow(t, s, "wt", "--delay", "150ms")
	p := open(t, page)
	p.join(t, "ann")
	p.wait(t, "parleyPage.game.world.terrain.at(parleyPage.game.own.x, parleyPage.game.own.y) !== undefined")
	type flight struct {
		First, Told, Most float64
		Drawn             int
	}
	throws := func() flight {
		return value[flight](t, p, `new Promise(done => {
		const game = parleyPage.game, began = performance.now(), f = { first: 0, told: 0, most: 0, drawn: 0 }, scene = game.scene.bind(game)
		game.scene = now => {
			const s = scene(now), t = performance.now() - began, real = s.list.some(e => Number(e.sender) === game.world.ownId)
			const own = s.shots.length + s.list.filter(e => Number(e.sender) === game.world.ownId && !e.covered).length
			if (own) f.first ||= t, f.drawn++
			if (real) f.told ||= t
			f.most = Math.max(f.most, own)
			if (f.told && t > f.told + 200 || t > 20_000) game.scene = scene, done({ First: f.first, Told: f.told, Most: f.most, Drawn: f.drawn })
			return s
		}
		const free = [0, 1, 2, 3].map(k => k * Math.PI / 2).sort((a, b) => game.shots.free(game.own.x, game.own.y, b) - game.shots.free(game.own.x, game.own.y, a))
		game.throw(free[0])
	})`)
	}
	var f flight
	for try := 0; try < 5 && (try == 0 || f.First <= 0 || f.Told-f.First < 150); try++ { // a picture of a busy machine may be late
		p.wait(t, "parleyPage.game.own && parleyPage.game.cooldown(performance.now()) === 0 && !parleyPage.game.list.some(e => Number(e.sender) === parleyPage.game.world.ownId)")
		f = throws()
		t.Logf("%+v", f)
		if f.Most > 1 {
			t.Errorf("%v balls are seen at once", f.Most)
		}
	}
	if f.First <= 0 || f.Told-f.First < 150 || f.Most != 1 {
		t.Errorf("the ball is seen %.0f ms after the throw and told of after %.0f", f.First, f.Told)
	}
}
