package stream

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/datagram"
	"parley/internal/patient"
	"parley/internal/promise"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a core that answers each connection as a test says.
type server struct {
	t    testing.TB
	l    *Listener
	loop *datagram.Loop

	// Called on the loop; unset ones do nothing.
	received func(c *Conn, b []byte)
	opened   func(c *Conn)
	ended    func(c *Conn, err error)

	strangers bool // nobody enters

	turns  int              // owned by the loop, as all below
	queues map[*Conn][]byte // what c was not ready for
	conns  map[*Conn]bool
}

// startWaking starts a Listener or Client whose Turn the test calls itself, and returns what is sent to when it has something to do.
func startWaking(x interface{ Start(wake func()) }) chan struct{} {
	woken := make(chan struct{}, 1)
	x.Start(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	return woken
}

// newServer starts a server; set sets its functions first.
func newServer(t testing.TB, config Config, set func(s *server)) *server {
	patient.Test(t)
	s := &server{t: t, queues: map[*Conn][]byte{}, conns: map[*Conn]bool{}}
	set(s)
	// A machine that stands still for some seconds cuts nobody, where the cutting is not the matter.
	if config.HandshakeTime == 0 {
		config.HandshakeTime = time.Hour
	}
	if config.Linger == 0 {
		config.Linger = time.Hour
	}
	var err error
	if s.l, err = Listen("127.0.0.1:0", config); err != nil {
		t.Fatal(err)
	}
	carrier := datagram.NewSilent(s.l.Addr(), netip.AddrPort{})
	s.loop = datagram.StartLoop(carrier, idle{}, datagram.LoopConfig{AfterTurn: func(now time.Time) {
		s.turns++
		s.l.Turn(now, s)
	}})
	s.l.Start(carrier.Wake)
	t.Cleanup(s.close)
	return s
}

func (s *server) close() {
	patient.Done(func() { s.loop.Close() })
	s.l.Close()
}

// idle is a core without datagrams.
type idle struct{}

func (idle) HandleDatagram(time.Time, netip.AddrPort, []byte)          {}
func (idle) HandleTimeout(time.Time)                                   {}
func (idle) NextTimeout() (at time.Time, ok bool)                      { return at, false }
func (idle) PollTransmit([]byte) (n int, to netip.AddrPort, more bool) { return 0, to, false }

// seat is a connection of the server.
type seat struct {
	*server
	c *Conn
}

func (s *server) Opened(_ time.Time, to Stream) Receiver {
	c := to.(*Conn)
	s.conns[c] = true
	if !s.strangers {
		c.Entered()
	}
	if s.opened != nil {
		s.opened(c)
	}
	return seat{s, c}
}

func (s seat) Received(_ time.Time, b []byte) int {
	if s.received != nil {
		s.received(s.c, b)
	}
	return len(b)
}

func (s seat) Writable(time.Time) { s.flush(s.c) }

func (s seat) Ended(_ time.Time, err error) {
	delete(s.conns, s.c)
	delete(s.queues, s.c)
	if s.ended != nil {
		s.ended(s.c, err)
	}
}

// send queues bytes as a core does.
func (s *server) send(c *Conn, b []byte) {
	s.queues[c] = append(s.queues[c], b...)
	s.flush(c)
}

func (s *server) flush(c *Conn) {
	for len(s.queues[c]) > 0 && c.Ready() {
		n := min(len(s.queues[c]), MaxSend)
		c.Send(s.queues[c][:n])
		s.queues[c] = s.queues[c][n:]
	}
}

// echo sends back what comes.
func echo(s *server) { s.received = func(c *Conn, b []byte) { s.send(c, b) } }

// do runs fn on the loop.
func (s *server) do(fn func()) {
	s.t.Helper()
	if err := s.loop.Do(fn); err != nil {
		s.t.Fatal(err)
	}
}

func testTLS(t testing.TB) *tls.Config {
	cert, err := OwnCertificate(filepath.Join(t.TempDir(), "c.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

// dial connects to the server as its configuration wants.
func (s *server) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.l.Addr().String())
	if err == nil && s.l.handshakes != nil {
		secured := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		err = secured.HandshakeContext(context.Background())
		c = secured
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// plainAndTLS runs a test of bytes without TLS and with it, also without a poller.
func plainAndTLS(t *testing.T, test func(t *testing.T, config Config)) {
	secure := testTLS(t)
	t.Run("plain", func(t *testing.T) { test(t, Config{}) })
	t.Run("TLS", func(t *testing.T) { test(t, Config{TLS: secure}) })
	t.Run("plain without a poller", func(t *testing.T) { test(t, Config{noPoller: true}) })
	t.Run("TLS without a poller", func(t *testing.T) { test(t, Config{TLS: secure, noPoller: true}) })
}

func TestBytesComeAndGo(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		s := newServer(t, config, echo)
		sent := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
		var clients sync.WaitGroup
		for range 8 {
			c := s.dial()
			clients.Go(func() {
				for part := range slices.Chunk(sent, 100_001) {
					c.Write(part)
				}
			})
			clients.Go(func() {
				got := make([]byte, len(sent))
				if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("%v, equal %t", err, bytes.Equal(got, sent))
				}
			})
		}
		patient.Done(clients.Wait)
	})
}

// T39: who does not read is not ready, and no one waits for it; when it reads on, all comes.
func TestASlowReaderHoldsUpNobody(t *testing.T) {
	promise.Keeps(t, "T39", "stream", 1)
	plainAndTLS(t, func(t *testing.T, config Config) {
		opened := make(chan *Conn, 2)
		s := newServer(t, config, func(s *server) {
			s.opened = func(c *Conn) {
				c.socket.SetWriteBuffer(64 << 10) // the system holds little of it, however it is set up
				opened <- c
			}
		})
		slow := s.dial()
		setReadBuffer(slow, 64<<10)
		slowConn := patient.Value(opened)
		data := bytes.Repeat([]byte("x"), 12<<20)
		s.do(func() { s.send(slowConn, data) })
		s.do(func() {
			// The system may take a little more at any time.
			if len(s.queues[slowConn]) < 1<<20 {
				t.Errorf("%d bytes left", len(s.queues[slowConn]))
			}
			slowConn.out.mu.Lock()
			defer slowConn.out.mu.Unlock()
			if n := len(slowConn.out.pending); n > maxPending {
				t.Errorf("%d bytes pending", n)
			}
		})
		quick := s.dial()
		quickConn := patient.Value(opened)
		s.do(func() { s.send(quickConn, []byte("hello")) })
		got := make([]byte, 5)
		if _, err := io.ReadFull(quick, got); err != nil || string(got) != "hello" {
			t.Fatalf("%q, %v", got, err)
		}
		all := make([]byte, len(data))
		if _, err := io.ReadFull(slow, all); err != nil || !bytes.Equal(all, data) {
			t.Fatalf("%v, equal %t", err, bytes.Equal(all, data))
		}
	})
}

// setReadBuffer sets how much the system holds of what c has not read.
func setReadBuffer(c net.Conn, bytes int) {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	c.(*net.TCPConn).SetReadBuffer(bytes)
}

// Finish lets arrive what was sent, also when the peer has sent what nobody read.
func TestFinishLetsArriveWhatWasSent(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		ended := make(chan error, 1)
		s := newServer(t, config, func(s *server) {
			s.received = func(c *Conn, b []byte) {
				c.Send([]byte("goodbye"))
				c.Finish()
				c.Finish()
			}
			s.ended = func(_ *Conn, err error) { ended <- err }
		})
		c := s.dial()
		c.Write(make([]byte, 1<<20))
		got, err := io.ReadAll(c)
		if string(got) != "goodbye" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		c.Close()
		patient.Value(ended)
	})
}

