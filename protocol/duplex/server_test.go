package duplex

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/internal/stream"
	"parley/internal/udp"
	"parley/protocol/duplex/core"
)

// patience is how long a client may take to join, and to get its feed, where a test does not wait for that to be over: a busy machine may
// run nothing of it for ten seconds.
const patience = time.Minute

// hall is a server for tests, whose events are to be waited for.
type hall struct {
	*Server
	t      testing.TB
	mu     sync.Mutex
	events []string
	conns  map[int16]*Conn
	change chan struct{}
}

func newHall(t testing.TB, c Config) *hall {
	patient.Test(t)
	return hallAt(t, c, shelltest.Kernel(udp.Config{}), nil, stream.Serve)
}

// hallAt opens a server with its feed at a place, a listener of ours if there is one, and mains that carry brings.
func hallAt(t testing.TB, c Config, at shelltest.Place, listener net.Listener, carry func(net.Listener, stream.Config) stream.Carrier) *hall {
	t.Helper()
	if c.Schema == nil {
		c.Schema = gameSchema
	}
	if c.WaitingPerAddress == 0 {
		c.WaitingPerAddress = -1 // most of its clients have one address
	}
	c.JoinTimeout = cmp.Or(c.JoinTimeout, patience)
	h := &hall{t: t, conns: map[int16]*Conn{}, change: make(chan struct{}, 1)}
	if listener == nil {
		var err error
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	h.Server = serve(listener, carry, at.Listen(t), c, h.event)
	t.Cleanup(func() { h.Close() })
	return h
}

func (h *hall) event(c *Conn, ev Event) {
	h.mu.Lock()
	h.events = append(h.events, fmt.Sprint(c.Player(), " ", eventText(ev)))
	switch ev.Kind {
	case EventJoined:
		h.conns[c.Player()] = c
	case EventClosed:
		delete(h.conns, c.Player())
		if ev.Goodbye {
			h.events = append(h.events, fmt.Sprint(c.Player(), " goodbye"))
		}
	case EventQuery:
		if ev.Code == 65 || ev.Code == 68 {
			if err := c.Reply(ev.ID, 0, ev.Data); err != nil {
				h.t.Error(err)
			}
		}
	}
	h.mu.Unlock()
	select {
	case h.change <- struct{}{}:
	default:
	}
}

// wait waits until the server saw what is wanted.
func (h *hall) wait(what string, cond func() bool) {
	h.t.Helper()
	for {
		h.mu.Lock()
		ok := cond()
		h.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-h.change:
		case <-h.t.Context().Done():
			h.t.Fatalf("%s: the server saw %q", what, h.events)
		}
	}
}

func (h *hall) saw(text string) func() bool {
	return func() bool {
		for _, ev := range h.events {
			if ev == text {
				return true
			}
		}
		return false
	}
}

// enter connects a client to the hall.
func (h *hall) enter(c Config) *Client {
	h.t.Helper()
	if c.Schema == nil {
		c.Schema = gameSchema
	}
	c.FeedAddr = h.FeedAddr().String()
	c.FeedWait = cmp.Or(c.FeedWait, patience)
	x, err := Dial(h.t.Context(), h.Addr().String(), c)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { x.Close(context.Background()) })
	return x
}

// await reads events until one is as wanted.
func await(t testing.TB, x *Client, want string) {
	t.Helper()
	var saw []string
	for ev := range x.Events() {
		got := eventText(ev)
		if got == want {
			return
		}
		saw = append(saw, got)
	}
	t.Fatalf("%q did not come, but %q", want, saw)
}

func TestServerAndClientOverRealSockets(t *testing.T) {
	server, client := certificate(t)
	t.Run("plain", func(t *testing.T) { playOverSockets(t, nil, nil) })
	t.Run("TLS", func(t *testing.T) { playOverSockets(t, server, client) })
}

