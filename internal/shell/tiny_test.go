package shell_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/shell"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
)

// This file is a dialect of few words, as small as a shell can stand on:
//
//	client  hello, repeated every 100 ms     bye, until ok or for its linger time
//	server  welcome, or no                   ok;  closing, which a client answers with bye
//
// All else is news for the client's program.

// mail is datagrams that wait to be sent.
type mail []struct {
	to   netip.AddrPort
	text string
}

func (m *mail) put(to netip.AddrPort, text string) {
	*m = append(*m, struct {
		to   netip.AddrPort
		text string
	}{to, text})
}

func (m *mail) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if len(*m) == 0 {
		return 0, netip.AddrPort{}, false
	}
	first := (*m)[0]
	*m = (*m)[1:]
	return copy(buf, first.text), first.to, true
}

// host is the server's core.
type host struct {
	mail
	now     time.Time
	guests  []netip.AddrPort
	events  []string
	greet   []string // what a guest is told first
	closing bool
}

func (h *host) Advance(now time.Time)          { h.now = now }
func (h *host) Len() int                       { return len(h.guests) }
func (h *host) HandleTimeout(time.Time)        {}
func (h *host) NextTimeout() (time.Time, bool) { return time.Time{}, false }

func (h *host) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	h.now = now
	switch text := string(b); {
	case text == "hello" && h.closing:
		h.put(from, "no")
	case text == "hello" && slices.Contains(h.guests, from): // it was impatient
	case text == "hello":
		h.guests = append(h.guests, from)
		for _, g := range h.greet {
			h.put(from, g)
		}
		h.events = append(h.events, "came")
	case text == "bye":
		h.put(from, "ok")
		h.lose(from)
	default:
		h.events = append(h.events, text)
	}
}

func (h *host) lose(guest netip.AddrPort) {
	if i := slices.Index(h.guests, guest); i >= 0 {
		h.guests = slices.Delete(h.guests, i, i+1)
		h.events = append(h.events, "left")
	}
}

func (h *host) Shutdown(time.Time, string) {
	h.closing = true
	for _, g := range h.guests {
		h.put(g, "closing")
	}
}

func (h *host) Abort(now time.Time, text string) {
	h.Shutdown(now, text)
	for len(h.guests) > 0 {
		h.lose(h.guests[0])
	}
}

// house is a host at a socket, and what it told its program.
type house struct {
	*shell.Server
	host  *host
	heard chan string
}

func serve(t testing.TB, at shelltest.Place) *house {
	t.Helper()
	h := &house{host: &host{greet: []string{"welcome"}}, heard: make(chan string, 10_000)}
	h.Server = shell.Serve(at.Listen(t), h.host, shell.ServerConfig{
		Name:   "tiny",
		Closed: errClosed,
		Events: func() {
			for _, ev := range h.host.events {
				h.heard <- ev
			}
			h.host.events = h.host.events[:0]
		},
	})
	t.Cleanup(func() { h.Close() })
	return h
}

