package wt_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/webtransport-go"

	"parley/internal/carry/wt"
	"parley/internal/kit"
	"parley/internal/pagetest"
	"parley/internal/patient"
)

// The rows of docs/limits.md: what a session holds, beside what its dialect does. The clients are in a process of their own, so that the heap has
// the server's side alone.

const crewEnv = "PARLEY_WT_CREW"

// crew starts a process with so many clients, and waits until they are as far as they are told. They stay until the test is over.
func (g *ground) crew(way string, count int) {
	g.t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%v %s %d", crewEnv, g.server.Addr(), way, count))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		in.Close()
		patient.Exit(c)
	})
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		said <- line
	}()
	if line := patient.Value(said); line != "ready\n" {
		g.t.Fatalf("the clients say %q", line)
	}
}

// beCrew is the main function of such a process.
func beCrew(ask string) int {
	var addr, way string
	var count int
	fmt.Sscan(ask, &addr, &way, &count)
	to, err := netip.ParseAddrPort(addr)
	for i := 0; i < count && err == nil; i++ {
		err = join(to, way)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// join begins a session, and does what fills the server's memory.
func join(to netip.AddrPort, way string) error {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	v := &valve{PacketConn: socket, hold: -1}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := rawConn(ctx, v, to)
	if err != nil {
		return err
	}
	if way == "alone" {
		for range 200 {
			c.SendDatagram(make([]byte, largest))
		}
		for range 8 {
			s, err := c.OpenUniStream()
			if err != nil {
				return err
			}
			fillStream(s)
		}
		return nil
	}
	d := webtransport.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	x, err := d.NewClientConn(c)
	if err != nil {
		return err
	}
	_, s, err := x.Dial(ctx, "https://"+to.String()+"/wt/replica", nil)
	if err != nil {
		return err
	}
	for came := false; !came; { // the core knows it
		s.SendDatagram([]byte("hello"))
		turn, over := context.WithTimeout(ctx, time.Second)
		_, err := s.ReceiveDatagram(turn)
		over()
		came = err == nil
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if strings.HasPrefix(way, "full") {
		fill(v, s)
	}
	return nil
}

// fill has the server keep as much as it does for a session: streams that nobody reads, in frames that are kept in the largest buffers for
// their size, and answers that are never confirmed.
func fill(v *valve, s *webtransport.Session) {
	for range 7 {
		x, err := s.OpenUniStream()
		if err != nil {
			break
		}
		fillStream(x)
	}
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for i := range 120 {
		if i == 20 {
			v.turn(func() { v.deaf = true })
		}
		s.SendDatagram([]byte("flood"))
		<-pause.C
	}
}

// fillStream writes into a stream until no more is taken: frames of 128 bytes, each in a packet of its own.
func fillStream(x interface {
	io.Writer
	SetWriteDeadline(time.Time) error
}) {
	pause := time.NewTicker(200 * time.Microsecond)
	defer pause.Stop()
	x.SetWriteDeadline(time.Now().Add(30 * time.Millisecond))
	b := make([]byte, 128)
	copy(b, []byte{0x40, 0x54, 0x44, 0}) // of a session that is not there
	for range 8 << 10 / len(b) {
		if _, err := x.Write(b); err != nil {
			return
		}
		<-pause.C
	}
}

// calmDown waits until what was under way is read: it passes, and is not held.
func calmDown(t *testing.T) {
	last, calm := pagetest.Heap(), 0
	patient.Until(t, "what was under way is read", func() bool {
		now := pagetest.Heap()
		if calm++; now < last-last/100 {
			calm = 0
		}
		last = now
		return calm == 20
	})
}

func TestAnIdleSessionOverWebTransportHoldsWhatThePageSays(t *testing.T) {
	const n = 40
	g := layGround(t, wt.Config{}, anyNumber)
	g.crew("idle", 2) // what is there once
	patient.Until(t, "they are there", func() bool { return g.hall.Stats().Open == 2 })
	kit.Held(t, "any, over WebTransport", "a session, idle", func() int {
		g.crew("idle", n)
		patient.Until(t, "all are open", func() bool { return g.hall.Stats().Open == n+2 })
		calmDown(t)
		return n
	})
}

func TestADeafSessionOverWebTransportHoldsWhatThePageSays(t *testing.T) {
	const n = 4
	g := layGround(t, wt.Config{}, anyNumber)
	g.crew("idle", 2)
	kit.Held(t, "any, over WebTransport", "a session, all queues full", func() int {
		g.crew("full", n)
		patient.Until(t, "their queues are full", func() bool { return g.hall.Stats().OutOld > 1000*n })
		calmDown(t)
		return n
	})
}

func TestAConnectionWithoutASessionHoldsWhatThePageSays(t *testing.T) {
	const n = 12
	g := layGround(t, wt.Config{SessionTime: time.Hour}, anyNumber)
	g.crew("idle", 2)
	kit.Held(t, "any, over WebTransport", "no session yet", func() int {
		g.crew("alone", n)
		patient.Until(t, "all are there", func() bool { return g.server.Stats().Waiting == n })
		calmDown(t)
		return n
	})
}
