package core

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// A town is a Mux with its game and accounts, and clients, all in one goroutine and in virtual
// time. Bytes go between them in pieces of random sizes.
type town struct {
	t    testing.TB
	rand *rand.Rand
	now  time.Time
	mux  *Mux
	game *testGame

	accounts map[string]string
	sessions map[string]*Conn // whose account has which, by the name in lower case; nil: an account may be in many times
	slow     []func()         // answers that wait, if hold
	hold     bool

	people []*person
	forget bool        // clients do not keep what they are told
	told   []toldEvent // what the server's program was told, but for enter and messages
	buf    [4096]byte
	max    int    // largest piece; 0 is all there is
	look   func() // called whenever something has moved
}

type toldEvent struct {
	c  *Conn
	ev EventKind
}

// person is a client of a town.
type person struct {
	town   *town
	client *Endpoint
	conn   *Conn
	up     []byte // on the way to the server
	down   []byte // and to the client
	events []Event
	deaf   bool // reads nothing
	ended  bool // its stream ended
	closed int  // EventClosed of client and server
	gone   int
}

var townEpoch = time.Unix(1_700_000_000, 0)

// spoken is a configuration with the schema of the tests, if it has none, and with its codec,
// to make which is much of the cost of a town.
func spoken(c Config) Config {
	if c.Schema.Attributes == nil {
		c.Schema, c.codec = testSchema, testCodec
	}
	return c
}

func newTown(t testing.TB, r *rand.Rand, c Config) *town {
	c = spoken(c)
	w := &town{t: t, rand: r, now: townEpoch, game: newTestGame(), accounts: map[string]string{}, look: func() {}}
	w.mux = NewMux(w.now, c, &Shared{})
	for _, name := range []string{"ann", "bob", "cyd", "dee", "eve"} {
		w.accounts[name] = "password of " + name
	}
	return w
}

// arrive connects a client.
func (w *town) arrive(c Config) *person {
	c = spoken(c)
	port := uint16(len(w.people) + 1)
	from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(port >> 8), byte(port)}), 1000+port)
	p := &person{town: w, conn: w.mux.Accept(w.now, from, w.now)}
	p.client = NewClient(w.now, netip.MustParseAddrPort("10.9.9.9:9999"), c, &Shared{})
	p.conn.link = p
	w.people = append(w.people, p)
	return p
}

// join connects a client and logs it in.
func (w *town) join(name string) *person {
	w.t.Helper()
	p := w.arrive(Config{})
	w.drive()
	if err := p.client.Login(w.now, name, "password of "+name); err != nil {
		w.t.Fatal(err)
	}
	w.drive()
	if p.client.State() != StatePlaying || !p.conn.Playing() {
		w.t.Fatalf("%s is %v and %v", name, p.client.State(), p.conn.endpoint.State())
	}
	return p
}

// answer is what the accounts say.
func (w *town) answer(c *Conn, ev Event) {
	q := ev.Question
	right, known := w.accounts[strings.ToLower(q.Name)]
	run := func() {
		if ev.Kind == EventRegister {
			code := RegisterOK
			if known {
				code = RegisterUsedPseudo
			} else {
				w.accounts[strings.ToLower(q.Name)] = q.Password
			}
			c.AnswerRegister(q, code)
			return
		}
		code := LoginOK
		switch {
		case !known:
			code = LoginUnknownPseudo
		case right != q.Password:
			code = LoginWrongPassword
		case w.sessions[strings.ToLower(q.Name)] != nil:
			code = LoginAlreadyConnected
		}
		if c.AnswerLogin(q, code) && code == LoginOK && w.sessions != nil {
			w.sessions[strings.ToLower(q.Name)] = c
		}
	}
	if w.hold {
		w.slow = append(w.slow, run)
		return
	}
	run()
}

// release lets the accounts answer.
func (w *town) release() {
	slow := w.slow
	w.slow = nil
	for _, run := range slow {
		run()
	}
}

// piece cuts bytes that are to be handed over.
func (w *town) piece(b []byte) int {
	if w.max == 0 || len(b) <= 1 {
		return len(b)
	}
	return 1 + w.rand.IntN(min(len(b), w.max))
}

// drive moves bytes until none are left, and fails if that never is.
func (w *town) drive() {
	for range 1_000_000 {
		if !w.step() {
			return
		}
	}
	w.t.Fatal("the town never rests")
}

