package field

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"

	"parley/internal/patient"
)

// Bridge is a --play that knows nothing of dialects: it takes WebSocket and WebTransport with others' libraries, and hands what they carry to a
// server's own UDP and TCP ports. What a client gets over it is what the page of the carriers says, whatever our server does.
type Bridge struct {
	testing.TB
	At     map[string]string // the server's addresses, by dialect
	Addr   string            // host:port of the page, over TCP
	Hash   string            // the SHA-256 of its certificate, in hex, as the page tells it
	secure bool

	group sync.WaitGroup
	ctx   context.Context
	wt    *webtransport.Server
	port  int

	mu     sync.Mutex
	refuse int // a status for whoever comes, 0 for none
	sent   int // how many were told so
	cut    map[int]func()
	next   int
}

// NewBridge returns a bridge to a server, over TLS if it is to be secure. It ends with the test.
func NewBridge(t testing.TB, at map[string]string, secure bool) *Bridge {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	b := &Bridge{TB: t, At: at, ctx: ctx, secure: secure, cut: map[int]func(){}}
	certificate := b.certificate()
	mux := http.NewServeMux()
	mux.HandleFunc("/ws/{dialect}", b.webSocket)
	mux.HandleFunc("/wt/{dialect}", b.webTransport)
	mux.HandleFunc("/play/server", b.about)
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.port = packets.LocalAddr().(*net.UDPAddr).Port
	h3 := &http3.Server{Handler: mux, TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{certificate}})}
	webtransport.ConfigureHTTP3Server(h3)
	b.wt = &webtransport.Server{H3: h3, CheckOrigin: func(*http.Request) bool { return true }}
	b.group.Go(func() { b.wt.Serve(packets) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.Addr = l.Addr().String()
	if secure {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate}})
	}
	page := &http.Server{Handler: mux}
	b.group.Go(func() { page.Serve(l) })
	t.Cleanup(func() {
		stop()
		b.Cut()
		page.Close()
		b.wt.Close()
		packets.Close()
		patient.Done(b.group.Wait)
	})
	return b
}

// certificate makes one that nobody vouches for.
func (b *Bridge) certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		b.Fatal(err)
	}
	sum := sha256.Sum256(der)
	b.Hash = hex.EncodeToString(sum[:])
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Refuse has whoever comes told a status, 0 for nobody.
func (b *Bridge) Refuse(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = status
}

// Refused returns how many were told a status.
func (b *Bridge) Refused() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent
}

// Cut resets all sessions.
func (b *Bridge) Cut() {
	b.mu.Lock()
	list := b.cut
	b.cut = map[int]func(){}
	b.mu.Unlock()
	for _, cut := range list {
		cut()
	}
}

// open notes a session, and returns what forgets it, or nil if it is refused.
func (b *Bridge) open(w http.ResponseWriter, cut func()) (closed func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != 0 {
		b.sent++
		http.Error(w, "come again", b.refuse)
		return nil
	}
	n := b.next
	b.next++
	b.cut[n] = cut
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.cut, n)
	}
}

func (b *Bridge) about(w http.ResponseWriter, _ *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != 0 {
		b.sent++
		http.Error(w, "come again", b.refuse)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{"wt": map[string]any{"port": b.port, "hashes": []string{b.Hash}}})
}

func isStream(dialect string) bool { return dialect == "duplex" || dialect == "realm" }

func (b *Bridge) webSocket(w http.ResponseWriter, r *http.Request) {
	dialect := r.PathValue("dialect")
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	closed := b.open(w, cancel)
	if closed == nil {
		return
	}
	defer closed()
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	if isStream(dialect) {
		b.join(websocket.NetConn(ctx, c, websocket.MessageBinary), b.At[dialect])
		return
	}
	b.relay(ctx, b.At[dialect], func() ([]byte, error) {
		_, m, err := c.Read(ctx)
		return m, err
	}, func(m []byte) error { return c.Write(ctx, websocket.MessageBinary, m) })
}

func (b *Bridge) webTransport(w http.ResponseWriter, r *http.Request) {
	dialect := r.PathValue("dialect")
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	closed := b.open(w, cancel)
	if closed == nil {
		return
	}
	defer closed()
	s, err := b.wt.Upgrade(w, r)
	if err != nil {
		return
	}
	defer s.CloseWithError(0, "")
	defer context.AfterFunc(ctx, func() { s.CloseWithError(0, "") })()
	datagrams := func() {
		b.relay(ctx, b.At[dialect], func() ([]byte, error) { return s.ReceiveDatagram(ctx) }, s.SendDatagram)
	}
	if !isStream(dialect) {
		datagrams()
		return
	}
	line, err := s.AcceptStream(ctx)
	if err != nil {
		return
	}
	if dialect == "duplex" {
		b.group.Go(datagrams)
	}
	b.join(half{line}, b.At[dialect])
}

// half is a stream whose Close says that nothing more comes.
type half struct{ *webtransport.Stream }

// join hands a stream to a TCP port until either ends.
func (b *Bridge) join(near io.ReadWriteCloser, addr string) {
	far, err := net.Dial("tcp", addr)
	if err != nil {
		near.Close()
		return
	}
	defer far.Close()
	var group sync.WaitGroup
	group.Go(func() {
		io.Copy(far, near)
		far.(*net.TCPConn).CloseWrite()
	})
	io.Copy(near, far)
	near.Close()
	far.Close()
	group.Wait()
}

// relay hands messages to a UDP port, from an address of its own, until the session ends.
func (b *Bridge) relay(ctx context.Context, addr string, receive func() ([]byte, error), send func([]byte) error) {
	far, err := net.Dial("udp", addr)
	if err != nil {
		return
	}
	var group sync.WaitGroup
	group.Go(func() {
		buf := make([]byte, 2048)
		for {
			n, err := far.Read(buf)
			if err != nil && strings.Contains(err.Error(), "refused") {
				continue
			}
			if err != nil || send(buf[:n]) != nil {
				return
			}
		}
	})
	for m, err := receive(); err == nil; m, err = receive() {
		far.Write(m)
	}
	far.Close()
	group.Wait()
}
