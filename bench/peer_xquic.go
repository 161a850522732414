package main

import (
	"context"
	"net/netip"

	"golang.org/x/net/quic"
)

var xQUICPeers = []Peer{{
	Name: "x/net/quic", Settings: "one stream, flushed at each message (W2: for 16 KiB), a 2-byte size before it",
	Version: moduleVersion("golang.org/x/net"), Reliable: true, Ordered: true, Crowd: true,
	Listen: func(take func(Link, []byte)) (Server, error) {
		secret, err := serverTLS()
		if err != nil {
			return nil, err
		}
		e, err := quic.Listen("udp4", loopback, &quic.Config{TLSConfig: secret})
		if err != nil {
			return nil, err
		}
		go func() {
			for {
				c, err := e.Accept(context.Background())
				if err != nil {
					return
				}
				go func() {
					s, err := c.AcceptStream(context.Background())
					if err != nil {
						return
					}
					link := &streamLink{w: flushed{s}, c: xQUICConn{c}}
					readFrames(s, func(b []byte) { take(link, b) })
				}()
			}
		}()
		return xQUICServer{e}, nil
	},
	Dial: func(ctx context.Context, addr netip.AddrPort, take func([]byte)) (Link, error) {
		e, err := xQUICEndpoint()
		if err != nil {
			return nil, err
		}
		c, err := e.Dial(ctx, "udp4", addr.String(), &quic.Config{TLSConfig: clientTLS()})
		if err != nil {
			return nil, err
		}
		s, err := c.NewStream(ctx)
		if err != nil {
			return nil, err
		}
		go readFrames(s, take)
		return &streamLink{w: flushed{s}, c: xQUICConn{c}}, nil
	},
}}

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

type xQUICConn struct {
	c *quic.Conn
}

func (c xQUICConn) Close() error { return c.c.Close() }
