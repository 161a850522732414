package ws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/internal/carry"
	"parley/internal/datagram"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/stream"
)

// echo is a core that sends back what comes.
type echo struct {
	mu      sync.Mutex
	hall    *carry.Hall
	out     []datagram.Message
	gone    int
	flooded int // answers to one datagram
	floods  int
	done    atomic.Int64 // floods all of whose answers have gone to the carrier
	busy    atomic.Bool  // some have not
}

func (e *echo) HandleDatagram(_ time.Time, from netip.AddrPort, b []byte) {
	e.hall.Welcome(from)
	switch {
	case string(b) == "bye":
		e.out = append(e.out, datagram.Message{From: from, Data: []byte("goodbye")})
		e.hall.Hangup(from)
		return
	case string(b) == "flood":
		e.floods++
		e.busy.Store(true)
		for range e.flooded {
			e.out = append(e.out, datagram.Message{From: from, Data: make([]byte, 1200)})
		}
		return
	}
	e.out = append(e.out, datagram.Message{From: from, Data: bytes.Clone(b)})
}

func (e *echo) HandleGone(time.Time, netip.AddrPort) {
	e.mu.Lock()
	e.gone++
	e.mu.Unlock()
}
func (e *echo) HandleTimeout(time.Time)              {}
func (e *echo) NextTimeout() (at time.Time, ok bool) { return at, false }
func (e *echo) PollTransmit(buf []byte) (n int, to netip.AddrPort, ok bool) {
	if len(e.out) == 0 {
		return 0, to, false
	}
	m := e.out[0]
	if e.out = e.out[1:]; len(e.out) == 0 {
		e.out = nil
		e.done.Store(int64(e.floods))
		e.busy.Store(false)
	}
	return copy(buf, m.Data), m.From, true
}

// streamEcho sends back what comes on streams, and closes one that says bye.
type streamEcho struct{}

type streamPeer struct{ stream.Stream }

func (streamEcho) Opened(_ time.Time, s stream.Stream) stream.Receiver { return streamPeer{s} }
func (p streamPeer) Received(_ time.Time, b []byte) int {
	if !p.Ready() {
		return 0
	}
	p.Send(bytes.Clone(b))
	if bytes.HasSuffix(b, []byte("bye")) {
		p.Finish()
	}
	return len(b)
}
func (streamPeer) Writable(time.Time)     {}
func (streamPeer) Ended(time.Time, error) {}

// field is a server with a dialect of datagrams and one of streams.
type field struct {
	building *carry.Building
	core     *echo
	server   *httptest.Server
	ws       *Server
}

// ways runs a test over connections that share a reader, where the system has that, and over those with a goroutine each.
func ways(t *testing.T, test func(t *testing.T, f *field)) {
	for _, apart := range []bool{false, true} {
		t.Run(map[bool]string{false: "shared", true: "apart"}[apart], func(t *testing.T) {
			f := newField(t, true)
			f.ws.apart = apart
			test(t, f)
		})
	}
}

func newField(t testing.TB, secure bool) *field {
	f := &field{building: carry.NewBuilding(carry.Config{OfHost: -1, Most: 1 << 20})}
	hall := f.building.Hall("replica")
	f.core = &echo{hall: hall, flooded: 1000}
	loop := datagram.StartLoop(carry.Join(datagram.NewSilent(netip.AddrPort{}, netip.AddrPort{}), hall), f.core, datagram.LoopConfig{})
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	streams := carry.JoinStreams(stream.Serve(socket, stream.Config{}), f.building.Hall("realm"))
	wake, end, ended := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	streams.Start(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	go func() {
		defer close(ended)
		for {
			select {
			case <-wake:
				streams.Turn(time.Now(), streamEcho{})
			case <-end:
				return
			}
		}
	}()
	f.ws = NewServer(f.building)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.ws.Serve(w, r, netip.MustParseAddrPort(r.RemoteAddr), secure)
	})
	f.server = httptest.NewServer(handler)
	t.Cleanup(func() {
		f.server.Close()
		loop.Close()
		close(end)
		patient.Value(ended)
		streams.Close()
		patient.Done(f.ws.Wait)
	})
	return f
}

func (f *field) dial(t testing.TB, dialect string) *websocket.Conn {
	t.Helper()
	c, answer, err := websocket.Dial(t.Context(), f.server.URL+Path+dialect, nil)
	if err != nil {
		t.Fatal(err, answer)
	}
	c.SetReadLimit(1 << 20)
	t.Cleanup(func() { c.CloseNow() })
	return c
}

