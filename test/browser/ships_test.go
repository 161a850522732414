package browser

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"parley/internal/promise"
)

// mouse moves the mouse, presses its button or lets it go.
func (p *tab) mouse(t *testing.T, kind input.DispatchMouseEventType, x, y float64, buttons int64) {
	t.Helper()
	p.do(t, func(ctx context.Context, c *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, c, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, Buttons: buttons, ClickCount: 1})
		return chromedp.Void{}, err
	})
}

// The page of examples/browser plays its game: somebody else sees its ship sail where the mouse is held, and fire.
func TestTheShipsOfTheExample(t *testing.T) {
	t.Parallel()
	promise.Keeps(t, "T77", "play page", 1)
	bin := filepath.Join(t.TempDir(), "ships")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "./examples/browser")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building examples/browser: %v\n%s", err, out)
	}
	s := serveGame(t, bin, "--play-page", filepath.Join("..", "..", "examples", "browser", "page"))
	p := open(t, s.play())
	p.allow("favicon.ico", "willReadFrequently")
	p.wait(t, "(d => d.some(v => v > 250))(sea.getContext('2d').getImageData(396, 296, 8, 8).data)") // its own ship is drawn in the middle
	value[bool](t, p, `import("/parley.js").then(m => m.join(location.origin, { name: "eve" })).then(w => {
		window.ship = () => [...w.entities()].find(e => e.name?.startsWith("sailor"))
		window.shot = () => [...w.entities()].some(e => e.kind === "shot")
		return true
	})`)
	p.wait(t, "window.from = ship()")
	at := value[[2]float64](t, p, "(r => [r.x + .9 * r.width, r.y + r.height / 2])(sea.getBoundingClientRect())")
	p.mouse(t, input.DispatchMouseEventTypeMouseMoved, at[0], at[1], 0)
	p.mouse(t, input.DispatchMouseEventTypeMousePressed, at[0], at[1], 1)
	p.wait(t, "ship()?.x > from.x + 5 && Math.abs(ship().y - from.y) < 2")
	p.mouse(t, input.DispatchMouseEventTypeMouseReleased, at[0], at[1], 0)
	value[bool](t, p, "window.fired = false, window.look = setInterval(() => fired ||= shot(), 10), true")
	p.key(t, input.DispatchKeyEventTypeRawKeyDown, "Space", " ", 32)
	p.key(t, input.DispatchKeyEventTypeKeyUp, "Space", " ", 32)
	p.wait(t, "fired")
}
