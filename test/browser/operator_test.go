package browser

import (
	"strconv"
	"testing"

	"parley/internal/promise"
)

// Nothing is shown without the right token. With it the players are there, live, and one who is kicked reads why.
func TestAnOperatorKicks(t *testing.T) {
	promise.Keeps(t, "T77", "operator's page", 1)
	s := serve(t)
	ann := open(t, s.play())
	ann.join(t, "<b>ann</b>")

	op := open(t, "http://"+s.addrs["web"]+"/")
	op.allow("401")
	op.wait(t, "document.getElementById('login').checkVisibility() && document.activeElement.id === 'token'")
	nothing := "!document.getElementById('app').checkVisibility() && !document.body.textContent.includes('ann<')"
	if !value[bool](t, op, nothing) {
		t.Error("the page shows something without a token")
	}
	op.fill(t, "token", "0123456789abcdef0123456789abcdef")
	op.click(t, "#login-button")
	op.wait(t, "document.getElementById('login-error').textContent.includes('does not take this token')")
	if !value[bool](t, op, nothing) {
		t.Error("the page shows something with a wrong token")
	}
	op.fill(t, "token", s.token(t))
	op.click(t, "#login-button")
	op.wait(t, "document.getElementById('link').dataset.state === 'live'")
	op.click(t, "nav a[data-view=players]")
	row := "document.querySelector('#players-body .prow[data-player]:not([hidden])')"
	op.wait(t, row+"?.textContent.includes('<b>ann</b>')")
	if text := value[string](t, op, row+".textContent"); !value[bool](t, op, row+".textContent.includes('replica/wt')") {
		t.Errorf("the row is %q, and has not replica/wt", text)
	}
	if !value[bool](t, op, "!document.querySelector('#players-body b')") {
		t.Error("a name is more than text on the operator's page")
	}
	op.wait(t, "/[1-9]/.test("+row+".querySelector('.c-in').textContent)") // it is live
	ban := row + ".querySelector('[data-action=ban]')"
	for _, width := range []int64{1200, 1000, 780, 400} {
		op.resize(t, width)
		op.wait(t, "innerWidth === "+strconv.FormatInt(width, 10)+" && (r => r.width > 20 && r.x > 0 && r.right < innerWidth && "+ban+".contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)))("+ban+".getBoundingClientRect())")
	}
	op.resize(t, 1000)

	op.click(t, "#players-body .prow[data-player]:not([hidden]) [data-action=kick]")
	op.wait(t, "document.getElementById('dialog').open")
	op.fill(t, "field-reason", "be <i>kind</i>")
	op.click(t, "#dialog-yes")
	ann.wait(t, "document.getElementById('door').checkVisibility() && document.getElementById('door-why').textContent.includes('be <i>kind</i>')")
	op.wait(t, "!document.querySelector('#players-body .prow[data-player]:not([hidden]):not(.gone)')")
}

// operate opens the operator's page and shows it the token.
func (s *server) operate(t *testing.T) *tab {
	t.Helper()
	op := open(t, "http://"+s.addrs["web"]+"/")
	op.wait(t, "document.getElementById('login').checkVisibility()")
	op.fill(t, "token", s.token(t))
	op.click(t, "#login-button")
	op.wait(t, "document.getElementById('link').dataset.state === 'live'")
	return op
}

// asks presses a button that asks before it acts, says no, and wants that nothing has happened. Then it asks again.
func (p *tab) asks(t *testing.T, button, still string) {
	t.Helper()
	p.click(t, button)
	p.wait(t, "document.getElementById('dialog').open")
	p.click(t, "#dialog-no")
	p.wait(t, "!document.getElementById('dialog').open && "+still)
	p.click(t, button)
	p.wait(t, "document.getElementById('dialog').open && document.getElementById('dialog-warning').checkVisibility()")
}

const (
	outside = "document.getElementById('door').checkVisibility() && !document.getElementById('enter').disabled && document.getElementById('door-why').textContent"
	inside  = "document.getElementById('door').hidden && parleyPage.game.world.state === 'playing'"
)

// An operator opens a room and closes it, after a question. Whoever plays in it reads why it is out.
func TestAnOperatorOpensAndClosesARoom(t *testing.T) {
	promise.Keeps(t, "T77", "operator's page", 1)
	s := serve(t)
	op := s.operate(t)
	op.click(t, "nav a[data-view=rooms]")
	op.click(t, "#room-open")
	op.fill(t, "field-name", "cave")
	op.click(t, "#dialog-yes")
	op.wait(t, "document.querySelector('[data-room=cave]')")

	ann := open(t, s.play()+"?room=cave")
	ann.join(t, "ann")
	players := "document.querySelector('[data-room=cave] [data-fact=players]').textContent"
	op.wait(t, players+".startsWith('1 ')")
	op.wait(t, "document.querySelector('[data-room=cave] canvas').dataset.bodies > 0")
	op.asks(t, "[data-room=cave] [data-action=close]", players+".startsWith('1 ')")
	if !value[bool](t, ann, inside) {
		t.Error("the player is out, although the operator said no")
	}
	op.click(t, "#dialog-yes")
	ann.wait(t, outside+".includes('closed')")
	op.wait(t, "!document.querySelector('[data-room=cave]')")
	ann.click(t, "#enter") // there is no such room any more, and the page says so
	ann.wait(t, outside+".includes('no room')")
}

// An operator bans a player's address, after a question. The player reads why, cannot come back, and can when the ban is lifted.
func TestAnOperatorBans(t *testing.T) {
	t.Parallel()
	promise.Keeps(t, "T77", "operator's page", 1)
	s := serve(t)
	ann := open(t, s.play())
	ann.allow("403", "net::ERR_", "WebTransport", "WebSocket connection to") // while the address is banned
	ann.join(t, "ann")
	op := s.operate(t)
	op.click(t, "nav a[data-view=players]")
	row := "#players-body .prow[data-player]:not([hidden])"
	op.wait(t, "document.querySelector('"+row+"')?.textContent.includes('ann')")
	op.asks(t, row+" [data-action=ban]", "document.querySelector('"+row+":not(.gone)')")
	if !value[bool](t, ann, inside) {
		t.Error("the player is out, although the operator said no")
	}
	op.fill(t, "field-reason", "too <b>loud</b>")
	op.click(t, "#dialog-yes")
	ann.wait(t, outside+".includes('too <b>loud</b>')")
	ann.click(t, "#enter")
	ann.wait(t, outside+".includes('not let your address in')")
	op.click(t, "nav a[data-view=bans]")
	op.click(t, "[data-ban] [data-action=lift]")
	op.click(t, "#dialog-yes")
	op.wait(t, "!document.querySelector('[data-ban]')")
	ann.click(t, "#enter")
	ann.wait(t, inside)
}
