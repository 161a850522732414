package realm

import (
	"net/netip"
	"strings"
	"sync"

	"parley/protocol/realm/core"
)

// testSchema has an attribute and an action.
var testSchema = core.Schema{
	Attributes: map[uint16]core.Field{1: {Name: "health", Type: core.TypeU16}},
	Actions:    map[uint16][]core.Field{0: {{Name: "angle", Type: core.TypeF32}, {Name: "entity", Type: core.TypeEntity}}},
}

var testCodec = core.NewCodec(testSchema)

// memoryAccounts are accounts in memory, which answer at once or when a test says so.
type memoryAccounts struct {
	mu        sync.Mutex
	passwords map[string]string
	in        map[string]bool
	logouts   int
	hold      bool // answers wait for release
	held      []func()
}

func newAccounts(names ...string) *memoryAccounts {
	a := &memoryAccounts{passwords: map[string]string{}, in: map[string]bool{}}
	for _, name := range names {
		a.passwords[name] = "password of " + name
	}
	return a
}

func (a *memoryAccounts) Register(_ netip.AddrPort, name, password string, answer func(core.RegisterCode)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	code := RegisterOK
	if len(password) < 8 {
		code = core.RegisterInvalidPassword
	} else if _, taken := a.passwords[name]; taken {
		code = core.RegisterUsedPseudo
	} else {
		a.passwords[name] = password
	}
	a.later(func() { answer(code) })
}

func (a *memoryAccounts) Login(_ netip.AddrPort, name, password string, answer func(core.LoginCode)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	code := LoginOK
	right, known := a.passwords[name]
	switch {
	case !known:
		code = core.LoginUnknownPseudo
	case right != password:
		code = core.LoginWrongPassword
	case a.in[name]:
		code = core.LoginAlreadyConnected
	default:
		a.in[name] = true
	}
	a.later(func() { answer(code) })
}

func (a *memoryAccounts) Key(name string) string { return strings.ToLower(name) }

func (a *memoryAccounts) Logout(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.in[name] {
		panic("a session that is not there was ended: " + name)
	}
	a.in[name] = false
	a.logouts++
}

// later answers from another goroutine, or when it is released. a.mu is held.
func (a *memoryAccounts) later(answer func()) {
	if a.hold {
		a.held = append(a.held, answer)
		return
	}
	go answer()
}

// sessions returns how many accounts are in.
func (a *memoryAccounts) sessions() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, in := range a.in {
		if in {
			n++
		}
	}
	return n
}

// a testGame lets everybody in, as entity 1 and on.
type testGame struct {
	next    uint16
	players map[*Conn]string
	ended   []Close
}

func newTestGame() *testGame { return &testGame{next: 1, players: map[*Conn]string{}} }

func (g *testGame) handle(c *Conn, ev Event) {
	switch ev.Kind {
	case EventEnter:
		if err := c.Enter(core.Entry{Entity: core.Entity{ID: g.next}, Players: g.others}); err != nil {
			panic(err)
		}
		g.next++
		g.players[c] = ev.Question.Name
	case EventClosed:
		g.ended = append(g.ended, ev.Close)
		delete(g.players, c)
	}
}

// others yields who is in the game.
func (g *testGame) others(yield func(uint16, string) bool) {
	for c, name := range g.players {
		if !yield(c.Entity(), name) {
			return
		}
	}
}
