package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// tab is a page, with a store of its own.
type tab struct {
	ctx  context.Context
	shut context.CancelFunc

	mu      sync.Mutex
	console []chromedp.ConsoleMessage
	asked   []string // what it asked for, by any protocol
	allowed []string // parts of errors that the test expects
	strays  bool     // the test has it ask elsewhere
}

// open shows a page. When the test ends, its console must have no error, and it must have asked nobody but its own server.
func open(t *testing.T, address string) *tab {
	t.Helper()
	p := begin(t, chrome, address, chromedp.WithNewBrowserContext())
	p.do(t, focused)
	p.visit(t, address)
	return p
}

// beside opens one more tab in the browser of a page, with the same store.
func (p *tab) beside(t *testing.T, address string) *tab {
	t.Helper()
	q := begin(t, p.ctx, address)
	q.do(t, focused)
	q.visit(t, address)
	return q
}

// begin makes a tab, which shows nothing yet.
func begin(t *testing.T, parent context.Context, address string, options ...chromedp.ContextOption) *tab {
	t.Helper()
	p := &tab{}
	p.ctx, p.shut = chromedp.NewContext(parent, options...)
	t.Cleanup(func() {
		p.judge(t, address)
		p.shut()
	})
	messages := chromedp.Console(p.ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.console = append(p.console, m)
			p.mu.Unlock()
		}
	}()
	go note(p, chromedp.Events(p.ctx, network.RequestWillBeSent), func(e network.EventRequestWillBeSent) string { return e.Request.URL })
	go note(p, chromedp.Events(p.ctx, network.WebSocketCreated), func(e network.EventWebSocketCreated) string { return e.URL })
	go note(p, chromedp.Events(p.ctx, network.WebTransportCreated), func(e network.EventWebTransportCreated) string { return e.URL })
	if err := chromedp.Do(p.ctx); err != nil {
		t.Fatal(err)
	}
	return p
}

// focused has a tab take keys and draw, whichever tab is in front.
func focused(ctx context.Context, c *chromedp.Target) (chromedp.Void, error) {
	_, err := cdp.Call(ctx, c, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return chromedp.Void{}, err
}

func note[E any](p *tab, events func(func(E, error) bool), of func(E) string) {
	for e, err := range events {
		if err != nil {
			return
		}
		p.mu.Lock()
		p.asked = append(p.asked, of(e))
		p.mu.Unlock()
	}
}

func (p *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func (p *tab) visit(t *testing.T, address string) {
	t.Helper()
	p.do(t, chromedp.Navigate(address))
}

// allow says which errors in the console belong to the test, by a part of their text.
func (p *tab) allow(parts ...string) { p.allowed = append(p.allowed, parts...) }

// judge looks at what the page did that no page may do.
func (p *tab) judge(t *testing.T, address string) {
	p.mu.Lock()
	console, asked := slices.Clone(p.console), slices.Clone(p.asked)
	p.mu.Unlock()
	own, _ := url.Parse(address)
	for _, m := range console {
		part := func(s string) bool { return strings.Contains(m.Text+" "+m.URL, s) }
		if kind := string(m.Type); (m.IsException() || kind == "error" || kind == "warning") && !slices.ContainsFunc(p.allowed, part) {
			t.Errorf("in the console of %s: %s (%s %s:%d)", address, m, m.Source, m.URL, m.Line)
		}
	}
	for _, a := range asked {
		if u, err := url.Parse(a); err != nil || !p.strays && u.Host != own.Host && u.Scheme != "data" && u.Scheme != "about" {
			t.Errorf("%s asked for %s", address, a)
		}
	}
	if len(asked) < 3 {
		t.Errorf("%s asked for %q only: the test sees nothing", address, asked)
	}
	if t.Failed() {
		p.show(t, console)
	}
}

// show keeps a picture of a page whose test has failed, and prints its console.
func (p *tab) show(t *testing.T, console []chromedp.ConsoleMessage) {
	for _, m := range console {
		t.Logf("console: %s", m)
	}
	ctx, stop := context.WithTimeout(p.ctx, 10*time.Second)
	defer stop()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Logf("no picture: %v", err)
		return
	}
	f, err := os.CreateTemp("", strings.ReplaceAll(t.Name(), "/", "-")+"-*.png")
	if err != nil {
		t.Log(err)
		return
	}
	defer f.Close()
	f.Write(picture)
	t.Logf("what it looked like: %s", filepath.Clean(f.Name()))
}

// value returns what an expression is on the page.
func value[T any](t *testing.T, p *tab, expression string) T {
	t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait waits for an expression to be true.
func (p *tab) wait(t *testing.T, expression string) {
	t.Helper()
	until(t, expression, func() bool {
		ctx, stop := context.WithTimeout(p.ctx, patience)
		defer stop()
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		return err == nil && is // a page that is just loaded has no context for a moment
	})
}

// key presses a key down, or lets it go.
func (p *tab) key(t *testing.T, kind input.DispatchKeyEventType, code, name string, number int64) {
	t.Helper()
	p.do(t, func(ctx context.Context, c *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, c, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Code: code, Key: name, WindowsVirtualKeyCode: number})
		return chromedp.Void{}, err
	})
}

