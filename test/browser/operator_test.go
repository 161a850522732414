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
