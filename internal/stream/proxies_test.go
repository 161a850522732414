package stream

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/bans"
	"parley/internal/patient"
)

// loopback is where the proxies of these tests are.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

const (
	lineOf5  = "PROXY TCP4 203.0.113.5 198.51.100.1 4711 443\r\n"
	binaryOf = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71\x05\xc6\x33\x64\x01\x12\x67\x01\xbb"
)

// dialAs connects as a proxy does that says something first, and then has TLS if the server has.
func (s *server) dialAs(header string) (net.Conn, error) {
	s.t.Helper()
	c, err := net.Dial("tcp", s.l.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(2 * time.Minute)) // for a test that would else hang
	if _, err := c.Write([]byte(header)); err != nil || s.l.handshakes == nil {
		return c, err
	}
	secured := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	return secured, secured.HandshakeContext(context.Background())
}

// A proxy says who the peer is, before TLS and before the first bytes, and nothing of that reaches the core.
func TestProxiesAreBelieved(t *testing.T) {
	for _, header := range []string{lineOf5, binaryOf} {
		plainAndTLS(t, func(t *testing.T, config Config) {
			config.Proxies = loopback
			peers := make(chan netip.AddrPort, 1)
			s := newServer(t, config, func(s *server) {
				echo(s)
				s.opened = func(c *Conn) { peers <- c.Peer() }
			})
			c, err := s.dialAs(header)
			if err != nil {
				t.Fatal(err)
			}
			buf := []byte("hello")
			c.Write(buf)
			if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "hello" {
				t.Errorf("%q comes back, %v", buf, err)
			}
			if peer := patient.Value(peers); peer != netip.MustParseAddrPort("203.0.113.5:4711") {
				t.Errorf("the peer is %v", peer)
			}
		})
	}
}

// Of a peer that is no proxy no header is read: what it sends are bytes like others.
func TestOthersAreNotBelieved(t *testing.T) {
	peers := make(chan netip.AddrPort, 1)
	s := newServer(t, Config{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, func(s *server) {
		echo(s)
		s.opened = func(c *Conn) { peers <- c.Peer() }
	})
	c, err := s.dialAs(lineOf5)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(lineOf5))
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != lineOf5 {
		t.Errorf("%q comes back, %v", buf, err)
	}
	if peer := patient.Value(peers); peer.String() != c.LocalAddr().String() {
		t.Errorf("the peer is %v", peer)
	}
}

// A proxy's own connection, such as a health check, is its own.
func TestAProxyMayCheckTheServer(t *testing.T) {
	peers := make(chan netip.AddrPort, 1)
	s := newServer(t, Config{Proxies: loopback}, func(s *server) { s.opened = func(c *Conn) { peers <- c.Peer() } })
	c, err := s.dialAs("PROXY UNKNOWN\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if peer := patient.Value(peers); peer.String() != c.LocalAddr().String() {
		t.Errorf("the peer is %v", peer)
	}
}

// What is no header, half of one, and nothing at all end the connection, counted, and the core never hears of it.
func TestBadHeadersEndConnections(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		config.Proxies, config.HandshakeTime = loopback, 50*time.Millisecond
		s := newServer(t, config, func(s *server) { s.opened = func(c *Conn) { t.Errorf("%v is opened", c.Peer()) } })
		for i, header := range []string{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", lineOf5[:20], binaryOf[:20], ""} {
			c, err := net.Dial("tcp", s.l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			c.Write([]byte(header))
			c.SetDeadline(time.Now().Add(2 * time.Minute)) // for a test that would else hang
			if n, err := c.Read(make([]byte, 1)); err == nil {
				t.Errorf("%q: the server answers %d bytes", header, n)
			}
			c.Close()
			patient.Until(t, "the connection is counted", func() bool { return s.l.Stats().BadHeader == uint64(i+1) })
		}
		s.l.mu.Lock()
		defer s.l.mu.Unlock()
		if len(s.l.conns) != 0 || s.l.headers != 0 || s.l.news.Len() != 0 {
			t.Errorf("%d connections are left, %d of them await a header", len(s.l.conns), s.l.headers)
		}
	})
}

// Bans and limits go by the true address: one client fills only its own places, and not the proxy's.
func TestLimitsBehindAProxy(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		set := new(bans.Set)
		set.Use(bans.NewTable([]bans.Entry{{Prefix: netip.MustParsePrefix("203.0.113.66/32")}}))
		config.Proxies, config.Door, config.Waiting = loopback, bans.NewDoor(set.Holds), admission.PorchConfig{Host: 2}
		s := newServer(t, config, func(s *server) {
			echo(s)
			s.strangers = true
		})
		speaks := func(header string) bool {
			c, err := s.dialAs(header)
			if err == nil {
				_, err = c.Write([]byte("x"))
			}
			if err == nil {
				_, err = io.ReadFull(c, make([]byte, 1))
			}
			return err == nil
		}
		if speaks("PROXY TCP4 203.0.113.66 198.51.100.1 4711 443\r\n") || s.l.Stats().Banned == 0 {
			t.Error("a banned client is heard")
		}
		for i, want := range []bool{true, true, false, false} {
			if got := speaks(lineOf5); got != want {
				t.Errorf("connection %d of a client: heard %v, want %v", i+1, got, want)
			}
		}
		if !speaks("PROXY TCP4 203.0.113.6 198.51.100.1 4711 443\r\n") {
			t.Error("another client of the same proxy is not heard")
		}
	})
}

// However many connections of proxies say nothing, they are bounded, and a server that closes waits for none of them.
func TestConnectionsWithoutAHeaderAreBounded(t *testing.T) {
	s := newServer(t, Config{Proxies: loopback}, func(*server) {})
	silent, err := net.Dial("tcp", s.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	patient.Until(t, "the header of the first is awaited", func() bool {
		s.l.mu.Lock()
		defer s.l.mu.Unlock()
		return s.l.headers == 1
	})
	s.l.mu.Lock()
	s.l.headers += maxHeaders - 1 // as if so many were there
	s.l.mu.Unlock()
	if c, err := net.Dial("tcp", s.l.Addr().String()); err == nil { // it may be reset at once
		c.SetDeadline(time.Now().Add(2 * time.Minute)) // for a test that would else hang
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("one more is answered")
		}
		c.Close()
	}
	patient.Until(t, "one more is counted", func() bool { return s.l.Stats().Crowded == 1 })
}
