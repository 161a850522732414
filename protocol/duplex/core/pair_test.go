package core

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/simnet"
)

var (
	serverAddr = netip.MustParseAddrPort("10.0.0.1:7000")
	clientAddr = netip.MustParseAddrPort("10.0.0.2:5000")
)

// gameSchema is what most tests speak: elements with kinds, a moment, three queries, a pass and two
// signals.
var gameSchema = &Schema{
	FromServer: Elements{
		Others:  Kinds(map[uint8]Size{1: Fixed(8), 2: Counted(1)}),
		Kinds:   true,
		Sizes:   map[int16]Size{-1: Counted(2)},
		Moments: []int16{-1},
	},
	FromClient: Elements{Others: Fixed(8)},
	Queries: map[uint8]Query{
		64: {Data: Counted(1), Reply: Fixed(4)},
		65: {Data: Fixed(4), Reply: Fixed(4), Failure: Fixed(1), Idempotent: true},
		66: {},
		67: {Data: Counted(2), Reply: Fixed(2), Pass: true},
	},
	Signals: []uint8{14, 63},
}

// writeBytes is how much of main the shell writes at a time.
const writeBytes = 16 << 10

func newShared(seed uint64) *Shared { return &Shared{Rand: rand.New(rand.NewPCG(seed, 77))} }

func keyOf(seed uint64) (key admission.Key) {
	binary.LittleEndian.PutUint64(key[:], seed)
	return key
}

// world is a server and its clients: their feeds over a simulated network, their mains
// over pipes in the same virtual time.
type world struct {
	t       testing.TB
	net     *simnet.Network
	rng     *rand.Rand
	cfg     Config
	mux     *Mux
	server  *simnet.Host
	clients []*client
	pipes   map[*Conn]*pipe
	onEvent func(c *Conn, ev Event) // at the server
	log     []string
	err     error
	buf     [1 << 16]byte
}

// client is an endpoint and what it saw.
type client struct {
	*Endpoint
	w       *world
	host    *simnet.Host
	pipe    *pipe
	events  []string
	onEvent func(ev Event)
	closed  *Close
	state   map[int16]string // as its events tell
	synced  int
}

func newWorld(t testing.TB, seed uint64, c Config, path simnet.Profile) *world {
	n := simnet.New(seed)
	n.Default(path)
	n.SetLimits(simnet.Limits{Steps: 20_000_000})
	if c.Schema == nil {
		c.Schema = gameSchema
	}
	w := &world{t: t, net: n, cfg: c, rng: rand.New(rand.NewPCG(seed, 3)), pipes: map[*Conn]*pipe{}}
	w.mux = NewMux(n.Now(), c, newShared(seed), keyOf(seed))
	w.server = n.Add(serverAddr, w.mux).Named("server")
	w.server.AfterTurn(w.serverTurn)
	return w
}

func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// serverTurn does what a server's shell does after each turn.
func (w *world) serverTurn(now time.Time) {
	w.mux.Advance(now)
	for again := true; again; {
		again = false
		for c, ev, ok := w.mux.PollEvent(); ok; c, ev, ok = w.mux.PollEvent() {
			if len(w.log) < 1000 {
				w.log = append(w.log, eventText(ev))
			}
			if ev.Kind == EventClosed {
				stats := c.Stats()
				if err := stats.Check(); err != nil {
					w.fail("%v", err)
				}
				w.pipes[c].close(true)
				delete(w.pipes, c)
			}
			if w.onEvent != nil {
				w.onEvent(c, ev)
			}
		}
		for n, c, ok := w.mux.PollBytes(w.buf[:]); ok; n, c, ok = w.mux.PollBytes(w.buf[:]) {
			w.pipes[c].toClient.send(w.buf[:n])
			again = true
		}
		for _, x := range w.clients { // in a fixed order
			if p := x.pipe; p.conn != nil && w.pipes[p.conn] == p && p.toServer.retry() {
				again = true
			}
		}
	}
}

