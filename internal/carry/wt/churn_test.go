package wt_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"

	"parley/internal/carry/wt"
	"parley/internal/patient"
	"parley/internal/promise"
)

// Sessions over WebTransport come and go by the thousand, in every way that they can end, and leave nothing behind.
func TestChurnOverWebTransport(t *testing.T) {
	sessions := promise.Keeps(t, "T75", "sessions churned over WebTransport", promise.Tier(160, 2000, 100_000))
	g := layGround(t, wt.Config{AnyNumber: true}, anyNumber)
	churn := func(n int) {
		var group sync.WaitGroup
		const crowd = 8
		for w := range crowd {
			group.Go(func() {
				socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
				if err != nil {
					t.Error(err)
					return
				}
				defer socket.Close()
				transport := &quic.Transport{Conn: socket}
				defer transport.Close()
				for i := w; i < n; i += crowd {
					if err := g.come(transport, i/crowd); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		patient.Done(group.Wait)
		patient.Until(t, "all have ended", func() bool {
			return g.hall.Stats().Open == 0 && g.realm.Stats().Open == 0 && g.server.Stats().Waiting == 0
		})
	}
	measure := func() (goroutines int, heap uint64) {
		patient.Until(t, "the goroutines of clients are gone", func() bool { return runtime.NumGoroutine() < 40 })
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	churn(80)
	goroutines, heap := measure()
	churn(sessions)
	after, heapAfter := measure()
	t.Logf("%d bytes and %d goroutines more after %d sessions", int64(heapAfter)-int64(heap), after-goroutines, sessions)
	if after > goroutines+8 || heapAfter > heap+2<<20+uint64(sessions)*100 {
		t.Errorf("from %d to %d goroutines, and from %d to %d bytes, in %d sessions", goroutines, after, heap, heapAfter, sessions)
	}
}

// come opens a session, and ends it in one of many ways.
func (g *ground) come(transport *quic.Transport, way int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := transport.Dial(ctx, net.UDPAddrFromAddrPort(g.server.Addr()), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}}, quicConfig())
	if err != nil {
		return err
	}
	defer c.CloseWithError(0, "")
	dialect := []string{"replica", "realm"}[way%2]
	if way = way / 2 % 6; way == 0 {
		return nil // no session
	}
	d := webtransport.Transport{}
	x, err := d.NewClientConn(c)
	if err != nil {
		return err
	}
	_, s, err := x.Dial(ctx, fmt.Sprintf("https://%v/wt/%s", g.server.Addr(), dialect), nil)
	if err != nil {
		return err
	}
	defer d.Close()
	if dialect == "realm" {
		if way == 1 {
			return nil // no stream
		}
		y, err := s.OpenStream()
		if err != nil {
			return err
		}
		y.Write([]byte("hello"))
		switch way {
		case 2:
			y.Close()
		case 3:
			y.CancelWrite(7)
		case 4:
			y.Write([]byte("bye"))
			y.SetReadDeadline(time.Now().Add(5 * time.Second))
			for b := make([]byte, 100); err == nil; {
				_, err = y.Read(b)
			}
		}
		return nil
	}
	s.SendDatagram([]byte("hello"))
	switch way {
	case 1:
		return s.CloseWithError(3, "left")
	case 2:
		return c.CloseWithError(77, "crash")
	case 3, 4:
		s.SendDatagram([]byte("bye"))
		select {
		case <-s.Context().Done():
		case <-ctx.Done():
			return ctx.Err()
		}
	case 5:
		s.SendDatagram([]byte("flood"))
	}
	return nil
}