// enter presses the Enter key.
func (p *tab) enter(t *testing.T) {
	t.Helper()
	key := func(kind input.DispatchKeyEventType, text string) chromedp.Action[chromedp.Void] {
		return func(ctx context.Context, c *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, c, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Code: "Enter", Key: "Enter", WindowsVirtualKeyCode: 13, Text: text})
			return chromedp.Void{}, err
		}
	}
	p.do(t, key(input.DispatchKeyEventTypeKeyDown, "\r"), key(input.DispatchKeyEventTypeKeyUp, ""))
}

// fill writes into a field, in place of what was there.
func (p *tab) fill(t *testing.T, id, text string) {
	t.Helper()
	p.do(t, func(ctx context.Context, c *chromedp.Target) (chromedp.Void, error) {
		if _, err := chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.getElementById(%s).focus(); document.activeElement.select()", quote(id)))(ctx, c); err != nil {
			return chromedp.Void{}, err
		}
		_, err := cdp.Call(ctx, c, input.InsertText, input.InsertTextParams{Text: text})
		return chromedp.Void{}, err
	})
}

// click presses a button where it is.
func (p *tab) click(t *testing.T, selector string) {
	t.Helper()
	at := "document.querySelector(" + quote(selector) + ")"
	middle := "(r => [r.x + r.width / 2, r.y + r.height / 2])(" + at + ".getBoundingClientRect())"
	p.wait(t, at+" && ("+at+".scrollIntoView({ block: 'nearest' }), true) && "+at+".contains(document.elementFromPoint(..."+middle+"))") // nothing is over it, and it is in the window
	place := value[[2]float64](t, p, middle)
	p.do(t, chromedp.MouseClickXY(place[0], place[1]))
}

// resize makes the window of a page as wide as a number of points.
func (p *tab) resize(t *testing.T, width int64) {
	t.Helper()
	p.do(t, func(ctx context.Context, c *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, c, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 700, DeviceScaleFactor: 1})
		return chromedp.Void{}, err
	})
}

// join gives a name at the door, and waits to be in the world.
func (p *tab) join(t *testing.T, name string) {
	t.Helper()
	p.wait(t, "window.parleyPage && !document.getElementById('enter').disabled")
	p.fill(t, "name", name)
	p.click(t, "#enter")
	p.playing(t)
}

func (p *tab) playing(t *testing.T) {
	t.Helper()
	p.wait(t, "parleyPage.game?.world.state === 'playing' && parleyPage.game.own")
}

// quote writes a text as JavaScript does.
func quote(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}