// dial opens a main and begins to join.
func (w *world) dial(i int) *client {
	x := &client{w: w, state: map[int16]string{}}
	addr := netip.AddrPortFrom(clientAddr.Addr(), clientAddr.Port()+uint16(i))
	x.open(addr)
	x.host = w.net.Add(addr, x.Endpoint).Named(fmt.Sprintf("client%d", i))
	x.host.AfterTurn(x.turn)
	w.clients = append(w.clients, x)
	return x
}

// open begins a new life with a new main.
func (x *client) open(addr netip.AddrPort) {
	now := x.w.net.Now()
	if x.host != nil {
		now = x.host.Now()
	}
	x.Endpoint = NewClient(now, serverAddr, serverAddr, x.w.cfg, newShared(x.w.rng.Uint64()))
	x.closed, x.synced = nil, 0
	clear(x.state)
	// The address of main is that of the feed but for the port, which is another each time.
	main := netip.AddrPortFrom(addr.Addr(), uint16(20000+x.w.rng.IntN(40000)))
	for x.w.server != nil && x.w.server.Node() != nil && x.w.mux.conns.Get(main) != nil {
		main = netip.AddrPortFrom(addr.Addr(), main.Port()+1)
	}
	x.pipe = newPipe(x.w, x, main)
}

func (x *client) turn(now time.Time) {
	x.Advance(now)
	for again := true; again; {
		again = false
		for ev, ok := x.PollEvent(); ok; ev, ok = x.PollEvent() {
			if x.closed != nil {
				x.w.fail("%v after closed", ev.Kind)
			}
			x.take(ev)
		}
		for n := x.PollBytes(x.w.buf[:]); n > 0; n = x.PollBytes(x.w.buf[:]) {
			x.pipe.toServer.send(x.w.buf[:n])
			again = true
		}
		again = x.pipe.toClient.retry() || again
	}
}

func (x *client) take(ev Event) {
	if len(x.events) < 1000 {
		x.events = append(x.events, eventText(ev))
	}
	switch ev.Kind {
	case EventUpdate, EventSync:
		if ev.SID != -1 {
			x.state[ev.SID] = string(ev.Data)
		}
	case EventGone:
		if _, ok := x.state[ev.SID]; !ok {
			x.w.fail("%d is gone, which was not there", ev.SID)
		}
		delete(x.state, ev.SID)
	case EventSynced:
		x.synced++
	case EventClosed:
		x.closed = &ev.Close
		stats := x.Stats()
		if err := stats.Check(); err != nil {
			x.w.fail("%v", err)
		}
		x.pipe.close(false)
	}
	if x.onEvent != nil {
		x.onEvent(ev)
	}
}

func eventText(ev Event) string {
	switch ev.Kind {
	case EventJoined, EventFeed:
		return fmt.Sprintf("%v %t", ev.Kind, ev.Up)
	case EventUpdate, EventSync:
		return fmt.Sprintf("%v %d %x", ev.Kind, ev.SID, ev.Data)
	case EventGone:
		return fmt.Sprintf("gone %d", ev.SID)
	case EventSignal:
		return fmt.Sprintf("signal %d on %v", ev.Code, ev.Channel)
	case EventQuery:
		return fmt.Sprintf("query %d on %v: %x", ev.Code, ev.Channel, ev.Data)
	case EventReply:
		return fmt.Sprintf("reply %d on %v: status %d, %x", ev.Code, ev.Channel, ev.Status, ev.Data)
	case EventClosed:
		return "closed: " + ev.Close.Reason.String()
	}
	return ev.Kind.String()
}

// resync has a client told everything once more.
func (c *Conn) resync() {
	c.e.view.request()
	c.mux.touch(c)
}

// conn is the server's side of a client.
func (x *client) conn() *Conn { return x.pipe.conn }

func (w *world) run(d time.Duration) {
	w.t.Helper()
	if err := w.net.Run(d); err != nil {
		w.t.Fatal(err)
	}
	if w.err != nil {
		w.t.Fatal(w.err)
	}
}

