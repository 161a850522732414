package main

import (
	"context"
	"io"
	"net/netip"
	"sync"

	"github.com/quic-go/quic-go"
)

var quicGoPeers = []Peer{
	quicGoStream, buffered(quicGoStream),
	quicGoPeer("quic-go streams", "a stream a message", manyStreams),
	quicGoPeer("quic-go datagrams", "unreliable datagrams", datagrams),
}

var quicGoStream = quicGoPeer("quic-go stream", "one stream, a write a message, a 2-byte size before it", oneStream)

// manner is how messages travel in a QUIC connection.
type manner uint8

const (
	oneStream manner = iota
	manyStreams
	datagrams
)

var quicGoConfig = &quic.Config{EnableDatagrams: true, MaxIncomingUniStreams: 1 << 20, MaxIncomingStreams: 1 << 20}

func quicGoPeer(name, settings string, how manner) Peer {
	return Peer{
		Name: name, Settings: settings, Version: moduleVersion("github.com/quic-go/quic-go"),
		Reliable: how != datagrams, Ordered: how == oneStream, Crowd: how != manyStreams,
		Listen: func(take func(Link, []byte)) (Server, error) {
			secret, err := serverTLS()
			if err != nil {
				return nil, err
			}
			l, err := quic.ListenAddr(loopback, secret, quicGoConfig)
			if err != nil {
				return nil, err
			}
			go func() {
				for {
					c, err := l.Accept(context.Background())
					if err != nil {
						return
					}
					go quicGoServe(c, how, take)
				}
			}()
			return quicGoServer{l}, nil
		},
		Dial: func(ctx context.Context, addr netip.AddrPort, take func([]byte)) (Link, error) {
			c, err := quic.DialAddr(ctx, addr.String(), clientTLS(), quicGoConfig)
			if err != nil {
				return nil, err
			}
			if how != oneStream {
				go quicGoRead(c, how, take)
				return quicGoLink{c, how}, nil
			}
			s, err := c.OpenStreamSync(ctx)
			if err != nil {
				return nil, err
			}
			go readFrames(s, take)
			return &streamLink{w: s, c: quicGoLink{c, how}}, nil
		},
	}
}

type quicGoServer struct{ *quic.Listener }

func (s quicGoServer) Addr() netip.AddrPort { return addrOf(s.Listener.Addr()) }

func quicGoServe(c *quic.Conn, how manner, take func(Link, []byte)) {
	if how != oneStream {
		link := quicGoLink{c, how}
		quicGoRead(c, how, func(b []byte) { take(link, b) })
		return
	}
	s, err := c.AcceptStream(context.Background())
	if err != nil {
		return
	}
	link := &streamLink{w: s, c: quicGoLink{c, how}}
	readFrames(s, func(b []byte) { take(link, b) })
}

// quicGoRead takes messages that are no part of one stream.
func quicGoRead(c *quic.Conn, how manner, take func([]byte)) {
	if how == datagrams {
		for {
			b, err := c.ReceiveDatagram(context.Background())
			if err != nil {
				return
			}
			take(b)
		}
	}
	var mu sync.Mutex // take is called by one at a time
	for {
		s, err := c.AcceptUniStream(context.Background())
		if err != nil {
			return
		}
		go func() {
			b, err := io.ReadAll(s)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				take(b)
			}
		}()
	}
}

type quicGoLink struct {
	c   *quic.Conn
	how manner
}

func (l quicGoLink) Send(b []byte) error {
	if l.how == datagrams {
		return l.c.SendDatagram(b)
	}
	s, err := l.c.OpenUniStreamSync(context.Background())
	if err != nil {
		return err
	}
	if _, err := s.Write(b); err != nil {
		return err
	}
	return s.Close()
}

func (l quicGoLink) Close() error { return l.c.CloseWithError(0, "") }
