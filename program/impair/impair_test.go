package impair

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/patient"
	"parley/simnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echoUDP is a server that sends everything back.
func echoUDP(t testing.TB) string {
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, maxDatagram)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			c.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	t.Cleanup(func() {
		c.Close()
		patient.Value(done)
	})
	return c.LocalAddr().String()
}

func start(t testing.TB, c Config) *Proxy {
	c.Listen = "127.0.0.1:0"
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func dialUDP(t testing.TB, p *Proxy) *net.UDPConn {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	t.Cleanup(func() { c.Close() })
	return c
}

// What a perfect network passes is untouched, and each client has its own way.
func TestDatagramsPass(t *testing.T) {
	p := start(t, Config{Target: echoUDP(t)})
	for i := range 5 {
		c := dialUDP(t, p)
		for j := range 20 {
			sent := bytes.Repeat([]byte{byte(i), byte(j)}, 1+j*30)
			c.Write(sent)
			got := make([]byte, maxDatagram)
			n, err := c.Read(got)
			if err != nil || !bytes.Equal(got[:n], sent) {
				t.Fatalf("client %d: %d bytes and %v came back, want %d", i, n, err, len(sent))
			}
		}
	}
	s := p.Stats()
	if s.Clients != 5 || s.Up.Sent != 100 || s.Down.Delivered != 100 || s.Late.Total() != 200 {
		t.Errorf("%+v", s)
	}
}

// The shares of a profile are those that datagrams meet.
func TestDatagramsAreLostAndDoubled(t *testing.T) {
	p := start(t, Config{Target: echoUDP(t), Seed: 7, Up: simnet.Profile{Loss: .2, Duplicate: .1}})
	c := dialUDP(t, p)
	const n = 2000
	var b [4]byte
	for i := range n {
		binary.BigEndian.PutUint32(b[:], uint32(i))
		c.Write(b[:])
		if i%20 == 19 { // not faster than a socket's buffer
			for begin := time.Now(); p.Stats().Up.Sent != uint64(i+1); {
				if time.Since(begin) > time.Minute {
					t.Fatalf("of %d datagrams the proxy read %d", i+1, p.Stats().Up.Sent)
				}
			}
		}
	}
	s := p.Stats().Up
	if s.Sent != n || s.Lost < n*15/100 || s.Lost > n*25/100 || s.Duplicated < n*5/100 || s.Duplicated > n*12/100 {
		t.Errorf("of %d were %d lost and %d doubled", s.Sent, s.Lost, s.Duplicated)
	}
}

// A datagram is never early.
func TestDatagramsAreDelayed(t *testing.T) {
	const delay = 30 * time.Millisecond
	p := start(t, Config{Target: echoUDP(t), Up: simnet.Profile{Delay: delay}, Down: simnet.Profile{Delay: delay}})
	c := dialUDP(t, p)
	var got [10]byte
	for range 5 {
		sent := time.Now()
		c.Write([]byte("ping"))
		if _, err := c.Read(got[:]); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(sent); took < 2*delay {
			t.Errorf("a round trip took %v", took)
		}
	}
}

func TestSilentClientsAreForgotten(t *testing.T) {
	p := start(t, Config{Target: echoUDP(t)})
	c := dialUDP(t, p)
	c.Write([]byte("x"))
	var got [10]byte
	c.Read(got[:])
	p.forget(time.Hour)
	if s := p.Stats(); s.Clients != 0 || s.Up.Delivered != 1 {
		t.Errorf("%d clients are known, %d datagrams counted", s.Clients, s.Up.Delivered)
	}
	c.Write([]byte("y")) // it is a new one then
	if n, err := c.Read(got[:]); err != nil || string(got[:n]) != "y" {
		t.Errorf("%q, %v", got[:n], err)
	}
}

func echoTCP(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		patient.Value(done)
	})
	return l.Addr().String()
}

