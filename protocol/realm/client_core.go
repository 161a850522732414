package realm

import (
	"net/netip"
	"time"

	"parley/internal/datagram"
	"parley/internal/stream"
	"parley/internal/udp"
	"parley/protocol/realm/core"
)

// clientCore is a client's endpoint with its stream and its questions to the time server: what a loop drives. All of it is
// owned by the loop.
type clientCore struct {
	*core.Endpoint
	main stream.Dialed
	line stream.Stream
	wake func()
	now  time.Time

	in      []byte // what the endpoint reads
	reading bool   // not all of it is read
	held    bool   // more waits until it is
	ended   bool   // the stream has ended, for the reason end
	end     error
	over    bool // the end of the connection was seen
	out     [stream.MaxSend]byte

	registers []chan core.RegisterCode // calls that wait for their answers, in order
	logins    []chan core.LoginCode

	time timeClient
}

func newClientCore(main stream.Dialed, carrier datagram.Carrier, c Config) *clientCore {
	now := time.Now()
	x := &clientCore{
		Endpoint: core.NewClient(now, main.Addr(), c.Config, &core.Shared{}),
		main:     main, line: main.Stream(), wake: carrier.Wake, now: now,
	}
	_, x.time.asks = carrier.(timeSocket)
	return x
}

// Advance sets the time, and takes the bytes that came.
func (c *clientCore) Advance(now time.Time) {
	c.now = now
	c.main.Turn(now, c)
}

// Opened is told that the stream can carry bytes.
func (c *clientCore) Opened(time.Time, stream.Stream) stream.Receiver { return c }

// Received gives the endpoint what came, when it has read what came before.
func (c *clientCore) Received(now time.Time, b []byte) int {
	if c.held = c.reading; c.held {
		return 0
	}
	c.reading, c.in = true, append(c.in[:0], b...)
	c.HandleBytes(now, c.in)
	return len(b)
}

// Writable is told that the stream takes bytes again, which PollTransmit writes.
func (c *clientCore) Writable(time.Time) {}

// Ended is told that the stream has ended.
func (c *clientCore) Ended(_ time.Time, err error) { c.held, c.ended, c.end = false, true, err }

// PollEvent returns the next event for the program, with bytes of its own. An answer goes to the call that waits for it.
func (c *clientCore) PollEvent() (sized, bool) {
	for {
		ev, ok := c.Endpoint.PollEvent()
		switch {
		case !ok && c.takesMore():
		case !ok:
			return sized{}, false
		case ev.Kind == core.EventRegistered:
			c.registers[0] <- core.RegisterCode(ev.Message.Code)
			c.registers = c.registers[1:]
		case ev.Kind == core.EventLoggedIn:
			c.logins[0] <- core.LoginCode(ev.Message.Code)
			c.logins = c.logins[1:]
		case ev.Message == nil:
			return sized{Event: ev}, true
		default:
			if ev.Kind == EventOpened {
				c.time.begin(c.now, c.Endpoint)
			}
			bytes := 0
			ev.Message, bytes = c.Codec().Own(ev.Message)
			return sized{ev, bytes}, true
		}
	}
}

// takesMore takes bytes that had to wait, or the end, and reports whether there may be new events.
func (c *clientCore) takesMore() bool {
	c.reading = false
	if c.held {
		c.main.Turn(c.now, c)
	}
	if c.ended && !c.reading {
		c.ended = false
		c.HandleEnd(c.now, c.end)
		return true
	}
	return c.reading
}

// Over is that of the endpoint.
func (c *clientCore) Over() (why error, over bool) { return c.Endpoint.Over() }

// Close says goodbye.
func (c *clientCore) Close(now time.Time, text string) {
	c.Endpoint.Close(now, core.ExitClientQuit, text)
}

// Abort ends the connection as if the stream had.
func (c *clientCore) Abort(now time.Time, _ string) { c.HandleEnd(now, nil) }

// HandleTimeout first takes the bytes that came, so that the server is not late because the loop was.
func (c *clientCore) HandleTimeout(now time.Time) {
	c.Advance(now)
	c.Endpoint.HandleTimeout(now)
	c.time.handleTimeout(now, c.Clock())
}

// NextTimeout returns when to call HandleTimeout next.
func (c *clientCore) NextTimeout() (time.Time, bool) {
	at, ok := c.Endpoint.NextTimeout()
	if ok && c.time.server.IsValid() && c.time.next.Before(at) {
		at = c.time.next
	}
	return at, ok
}

// HandleDatagram takes an answer of the time server.
func (c *clientCore) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	if from == c.time.server {
		c.Clock().HandleAnswer(now, b)
	}
}

// PollTransmit writes what is due on the stream, and then returns the next question.
func (c *clientCore) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	for c.line.Ready() {
		n := c.PollBytes(c.out[:])
		if n == 0 {
			break
		}
		c.line.Send(c.out[:n])
	}
	if _, over := c.Over(); over && !c.over {
		c.over = true
		c.line.Finish()
		c.wake() // the last bytes may just be written: the program is told in the next turn
	}
	if c.over || !c.time.due {
		return 0, netip.AddrPort{}, false
	}
	c.time.due = false
	return len(c.Clock().AppendQuestion(time.Now(), c.time.version, buf[:0])), c.time.server, true
}

// timeSocket is the socket of the questions. It says that its peer is the server, whose time server is at another port.
type timeSocket struct {
	*udp.Socket
	server netip.AddrPort
}

func (s timeSocket) RemoteAddr() netip.AddrPort { return s.server }

// carrier returns the socket of the questions, or a carrier that has none: then the time of the login has to do.
func (c *Config) carrier(main stream.Dialed) datagram.Carrier {
	local := netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	if main.Addr().Addr().Is6() {
		local = netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	}
	if !c.NoTime {
		if socket, err := udp.Listen(local.String(), udp.Config{Batch: 1, NoGRO: true, Gather: -1}); err == nil {
			return timeSocket{socket, main.Addr()}
		}
	}
	return datagram.NewSilent(main.LocalAddr(), main.Addr())
}

// When a client asks for the time: eight times at once, as the quickest answer counts, then now and then against drift.
const (
	firstQuestions = 8
	questionPause  = 100 * time.Millisecond
	exchangePause  = 10 * time.Second // version 10
	burstPause     = time.Minute      // version 9: each question brings ten answers
	burstRetry     = 2 * time.Second  // while none has come
)

// timeClient says when to ask the time server.
type timeClient struct {
	asks    bool           // there is a socket to ask with
	server  netip.AddrPort // not valid before the config, and if there is none
	version uint16
	asked   int
	next    time.Time
	due     bool
}

// begin begins to ask, when the config has named the port.
func (t *timeClient) begin(now time.Time, e *core.Endpoint) {
	if t.asks && e.TimeServerPort() != 0 {
		t.server = netip.AddrPortFrom(e.Peer().Addr(), e.TimeServerPort())
		t.version, t.next = e.Config().Version, now
	}
}

func (t *timeClient) handleTimeout(now time.Time, clock *core.Clock) {
	if t.server.IsValid() && !now.Before(t.next) {
		t.due = true
		t.next = now.Add(t.pause(clock))
		t.asked++
	}
}

// pause returns how long to wait after a question.
func (t *timeClient) pause(clock *core.Clock) time.Duration {
	switch {
	case t.version >= core.Version10 && t.asked < firstQuestions:
		return questionPause
	case t.version >= core.Version10:
		return exchangePause
	case !clock.Synced():
		return burstRetry
	}
	return burstPause
}