// A peer that never closes is closed on after the linger time.
func TestFinishEndsWithoutThePeer(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		config.Linger = 20 * time.Millisecond
		ended := make(chan error, 1)
		s := newServer(t, config, func(s *server) {
			s.ended = func(_ *Conn, err error) { ended <- err }
			s.opened = func(c *Conn) { c.Finish() }
		})
		s.dial()
		patient.Value(ended)
	})
}

// Finish ends a connection of which the core has not taken all bytes, though nothing else wakes the core.
func TestFinishWithBytesThatWereNotTaken(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		patient.Test(t)
		l, err := Listen("127.0.0.1:0", config)
		if err != nil {
			t.Fatal(err)
		}
		woken := startWaking(l)
		t.Cleanup(l.Close)
		done := make(chan struct{})
		go func() {
			defer close(done)
			c := (&server{t: t, l: l}).dial()
			c.Write([]byte("hello"))
			io.ReadAll(c)
			c.Close()
		}()
		d := &deaf{}
		for !d.heard {
			patient.Value(woken)
			l.Turn(time.Now(), d)
		}
		select {
		case <-woken:
		default:
		}
		d.Finish()
		for d.ended == nil {
			patient.Value(woken)
			l.Turn(time.Now(), d)
		}
		patient.Value(done)
	})
}

// deaf is a core that takes no bytes.
type deaf struct {
	Stream
	heard bool
	ended error
}

func (d *deaf) Opened(_ time.Time, s Stream) Receiver { s.Entered(); d.Stream = s; return d }
func (d *deaf) Writable(time.Time)                    {}
func (d *deaf) Ended(_ time.Time, err error)          { d.ended = err }
func (d *deaf) Received(time.Time, []byte) int        { d.heard = true; return 0 }

