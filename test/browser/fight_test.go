package browser

import (
	"testing"

	"parley/internal/promise"
)

// fights plays scenes to the page's score: lists of what is in sight, some ms apart. A scene ends with the score: hits, beaten.
const fights = `import("/page/fight.js").then(({ Fight }) => {
	const own = { id: 1, kind: 1, x: 0, y: 0, health: 100 }
	const foe = (health, x = 60) => ({ id: 2, kind: 1, x, y: 0, health, name: "bob" })
	const ball = (x, sender = 1) => ({ id: 9, kind: 2, x, y: 0, speed: 100, heading: 0, sender })
	const score = scene => {
		const fight = new Fight()
		const told = []
		fight.tell = (what, name) => told.push(what + " " + name)
		scene.forEach((list, i) => fight.look([own, ...list], 1, 1000 + 50 * i))
		return [fight.hits, fight.beaten, told.join(", ")].join(" ")
	}
	const hit = [[foe(40), ball(50)], [foe(40), ball(55)], [foe(20)]]
	return [
		score(hit),
		score([...hit, [foe(20), ball(50)], [foe(20), ball(55)], []]),
		score([...hit, [foe(20), ball(50)], [foe(20), ball(55)], [], [], [foe(100, 200)]]),
		score([...hit, [foe(20), ball(50)], [foe(20), ball(55)], [foe(100, 20)]]),
		score([...hit, [foe(20), ball(50)], [ball(55)]]),
		score([...hit, [foe(20), ball(50, 3)], [foe(20), ball(55, 3)], []]),
		score([[foe(60), ball(50)], [foe(60), ball(55)], [foe(40)], [foe(40), ball(50)], []]),
	]
})`

// Somebody whom one has beaten begins anew out of one's sight, and counts all the same: once, and not for who walks away or falls to another.
func TestWhoIsBeatenCounts(t *testing.T) {
	promise.Keeps(t, "T77", "play page", 1)
	p := open(t, serve(t).play())
	got := value[[]string](t, p, fights)
	for i, want := range []struct{ name, score string }{
		{"a hit", "1 0 hit bob"},
		{"the last hit: the foe is gone", "1 1 hit bob, beaten bob"},
		{"and is back in sight", "1 1 hit bob, beaten bob"},
		{"the last hit: the foe is elsewhere in sight", "1 1 hit bob, beaten bob"},
		{"the foe walks away, and the ball flies on", "1 0 hit bob"},
		{"another's ball", "1 0 hit bob"},
		{"the foe would have survived", "1 0 hit bob"},
	} {
		if got[i] != want.score {
			t.Errorf("%s: %q, want %q", want.name, got[i], want.score)
		}
	}
}
