package attack

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"

	"parley/arena"
	"parley/internal/carry"
	"parley/internal/carry/ws"
	"parley/internal/carry/wt"
	"parley/internal/kit"
	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/bots"
	"parley/test/field"
)

// gate is the door for players in browsers of a whole server: WebSocket and WebTransport.
type gate struct {
	*field.Server
	building *carry.Building
	web      *httptest.Server
	wt       *wt.Server
}

func openGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{building: carry.NewBuilding(carry.Config{})}
	c := field.Config()
	c.Browsers = g.building
	g.Server = field.Serve(t, arena.Game(), c)
	own, err := wt.NewOwn(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if g.wt, err = wt.Listen(field.Any, wt.Config{Building: g.building, Certificate: own.Certificate}); err != nil {
		t.Fatal(err)
	}
	sockets := ws.NewServer(g.building)
	g.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch from := netip.MustParseAddrPort(r.RemoteAddr); {
		case r.URL.Path == "/play/server":
			json.NewEncoder(w).Encode(map[string]any{"wt": map[string]any{"port": g.wt.Addr().Port(), "hashes": own.Hashes()}})
		case strings.HasPrefix(r.URL.Path, ws.Path):
			sockets.Serve(w, r, from, true)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(func() {
		g.web.Close()
		g.wt.Close()
		g.Server.Close()
		patient.Done(sockets.Wait)
	})
	return g
}

// honest is a player who walks about, and counts what it sees.
type honest struct {
	*field.Visitor
	name string
}

func (h *honest) updates() (n uint64) {
	h.See(func(s *bots.Sight) { n = s.Updates })
	return n
}

// enter has an honest player of each dialect enter over each carrier.
func (g *gate) enter(t *testing.T) (all []*honest) {
	for _, carrier := range []string{"ws", "wt"} {
		for _, dialect := range bots.Dialects {
			v := field.Enter(t, dialect, g.web.Listener.Addr().String(), bots.Config{
				Schema: g.Schema, Carrier: carrier, New: true, Name: "honest-" + carrier + "-" + dialect, Password: "an honest word",
				Trust: func(string, string) error { return nil },
			})
			all = append(all, &honest{v, dialect + "+" + carrier})
		}
	}
	return all
}

// T21 and T75: hostile sessions of both carriers do whatever they can think of, beside honest players of all dialects. Those stay, and see the
// world go on tick by tick; no tick is left out.
func TestASwarmBehindBothCarriers(t *testing.T) {
	seeds := promise.Keeps(t, "T75", "swarm behind WebSocket and WebTransport", promise.Tier(1, 5, 100))
	patient.Test(t)
	g := openGate(t)
	players := g.enter(t)
	hostile := 24
	if kit.Race {
		hostile = 8 // they and their server are ten times slower
	}
	walk := rand.New(rand.NewPCG(1, 1))
	for _, seed := range chance.Seeds(seeds) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := newSiege()
		ctx, cancel := context.WithCancel(t.Context())
		for i := range hostile {
			from, mind := attacker(int(seed%100)*32+i), rand.New(rand.NewPCG(seed, uint64(i)+1))
			kind, dialect := r.IntN(2), bots.Dialects[r.IntN(len(bots.Dialects))]
			s.wg.Go(func() {
				for !s.lifted() {
					if kind == 0 {
						g.overWebSocket(ctx, s, mind, from, dialect)
					} else {
						g.overWebTransport(ctx, s, mind, from, dialect)
					}
				}
			})
		}
		before, ticks := make([]uint64, len(players)), g.WorldStats()
		for i, p := range players {
			before[i] = p.updates()
		}
		for i, p := range players {
			g.Within(t, p.name+" sees the world go on", func() bool {
				for _, q := range players {
					if q.Dialect != "stamp" { // which watches
						q.Steer(walk.Float32()*6, 1)
					}
				}
				if end := p.Ended(); end != "" {
					t.Fatalf("seed %d: %s is out of the game: %s", seed, p.name, end)
				}
				return p.updates() >= before[i]+20
			})
		}
		cancel()
		s.lift()
		if st := g.WorldStats(); st.SkippedTicks != ticks.SkippedTicks && !kit.Race {
			t.Errorf("seed %d: %d ticks were left out", seed, st.SkippedTicks-ticks.SkippedTicks)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	var sum carry.Stats
	for _, dialect := range g.building.Dialects() {
		st := g.building.Hall(dialect).Stats()
		sum.Opened += st.Opened
		sum.Flood += st.Flood
		sum.Wrong += st.Wrong
		sum.In += st.In
		sum.InFull += st.InFull
	}
	t.Logf("%d sessions; %d flooded, %d were malformed; %d datagrams were taken and %d were not; WebTransport %+v", sum.Opened, sum.Flood, sum.Wrong, sum.In, sum.InFull, g.wt.Stats())
	if sum.Opened < uint64(len(players)+seeds) {
		t.Error("the swarm did not come in")
	}
}

// say makes up what a hostile client sends: what an honest one would begin with, or that with bits turned, or anything.
func say(r *rand.Rand, dialect string) []byte {
	first := map[string][]byte{"replica": make([]byte, 5), "stamp": make([]byte, 13), "relay": {0x50, 0, 0, byte(r.IntN(256)), 9}, "duplex": {6}, "realm": {18, 0, 9}}[dialect]
	switch r.IntN(4) {
	case 0:
		return first
	case 1:
		b := append([]byte(nil), first...)
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		return b
	case 2:
		return []byte{byte(r.IntN(256))}
	}
	b := make([]byte, r.IntN(carry.MaxDatagram))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// many says how many messages a hostile session sends, and after how many it pauses.
func many(r *rand.Rand) (n, burst int) {
	return []int{1, 10, 1000, 40_000}[r.IntN(4)], 1 + r.IntN(40)
}

// overWebSocket is the life of one hostile session.
func (g *gate) overWebSocket(ctx context.Context, s *siege, r *rand.Rand, from netip.Addr, dialect string) {
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	<-pause.C
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	c, err := d.DialContext(ctx, "tcp4", g.web.Listener.Addr().String())
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	fmt.Fprintf(c, "GET %s%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", ws.Path, dialect)
	if r.IntN(8) == 0 {
		return // half open
	}
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		return
	}
	if r.IntN(2) == 0 {
		go io.Copy(io.Discard, c) // else it never reads
	}
	n, burst := many(r)
	for i := 0; i < n && !s.lifted(); i++ {
		b := say(r, dialect)
		head := []byte{0x82, 0x80 | byte(len(b)), 0, 0, 0, 0}
		if len(b) > 125 {
			head = []byte{0x82, 0xfe, byte(len(b) >> 8), byte(len(b)), 0, 0, 0, 0}
		}
		if r.IntN(2000) == 0 {
			head[0] = byte(r.IntN(256)) // text, fragments, controls and what is reserved
		}
		if _, err := c.Write(append(head, b...)); err != nil {
			return
		}
		if i%burst == 0 {
			<-pause.C
		}
	}
}

// overWebTransport is the life of one hostile session.
func (g *gate) overWebTransport(ctx context.Context, s *siege, r *rand.Rand, from netip.Addr, dialect string) {
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	<-pause.C
	socket, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)))
	if err != nil {
		return
	}
	defer socket.Close()
	transport := &quic.Transport{Conn: socket}
	defer transport.Close()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	config := &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true}
	c, err := transport.Dial(ctx, net.UDPAddrFromAddrPort(g.wt.Addr()), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}}, config)
	if err != nil {
		return
	}
	defer c.CloseWithError(quic.ApplicationErrorCode(r.IntN(3)), "")
	if r.IntN(8) == 0 {
		return // no session
	}
	d := webtransport.Transport{}
	x, err := d.NewClientConn(c)
	if err != nil {
		return
	}
	defer d.Close()
	_, session, err := x.Dial(ctx, fmt.Sprintf("https://%v%s%s", g.wt.Addr(), wt.Path, dialect), nil)
	if err != nil {
		return
	}
	send := session.SendDatagram
	if r.IntN(4) == 0 || dialect == "duplex" || dialect == "realm" {
		if y, err := session.OpenStream(); err == nil {
			send = func(b []byte) error {
				y.SetWriteDeadline(time.Now().Add(time.Second))
				_, err := y.Write(b)
				return err
			}
		}
	}
	n, burst := many(r)
	for i := 0; i < n && !s.lifted(); i++ {
		if send(say(r, dialect)) != nil || session.Context().Err() != nil {
			return
		}
		if i%burst == 0 {
			<-pause.C
		}
	}
}
