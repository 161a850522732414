package browser

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"parley/internal/promise"
)

// rosterOf is the beginning of an expression that says whether a player is in the page's list.
const rosterOf = `parleyPage.game.players().some(p => p.name === `

// The server is ended and started again: the page comes back by itself, as the same player.
func TestThePageSurvivesARestart(t *testing.T) {
	promise.Keeps(t, "T77", "coming back", 1)
	s := serve(t)
	p := open(t, s.play())
	p.allow("net::ERR_", "WebSocket connection to", "WebTransport", "Failed to load resource") // while there is no server
	p.join(t, "ann")
	value[bool](t, p, "window.same = true")
	s.stop(t)
	p.wait(t, "!document.getElementById('banner').hidden")
	s.start(t)
	p.playing(t)
	p.wait(t, "document.getElementById('banner').hidden && document.getElementById('door').hidden && parleyPage.game.world.name === 'ann'")
	if !value[bool](t, p, "window.same === true") {
		t.Error("the page was loaded again")
	}
	p.wait(t, "parleyPage.game.players().length === 1")
	if c := value[string](t, p, "parleyPage.game.world.carrier"); c != "wt" { // the server has another certificate now
		t.Errorf("the carrier is %s, want wt", c)
	}
}

// A page that is loaded again is the same player, and the player of a tab that is closed is gone soon.
func TestReloadAndClose(t *testing.T) {
	t.Parallel()
	promise.Keeps(t, "T77", "coming back", 1)
	s := serve(t)
	watcher, p := open(t, s.play()), open(t, s.play())
	watcher.join(t, "eve")
	p.join(t, "ann")
	before := value[int](t, p, "parleyPage.game.world.ownId")
	p.do(t, chromedp.Reload())
	p.wait(t, "window.parleyPage && parleyPage.game")
	p.playing(t)
	if after := value[int](t, p, "parleyPage.game.world.ownId"); after != before {
		t.Errorf("after the page was loaded again its player has the entity %d, and had %d", after, before)
	}
	p.wait(t, "parleyPage.game.world.name === 'ann'")
	watcher.wait(t, rosterOf+"'ann' && !p.away) && parleyPage.game.players().length === 2")
	p.do(t, chromedp.Navigate("about:blank")) // a page that is left says what one says that is closed
	began := value[float64](t, watcher, "performance.now()")
	watcher.wait(t, "!"+rosterOf+"'ann')")
	// The place of a player whose connection is lost is held for 30 s; that of one who has left, for 5.
	if took := value[float64](t, watcher, "performance.now()") - began; took > 20_000 {
		t.Errorf("a player who has left is gone after %.0f ms", took)
	}
}

// Where WebTransport does not come through, the page plays over a WebSocket within three seconds of its own clock.
func TestFallsBackToWebSocket(t *testing.T) {
	promise.Keeps(t, "T77", "fall back", 1)
	s := serve(t)
	page, got := deaf(t, s)
	p := open(t, page)
	p.allow("WebTransport", "net::ERR_")
	least := 1e9
	for visit := 0; visit < 5 && least > 3000; visit++ { // on a busy machine one may be late
		if visit > 0 {
			p.visit(t, page)
		}
		p.wait(t, "window.parleyPage && !document.getElementById('enter').disabled || parleyPage.game")
		took := value[float64](t, p, `new Promise(r => {
			const began = performance.now()
			document.getElementById("enter").click()
			const look = setInterval(() => {
				if (parleyPage.game?.world.state !== "playing" && performance.now() - began < 25_000) return
				clearInterval(look)
				r(performance.now() - began)
			}, 5)
		})`)
		if c := value[string](t, p, "parleyPage.game.world.carrier"); c != "ws" {
			t.Fatalf("the carrier is %s, want ws", c)
		}
		t.Logf("visit %d: %.0f ms", visit+1, took)
		least = min(least, took)
		if got.Load() == 0 {
			t.Fatal("WebTransport was not even tried")
		}
		value[bool](t, p, "parleyPage.link.world.leave(), sessionStorage.clear(), true")
	}
	if least > 3000 {
		t.Errorf("the best of five visits took %.0f ms to fall back, want at most 3,000", least)
	}
}

