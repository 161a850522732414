package stream

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"parley/internal/patient"
	"parley/internal/promise"
)

// keyFlooder is a TLS 1.3 client that writes its own records, as crypto/tls sends no key
// updates of its own.
type keyFlooder struct {
	t      *testing.T
	socket net.Conn
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

func newKeyFlooder(t *testing.T, addr string) *keyFlooder {
	t.Helper()
	socket, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	var keys bytes.Buffer
	c := tls.Client(socket, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &keys, MinVersion: tls.VersionTLS13})
	if err := c.HandshakeContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	if suite := c.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skipf("the cipher suite is %s", tls.CipherSuiteName(suite))
	}
	f := &keyFlooder{t: t, socket: socket}
	for line := range strings.Lines(keys.String()) {
		if words := strings.Fields(line); words[0] == "CLIENT_TRAFFIC_SECRET_0" {
			f.secret, _ = hex.DecodeString(words[2])
		}
	}
	f.ready()
	return f
}

// expand is HKDF-Expand-Label of RFC 8446, section 7.1, without a context.
func (f *keyFlooder) expand(label string, size int) []byte {
	info := binary.BigEndian.AppendUint16(nil, uint16(size))
	info = append(info, byte(len("tls13 ")+len(label)))
	info = append(append(info, "tls13 "+label...), 0)
	key, err := hkdf.Expand(sha256.New, f.secret, string(info), size)
	if err != nil {
		f.t.Fatal(err)
	}
	return key
}

// ready makes the keys of the secret.
func (f *keyFlooder) ready() {
	block, err := aes.NewCipher(f.expand("key", 16))
	if err != nil {
		f.t.Fatal(err)
	}
	f.aead, _ = cipher.NewGCM(block)
	f.iv, f.seq = f.expand("iv", 12), 0
}

// record appends an encrypted record.
func (f *keyFlooder) record(b []byte, kind byte, data []byte) []byte {
	plain := append(bytes.Clone(data), kind)
	head := []byte{23, 3, 3, byte((len(plain) + 16) >> 8), byte(len(plain) + 16)}
	nonce := bytes.Clone(f.iv)
	for i := range 8 {
		nonce[4+i] ^= byte(f.seq >> (56 - 8*i))
	}
	f.seq++
	return f.aead.Seal(append(b, head...), nonce, plain, head)
}

// update appends a key update that asks for another, and changes the key as it says.
func (f *keyFlooder) update(b []byte) []byte {
	b = f.record(b, 22, []byte{24, 0, 0, 1, 1})
	f.secret = f.expand("traffic upd", 32)
	f.ready()
	return b
}

// T43: a flood of key updates, alone and with a byte between any two, from a peer that reads
// none of the answers: the connection ends, and what waits for it is bounded.
func TestAFloodOfKeyUpdatesEnds(t *testing.T) {
	promise.Keeps(t, "T43", "stream", 1)
	for name, between := range map[string]bool{"alone": false, "with bytes between": true} {
		t.Run(name, func(t *testing.T) {
			if between && testing.Short() {
				t.Skip("takes many key updates")
			}
			ended := make(chan error, 1)
			got := 0
			s := newServer(t, Config{TLS: testTLS(t)}, func(s *server) {
				s.opened = func(c *Conn) { c.socket.SetWriteBuffer(4096) } // which is full soon
				s.received = func(c *Conn, b []byte) {
					got += len(b)
					c.out.mu.Lock()
					defer c.out.mu.Unlock()
					if n := len(c.out.pending); n > maxPending {
						t.Errorf("%d bytes pending", n)
					}
				}
				s.ended = func(_ *Conn, err error) { ended <- err }
			})
			f := newKeyFlooder(t, s.l.Addr().String())
			for i := 0; ; i++ {
				var b []byte
				for range 64 {
					if between {
						b = f.record(b, 23, []byte{0})
					}
					b = f.update(b)
				}
				if _, err := f.socket.Write(b); err != nil {
					break
				}
				if i > 20_000 {
					t.Fatal("it never ends")
				}
			}
			patient.Value(ended)
			s.do(func() {
				if between && got == 0 {
					t.Error("the flood did not begin")
				}
			})
		})
	}
}

