package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"

	"parley/internal/promise"
)

// start starts the program, and looks at what it draws: ship is where the own ship is, and took how many ms after a key it is elsewhere.
const start = `
const get = HTMLCanvasElement.prototype.getContext
HTMLCanvasElement.prototype.getContext = function (kind, o) { return get.call(this, kind, { ...o, preserveDrawingBuffer: true }) }
const go = new Go()
WebAssembly.instantiateStreaming(fetch("window.wasm"), go.importObject).then(r => go.run(r.instance))
const small = document.createElement("canvas"), pen = get.call(small, "2d", { willReadFrequently: true })
small.width = 480
small.height = 360
window.ship = () => {
	const from = document.querySelector("canvas")
	if (!from) return null
	pen.drawImage(from, 0, 0, 480, 360)
	const { data } = pen.getImageData(0, 0, 480, 360)
	let x = 0, y = 0, n = 0
	for (let i = 0; i < data.length; i += 4) {
		if (data[i] > 240 && data[i + 1] > 190 && data[i + 1] < 225 && data[i + 2] < 90) { x += i / 4 % 480; y += Math.floor(i / 4 / 480); n++ }
	}
	return n > 30 ? [x / n, y / n] : null
}
const far = (a, b) => !a || !b || Math.hypot(a[0] - b[0], a[1] - b[1]) > 1.5
addEventListener("keydown", e => {
	const began = performance.now(), from = ship()
	requestAnimationFrame(function look() {
		const t = performance.now() - began
		const to = ship()
		if (from && to && far(to, from) || t > 3000) window.took = t
		else requestAnimationFrame(look)
	})
}, true)
let last = null
window.stands = () => !far(last, last = ship())
`

// inPage builds examples/window for a page, and returns its folder.
func inPage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "window.wasm"), ".")
	build.Dir = filepath.Join("..", "..", "examples", "window")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building examples/window: %v\n%s", err, out)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	glue, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		t.Fatalf("%s has no wasm_exec.js: %v", runtime.Version(), err)
	}
	for name, text := range map[string]string{
		"wasm_exec.js": string(glue),
		"index.html":   `<!doctype html><meta charset="utf-8"><title>window</title><script src="wasm_exec.js"></script><script src="start.js"></script>`,
		"start.js":     start,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The client in Go plays in a page too, and the game's own Step moves its player before the server could have told: the round trip is 600 ms.
func TestAWindowInAPage(t *testing.T) {
	t.Parallel()
	promise.Keeps(t, "T77", "play page", 1)
	s := serve(t, "--play-page", inPage(t))
	p := open(t, slow(t, s, "ws", "--delay", "300ms"))
	p.allow("WebGL", "GL Driver", "favicon.ico") // it has no graphics card
	p.wait(t, "window.ship && ship()")           // it is drawn, in the colour of one's own
	// A picture of a busy machine may be late, so one press of some is enough.
	least := 1e9
	for press := 0; press < 16 && least > 500; press++ {
		k := []struct {
			code   string
			number int64
		}{{"ArrowRight", 39}, {"ArrowLeft", 37}, {"ArrowUp", 38}, {"ArrowDown", 40}}[press%4] // a wall may be on one side
		value[bool](t, p, "window.took = 0, true")
		p.key(t, input.DispatchKeyEventTypeRawKeyDown, k.code, k.code, k.number)
		p.wait(t, "took > 0")
		p.key(t, input.DispatchKeyEventTypeKeyUp, k.code, k.code, k.number)
		took := value[float64](t, p, "took")
		t.Logf("%s: it moves within %.0f ms", k.code, took)
		least = min(least, took)
		p.wait(t, "stands()")
	}
	if least > 500 {
		t.Errorf("the ship moves %.0f ms after the key at best, want at most 500: the server could tell in 600", least)
	}
}