// Over WebTransport datagrams are lost, come late and in another order. What is said comes once, in order, both ways.
func TestChatOverABadNetwork(t *testing.T) {
	t.Parallel()
	const lines = 30
	promise.Keeps(t, "T77", "lines over a bad network", 2*lines)
	s := serve(t)
	page, udp := front(t, s, s.addrs["play"])
	at := udp.LocalAddr().String()
	udp.Close()
	q := spawn(t, "impair", "--udp", "--listen", at, "--to", s.addrs["play"], "--delay", "40ms", "--jitter", "20ms", "--loss", "10%", "--seed", "23")
	until(t, "the bad network is there", func() bool { return listening.MatchString(q.said()) })
	bob := s.talker(t, "bob")
	p := open(t, page)
	p.join(t, "ann")
	if c := value[string](t, p, "parleyPage.game.world.carrier"); c != "wt" {
		t.Fatalf("the carrier is %s, want wt", c)
	}
	value[bool](t, p, `window.heard = [], parleyPage.game.world.on("chat", l => l.name === "bob" && heard.push(l.text)),
		new Promise(done => { for (let i = 0; i < `+strconv.Itoa(lines)+`; i++) setTimeout(() => parleyPage.game.world.say("line " + i), 300 * i); done(true) })`)
	var said, want []string
	slowly := time.NewTicker(300 * time.Millisecond) // a player may say five lines a second
	defer slowly.Stop()
	for i := range lines {
		<-slowly.C
		line := "line " + strconv.Itoa(i)
		if err := bob.Say(line); err != nil {
			t.Fatal(err)
		}
		said, want = append(said, line), append(want, "ann: "+line)
	}
	bob.hears(t, want[lines-1])
	p.wait(t, "heard.includes("+quote(said[lines-1])+")")
	value[bool](t, p, "new Promise(r => setTimeout(() => r(true), 500))") // one that comes twice would come now
	bob.mu.Lock()
	defer bob.mu.Unlock()
	got := slices.DeleteFunc(slices.Clone(bob.heard), func(l string) bool { return !strings.HasPrefix(l, "ann: ") })
	if !slices.Equal(got, want) {
		t.Errorf("of the page's lines another player hears %q", got)
	}
	if got := value[[]string](t, p, "heard"); !slices.Equal(got, said) {
		t.Errorf("the page hears %q", got)
	}
	if c := value[string](t, p, "parleyPage.game.world.carrier"); c != "wt" {
		t.Errorf("in the end the carrier is %s, want wt", c)
	}
}

// A page that a proxy serves is at another port than WebTransport, which nobody proxies. It plays over WebTransport all the same.
func TestWebTransportAtAnotherPort(t *testing.T) {
	t.Parallel()
	promise.Keeps(t, "T77", "play page", 1)
	s := serve(t)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: s.addrs["play"]})
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(proxy.Close)
	p := open(t, proxy.URL+"/")
	p.strays = true // it asks at the server's own port
	p.join(t, "ann")
	if c := value[string](t, p, "parleyPage.game.world.carrier"); c != "wt" {
		t.Errorf("the carrier is %s, want wt", c)
	}
}

// A player who follows a link and comes back is the same player, whether or not the browser has kept the page.
func TestBackAndForward(t *testing.T) {
	t.Parallel()
	promise.Keeps(t, "T77", "coming back", 1)
	s := serve(t)
	p := open(t, s.play())
	p.allow("Back-Forward Cache", "favicon.ico") // a picture has none of its own
	p.join(t, "ann")
	before := value[int](t, p, "parleyPage.game.world.ownId")
	for range 2 {
		p.visit(t, s.play()+"page/icon.svg")
		p.do(t, chromedp.NavigateBack())
		p.wait(t, "window.parleyPage?.game?.world.name === 'ann'")
		p.playing(t)
		if after := value[int](t, p, "parleyPage.game.world.ownId"); after != before {
			t.Errorf("the player has the entity %d, and had %d", after, before)
		}
		p.wait(t, "parleyPage.game.players().length === 1")
	}
}