// T43: a client hello of more than 64 KiB ends the connection.
func TestAHugeHelloEnds(t *testing.T) {
	promise.Keeps(t, "T43", "stream", 1)
	s := newServer(t, Config{TLS: testTLS(t)}, echo)
	c, err := net.Dial("tcp", s.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hello := append([]byte{1, 1, 0, 1}, make([]byte, 64<<10+1)...) // 65,537 bytes follow
	for len(hello) > 0 {
		n := min(len(hello), 16<<10)
		record := append([]byte{22, 3, 1, byte(n >> 8), byte(n)}, hello[:n]...)
		if _, err := c.Write(record); err != nil {
			break
		}
		hello = hello[n:]
	}
	buf := make([]byte, 64)
	for err == nil {
		_, err = c.Read(buf)
	}
	if got := s.l.Stats(); got.BadShake != 1 || got.Opened != 0 {
		t.Errorf("%+v", got)
	}
}

// T43: a peer that closes its side is told, and closed on.
func TestHalfClosed(t *testing.T) {
	promise.Keeps(t, "T43", "stream", 1)
	plainAndTLS(t, func(t *testing.T, config Config) {
		ended := make(chan error, 1)
		s := newServer(t, config, func(s *server) {
			s.opened = func(c *Conn) { c.Send([]byte("welcome")) }
			s.ended = func(_ *Conn, err error) { ended <- err }
		})
		c := s.dial()
		got := make([]byte, 16)
		if n, err := c.Read(got); string(got[:n]) != "welcome" {
			t.Errorf("%q, %v", got[:n], err)
		}
		c.(interface{ CloseWrite() error }).CloseWrite()
		if err := patient.Value(ended); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if n, err := c.Read(got); n != 0 || err == nil {
			t.Error(n, err)
		}
	})
}

// A connection that ends while its handshake is being completed, as the bytes that waited for the socket were not
// taken, is not opened: nobody would be told of its end.
func TestAnEndWithinAHandshake(t *testing.T) {
	config := testTLS(t)
	config.ClientAuth = tls.RequestClientCert // so that tickets are written last
	var conn *Conn
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		conn = hello.Conn.(*Conn)
		return nil, nil
	}
	config.WrapSession = func(tls.ConnectionState, *tls.SessionState) ([]byte, error) {
		conn.out.mu.Lock()
		conn.out.pending, conn.out.running = []byte{0}, true
		conn.out.mu.Unlock()
		conn.end(errCut)
		return make([]byte, 16), nil
	}
	s := newServer(t, Config{TLS: config}, func(s *server) {})
	socket, err := net.Dial("tcp", s.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	_ = tls.Client(socket, &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(1)}).Handshake()
	for st := s.l.Stats(); st.Opened+st.BadShake == 0; st = s.l.Stats() {
		s.do(func() {})
	}
	open := 0
	s.do(func() {})
	s.do(func() { open = len(s.conns) })
	if st := s.l.Stats(); open != 0 || st.BadShake != 1 {
		t.Errorf("%d connections are open; %+v", open, st)
	}
}

// The turn is for the handshake that computes: neither handshakes that fail nor certificates that take their time
// keep it.
func TestTheTurnComesBack(t *testing.T) {
	wait := make(chan struct{})
	config := testTLS(t)
	cert := config.Certificates[0]
	config.MinVersion = tls.VersionTLS12
	config.Certificates = nil
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello.ServerName == "slow" {
			patient.Value(wait)
		}
		return &cert, nil
	}
	s := newServer(t, Config{TLS: config}, echo)
	shake := func(c *tls.Config) (net.Conn, error) {
		socket, err := net.Dial("tcp", s.l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { socket.Close() })
		secured := tls.Client(socket, c)
		return secured, secured.HandshakeContext(context.Background())
	}
	const slots = 4
	for range slots + 1 {
		if _, err := shake(&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
			t.Fatal("an old version was let in")
		}
	}
	slow := make(chan error, slots+1)
	for range slots + 1 {
		go func() {
			_, err := shake(&tls.Config{InsecureSkipVerify: true, ServerName: "slow"})
			slow <- err
		}()
	}
	for s.l.Stats().Accepted < uint64(2*slots+2) {
		s.do(func() {})
	}
	if _, err := shake(&tls.Config{InsecureSkipVerify: true, ServerName: "quick"}); err != nil {
		t.Error(err)
	}
	close(wait)
	for range slots + 1 {
		if err := patient.Value(slow); err != nil {
			t.Error(err)
		}
	}
	for s.l.Stats().Opened < slots+2 { // a client is done before its server is
		s.do(func() {})
	}
	s.l.handshakes.mu.Lock()
	defer s.l.handshakes.mu.Unlock()
	if h := s.l.handshakes; h.busy || h.hosts.Len() > 0 || h.again.Len() > 0 || len(h.lines) > 0 {
		t.Errorf("with all handshakes over, one has the turn: %t; %d hosts wait, %d handshakes to go on", h.busy, h.hosts.Len(), h.again.Len())
	}
}
