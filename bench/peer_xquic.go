package main

import (
	"context"
	"io"
	"net/netip"
	"sync"

	"golang.org/x/net/quic"
)

var (
	xQUICPeers  = []Peer{xQUICStream, buffered(xQUICStream), xQUICPeer("x/net/quic streams", "a stream a message", manyStreams)}
	xQUICStream = xQUICPeer("x/net/quic", "one stream, flushed at each write, a write a message, a 2-byte size before it", oneStream)
)

func xQUICPeer(name, settings string, how manner) Peer {
	return Peer{
		Name: name, Settings: settings, Version: moduleVersion("golang.org/x/net"), Reliable: true, Ordered: how == oneStream, Crowd: how == oneStream,
		Listen: func(take func(Link, []byte)) (Server, error) {
			secret, err := serverTLS()
			if err != nil {
				return nil, err
			}
			e, err := quic.Listen("udp4", loopback, &quic.Config{TLSConfig: secret, MaxUniRemoteStreams: 1 << 20})
			if err != nil {
				return nil, err
			}
			go func() {
				for {
					c, err := e.Accept(context.Background())
					if err != nil {
						return
					}
					go xQUICServe(c, how, take)
				}
			}()
			return xQUICServer{e}, nil
		},
		Dial: func(ctx context.Context, addr netip.AddrPort, take func([]byte)) (Link, error) {
			e, err := xQUICEndpoint()
			if err != nil {
				return nil, err
			}
			c, err := e.Dial(ctx, "udp4", addr.String(), &quic.Config{TLSConfig: clientTLS(), MaxUniRemoteStreams: 1 << 20})
			if err != nil {
				return nil, err
			}
			if how == manyStreams {
				go xQUICRead(c, take)
				return xQUICConn{c}, nil
			}
			s, err := c.NewStream(ctx)
			if err != nil {
				return nil, err
			}
			go readFrames(s, take)
			return &streamLink{w: flushed{s}, c: xQUICConn{c}}, nil
		},
	}
}

func xQUICServe(c *quic.Conn, how manner, take func(Link, []byte)) {
	if how == manyStreams {
		xQUICRead(c, func(b []byte) { take(xQUICConn{c}, b) })
		return
	}
	s, err := c.AcceptStream(context.Background())
	if err != nil {
		return
	}
	link := &streamLink{w: flushed{s}, c: xQUICConn{c}}
	readFrames(s, func(b []byte) { take(link, b) })
}

// xQUICRead takes messages that have a stream each.
func xQUICRead(c *quic.Conn, take func([]byte)) {
	var mu sync.Mutex // take is called by one at a time
	for {
		s, err := c.AcceptStream(context.Background())
		if err != nil {
			return
		}
		go func() {
			if b, err := io.ReadAll(s); err == nil {
				mu.Lock()
				defer mu.Unlock()
				take(b)
			}
		}()
	}
}

// xQUICEndpoint returns a socket of the client's own: each player has one.
func xQUICEndpoint() (*quic.Endpoint, error) {
	return quic.Listen("udp4", loopback, nil)
}

type xQUICServer struct{ *quic.Endpoint }

func (s xQUICServer) Addr() netip.AddrPort { return s.LocalAddr() }
func (s xQUICServer) Close() error         { return s.Endpoint.Close(context.Background()) }

// flushed sends what is written at once.
type flushed struct{ s *quic.Stream }

func (f flushed) Write(b []byte) (int, error) {
	n, err := f.s.Write(b)
	if err == nil {
		err = f.s.Flush()
	}
	return n, err
}

// xQUICConn sends each message in a stream of its own.
type xQUICConn struct {
	c *quic.Conn
}

func (c xQUICConn) Send(b []byte) error {
	s, err := c.c.NewSendOnlyStream(context.Background())
	if err != nil {
		return err
	}
	if _, err := s.Write(b); err != nil {
		return err
	}
	s.CloseWrite() // it is sent with the end, and nobody waits for its acknowledgement
	return nil
}

func (c xQUICConn) Close() error { return c.c.Close() }