func playOverSockets(t *testing.T, server, client *tls.Config) {
	h := newHall(t, Config{Resync: -1, TLS: server})
	h.set(7, 1)
	x := h.enter(Config{TLS: client})
	await(t, x, "sync 7 010000000000000001")
	await(t, x, "synced")
	if !x.FeedUp() || x.Player() != 1 {
		t.Errorf("feed %t, player %d", x.FeedUp(), x.Player())
	}
	h.set(7, 2)
	await(t, x, "update 7 010000000000000002")
	if err := x.Update(1, valueOf(5)[1:]); err != nil {
		t.Fatal(err)
	}
	h.wait("an update", h.saw("1 update 1 0000000000000005"))
	if err := x.Sync(1, valueOf(6)[1:]); err != nil {
		t.Fatal(err)
	}
	h.wait("a sync", h.saw("1 sync 1 0000000000000006"))
	for _, on := range []core.Channel{Main, Feed} {
		status, reply, err := x.Query(t.Context(), on, 65, []byte("ping"))
		if status != 0 || string(reply) != "ping" || err != nil {
			t.Errorf("on %v: status %d, %q, %v", on, status, reply, err)
		}
		if err := x.Signal(on, 14); err != nil {
			t.Error(err)
		}
		h.wait("a signal", h.saw(fmt.Sprintf("1 signal 14 on %v", on)))
	}
	if data, ok := x.Element(7); !ok || string(data) != string(valueOf(2)) {
		t.Errorf("the client knows %x of 7", data)
	}
	if err := h.Do(func() {
		for range 50 {
			if err := h.mux.ByID(1).Sync(-1, longLine); err != nil {
				t.Error(err)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		await(t, x, fmt.Sprintf("sync -1 %x", longLine))
	}
	if err := x.Close(t.Context()); err != nil {
		t.Error(err)
	}
	h.wait("the client leaves", h.saw("1 closed: peer left"))
	if server != nil {
		if _, err := Dial(t.Context(), h.Addr().String(), Config{TLS: &tls.Config{}, FeedAddr: h.FeedAddr().String()}); err == nil {
			t.Error("an unknown certificate passes")
		}
	}
	if err := h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	stats := h.Stats()
	if err := stats.Mux.Check(); err != nil {
		t.Error(err)
	}
}

// set changes an element and flushes.
func (h *hall) set(sid int16, value uint64) {
	h.t.Helper()
	err := h.Do(func() {
		m := h.Scene()
		if err := m.Set(sid, valueOf(value)); err != nil {
			h.t.Error(err)
		}
		m.Flush()
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func TestAServerQueriesItsClients(t *testing.T) {
	h := newHall(t, Config{})
	x := h.enter(Config{})
	h.wait("it joins", func() bool { return h.conns[1] != nil })
	h.Do(func() {
		for _, on := range []core.Channel{Main, Feed} {
			if _, err := h.conns[1].Query(on, 65, []byte("abcd")); err != nil {
				t.Error(err)
			}
		}
	})
	answered := 0
	for ev := range x.Events() {
		if ev.Kind == EventQuery {
			if err := x.Reply(ev.ID, 0, ev.Data); err != nil {
				t.Error(err)
			}
			if answered++; answered == 2 {
				break
			}
		}
	}
	h.wait("replies", func() bool {
		return h.saw("1 reply 65 on main: status 0, 61626364")() && h.saw("1 reply 65 on feed: status 0, 61626364")()
	})
}

func TestAQueryEndsWithItsContextOrConnection(t *testing.T) {
	h := newHall(t, Config{}) // which does not answer 64
	x := h.enter(Config{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		h.wait("the query", h.saw("1 query 64 on main: 00"))
		cancel()
	}()
	if _, _, err := x.Query(ctx, Main, 64, []byte{0}); !errors.Is(err, context.Canceled) {
		t.Errorf("a query whose context ended: %v", err)
	}
	done := make(chan error)
	go func() {
		_, _, err := x.Query(t.Context(), Main, 64, []byte{1, 9})
		done <- err
	}()
	h.wait("the query", h.saw("1 query 64 on main: 0109"))
	if err := h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := patient.Value(done); !errors.Is(err, ErrClosed) {
		t.Errorf("a query whose connection ended: %v", err)
	}
	if why := (Close{}); !errors.As(x.Err(), &why) || why.Reason != core.ReasonPeer {
		t.Errorf("the client ended with %v", x.Err())
	}
}

func TestDialIsRefused(t *testing.T) {
	h := newHall(t, Config{MaxPlayers: 1})
	h.enter(Config{})
	h.wait("it joins", func() bool { return h.conns[1] != nil })
	_, err := Dial(t.Context(), h.Addr().String(), Config{Schema: gameSchema, FeedAddr: h.FeedAddr().String()})
	if why := (Close{}); !errors.As(err, &why) || why.Reason != core.ReasonRefused || !why.Remote {
		t.Errorf("the second of one player: %v", err)
	}
	_, err = Dial(shelltest.Ended(), h.Addr().String(), Config{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	h.Close()
	if _, err := Dial(t.Context(), h.Addr().String(), Config{}); err == nil {
		t.Error("a server that is closed lets somebody in")
	}
}

// A feed that nothing answers: the client joins with main alone, and sooner if it is told.
func TestDialWithoutAFeed(t *testing.T) {
	h := newHall(t, Config{})
	deaf, err := udp.Listen("127.0.0.1:0", udp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	x, err := Dial(t.Context(), h.Addr().String(), Config{Schema: gameSchema, FeedAddr: deaf.LocalAddr().String(), FeedWait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close(t.Context())
	h.set(7, 1)
	await(t, x, "sync 7 010000000000000001")
	if x.FeedUp() {
		t.Error("there is a feed")
	}
	if err := x.Update(1, valueOf(1)[1:]); err != nil {
		t.Fatal(err)
	}
	h.wait("an update over main", h.saw("1 sync 1 0000000000000001"))
}

// A listener that fails now and then.
type faultyListener struct {
	net.Listener
	mu    sync.Mutex
	fails int
}

func (l *faultyListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails > 0 {
		l.fails--
		return nil, errors.New("too many open files")
	}
	return l.Listener.Accept()
}

// T61: a server without descriptors waits for some, and goes on.
func TestAcceptGoesOnAfterFaults(t *testing.T) {
	promise.Keeps(t, "T61", "duplex", 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log shelltest.Buffer
	h := hallAt(t, Config{Log: shelltest.Log(&log)}, shelltest.Kernel(udp.Config{}), &faultyListener{Listener: listener, fails: 5}, stream.Serve)
	h.enter(Config{})
	if got := h.Stats().Streams.AcceptErrs; got != 5 {
		t.Errorf("%d faults are counted, want 5", got)
	}
	if !strings.Contains(log.String(), "too many open files") {
		t.Errorf("the log does not say why nobody is let in: %s", log.String())
	}
}

// A client that broke the rules reads all that was sent to it, and then the end of the stream: main is not reset.
func TestAfterAnErrorMainEndsInOrder(t *testing.T) {
	h := newHall(t, Config{})
	conn, err := net.Dial("tcp", h.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer patient.End().Stop()
	if _, err := conn.Write([]byte{core.CodeConnInit, core.CodeConnFailed}); err != nil {
		t.Fatal(err)
	}
	h.wait("it joins", func() bool { return h.conns[1] != nil })
	if _, err := conn.Write([]byte{core.CodeConnInit}); err != nil { // it has joined
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Errorf("main ends with %v, want its end", err)
	}
}

// T61: the same exchange with system calls of the feed that fail, and with the kernel's
// joining and batching off.
func TestExchangeAtEveryKindOfSocket(t *testing.T) {
	promise.Keeps(t, "T61", "duplex", 1)
	for name, c := range map[string]udp.Config{
		"batched": {}, "without joining": {NoGSO: true, NoGRO: true}, "small batches": {Batch: 2, MaxDatagram: 2048}, "plain": {Plain: true},
		"faulty": shelltest.Faulty(udp.Config{}, 7), "faulty and plain": shelltest.Faulty(udp.Config{Plain: true}, 7),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hallAt(t, Config{Resync: 50 * time.Millisecond}, shelltest.Kernel(c), nil, stream.Serve)
			x := h.enter(Config{FeedWait: 20 * time.Second})
			for i := range uint64(50) {
				h.set(7, i)
			}
			await(t, x, fmt.Sprintf("sync 7 01%016x", 49)) // with the next sync at the latest
			status, reply, err := x.Query(t.Context(), Feed, 65, []byte("ping"))
			if status != 0 || string(reply) != "ping" || err != nil {
				t.Errorf("status %d, %q, %v", status, reply, err)
			}
		})
	}
}

// Whoever closes, and however often and together, leaves nothing behind: goleak looks.
func TestCloseByMany(t *testing.T) {
	h := newHall(t, Config{})
	clients := []*Client{h.enter(Config{}), h.enter(Config{}), h.enter(Config{})}
	var group sync.WaitGroup
	for range 3 {
		for _, x := range clients {
			group.Go(func() { x.Close(context.Background()) })
		}
		group.Go(func() { h.Close() })
		group.Go(func() { h.Shutdown(context.Background()) })
	}
	patient.Done(group.Wait)
	for _, x := range clients {
		if err := x.Update(1, valueOf(1)[1:]); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		for ev := range x.Events() {
			if ev.Kind == EventClosed && ev.Close.Reason == 0 {
				t.Error("an end without a reason")
			}
		}
	}
	if err := h.Do(func() {}); !errors.Is(err, ErrServerClosed) {
		t.Errorf("Do after Close: %v", err)
	}
}

// Garbage on main ends that main, and no other.
func TestGarbageOnMainEndsIt(t *testing.T) {
	h := newHall(t, Config{})
	x := h.enter(Config{})
	for _, garbage := range []string{"\x00", "GET / HTTP/1.1\r\n\r\n", "\x06\x06", "\x06\x09", "\x07", "\x06\x07\x02\x7f\xff"} {
		conn, err := net.Dial("tcp", h.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, garbage)
		if garbage == "\x06\x07\x02\x7f\xff" { // an element of which half has come
			conn.(*net.TCPConn).CloseWrite()
		}
		if _, err := io.ReadAll(conn); err != nil && !errors.Is(err, io.EOF) {
			var reset net.Error
			if !errors.As(err, &reset) {
				t.Errorf("%q: %v", garbage, err)
			}
		}
		conn.Close()
	}
	h.set(7, 1)
	await(t, x, "sync 7 010000000000000001")
}