func (f *field) raw(t testing.TB, dialect string) net.Conn {
	t.Helper()
	c := f.shake(t, dialect)
	t.Cleanup(func() { c.Close() })
	return c
}

// shake returns a connection behind its handshake, which the caller closes.
func (f *field) shake(t testing.TB, dialect string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", f.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET %s%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", Path, dialect)
	c.SetReadDeadline(time.Now().Add(time.Minute))
	var b [1]byte
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if _, err := c.Read(b[:]); err != nil {
			t.Fatalf("the handshake ended with %v after %q", err, head)
		}
		head = append(head, b[0])
	}
	if !bytes.Contains(head, []byte(" 101 ")) {
		t.Fatalf("the handshake was answered with %q", head)
	}
	return c
}

// A client of another make sends and gets datagrams and a stream, in messages of all sizes and in fragments.
func TestAClientOfAnotherMake(t *testing.T) {
	ways(t, func(t *testing.T, f *field) {
		c := f.dial(t, "replica")
		for n := range 1201 {
			want := bytes.Repeat([]byte{byte(n)}, n)
			if err := c.Write(t.Context(), websocket.MessageBinary, want); err != nil {
				t.Fatal(err)
			}
			if _, got, err := c.Read(t.Context()); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes came back as %d, %v", n, len(got), err)
			}
		}
		w, _ := c.Writer(t.Context(), websocket.MessageBinary)
		for range 100 {
			io.WriteString(w, "fragment ")
		}
		w.Close()
		if _, got, err := c.Read(t.Context()); err != nil || string(got) != strings.Repeat("fragment ", 100) {
			t.Fatalf("fragments came back as %q, %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		go c.Read(ctx) // Ping needs a reader
		if err := c.Ping(ctx); err != nil {
			t.Errorf("ping: %v", err)
		}

		s := websocket.NetConn(t.Context(), f.dial(t, "realm"), websocket.MessageBinary)
		for n := 1; n < 60_000; n = n*3 + 1 {
			want := bytes.Repeat([]byte("x"), n)
			go s.Write(want)
			got := make([]byte, n)
			if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes of a stream: %v", n, err)
			}
		}
		s.Write([]byte("and bye"))
		if got, err := io.ReadAll(s); string(got) != "and bye" || err != nil {
			t.Errorf("the end of a stream is %q, %v", got, err)
		}
	})
}

// A session whose connection is over gets the goodbye and then the end, at once.
func TestTheGoodbyeComesBeforeTheEnd(t *testing.T) {
	ways(t, func(t *testing.T, f *field) {
		for range 20 {
			c := f.dial(t, "replica")
			begun := time.Now()
			c.Write(t.Context(), websocket.MessageBinary, []byte("bye"))
			if _, got, err := c.Read(t.Context()); string(got) != "goodbye" || err != nil {
				t.Fatalf("got %q, %v", got, err)
			}
			if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Fatalf("it ends with %v", err)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("it took %v", took)
			}
		}
		hall := f.building.Hall("replica")
		patient.Until(t, "all sessions have ended", func() bool { return hall.Stats().Open == 0 })
		if st := hall.Stats(); st.Done != 20 {
			t.Errorf("stats: %+v", st)
		}
	})
}

// A client that closes, politely or not, is known to be gone at once.
func TestTheCoreIsToldOfAnEnd(t *testing.T) {
	ways(t, func(t *testing.T, f *field) {
		a, b := f.dial(t, "replica"), f.dial(t, "replica")
		a.Write(t.Context(), websocket.MessageBinary, []byte("hello"))
		b.Write(t.Context(), websocket.MessageBinary, []byte("hello"))
		a.Close(websocket.StatusNormalClosure, "")
		b.CloseNow()
		patient.Until(t, "the core knows", func() bool {
			f.core.mu.Lock()
			defer f.core.mu.Unlock()
			return f.core.gone == 2
		})
	})
}

// Refusals have a status: no such dialect, and realm where it could be read on the way.
func TestRefusals(t *testing.T) {
	f := newField(t, false)
	for path, want := range map[string]int{"chess": http.StatusNotFound, "realm": http.StatusForbidden, "": http.StatusNotFound} {
		_, answer, err := websocket.Dial(t.Context(), f.server.URL+Path+path, nil)
		if err == nil || answer == nil || answer.StatusCode != want {
			t.Errorf("%q: %v, %v, want %d", path, answer, err, want)
		}
	}
	answer, err := http.Get(f.server.URL + Path + "replica")
	if err != nil || answer.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("no WebSocket: %v, %v", answer, err)
	}
	answer.Body.Close()
	if st := f.building.Hall("replica").Stats(); st.Open != 0 || st.Opened != 0 {
		t.Errorf("stats: %+v", st)
	}
}