func dialTCP(t testing.TB, p *Proxy) net.Conn {
	c, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A stream arrives whole and in order whatever the network does, and its end with it.
func TestStreamsArriveWhole(t *testing.T) {
	profile := simnet.Profile{Loss: .1, Duplicate: .1, Reorder: .1, ReorderBy: 5 * time.Millisecond, Delay: time.Millisecond, MTU: 576, Corrupt: .1}
	p := start(t, Config{Target: echoTCP(t), TCP: true, Up: profile, Down: profile, Seed: 3})
	c := dialTCP(t, p)
	c.SetDeadline(time.Now().Add(time.Minute))
	sent := make([]byte, 100_000)
	for i := range sent {
		sent[i] = byte(i * i >> 3)
	}
	go func() {
		c.Write(sent)
		c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes came back: %v", len(got), len(sent), err)
	}
	if s := p.Stats(); s.Delayed == 0 {
		t.Error("no loss made a segment late")
	}
}

// A receiver who does not read holds its own sender up, and no one else.
func TestAStreamThatIsNotReadHoldsUpNoOther(t *testing.T) {
	defer patient.End().Stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := start(t, Config{Target: l.Addr().String(), TCP: true, UDP: true})
	deaf := dialTCP(t, p)
	silent, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	deaf.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
	sent, err := io.Copy(deaf, zeros{})
	if err == nil || sent > 64<<20 {
		t.Errorf("%d bytes were taken for one who does not read: %v", sent, err)
	}
	other := dialTCP(t, p)
	reader, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	reader.SetDeadline(time.Now().Add(time.Minute))
	other.Write([]byte("hello"))
	got := make([]byte, 5)
	if _, err := io.ReadFull(reader, got); err != nil || string(got) != "hello" {
		t.Errorf("another stream brought %q, %v", got, err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// A way that loses everything is a connection that breaks, not one that hangs.
func TestAStreamOverNothingBreaks(t *testing.T) {
	p := start(t, Config{Target: echoTCP(t), TCP: true, Up: simnet.Profile{Loss: 1}})
	c := dialTCP(t, p)
	c.SetDeadline(time.Now().Add(time.Minute))
	c.Write([]byte("hello"))
	if n, err := io.Copy(io.Discard, c); n != 0 {
		t.Errorf("%d bytes came back, %v", n, err)
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	taken := start(t, Config{Target: "127.0.0.1:9", UDP: true, TCP: true})
	for _, tt := range []struct {
		name string
		cfg  Config
	}{
		{"a port in use", Config{Listen: taken.Addr().String(), Target: "127.0.0.1:9"}},
		{"a port in use for streams", Config{Listen: taken.Addr().String(), Target: "127.0.0.1:9", TCP: true}},
		{"a server without a port", Config{Listen: "127.0.0.1:0", Target: "127.0.0.1"}},
		{"a share above one", Config{Listen: "127.0.0.1:0", Target: "127.0.0.1:9", Up: simnet.Profile{Loss: 2}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if p, err := Start(tt.cfg); err == nil {
				p.Close()
				t.Error("no error")
			}
		})
	}
}

func TestQuantilesOfLateness(t *testing.T) {
	var l Lateness
	for i := range 1000 {
		l.add(time.Duration(i+1) * time.Microsecond)
	}
	for _, tt := range []struct {
		q    float64
		want time.Duration
	}{{.5, 500 * time.Microsecond}, {.99, 990 * time.Microsecond}, {1, time.Millisecond}} {
		if got := l.Quantile(tt.q); got < tt.want || got > tt.want*9/8 {
			t.Errorf("the quantile %v is %v, want %v or an eighth more", tt.q, got, tt.want)
		}
	}
	for _, d := range []time.Duration{0, 1, 7, 8, 9, 15, 16, 100, 12345, time.Hour} {
		if up := upper(bucket(d)); up < d || up > d+d/8 {
			t.Errorf("%d is in the step that ends at %d", d, up)
		}
	}
}

// The sooner goes first, and of those at one time the one that came first.
func TestTheScheduleKeepsTime(t *testing.T) {
	s := newSchedule(maxPendingBytes)
	defer s.close()
	got := make(chan byte, 10)
	now := time.Now()
	s.mu.Lock() // all at once, however long it takes
	for i, after := range []time.Duration{20, 10, 10, 0} {
		s.add(now.Add(after*time.Millisecond), []byte{byte(i)}, func(b []byte) { got <- b[0] })
	}
	s.mu.Unlock()
	for _, want := range []byte{3, 1, 2, 0} {
		if i := patient.Value(got); i != want {
			t.Errorf("%d came where %d was due", i, want)
		}
	}
}