func (w *world) runUntil(what string, cond func() bool, limit time.Duration) {
	w.t.Helper()
	err := w.net.RunUntil(func() bool { return w.err != nil || cond() }, limit)
	if w.err != nil {
		err = w.err
	}
	if err != nil {
		for i, x := range w.clients {
			w.t.Logf("client %d is %v and saw %v", i, x.State(), x.events)
		}
		w.t.Fatalf("%s: %v; the server saw %v", what, err, w.log)
	}
}

// put changes an element, and set one of kind 1.
func (w *world) put(sid int16, data []byte) {
	w.t.Helper()
	if err := w.mux.Set(sid, data); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) set(sid int16, value uint64) { w.put(sid, valueOf(value)) }

// tell changes an element, and has time pass for it to be told.
func (w *world) tell(sid int16, value uint64, d time.Duration) {
	w.t.Helper()
	w.set(sid, value)
	w.flush(d)
}

func valueOf(value uint64) []byte { return binary.BigEndian.AppendUint64([]byte{1}, value) }

// flush sends what has changed, and has time pass.
func (w *world) flush(d time.Duration) {
	w.t.Helper()
	w.mux.Advance(w.server.Now())
	w.mux.Flush()
	w.server.Poke()
	w.run(d)
}

// run has a client's turn, and time pass.
func (x *client) run(d time.Duration) {
	x.w.t.Helper()
	x.host.Poke()
	x.w.run(d)
}

// truth is what a client that may see everything is to know.
func (w *world) truth() map[int16]string { return w.mux.Scene.truth() }

// agrees reports whether a client knows just what is true, by its events and by its
// own table.
func (x *client) agrees(truth map[int16]string) bool {
	known := map[int16]string{}
	for sid, data := range x.Elements() {
		known[sid] = string(data)
	}
	return maps.Equal(known, truth) && maps.Equal(x.state, truth)
}

// pipe is a main: two streams of bytes with delay, stalls and an end.
type pipe struct {
	w        *world
	client   *client
	endpoint *Endpoint // the client's of this life
	conn     *Conn     // nil until the server has accepted
	addr     netip.AddrPort
	mux      *Mux
	toServer oneWay
	toClient oneWay
	dead     bool

	delay      time.Duration
	jitter     time.Duration
	stallUntil time.Time
	room       int // bytes under way that a system takes before a write waits
}

// oneWay is one direction of a pipe.
type oneWay struct {
	p      *pipe
	up     bool // towards the server
	latest time.Time
	flying int
	queue  [][]byte // under way
	owed   int      // a write that waits for room
	rest   []byte   // that the receiver did not take yet
	paused bool     // the receiver does not read
}

func newPipe(w *world, x *client, addr netip.AddrPort) *pipe {
	p := &pipe{w: w, client: x, endpoint: x.Endpoint, addr: addr, mux: w.mux, delay: 10 * time.Millisecond, room: 64 << 10}
	p.toServer, p.toClient = oneWay{p: p, up: true}, oneWay{p: p}
	w.net.After(p.delay, "accept", func() {
		if p.dead || w.server.Node() == nil {
			p.breakOff()
			return
		}
		p.mux = w.mux
		w.mux.Advance(w.server.Now())
		if p.conn = w.mux.Accept(w.server.Now(), addr); p.conn == nil {
			p.breakOff()
			return
		}
		w.pipes[p.conn] = p
		p.toServer.retry()
		w.server.Poke()
	})
	return p
}

// lives reports whether the ends of the pipe are still those that it was made for.
func (p *pipe) lives(up bool) bool {
	if p.dead {
		return false
	}
	if up {
		return p.w.server.Node() != nil && p.w.mux == p.mux
	}
	return p.client.Endpoint == p.endpoint && (p.client.host == nil || p.client.host.Node() == simnet.Node(p.endpoint))
}

