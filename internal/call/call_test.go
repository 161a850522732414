package call_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"crypto/x509"

	"parley/internal/call"
	"parley/internal/carry"
	"parley/internal/carry/ws"
	"parley/internal/carry/wt"
	"parley/internal/datagram"
	"parley/internal/kit/chance"
	"parley/internal/patient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// silent is a core that says nothing.
type silent struct{}

func (silent) HandleDatagram(time.Time, netip.AddrPort, []byte)        {}
func (silent) HandleGone(time.Time, netip.AddrPort)                    {}
func (silent) HandleTimeout(time.Time)                                 {}
func (silent) NextTimeout() (at time.Time, ok bool)                    { return at, false }
func (silent) PollTransmit([]byte) (n int, to netip.AddrPort, ok bool) { return 0, to, false }

// place is a server with the dialect replica over both carriers. Its HTTP is that of a test.
type place struct {
	t        *testing.T
	building *carry.Building
	web      *httptest.Server
	sockets  *ws.Server
	wt       *wt.Server
	own      *wt.Own
	hashes   []string // what the page tells of the certificate
	port     int
	first    func(w http.ResponseWriter, r *http.Request) bool // answers a request before the server does
	asked    atomic.Int64
}

func newPlace(t *testing.T, secure bool) *place { return newPlaceOf(t, secure, wt.Config{}) }

func newPlaceOf(t *testing.T, secure bool, c wt.Config) *place {
	patient.Test(t)
	t.Parallel()
	p := &place{t: t, building: carry.NewBuilding(carry.Config{}), first: func(http.ResponseWriter, *http.Request) bool { return false }}
	hall := p.building.Hall("replica")
	loop := datagram.StartLoop(carry.Join(datagram.NewSilent(netip.AddrPort{}, netip.AddrPort{}), hall), silent{}, datagram.LoopConfig{})
	t.Cleanup(func() { loop.Close() })
	var err error
	if p.own, err = wt.NewOwn(time.Now); err != nil {
		t.Fatal(err)
	}
	p.hashes = p.own.Hashes()
	c.Building, c.Certificate = p.building, p.own.Certificate
	if p.wt, err = wt.Listen("127.0.0.1:0", c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.wt.Close)
	p.port = int(p.wt.Addr().Port())
	p.sockets = ws.NewServer(p.building)
	p.web = httptest.NewUnstartedServer(p)
	p.web.Config.ErrorLog = nil
	if p.web.EnableHTTP2 = false; secure {
		p.web.StartTLS()
	} else {
		p.web.Start()
	}
	t.Cleanup(p.web.Close)
	return p
}

func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked.Add(1)
	switch {
	case p.first(w, r):
	case r.URL.Path == "/play/server":
		json.NewEncoder(w).Encode(map[string]any{"wt": map[string]any{"port": p.port, "hashes": p.hashes}})
	case strings.HasPrefix(r.URL.Path, ws.Path):
		p.sockets.Serve(w, r, netip.MustParseAddrPort(r.RemoteAddr), r.TLS != nil)
	default:
		http.NotFound(w, r)
	}
}

func (p *place) target(c call.Carrier) call.Target {
	return call.Target{Carrier: c, Host: p.web.Listener.Addr().String(), Dialect: "replica"}
}

// dial opens a session, and ends it when it is there.
func (p *place) dial(t call.Target) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	s, err := call.Dial(ctx, t)
	if err == nil {
		s.Open().Datagrams.Close()
	}
	return err
}

var both = []call.Carrier{call.WebSocket, call.WebTransport}

