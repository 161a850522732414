package stream

import (
	"context"
	"crypto"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/pagetest"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/test/attack"
)

// patience is how long a test waits for what must come on a machine that has other things to do.
const patience = 2 * time.Minute

// dialFrom connects from an address of loopback, which Linux has 16 million of.
func (s *server) dialFrom(addr string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: netip.MustParseAddr(addr).AsSlice()}, Timeout: patience}
	return d.Dial("tcp", s.l.Addr().String())
}

// visit is an honest client: it makes its handshake, says something and reads the echo.
func (s *server) visit(addr string) error {
	c, err := s.dialFrom(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	secured := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	if err := secured.HandshakeContext(context.Background()); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if _, err := secured.Write([]byte("hi")); err != nil {
		return err
	}
	_, err = io.ReadFull(secured, make([]byte, 2))
	return err
}

// watchedSigner counts how many signatures are made at once.
type watchedSigner struct {
	crypto.Signer
	now, most, all atomic.Int32
}

func (s *watchedSigner) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	s.all.Add(1)
	runtime.Gosched() // so that another would get its chance
	return s.Signer.Sign(rand, digest, opts)
}

// 15.7: an address that sends recorded hellos as fast as it can, and never goes on, has 64 handshakes at once and its
// share of computing; clients of another address get in meanwhile, each at its first try, and one handshake computes at a
// time.
func TestRecordedHellosKeepNobodyOut(t *testing.T) {
	config := testTLS(t)
	signer := &watchedSigner{Signer: config.Certificates[0].PrivateKey.(crypto.Signer)}
	config.Certificates[0].PrivateKey = signer
	s := newServer(t, Config{TLS: config}, echo)
	flood := attack.SendHellos(s.l.Addr().String(), "127.0.0.2", attack.Hello(t), 0)
	defer flood.Stop()
	patient.Until(t, "a flood", func() bool { st := s.l.Stats(); return st.Crowded > 0 && st.Crowded+st.Hasty > 100 })
	visits := 20
	if promise.Full() {
		visits = 100
	}
	for i := range visits {
		if err := s.visit("127.0.0.1"); err != nil {
			t.Fatalf("honest client %d: %v; %+v", i, err, s.l.Stats())
		}
	}
	s.l.mu.Lock()
	held := s.l.porch.Of(netip.MustParseAddr("127.0.0.2"))
	s.l.mu.Unlock()
	st := s.l.Stats()
	t.Logf("%d hellos beside %d honest clients: %+v, %d signatures", flood.Sent(), visits, st, signer.all.Load())
	if held > 64 || st.Opened < uint64(visits) || st.BadShake > 0 {
		t.Errorf("the flood holds %d handshakes; %+v", held, st)
	}
	if most := signer.most.Load(); most != 1 {
		t.Errorf("%d handshakes computed at once", most)
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// T38: thousands of connections that send a byte now and then, from as many hosts as it takes for each to have its
// places, are all cut by the deadline, cost little meanwhile, and keep out nobody who comes.
func TestSlowConnectionsKeepNobodyOut(t *testing.T) {
	count := 800
	if promise.Full() && !shelltest.Race {
		count = 5000
	}
	// The deadline is for honest clients too: a machine that stands still for so long cuts one of them, which shows nothing.
	for deadline := 2 * time.Second; slowConnections(t, count, deadline); deadline *= 4 {
		if deadline > time.Minute {
			t.Fatalf("honest clients have no chance, with %v each", deadline)
		}
	}
	promise.Kept(t, "T38", "stream", count)
}

// slowConnections reports whether an honest client was cut by the deadline, or none came before all others were gone.
func slowConnections(t *testing.T, count int, deadline time.Duration) (late bool) {
	const hosts = 80
	s := newServer(t, Config{TLS: testTLS(t), HandshakeTime: deadline}, func(s *server) { echo(s); s.strangers = true })
	defer s.close()
	hello := attack.Hello(t)
	before := shelltest.InUse()
	slow := make([]net.Conn, 0, count)
	defer func() {
		for _, c := range slow {
			c.Close()
		}
	}()
	cut := make(chan error, count)
	for i := range count {
		c, err := s.dialFrom(fmt.Sprintf("127.1.%d.%d", i%hosts/8, 1+i%8))
		if err != nil {
			cut <- err // it was refused at once
			continue
		}
		slow = append(slow, c)
		// Of three, one sends nothing, one the first byte, and one all of its hello and no more.
		c.Write(hello[:[]int{0, 1, len(hello)}[i%3]])
		go func() {
			c.SetReadDeadline(time.Now().Add(2 * patience))
			_, err := io.Copy(io.Discard, c)
			cut <- err
		}()
	}
	each := max(shelltest.InUse()-before, 0) / count
	t.Logf("%d B each, with the test's own ends", each)
	if each > 64<<10 {
		t.Errorf("a connection that has not entered costs %d B", each)
	}
	honest := 0
	for gone := 0; gone < count; {
		select {
		case err := <-cut:
			if isTimeout(err) {
				t.Fatal("a slow connection was not cut")
			}
			gone++
		default:
			came := time.Now()
			if err := s.visit(fmt.Sprintf("127.2.%d.%d", honest%16, 1+honest%200)); err != nil {
				if took := time.Since(came); took >= deadline {
					t.Logf("honest client %d: %v after %v", honest, err, took)
					return true
				}
				t.Fatalf("honest client %d: %v; %+v", honest, err, s.l.Stats())
			}
			honest++
		}
	}
	st := s.l.Stats()
	t.Logf("%d honest clients meanwhile: %+v", honest, st)
	if st.BadShake+st.Crowded+st.Hasty < uint64(count) || st.Opened != uint64(honest) {
		t.Errorf("%d honest clients: %+v", honest, st)
	}
	return honest == 0
}

// When all places are taken, the newest of the host that has the most makes room; a host that has its share gets no further
// one.
func TestTheBusiestHostMakesRoom(t *testing.T) {
	s := newServer(t, Config{TLS: testTLS(t), Waiting: porchOf(4, 8)}, echo)
	open := func(addr string) net.Conn {
		n := s.l.Stats().Accepted
		c, err := s.dialFrom(addr)
		if err == nil {
			t.Cleanup(func() { c.Close() })
		}
		patient.Until(t, "accepted", func() bool { return s.l.Stats().Accepted > n })
		return c // nil: it was refused at once
	}
	isCut := func(c net.Conn, want bool) {
		t.Helper()
		if c == nil && want {
			return
		}
		wait := 20 * time.Millisecond
		if want {
			wait = patience
		}
		c.SetReadDeadline(time.Now().Add(wait))
		if _, err := c.Read(make([]byte, 1)); isTimeout(err) == want {
			t.Fatalf("%v: %v, want it cut: %t", c.LocalAddr(), err, want)
		}
	}
	var greedy, modest []net.Conn
	for range 5 {
		greedy = append(greedy, open("127.0.0.2"))
	}
	isCut(greedy[4], true)
	for i := range 4 {
		modest = append(modest, open(fmt.Sprintf("127.0.0.%d", 10+i)))
	}
	// All eight places are taken now.
	newcomer := open("127.0.0.3")
	isCut(greedy[3], true)
	for _, c := range append(append(greedy[:3:3], modest...), newcomer) {
		isCut(c, false)
	}
	if st := s.l.Stats(); st.Crowded != 2 {
		t.Errorf("%+v", st)
	}
}

// longProtocols make a hello as long as it may be.
func longProtocols() (list []string) {
	for i := range 24 {
		list = append(list, fmt.Sprintf("%0240d", i))
	}
	return list
}

// A client with a long hello, which then says nothing more, has the server hold what docs/limits.md says; one with a longer
// hello gets no answer.
func TestWhatAHandshakeHolds(t *testing.T) {
	if shelltest.Race {
		t.Skip("the race detector has memory of its own")
	}
	s := newServer(t, Config{TLS: testTLS(t), Waiting: porchOf(-1, -1)}, echo)
	hello := attack.Hello(t, longProtocols()...)
	if len(hello) < maxHelloBytes*3/4 || len(hello) > maxHelloBytes {
		t.Fatalf("the hello has %d bytes", len(hello))
	}
	const count = 128
	say := func(hello []byte) (net.Conn, error) {
		c, err := s.dialFrom("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(patience))
		c.Write(hello)
		_, err = c.Read(make([]byte, 1))
		return c, err
	}
	for range 8 { // so that all that is made once is made
		if _, err := say(hello); err != nil {
			t.Fatal(err)
		}
	}
	before := pagetest.Heap()
	for range count {
		if _, err := say(hello); err != nil {
			t.Fatal(err)
		}
	}
	held := (pagetest.Heap() - before) / count
	t.Logf("%d B each, with a hello of %d", held, len(hello))
	pagetest.Reaches(t, "realm", "in the TLS handshake", held)

	long := attack.Hello(t, append(longProtocols(), longProtocols()...)...)
	if c, err := say(long); err == nil {
		buf := make([]byte, 64)
		n, _ := c.Read(buf)
		t.Errorf("a hello of %d bytes is answered with %x", len(long), buf[:n])
	}
}