// frame is a client's frame with any bits.
func frame(first, second byte, length []byte, payload string) []byte {
	b := append([]byte{first, second}, length...)
	return append(append(b, 0, 0, 0, 0), payload...) // with the mask 0
}

// Hostile frames end their session with the right code, and no other: others go on.
func TestHostileFrames(t *testing.T) {
	promise.Keeps(t, "T75", "hostile frames", 2)
	ways(t, func(t *testing.T, f *field) {
		other := f.dial(t, "replica")
		for _, tt := range []struct {
			name string
			b    []byte
			code uint16
		}{
			{"text", frame(0x81, 0x85, nil, "hello"), codeType},
			{"without a mask", []byte{0x82, 0x01, 'x'}, codeProtocol},
			{"a reserved bit", frame(0xc2, 0x81, nil, "x"), codeProtocol},
			{"a reserved opcode", frame(0x83, 0x81, nil, "x"), codeProtocol},
			{"a reserved control opcode", frame(0x8b, 0x81, nil, "x"), codeProtocol},
			{"a length of 2^63", frame(0x82, 0xff, []byte{0x80, 0, 0, 0, 0, 0, 0, 0}, ""), codeProtocol},
			{"a length of 2^63-1", frame(0x82, 0xff, []byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, ""), codeTooBig},
			{"a length of 2^16+1", frame(0x82, 0xff, []byte{0, 0, 0, 0, 0, 1, 0, 1}, ""), codeTooBig},
			{"a length that is not minimal", frame(0x82, 0xfe, []byte{0, 5}, "hello"), codeProtocol},
			{"a long length that is not minimal", frame(0x82, 0xff, []byte{0, 0, 0, 0, 0, 0, 0, 5}, "hello"), codeProtocol},
			{"a continuation of nothing", frame(0x80, 0x81, nil, "x"), codeProtocol},
			{"a message in a message", append(frame(0x02, 0x81, nil, "x"), frame(0x82, 0x81, nil, "x")...), codeProtocol},
			{"a ping in parts", frame(0x09, 0x81, nil, "x"), codeProtocol},
			{"a ping that is too long", frame(0x89, 0xfe, []byte{0, 126}, ""), codeProtocol},
			{"fragments beyond 64 KiB", bytes.Repeat(frame(0x02, 0xfe, []byte{0x70, 0}, strings.Repeat("x", 0x7000)), 1), 0},
			{"pings for ever", bytes.Repeat(frame(0x89, 0x81, nil, "x"), maxFlood), codePolicy},
			{"empty fragments for ever", append(frame(0x02, 0x80, nil, ""), bytes.Repeat(frame(0x00, 0x80, nil, ""), maxFlood)...), codePolicy},
			{"messages of a byte for ever", bytes.Repeat(frame(0x82, 0x81, nil, "x"), maxFlood), codePolicy},
		} {
			for _, dialect := range []string{"replica", "realm"} {
				c := f.raw(t, dialect)
				go func() {
					c.Write(tt.b)
					if tt.code == 0 {
						for range 3 {
							c.Write(frame(0x00, 0xfe, []byte{0x70, 0}, strings.Repeat("x", 0x7000)))
						}
					}
				}()
				if tt.code == codePolicy { // it ends only if the server is fast enough
					c.SetReadDeadline(time.Now().Add(time.Second))
				}
				all, err := io.ReadAll(c) // until it is closed
				c.Close()
				var late net.Error
				if errors.As(err, &late) && late.Timeout() && tt.code != codePolicy {
					t.Errorf("%s at %s: it is not closed", tt.name, dialect)
				}
				if code := tt.code; code != 0 && code != codePolicy && dialect == "replica" && !bytes.Contains(all, []byte{byte(code >> 8), byte(code)}) {
					t.Errorf("%s at %s: no code %d in % x", tt.name, dialect, code, all)
				}
			}
			if err := other.Write(t.Context(), websocket.MessageBinary, []byte("still here")); err != nil {
				t.Fatalf("%s: another client: %v", tt.name, err)
			}
			if _, got, err := other.Read(t.Context()); string(got) != "still here" || err != nil {
				t.Fatalf("%s: another client got %q, %v", tt.name, got, err)
			}
		}
		for _, dialect := range []string{"replica", "realm"} {
			hall := f.building.Hall(dialect)
			left := map[string]uint64{"replica": 1}[dialect] // the other client
			patient.Until(t, "hostile sessions have ended", func() bool { return hall.Stats().Open <= left })
			st := hall.Stats()
			if sum := st.Left + st.Done + st.Silent + st.Stuck + st.Flood + st.Wrong + st.Cut; sum != st.Opened-st.Open || st.Wrong < 12 {
				t.Errorf("%s: stats: %+v", dialect, st)
			}
		}
	})
}