func TestASessionOverEachCarrier(t *testing.T) {
	p := newPlace(t, false)
	for _, c := range both {
		if err := p.dial(p.target(c)); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// A target that cannot be fails at once, and says what is wrong.
func TestTargetsThatCannotBe(t *testing.T) {
	p := newPlace(t, false)
	for name, tt := range map[string]struct {
		change func(*call.Target)
		says   string
	}{
		"no such carrier":   {func(c *call.Target) { c.Carrier = "tcp" }, "tcp"},
		"no such dialect":   {func(c *call.Target) { c.Dialect = "chess" }, "404"},
		"no host":           {func(c *call.Target) { c.Host = "" }, ""},
		"no port":           {func(c *call.Target) { c.Host = "127.0.0.1:" }, ""},
		"a port of letters": {func(c *call.Target) { c.Host = "127.0.0.1:http3" }, ""},
		"a path":            {func(c *call.Target) { c.Host += "/else" }, ""},
		"a user":            {func(c *call.Target) { c.Host = "a b@" + c.Host }, ""},
		"a line break":      {func(c *call.Target) { c.Host = "a\r\nb" }, ""},
		"no TLS there":      {func(c *call.Target) { c.Secure = true }, ""},
	} {
		for _, carrier := range both {
			if name == "no TLS there" && carrier == call.WebTransport {
				continue // which has its own
			}
			target := p.target(carrier)
			tt.change(&target)
			begun := time.Now()
			if err := p.dial(target); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s over %s: %v", name, carrier, err)
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("%s over %s: it took %v", name, carrier, took)
			}
		}
	}
}

// A server that is busy is asked again, one that has decided is not, and both say why.
func TestRefusalsAndRetries(t *testing.T) {
	p := newPlace(t, false)
	for _, tt := range []struct {
		status int
		again  bool
	}{{400, false}, {403, false}, {404, false}, {429, true}, {500, false}, {503, true}} {
		for _, c := range both {
			p.asked.Store(0)
			p.first = func(w http.ResponseWriter, r *http.Request) bool {
				if p.asked.Load() > 2 {
					return false
				}
				http.Error(w, "because \x1b[31mso", tt.status)
				return true
			}
			err := p.dial(p.target(c))
			var refused *call.Refused
			switch {
			case tt.again && (err != nil || p.asked.Load() < 3):
				t.Errorf("%d over %s: %v after %d requests", tt.status, c, err, p.asked.Load())
			case tt.again:
			case !errors.As(err, &refused) || refused.Status != tt.status || strings.Contains(err.Error(), "\x1b") || p.asked.Load() != 1:
				t.Errorf("%d over %s: %v after %d requests", tt.status, c, err, p.asked.Load())
			case tt.status != 404 && !strings.Contains(err.Error(), "because"):
				t.Errorf("%d over %s: no reason in %v", tt.status, c, err)
			}
		}
	}
}

// A server that is always busy is given up, in the end and when the caller has had enough.
func TestABusyServerIsGivenUp(t *testing.T) {
	p := newPlace(t, false)
	p.first = func(w http.ResponseWriter, r *http.Request) bool {
		http.Error(w, "full", http.StatusServiceUnavailable)
		return true
	}
	begun := time.Now()
	var refused *call.Refused
	if err := p.dial(p.target(call.WebSocket)); !errors.As(err, &refused) || refused.Text != "full" {
		t.Errorf("it ends with %v", err)
	}
	if took := time.Since(begun); took < 1750*time.Millisecond || // a pause is up to 1.2 s, and none is begun that would last longer than three
		took > 10*time.Second || p.asked.Load() < 4 {
		t.Errorf("it took %v, and %d requests", took, p.asked.Load())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	begun = time.Now()
	if _, err := call.Dial(ctx, p.target(call.WebSocket)); err == nil || time.Since(begun) > 2*time.Second {
		t.Errorf("with a deadline it took %v: %v", time.Since(begun), err)
	}
}

// A connection that is broken off is tried again.
func TestAConnectionThatIsBrokenOff(t *testing.T) {
	p := newPlace(t, false)
	for _, c := range both {
		p.asked.Store(0)
		p.first = func(w http.ResponseWriter, r *http.Request) bool {
			n := p.asked.Load()
			if n > 2 {
				return false
			}
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return true
			}
			if n == 1 {
				conn.(*net.TCPConn).SetLinger(0) // a reset
			}
			conn.Close()
			return true
		}
		if err := p.dial(p.target(c)); err != nil || p.asked.Load() < 3 {
			t.Errorf("%s: %v after %d requests", c, err, p.asked.Load())
		}
	}
}

// A crowd behind one address is let in, although so many may not shake hands at once.
func TestACrowdOverWebTransport(t *testing.T) {
	p := newPlaceOf(t, false, wt.Config{MaxWaiting: 4})
	crowd := 24
	if chance.Race { // a handshake takes ten times as long
		crowd = 12
	}
	target := p.target(call.WebTransport)
	target.Patience = 9 * time.Second // so many handshakes take a busy machine seconds
	errs := make(chan error, crowd)
	for range crowd {
		go func() { errs <- p.dial(target) }()
	}
	for range crowd {
		if err := patient.Value(errs); err != nil {
			t.Error(err)
		}
	}
	if st := p.wt.Stats(); st.Conns < uint64(crowd) || st.Crowded == 0 {
		t.Errorf("the counters are %+v", st)
	}
}

// No server can send a player elsewhere.
func TestRedirectionsAreNotFollowed(t *testing.T) {
	p := newPlace(t, false)
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, c := range both {
			p.first = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, other.URL+r.URL.Path, status)
				return true
			}
			var refused *call.Refused
			if err := p.dial(p.target(c)); !errors.As(err, &refused) || refused.Status != status || !strings.Contains(err.Error(), "not followed") {
				t.Errorf("%d over %s: %v", status, c, err)
			}
		}
	}
	if elsewhere.Load() != 0 {
		t.Errorf("another server was asked %d times", elsewhere.Load())
	}
}

