package wt_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"
	"github.com/quic-go/webtransport-go"

	"parley/internal/carry"
	"parley/internal/carry/wt"
	"parley/internal/patient"
	"parley/internal/promise"
)

// Packets whose source has proven nothing take no place and no memory, and get less back than they cost, also when they carry a token that
// the server gave another.
func TestForgedSourcesOfQUICTakeNoPlace(t *testing.T) {
	sources := promise.Keeps(t, "T75", "forged sources over WebTransport", promise.Tier(100, 2000, 20_000))
	g := newGround(t, wt.Config{})
	v := socketAt(t, stranger(1))
	v.keep, v.hold = true, 1 // the first packet is answered, and the one with the token does not get there
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	transport := &quic.Transport{Conn: v}
	defer transport.Close()
	go dialThrough(ctx, transport, g.server.Addr())
	var first, token []byte
	patient.Until(t, "the server demands a proof", func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, b := range v.sent {
			switch size := tokenOf(b); {
			case size == 0 && first == nil:
				first = b
			case size > 0:
				token = b
			}
		}
		return first != nil && token != nil
	})
	cancel()
	to := net.UDPAddrFromAddrPort(g.server.Addr())
	in, out := 0, 0
	for i := range sources {
		x := socketAt(t, stranger(100+i%20_000))
		for _, b := range [][]byte{first, token} {
			x.PacketConn.WriteTo(b, to)
			in += len(b)
		}
		var buf [2000]byte
		x.PacketConn.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		for {
			n, _, err := x.PacketConn.ReadFrom(buf[:])
			if err != nil {
				break
			}
			out += n
		}
		x.Close()
	}
	if runtime.GOOS != "linux" {
		return // all sources are one, and that has proven itself
	}
	if st := g.server.Stats(); st.Conns != 0 || st.Waiting != 0 || out > in {
		t.Errorf("of %d bytes from forged sources %d came back; the counters are %+v", in, out, st)
	}
	g.honest()
}

// tokenOf returns the size of the token in a client's first packets, -1 if it is another packet.
func tokenOf(b []byte) int {
	if len(b) < 1200 || b[0]&0xb0 != 0x80 {
		return -1
	}
	at := 5
	at += 1 + int(b[at])
	at += 1 + int(b[at])
	size, _, err := quicvarint.Parse(b[at:])
	if err != nil {
		return -1
	}
	return int(size)
}