// send takes bytes as a system does, and delivers them later in pieces.
func (s *oneWay) send(b []byte) {
	p := s.p
	if p.dead {
		return
	}
	at := p.w.net.Now().Add(p.delay)
	if p.jitter > 0 {
		at = at.Add(time.Duration(p.w.rng.Int64N(int64(p.jitter))))
	}
	for _, t := range []time.Time{s.latest, p.stallUntil} {
		if at.Before(t) {
			at = t
		}
	}
	s.latest = at
	data := append([]byte(nil), b...)
	s.flying += len(data)
	if s.flying > p.room {
		s.owed += len(data)
	} else {
		s.written()
	}
	s.queue = append(s.queue, data)
	p.w.net.At(at, "main", s.arrive)
}

// written tells the sender that its bytes were taken.
func (s *oneWay) written() {
	p := s.p
	if !p.lives(!s.up) {
		return
	}
	if s.up {
		p.endpoint.Written(p.client.now())
	} else {
		p.mux.Written(p.w.server.Now(), p.conn)
	}
}

func (x *client) now() time.Time {
	if x.host == nil {
		return x.w.net.Now()
	}
	return x.host.Now()
}

// arrive delivers the oldest piece that is under way.
func (s *oneWay) arrive() {
	p := s.p
	if p.dead {
		return
	}
	if p.stallUntil.After(p.w.net.Now()) {
		p.w.net.At(p.stallUntil, "main", s.arrive)
		return
	}
	data := s.queue[0]
	s.queue = s.queue[1:]
	s.rest = append(s.rest, data...)
	s.flying -= len(data)
	s.retry()
	if s.up {
		p.w.server.Poke()
	} else if p.lives(false) {
		p.client.host.Poke()
	}
}

// retry gives the receiver what it has not taken, cut anywhere, and reports whether it
// took any.
func (s *oneWay) retry() (took bool) {
	p := s.p
	if s.paused || len(s.rest) == 0 || !p.lives(s.up) || s.up && p.conn == nil {
		return false
	}
	for len(s.rest) > 0 {
		piece := s.rest[:1+p.w.rng.IntN(len(s.rest))]
		var n int
		if s.up {
			n = p.mux.HandleBytes(p.w.server.Now(), p.conn, piece)
		} else {
			n = p.endpoint.HandleBytes(p.client.now(), piece)
		}
		s.rest = s.rest[n:]
		if n == 0 {
			break
		}
		took = true
	}
	if s.owed > 0 && s.flying+len(s.rest) <= p.room {
		s.owed = 0
		p.w.net.After(0, "room", s.unblock)
	}
	return took
}

// unblock lets the sender write on.
func (s *oneWay) unblock() {
	p := s.p
	if p.dead {
		return
	}
	s.written()
	if !s.up {
		p.w.server.Poke()
	} else if p.lives(false) {
		p.client.host.Poke()
	}
}

// close is what a system does when one side closes: what was written arrives first.
func (p *pipe) close(byServer bool) {
	if p.dead {
		return
	}
	s := &p.toServer
	if byServer {
		s = &p.toClient
	}
	at := p.w.net.Now().Add(p.delay)
	for _, t := range []time.Time{s.latest, p.stallUntil} {
		if at.Before(t) {
			at = t
		}
	}
	s.latest = at
	p.w.net.At(at, "end of main", func() { p.end(!byServer, "") })
}

// end tells one side that main is over.
func (p *pipe) end(server bool, text string) {
	if !p.lives(server) {
		return
	}
	if server && p.conn != nil && p.w.pipes[p.conn] == p {
		p.mux.HandleEnd(p.w.server.Now(), p.conn, text)
		p.w.server.Poke()
	}
	if !server {
		p.endpoint.HandleEnd(p.client.now(), text)
		if p.client.host != nil {
			p.client.host.Poke()
		}
	}
	if text == "" {
		p.dead = true
	}
}

// breakOff ends main for both, and what is under way is lost.
func (p *pipe) breakOff() {
	p.end(true, "connection reset")
	p.end(false, "connection reset")
	p.dead = true
}

func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
