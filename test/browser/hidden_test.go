package browser

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"parley/internal/promise"
)

// freeze has the browser stop a page, as it does with tabs that have been hidden for long, or has it go on.
func (p *tab) freeze(t *testing.T, state page.SetWebLifecycleStateState) {
	t.Helper()
	p.do(t, func(ctx context.Context, c *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, c, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state})
		return chromedp.Void{}, err
	})
}

// ticks are those of the server, as a page in front sees them.
const ticks = "parleyPage.game.world.ticks.own"

// A tab that nobody sees stays in the game, although the browser slows its timers down, over both carriers. One that the browser stops is away, and
// comes back by itself as the same player when it is shown again.
func TestHiddenTabs(t *testing.T) {
	t.Parallel() // it waits for most of its time
	promise.Keeps(t, "T77", "coming back", 3)
	s := serve(t)
	watcher := open(t, s.play())
	watcher.join(t, "eve")
	nobody, _ := deaf(t, s)
	hidden := map[string]*tab{"ws": begin(t, chrome, nobody, chromedp.WithNewBrowserContext())}
	hidden["wt"] = begin(t, hidden["ws"].ctx, s.play(), chromedp.WithNewWindow(false))
	stopped := begin(t, hidden["ws"].ctx, s.play(), chromedp.WithNewWindow(false))
	for name, p := range map[string]*tab{"ws": hidden["ws"], "wt": hidden["wt"], "stopped": stopped} {
		p.allow("WebTransport", "net::ERR_", "WebSocket connection to")
		p.visit(t, map[bool]string{true: nobody, false: s.play()}[name == "ws"])
		p.wait(t, "window.parleyPage && !document.getElementById('enter').disabled")
		value[bool](t, p, "document.getElementById('name').value = "+quote(name)+", document.getElementById('enter').click(), true")
		p.wait(t, "parleyPage.game?.world.state === 'playing' && parleyPage.game.world.ownId")
		value[bool](t, p, "window.lost = 0, parleyPage.game.world.on('state', () => lost++), true")
	}
	front := begin(t, hidden["ws"].ctx, s.play(), chromedp.WithNewWindow(false)) // it hides the others
	front.visit(t, s.play())
	front.do(t, func(ctx context.Context, c *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, c, page.BringToFront, cdp.Empty{})
		return chromedp.Void{}, err
	})
	for carrier, p := range hidden {
		p.wait(t, "document.visibilityState === 'hidden'")
		if c := value[string](t, p, "parleyPage.game.world.carrier"); c != carrier {
			t.Errorf("the carrier is %s, want %s", c, carrier)
		}
	}
	before := value[int](t, stopped, "parleyPage.game.world.ownId")
	stopped.freeze(t, page.SetWebLifecycleStateStateFrozen)
	value[float64](t, watcher, "window.since = "+ticks)
	value[bool](t, hidden["wt"], "window.turns = 0, setInterval(() => turns++, 20), true")
	watcher.wait(t, rosterOf+"'stopped' && p.away)")
	watcher.wait(t, ticks+" > since + 12 * 20") // 12 s
	if n := value[int](t, hidden["wt"], "turns"); n > 12*10 {
		t.Errorf("a timer of the hidden tab came %d times in 12 s: the browser does not slow it down", n)
	}
	for carrier, p := range hidden {
		if state := value[string](t, p, "parleyPage.game.world.state + ' ' + lost"); state != "playing 0" {
			t.Errorf("%s: the hidden tab is %s, want playing, and that all the time", carrier, state)
		}
	}
	if !value[bool](t, watcher, rosterOf+"'ws' && !p.away) && "+rosterOf+"'wt' && !p.away)") {
		t.Error("a hidden tab is away")
	}
	stopped.freeze(t, page.SetWebLifecycleStateStateActive)
	watcher.wait(t, rosterOf+"'stopped' && !p.away)")
	stopped.wait(t, "parleyPage.game.world.state === 'playing'")
	if after := value[int](t, stopped, "parleyPage.game.world.ownId"); after != before {
		t.Errorf("the tab that was stopped has the entity %d, and had %d", after, before)
	}
}
