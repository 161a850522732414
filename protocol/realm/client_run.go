package realm

import (
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"parley/internal/datagram"
	"parley/internal/udp"
	"parley/protocol/realm/core"
)

// Limits of what waits between a client's goroutines and the program.
const (
	// maxInboxEvents and maxInboxBytes bound what is ready for the program. Past either the
	// stream is not read, so that the server's own bounds are reached: a server that floods a
	// slow client costs it this much, and one message more.
	maxInboxEvents = 1024
	maxInboxBytes  = 256 << 10

	// clientBuffer is what a client reads and writes at once.
	clientBuffer = 16 << 10
)

// inbox is the bounded queue of events to the program.
type inbox struct {
	mu     sync.Mutex
	some   sync.Cond // there is something to read, or no more comes
	room   sync.Cond // there is room, or nobody reads any more
	list   []inboxEvent
	bytes  int
	ended  bool // no more comes
	closed bool // nothing more is wanted
}

type inboxEvent struct {
	Event
	bytes int
}

func (b *inbox) init() { b.some.L, b.room.L = &b.mu, &b.mu }

// put adds an event, and waits for room.
func (b *inbox) put(ev Event, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for (len(b.list) >= maxInboxEvents || b.bytes >= maxInboxBytes) && !b.closed {
		b.room.Wait()
	}
	if b.closed {
		return
	}
	b.list = append(b.list, inboxEvent{ev, bytes})
	b.bytes += bytes
	b.some.Signal()
}

// next waits for the next event, until there are no more.
func (b *inbox) next() (Event, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.list) == 0 && !b.ended {
		b.some.Wait()
	}
	if len(b.list) == 0 {
		return Event{}, false
	}
	ev := b.list[0]
	b.list[0] = inboxEvent{}
	b.list = b.list[1:]
	b.bytes -= ev.bytes
	b.room.Signal()
	return ev.Event, true
}

// close says that nothing more is wanted, and end that nothing more comes.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.room.Broadcast()
}

func (b *inbox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.some.Broadcast()
}

// read is the goroutine that reads the stream.
func (c *Client) read() {
	buf := make([]byte, clientBuffer)
	for {
		n, err := c.conn.Read(buf)
		c.take(buf[:n], err)
		if err != nil {
			break
		}
	}
	c.cut()
	c.inbox.end()
}

// take gives bytes, or the end, to the endpoint, and what comes of it to the program.
func (c *Client) take(b []byte, end error) {
	c.mu.Lock()
	now := time.Now()
	c.endpoint.HandleBytes(now, b)
	c.poll()
	if end != nil {
		c.endpoint.HandleEnd(now, end)
		c.poll()
	}
	c.mu.Unlock()
	c.wakeWriter()
}

// poll hands events on. c.mu is held, but not while the program is waited for.
func (c *Client) poll() {
	for ev, ok := c.endpoint.PollEvent(); ok; ev, ok = c.endpoint.PollEvent() {
		switch ev.Kind {
		case EventOpened:
			c.told = true
			c.log.Info("connected")
			close(c.opened)
		case core.EventRegistered:
			c.registers[0] <- core.RegisterCode(ev.Message.Code)
			c.registers = c.registers[1:]
		case core.EventLoggedIn:
			c.logins[0] <- core.LoginCode(ev.Message.Code)
			c.logins = c.logins[1:]
		case EventClosed:
			c.log.Info("disconnected", "reason", ev.Close)
			c.over = true
			close(c.quit)
		default:
			bytes := 0
			ev.Message, bytes = c.codec.Own(ev.Message)
			c.mu.Unlock()
			c.inbox.put(ev, bytes)
			c.mu.Lock()
		}
	}
}

// write is the goroutine that writes the stream and keeps the time.
func (c *Client) write() {
	buf := make([]byte, clientBuffer)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		c.mu.Lock()
		now := time.Now()
		c.endpoint.HandleTimeout(now)
		n := c.endpoint.PollBytes(buf)
		if _, ended := c.endpoint.Over(); ended && !c.over {
			c.poll() // the end is told by who sees it first
		}
		over := c.over
		next, ok := c.endpoint.NextTimeout()
		c.mu.Unlock()
		if n > 0 {
			if _, err := c.conn.Write(buf[:n]); err != nil {
				c.cut()
				return
			}
			continue
		}
		if over {
			c.hangUp()
			return
		}
		if !ok {
			next = now.Add(time.Hour)
		}
		timer.Reset(max(time.Until(next), 0))
		select {
		case <-c.wake:
		case <-timer.C:
		case <-c.quit:
		}
	}
}

// hangUp closes our side of the stream, and gives the server a moment to close its own, so
// that the exit arrives.
func (c *Client) hangUp() {
	c.inbox.close()
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	c.conn.SetReadDeadline(time.Now().Add(c.linger))
}

// cut closes the stream at once.
func (c *Client) cut() {
	c.cutter.Do(func() {
		c.inbox.close()
		c.conn.Close()
	})
}

// askTime is the goroutine that asks the time server: eight times at once, as the quickest
// answer counts, then now and then against drift.
func (c *Client) askTime() {
	select {
	case <-c.opened:
	case <-c.quit:
		return
	}
	c.mu.Lock()
	port, peer := c.endpoint.TimeServerPort(), c.endpoint.Peer()
	version := c.endpoint.Config().Version
	c.mu.Unlock()
	if port == 0 {
		return
	}
	socket, err := udp.Dial(net.JoinHostPort(peer.Addr().String(), strconv.Itoa(int(port))), udp.Config{Batch: 1, NoGRO: true})
	if err != nil {
		return // the time of the login will have to do
	}
	asker := &timeClient{client: c, to: socket.RemoteAddr(), version: version}
	loop := datagram.StartLoop(socket, asker, datagram.LoopConfig{})
	<-c.quit
	loop.Close()
}

// When a client asks for the time.
const (
	firstQuestions = 8
	questionPause  = 100 * time.Millisecond
	exchangePause  = 10 * time.Second // version 10
	burstPause     = time.Minute      // version 9: each question brings ten answers
	burstRetry     = 2 * time.Second  // while none has come
)

// timeClient asks a time server.
type timeClient struct {
	client  *Client
	to      netip.AddrPort
	version uint16
	asked   int
	next    time.Time
	due     bool
}

func (t *timeClient) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	if from != t.to {
		return
	}
	t.client.mu.Lock()
	defer t.client.mu.Unlock()
	t.client.endpoint.Clock().HandleAnswer(now, b)
}

func (t *timeClient) HandleTimeout(now time.Time) {
	if !now.Before(t.next) {
		t.due = true
		t.next = now.Add(t.pause())
		t.asked++
	}
}

// pause returns how long to wait after a question.
func (t *timeClient) pause() time.Duration {
	if t.version >= core.Version10 {
		if t.asked < firstQuestions {
			return questionPause
		}
		return exchangePause
	}
	t.client.mu.Lock()
	defer t.client.mu.Unlock()
	if !t.client.endpoint.Clock().Synced() {
		return burstRetry
	}
	return burstPause
}

func (t *timeClient) NextTimeout() (time.Time, bool) { return t.next, true }

func (t *timeClient) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if !t.due {
		return 0, netip.AddrPort{}, false
	}
	t.due = false
	t.client.mu.Lock()
	defer t.client.mu.Unlock()
	return len(t.client.endpoint.Clock().AppendQuestion(time.Now(), t.version, buf[:0])), t.to, true
}