// A session that ends while somebody writes is told why, behind what is being written.
func TestTheReasonGoesOutBehindAWrite(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	c := newConn() // somebody writes
	w := newAlone(&shaken{Conn: near, patience: writeTime}, nil)
	w.conn, c.wire = c, w
	c.bye(codeType, "text")
	go c.writeOn(nil, []byte("the rest"))
	far.SetReadDeadline(time.Now().Add(10 * time.Second))
	want := appendClose([]byte("the rest"), codeType, "text")
	got := make([]byte, len(want))
	if _, err := io.ReadFull(far, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	near.Close()
}

const maxFlood = 40_000

// A client that never reads costs what waits for it, and no more, and nobody waits for it.
func TestAClientThatNeverReads(t *testing.T) {
	ways(t, func(t *testing.T, f *field) {
		deaf, other := f.raw(t, "replica"), f.dial(t, "replica")
		for range 20 {
			deaf.Write(frame(0x82, 0x85, nil, "flood")) // a thousand answers each, 1.2 MB
			begun := time.Now()
			other.Write(t.Context(), websocket.MessageBinary, []byte("hello"))
			if _, got, err := other.Read(t.Context()); string(got) != "hello" || err != nil {
				t.Fatalf("another client got %q, %v", got, err)
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("another client waited for %v", took)
			}
		}
		patient.Until(t, "the oldest are dropped", func() bool { return f.building.Hall("replica").Stats().OutOld > 0 })
	})
}

// Sessions come and go by the thousand, in every way that they can end, and leave nothing behind.
func TestChurn(t *testing.T) {
	sessions := promise.Keeps(t, "T75", "sessions churned", promise.Tier(300, 10_000, 100_000)) / 2
	ends := []func(c net.Conn, i int){
		func(c net.Conn, _ int) { c.Close() },
		func(c net.Conn, _ int) { c.(*net.TCPConn).SetLinger(0); c.Close() },
		func(c net.Conn, _ int) { c.Write(frame(0x88, 0x82, nil, "\x03\xe8")); io.ReadAll(c); c.Close() },
		func(c net.Conn, _ int) { c.Write(frame(0x82, 0x83, nil, "bye")); io.ReadAll(c); c.Close() },
		func(c net.Conn, _ int) { c.Write(frame(0x82, 0x85, nil, "flood")); c.Close() },
		func(c net.Conn, _ int) { c.Write(frame(0x82, 0x85, nil, "hel")); c.Close() },
		func(c net.Conn, _ int) { c.(*net.TCPConn).CloseWrite(); io.ReadAll(c); c.Close() },
		func(c net.Conn, _ int) { c.Write(frame(0x81, 0x80, nil, "")); io.ReadAll(c); c.Close() },
	}
	ways(t, func(t *testing.T, f *field) {
		churn := func(n int) {
			var group sync.WaitGroup
			for w := range 8 {
				group.Go(func() {
					for i := w; i < n; i += 8 {
						c := f.shake(t, []string{"replica", "realm"}[i/8%2])
						ends[i/16%len(ends)](c, i)
					}
				})
			}
			patient.Done(group.Wait)
			for _, dialect := range []string{"replica", "realm"} {
				hall := f.building.Hall(dialect)
				patient.Until(t, "all have ended", func() bool { return hall.Stats().Open == 0 })
			}
		}
		measure := func() (goroutines int, heap uint64) {
			patient.Until(t, "connections of HTTP are gone", func() bool { return runtime.NumGoroutine() < 60 && !f.core.busy.Load() })
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return runtime.NumGoroutine(), m.HeapAlloc
		}
		churn(256)
		goroutines, heap := measure()
		churn(sessions)
		after, heapAfter := measure()
		if after > goroutines+8 || heapAfter > heap+2<<20+uint64(sessions)*100 {
			t.Errorf("from %d to %d goroutines, and from %d to %d bytes, in %d sessions", goroutines, after, heap, heapAfter, sessions)
		}
	})
}