// step moves some bytes each way.
func (w *town) step() (moved bool) {
	for _, p := range w.people {
		moved = p.stepUp() || moved
	}
	w.events()
	for c, n, ok := w.mux.PollBytes(w.buf[:]); ok; c, n, ok = w.mux.PollBytes(w.buf[:]) {
		p := c.link.(*person)
		if p.closed > 0 {
			w.t.Fatalf("%d bytes after the end", n)
		}
		p.down = append(p.down, w.buf[:n]...)
		if p.deaf && len(p.down) > 64<<10 {
			w.mux.Block(c)
		}
		moved = true
	}
	w.events()
	for _, p := range w.people {
		moved = p.stepDown() || moved
	}
	w.look()
	return moved
}

func (p *person) stepUp() (moved bool) {
	w := p.town
	if n := p.client.PollBytes(w.buf[:]); n > 0 {
		p.up = append(p.up, w.buf[:n]...)
		moved = true
	}
	p.poll()
	if n := w.piece(p.up); n > 0 && !p.ended {
		w.mux.HandleBytes(w.now, p.conn, p.up[:n])
		w.events()
		p.up = p.up[n:]
		moved = true
	}
	return moved
}

func (p *person) stepDown() (moved bool) {
	w := p.town
	if n := w.piece(p.down); n > 0 && !p.deaf {
		p.client.HandleBytes(w.now, p.down[:n])
		p.poll()
		p.down = p.down[n:]
		moved = true
	}
	return moved
}

// events lets the server's program do its part.
func (w *town) events() {
	for c, ev, ok := w.mux.PollEvent(); ok; c, ev, ok = w.mux.PollEvent() {
		w.told = append(w.told, toldEvent{c, ev.Kind})
		switch ev.Kind {
		case EventRegister, EventLogin:
			w.answer(c, ev)
		case EventClosed:
			c.link.(*person).closed++
			w.game.handle(c, ev)
			w.logout(c)
		default:
			w.game.handle(c, ev)
		}
	}
}

// logout ends the session of a connection, if it has one.
func (w *town) logout(c *Conn) {
	for name, holder := range w.sessions {
		if holder == c {
			delete(w.sessions, name)
		}
	}
}

// poll keeps what a client is told.
func (p *person) poll() {
	for ev, ok := p.client.PollEvent(); ok; ev, ok = p.client.PollEvent() {
		if p.gone > 0 {
			p.town.t.Fatalf("%v after the end", ev.Kind)
		}
		if ev.Kind == EventClosed {
			p.gone++
		}
		if p.town.forget {
			continue
		}
		if ev.Message != nil {
			b := testCodec.AppendTo(nil, ev.Message)
			own := new(Message)
			testCodec.fill(own, b)
			ev.Message = own
		}
		p.events = append(p.events, ev)
	}
}

// advance lets time pass for all.
func (w *town) advance(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for range 1_000_000 {
		w.drive()
		next := end
		if at, ok := w.mux.NextTimeout(); ok && at.Before(next) {
			next = at
		}
		for _, p := range w.people {
			if at, ok := p.client.NextTimeout(); ok && at.Before(next) {
				next = at
			}
		}
		if next.After(w.now) {
			w.now = next
		}
		w.mux.HandleTimeout(w.now)
		for _, p := range w.people {
			p.client.HandleTimeout(w.now)
		}
		w.drive()
		if !w.now.Before(end) {
			return
		}
	}
	w.t.Fatal("the town's time never passes")
}

// kinds are the messages that a client was told, in order, and forgets them.
func (p *person) kinds() (list []Kind) {
	for _, ev := range p.events {
		if ev.Message != nil {
			list = append(list, ev.Message.Kind)
		}
	}
	p.events = nil
	return list
}

// last returns the newest event of a kind.
func (p *person) last(kind EventKind) (Event, bool) {
	for i := len(p.events) - 1; i >= 0; i-- {
		if p.events[i].Kind == kind {
			return p.events[i], true
		}
	}
	return Event{}, false
}

// checkFrames fails if a message is held by nobody's queue, or by more than know of it.
func (w *town) checkFrames() {
	w.t.Helper()
	for c := range w.mux.Conns() {
		if c.endpoint.State() == StateClosed && c.endpoint.out.list.Len() > 0 {
			w.t.Errorf("a closed connection holds %d messages", c.endpoint.out.list.Len())
		}
		if err := c.endpoint.stats.Check(); err != nil {
			w.t.Error(err)
		}
	}
}