// Over WebTransport the server's page names the certificate. Another one is refused, unless Trust takes it.
func TestPinnedCertificates(t *testing.T) {
	p := newPlace(t, false)
	right := p.hashes
	wrong := strings.Repeat("00", 32)
	for _, tt := range []struct {
		name   string
		hashes []string
		ok     bool
	}{
		{"this and the next", right, true},
		{"the next alone", right[1:], false},
		{"none", nil, false},
		{"another", []string{wrong}, false},
		{"one that is no hash", []string{"hello", "", right[0][:20]}, false},
		{"among others", []string{wrong, right[0]}, true},
		{"behind too many", append(strings.Split(strings.Repeat(wrong+" ", 8), " ")[:8:8], right[0]), false},
	} {
		p.hashes = tt.hashes
		if err := p.dial(p.target(call.WebTransport)); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		} else if err != nil && !strings.Contains(err.Error(), "not trusted") {
			t.Errorf("%s: the error does not say why: %v", tt.name, err)
		}
	}
	p.hashes = []string{wrong}
	target, shown := p.target(call.WebTransport), 0
	target.Trust = func(der []byte) error { shown = len(der); return nil }
	if err := p.dial(target); err != nil || shown == 0 {
		t.Errorf("a certificate that Trust takes, of %d bytes: %v", shown, err)
	}
	target.Trust = func([]byte) error { return errors.New("never seen before") }
	if err := p.dial(target); err == nil || !strings.Contains(err.Error(), "never seen before") {
		t.Errorf("a certificate that Trust refuses: %v", err)
	}
}

// Over wss an authority vouches for the certificate, or Trust takes it; the server's page is asked in the same way.
func TestCertificatesOfAServer(t *testing.T) {
	p := newPlace(t, true)
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.web.Certificate().Raw}))
	for _, c := range both {
		target := p.target(c)
		target.Secure = true
		if err := p.dial(target); !errors.Is(err, call.ErrUntrusted) {
			t.Errorf("%s: a certificate that nobody vouches for: %v", c, err)
		}
		target.Authorities = authorities
		if err := p.dial(target); err != nil {
			t.Errorf("%s: a certificate that an authority vouches for: %v", c, err)
		}
		target.Authorities = x509.NewCertPool()
		target.Trust = func([]byte) error { return nil }
		if err := p.dial(target); err != nil {
			t.Errorf("%s: a certificate that Trust takes: %v", c, err)
		}
	}
	plain := p.target(call.WebSocket)
	if err := p.dial(plain); err == nil {
		t.Error("a session without TLS at a server with it")
	}
}

// A server that says nothing at all is given up in time, and at once when the caller has had enough.
func TestASilentServer(t *testing.T) {
	patient.Test(t)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"wt":{"port":%d,"hashes":[]}}`, udp.LocalAddr().(*net.UDPAddr).Port)
	}))
	defer page.Close()
	for name, target := range map[string]call.Target{
		"ws":          {Carrier: call.WebSocket, Host: socket.Addr().String()},
		"wss":         {Carrier: call.WebSocket, Host: socket.Addr().String(), Secure: true},
		"wt, no page": {Carrier: call.WebTransport, Host: socket.Addr().String()},
		"wt, no QUIC": {Carrier: call.WebTransport, Host: page.Listener.Addr().String()},
	} {
		target.Dialect = "replica"
		begun := time.Now()
		target.Prompt = 200 * time.Millisecond
		if _, err := call.Dial(t.Context(), target); err == nil || time.Since(begun) > 5*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		begun = time.Now()
		target.Prompt = 0
		if _, err := call.Dial(ctx, target); err == nil || time.Since(begun) > 5*time.Second {
			t.Errorf("%s, when the caller has had enough: %v after %v", name, err, time.Since(begun))
		}
	}
}