func TestCutEndsAtOnce(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		ended := make(chan error, 1)
		s := newServer(t, config, func(s *server) {
			s.received = func(c *Conn, b []byte) { c.Cut() }
			s.ended = func(_ *Conn, err error) { ended <- err }
		})
		c := s.dial()
		c.Write([]byte("hello"))
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("it was not cut")
		}
		patient.Value(ended)
	})
}

// The Close of a client whose connection has ended does not wait, so it is not late.
func TestCloseOfAClientThatHasEnded(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		s := newServer(t, config, func(s *server) {
			s.opened = func(c *Conn) { c.Finish() }
		})
		var secure *tls.Config
		if config.TLS != nil {
			secure = &tls.Config{InsecureSkipVerify: true}
		}
		x, err := Dial(t.Context(), net.Dialer{}, s.l.Addr().String(), secure, 0)
		if err != nil {
			t.Fatal(err)
		}
		woken := startWaking(x)
		d := &deaf{}
		for d.ended == nil {
			patient.Value(woken)
			x.Turn(time.Now(), d)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := x.Close(over); err != nil {
			t.Error(err)
		}
	})
}

// A connection that was accepted when the listener was just being closed does not keep it open.
func TestAConnectionThatComesWithTheEnd(t *testing.T) {
	s := newServer(t, Config{}, echo)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	far, err := net.Dial("tcp", socket.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	near, err := socket.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	s.l.begin(near.(*net.TCPConn))
	if _, err := io.ReadAll(far); err != nil {
		t.Errorf("it ends with %v", err)
	}
	s.close()
}

// The end of a peer is told once, after its last bytes.
func TestEndsAreTold(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		var got []string
		ended := make(chan struct{})
		s := newServer(t, config, func(s *server) {
			s.opened = func(*Conn) { got = append(got, "opened") }
			s.received = func(_ *Conn, b []byte) { got = append(got, string(b)) }
			s.ended = func(_ *Conn, err error) {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				got = append(got, "ended")
				close(ended)
			}
		})
		c := s.dial()
		c.Write([]byte("last words"))
		c.Close()
		patient.Value(ended)
		s.do(func() {})
		if text := strings.Join(got, ", "); text != "opened, last words, ended" {
			t.Error(text)
		}
	})
}

// T43: a peer that makes records of one byte each gets no more of the turns than others: what
// has come is handed over together.
func TestRecordsOfOneByte(t *testing.T) {
	promise.Keeps(t, "T43", "stream", 1)
	turns, total := 0, 0
	hold, done := make(chan struct{}), make(chan struct{})
	s := newServer(t, Config{TLS: testTLS(t)}, func(s *server) {
		s.received = func(_ *Conn, b []byte) {
			if turns++; turns == 1 {
				patient.Value(hold) // until all have come
			}
			if total += len(b); total == 16<<10 {
				close(done)
			}
		}
	})
	c := s.dial()
	for range 16 << 10 {
		if _, err := c.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	close(hold)
	patient.Value(done)
	s.do(func() {
		if limit := 16<<10/readBytes + 32; turns > limit {
			t.Errorf("%d turns for %d bytes, want at most %d", turns, total, limit)
		}
	})
}

// T41: in one turn a connection hands over at most one buffer, however much it sends.
func TestATurnTakesOneBufferOfEach(t *testing.T) {
	promise.Keeps(t, "T41", "stream", 1)
	plainAndTLS(t, func(t *testing.T, config Config) {
		last := map[*Conn]int{}
		total, done := 0, make(chan struct{})
		const size = 1 << 20
		s := newServer(t, config, func(s *server) {
			s.received = func(c *Conn, b []byte) {
				if last[c] == s.turns || len(b) > readBytes {
					t.Errorf("%d bytes in turn %d, after turn %d", len(b), s.turns, last[c])
				}
				last[c] = s.turns
				if total += len(b); total == 4*size {
					close(done)
				}
			}
		})
		for range 4 {
			c := s.dial()
			go c.Write(make([]byte, size))
		}
		patient.Value(done)
	})
}

// A certificate of our own is made once and kept.
func TestOwnCertificateIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "er", "certificate.pem")
	first, err := OwnCertificate(file)
	if err != nil {
		t.Fatal(err)
	}
	second, err := OwnCertificate(file)
	if err != nil || Fingerprint(first.Certificate[0]) != Fingerprint(second.Certificate[0]) || len(Fingerprint(first.Certificate[0])) != 64 {
		t.Errorf("%v: %s and %s", err, Fingerprint(first.Certificate[0]), Fingerprint(second.Certificate[0]))
	}
}