// Handshakes that are begun and not finished are bounded in all, those that lost their place included. An honest client gets in beside them,
// and they end.
func TestHalfOpenHandshakesAreBounded(t *testing.T) {
	const most = 24
	const halves = 60
	promise.Keeps(t, "T75", "half-open handshakes over WebTransport", halves)
	g := newGround(t, wt.Config{MaxWaiting: most, ShakeTime: 5 * time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	for i := range halves {
		v := socketAt(t, stranger(i/6))
		v.shy = true
		transport := &quic.Transport{Conn: v}
		defer transport.Close()
		group.Go(func() { dialThrough(ctx, transport, g.server.Addr()) })
	}
	patient.Until(t, "they are refused", func() bool {
		if st := g.server.Stats(); st.Waiting > most+most/3 {
			t.Fatalf("%d connections wait, and %d are the most", st.Waiting, most)
		}
		return g.server.Stats().Crowded > 0
	})
	g.honest()
	patient.Until(t, "they end", func() bool { return g.server.Stats().Waiting == 0 })
	cancel()
	patient.Done(group.Wait)
}

// However far a client goes without having a session, its connection ends in time and leaves nothing.
func TestConnectionsThatNeverHaveASession(t *testing.T) {
	ways := map[string]func(c *quic.Conn){
		"nothing": func(*quic.Conn) {},
		"settings alone": func(c *quic.Conn) {
			open(c).Write(settings())
		},
		"half a request": func(c *quic.Conn) {
			open(c).Write(settings())
			s, _ := c.OpenStream()
			b := connect("/wt/replica")
			s.Write(b[:len(b)/2])
		},
		"a request without settings": func(c *quic.Conn) {
			s, _ := c.OpenStream()
			s.Write(connect("/wt/replica"))
		},
		"a request for a stream without settings": func(c *quic.Conn) {
			s, _ := c.OpenStream()
			s.Write(connect("/wt/realm"))
		},
		"a session without its stream": func(c *quic.Conn) {
			open(c).Write(settings())
			s, _ := c.OpenStream()
			s.Write(connect("/wt/realm"))
		},
		"a request that is refused": func(c *quic.Conn) {
			open(c).Write(settings())
			s, _ := c.OpenStream()
			s.Write(connect("/wt/nosuch"))
		},
		"streams of no session": func(c *quic.Conn) {
			open(c).Write(settings())
			for range 8 {
				s, _ := c.OpenStream()
				s.Write(quicvarint.Append([]byte{0x40, 0x41}, 400))
			}
		},
		"datagrams of no session": func(c *quic.Conn) {
			for range 100 {
				c.SendDatagram(make([]byte, 1000))
			}
		},
	}
	promise.Keeps(t, "T75", "ways to have no session over WebTransport", len(ways))
	patient.Test(t)
	t.Parallel()
	const most = 12
	g := layGround(t, wt.Config{SessionTime: 500 * time.Millisecond}, carry.Config{OfHost: most})
	there := map[string]*quic.Conn{}
	for name, way := range ways {
		c, _ := g.raw(g.server.Addr().Addr()) // where the honest come from
		way(c)
		there[name] = c
	}
	for name, c := range there {
		patient.Until(t, name+": the connection ends", func() bool { return c.Context().Err() != nil })
	}
	patient.Until(t, "nothing is left", func() bool {
		return g.server.Stats().Waiting == 0 && g.hall.Stats().Open == 0 && g.realm.Stats().Open == 0
	})
	for range most { // nothing of them is counted any more: the place of each is free
		if _, _, err := g.dial("/wt/replica", nil); err != nil {
			t.Fatal(err)
		}
	}
}

// open opens a stream in the client's direction alone.
func open(c *quic.Conn) io.Writer {
	s, err := c.OpenUniStream()
	if err != nil {
		return io.Discard
	}
	return s
}

// A connection makes one request, or a few.
func TestRequestsOfAConnectionAreBounded(t *testing.T) {
	g := newGround(t, wt.Config{})
	c, _ := g.raw(stranger(1))
	open(c).Write(settings())
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		s, err := c.OpenStreamSync(ctx)
		cancel()
		if err != nil {
			break
		}
		s.Write(connect("/wt/nosuch"))
		s.Close()
		io.ReadAll(s)
	}
	patient.Until(t, "the connection is closed", func() bool { return c.Context().Err() != nil })
	if st := g.server.Stats(); st.Chatty == 0 {
		t.Errorf("the counters are %+v", st)
	}
}

// Sessions that flood, with whatever they have, end or are held back, and another goes on.
func TestFloodsOverWebTransport(t *testing.T) {
	floods := map[string]func(s *webtransport.Session) error{
		"datagrams of a byte":    func(s *webtransport.Session) error { return s.SendDatagram([]byte{'x'}) },
		"full datagrams":         func(s *webtransport.Session) error { return s.SendDatagram(make([]byte, largest)) },
		"datagrams of no length": func(s *webtransport.Session) error { return s.SendDatagram(nil) },
		"streams": func(s *webtransport.Session) error {
			x, err := s.OpenStream()
			if err == nil {
				x.Write([]byte("x"))
				x.Close()
			} else if s.Context().Err() == nil {
				return s.SendDatagram([]byte("x"))
			}
			return err
		},
		"streams of one direction": func(s *webtransport.Session) error {
			x, err := s.OpenUniStream()
			if err == nil {
				x.Write(make([]byte, 1000))
				x.CancelWrite(1)
			} else if s.Context().Err() == nil {
				return s.SendDatagram([]byte("x"))
			}
			return err
		},
		"answers that are not read": func(s *webtransport.Session) error { return s.SendDatagram([]byte("flood")) },
	}
	promise.Keeps(t, "T75", "floods over WebTransport", len(floods))
	g := newGround(t, wt.Config{})
	honest := g.honest()
	for name, flood := range floods {
		_, s, err := g.dial("/wt/replica", nil)
		if err != nil {
			t.Fatal(err)
		}
		end := time.Now().Add(time.Duration(promise.Tier(200, 1000, 5000)) * time.Millisecond)
		var group sync.WaitGroup
		group.Go(func() {
			for time.Now().Before(end) && flood(s) == nil {
			}
		})
		slowest := time.Duration(0)
		for time.Now().Before(end) {
			begun := time.Now()
			if err := g.echoes(honest, 100); err != nil {
				t.Fatalf("%s: an honest client: %v", name, err)
			}
			slowest = max(slowest, time.Since(begun))
		}
		s.CloseWithError(0, "")
		patient.Done(group.Wait)
		t.Logf("%s: the slowest echo of another took %v", name, slowest)
	}
	patient.Until(t, "they are gone", func() bool { return g.hall.Stats().Open == 1 })
	st := g.hall.Stats()
	if sum := st.Left + st.Done + st.Silent + st.Stuck + st.Flood + st.Wrong + st.Cut; sum != st.Opened-st.Open {
		t.Errorf("the counters are %+v", st)
	}
}

// A session whose connection is over gets all that was sent, the goodbye last, and then the end, at once.
func TestTheGoodbyeOverWebTransport(t *testing.T) {
	g := newGround(t, wt.Config{})
	const times = 10
	for range times {
		s := g.honest()
		begun := time.Now()
		heard := false
		s.SendDatagram([]byte("bye"))
		for {
			b, err := s.ReceiveDatagram(t.Context())
			if err != nil {
				break
			}
			heard = heard || string(b) == "goodbye"
		}
		if took := time.Since(begun); !heard || took > 5*time.Second {
			t.Errorf("the goodbye was heard: %v; the end took %v", heard, took)
		}
		s.CloseWithError(0, "")
	}
	patient.Until(t, "all sessions have ended", func() bool { return g.hall.Stats().Open == 0 })
	if st := g.hall.Stats(); st.Done != times || g.core.gone.Load() != 0 {
		t.Errorf("the counters are %+v, and the core was told of %d ends that it knew", st, g.core.gone.Load())
	}
}

// The core is told of an end at once, whoever ends what.
func TestTheCoreIsToldOfAnEndOverWebTransport(t *testing.T) {
	g := newGround(t, wt.Config{})
	for i, end := range []func(s *webtransport.Session, c *quic.Conn){
		func(s *webtransport.Session, _ *quic.Conn) { s.CloseWithError(0, "") },
		func(_ *webtransport.Session, c *quic.Conn) { c.CloseWithError(0, "") },
		func(_ *webtransport.Session, c *quic.Conn) { c.CloseWithError(77, "crash") },
	} {
		c, _ := g.raw(stranger(1))
		d := webtransport.Transport{}
		x, err := d.NewClientConn(c)
		if err != nil {
			t.Fatal(err)
		}
		_, s, err := x.Dial(t.Context(), fmt.Sprintf("https://%v/wt/replica", g.server.Addr()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.echoes(s, 10); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		end(s, c)
		patient.Until(t, "the core knows", func() bool { return g.core.gone.Load() == int64(i+1) })
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("way %d: the core was told after %v", i, took)
		}
		d.Close()
	}
}

// A session that takes nothing ends soon when its connection is over, also one that has much waiting.
func TestADeafClientIsKicked(t *testing.T) {
	g := newGround(t, wt.Config{})
	c, v := g.raw(stranger(1))
	d := webtransport.Transport{}
	defer d.Close()
	x, err := d.NewClientConn(c)
	if err != nil {
		t.Fatal(err)
	}
	_, s, err := x.Dial(t.Context(), fmt.Sprintf("https://%v/wt/replica", g.server.Addr()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.echoes(s, 10); err != nil {
		t.Fatal(err)
	}
	v.turn(func() { v.deaf = true })
	patient.Until(t, "much waits for it", func() bool {
		s.SendDatagram([]byte("flood"))
		return g.hall.Stats().OutOld > 0
	})
	begun := time.Now()
	patient.Until(t, "its session is over", func() bool {
		s.SendDatagram([]byte("bye"))
		return g.hall.Stats().Open == 0
	})
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
}