// send has the server say something to its first guest.
func (h *house) send(t testing.TB, news ...string) {
	t.Helper()
	if err := h.Do(func() {
		for _, n := range news {
			h.host.put(h.host.guests[0], n)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// sendAll is send for many, in parts: what the system holds for a client that has not come to read it has a bound.
func (h *house) sendAll(t testing.TB, x *visit, news ...string) {
	t.Helper()
	defer patient.End().Stop()
	for part := range slices.Chunk(news, 50) {
		want := 0
		x.Ask(func(time.Time) { want = x.guest.heard + len(part) })
		h.send(t, part...)
		for heard := 0; heard < want; {
			x.Ask(func(time.Time) { heard = x.guest.heard })
		}
	}
}

// wants waits for what the server's program hears.
func (h *house) wants(t testing.TB, all ...string) {
	t.Helper()
	for _, want := range all {
		if got := patient.Value(h.heard); got != want {
			t.Fatalf("the server heard %q, want %q", got, want)
		}
	}
}

var (
	errRefused = errors.New("refused")
	errLeft    = errors.New("left")
	errSent    = errors.New("sent away")
	errCut     = errors.New("cut")
	errClosed  = errors.New("closed")
	errFull    = errors.New("full")
)

// The kinds of events.
const (
	heard uint8 = iota
	connected
	closed
)

// event is what a guest tells: news, or one of the words of the shell.
type event struct {
	kind uint8
	news string
	why  error
}

// guest is the client's core.
type guest struct {
	mail
	server    netip.AddrPort
	socket    *udp.Socket
	now       time.Time
	next      time.Time // when to repeat
	until     time.Time // when to give up leaving; zero before
	linger    time.Duration
	hangUp    func()        // in place of Close
	lastWords time.Duration // that it takes to send what it has when it is over
	in        bool
	more      bool  // messages wait to be sent before it leaves
	why       error // set when it is over
	heard     int   // datagrams
	events    []event
}

func (g *guest) Advance(now time.Time) { g.now = now }

func (g *guest) HandleDatagram(now time.Time, _ netip.AddrPort, b []byte) {
	g.now = now
	g.heard++
	switch text := string(b); {
	case g.why != nil:
	case text == "welcome" && !g.in:
		g.in = true
		g.events = append(g.events, event{kind: connected})
	case text == "no":
		g.end(errRefused)
	case text == "ok":
		g.end(errLeft)
	case text == "closing":
		g.put(g.server, "bye")
		g.end(errSent)
	default:
		g.events = append(g.events, event{news: text})
	}
}

func (g *guest) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if g.why != nil {
		time.Sleep(g.lastWords)
	}
	return g.mail.PollTransmit(buf)
}

func (g *guest) end(why error) {
	g.why = why
	g.events = append(g.events, event{kind: closed})
}

func (g *guest) NextTimeout() (time.Time, bool) {
	return g.next, g.why == nil && (!g.in || !g.until.IsZero())
}

func (g *guest) HandleTimeout(now time.Time) {
	g.now = now
	g.next = now.Add(100 * time.Millisecond)
	switch {
	case g.why != nil:
	case g.until.IsZero():
		g.put(g.server, "hello")
	case !now.Before(g.until):
		g.end(errLeft)
	case g.more:
	default:
		g.put(g.server, "bye")
	}
}

func (g *guest) PollEvent() (event, bool) {
	if len(g.events) == 0 {
		return event{}, false
	}
	ev := g.events[0]
	g.events = g.events[1:]
	return ev, true
}

func (g *guest) Over() (error, bool) { return g.why, g.why != nil }

func (g *guest) Close(now time.Time, _ string) {
	switch {
	case g.hangUp != nil:
		g.hangUp()
	case g.why != nil:
	case !g.in:
		g.end(errLeft) // nobody knows it: nothing to wait for
	case g.until.IsZero():
		g.until = now.Add(g.linger)
		g.HandleTimeout(now)
	}
}

func (g *guest) Abort(time.Time, string) {
	if g.why == nil {
		g.put(g.server, "bye")
		g.end(errCut)
	}
}

func kind(ev event) uint8 { return ev.kind }

// visit is a guest at a socket.
type visit struct {
	*shell.Client[event]
	guest *guest
}

func dial(ctx context.Context, t testing.TB, at shelltest.Place, to netip.AddrPort, more ...func(*guest, *shell.ClientConfig[event])) (*visit, error) {
	t.Helper()
	socket := at.Dial(t, to)
	g := &guest{server: to, socket: socket, next: time.Now(), linger: time.Second}
	c := shell.ClientConfig[event]{
		Name:   "tiny",
		Closed: errClosed,
		Full:   errFull,
		Kind:   kind,
		First:  connected,
		Final:  closed,
		Own:    func(ev event) event { ev.news = strings.Clone(ev.news); return ev },
		Size:   func(ev event) int { return len(ev.news) },
		Last:   func(why error) event { return event{kind: closed, why: why} },
	}
	for _, f := range more {
		f(g, &c)
	}
	x, err := shell.Dial(ctx, socket, g, c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { x.Close(shelltest.Ended()) })
	return &visit{x, g}, nil
}

func connect(t testing.TB, at shelltest.Place, h *house) *visit {
	t.Helper()
	x, err := dial(t.Context(), t, at, h.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// rest reads to the end: the news, and why it ended.
func (x *visit) rest() (news []string, why error) {
	for ev := range x.Events() {
		if ev.kind == closed {
			why = ev.why
		} else {
			news = append(news, ev.news)
		}
	}
	return news, why
}
