package stamp

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
	"parley/protocol/stamp/core"
)

// T30, at real sockets: inits, acks and nonsense from hundreds of sources at 100,000 a second
// for a minute (PARLEY_SOAK; a second at a tenth of that else): who wants in gets in, who is in
// loses nothing reliable, and nothing stays.
func TestAFloodAtARealSocket(t *testing.T) {
	promise.Keeps(t, "T30", "stamp", 1)
	perMS, lasts := 10, time.Second
	if os.Getenv("PARLEY_SOAK") != "" {
		perMS, lasts = 100, time.Minute
	}
	var conn *Conn
	// What was sent arrives before the goodbye however slow the machine is.
	c := Config{Timeout: kit.Unhurried, Linger: 2 * kit.Unhurried}
	s, err := Listen("127.0.0.1:0", c, func(c *Conn, ev Event) {
		if ev.Kind == EventConnected && conn == nil {
			conn = c
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := Dial(t.Context(), s.Addr().String(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close(t.Context())
	before := shelltest.LiveHeap()

	var wg sync.WaitGroup
	over := make(chan struct{})
	wg.Go(func() { defer close(over); floodFrom(t, s, perMS, lasts) })
	wg.Go(func() { readNumbered(t, x) })
	sent, tried, in := uint32(0), 0, 0
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-over:
		case <-tick.C:
			s.Do(func() {
				if conn.Send(Ordered, binary.LittleEndian.AppendUint32(nil, sent)) == nil {
					sent++
				}
			})
			if sent%10 == 0 {
				tried++
				in += visit(t, s)
			}
			continue
		}
		tick.Stop()
		break
	}
	s.Do(func() { conn.Send(Ordered, binary.LittleEndian.AppendUint32(nil, sent)); conn.Close("over") })
	patient.Done(wg.Wait)
	st := s.Stats()
	t.Logf("%d datagrams came, %d were dropped by the system; %d of %d got in; %d were sent and read", st.Mux.In, st.Socket.InDropped, in, tried, sent+1)
	if in < tried*99/100 {
		t.Errorf("%d of %d got in", in, tried)
	}
	if got := x.Stats().Reliable.Delivered; got < uint64(sent) {
		t.Errorf("%d of %d packets were delivered", got, sent)
	}
	if grown := shelltest.LiveHeap() - before; grown > 16<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if err := st.Mux.Check(); err != nil || st.Mux.Accepts < uint64(tried) {
		t.Errorf("the server counts %+v: %v", st.Mux, err)
	}
}

// floodFrom sends a server what strangers may send, from ever new sources.
func floodFrom(t *testing.T, s *Server, perMS int, lasts time.Duration) {
	r := kit.Rand(t)
	var sockets []*udp.Socket
	defer func() {
		for _, x := range sockets {
			x.Close()
		}
	}()
	batch := udp.NewSendBatch(udp.Config{})
	n := 0
	shelltest.Tick(int(lasts.Milliseconds()), time.Millisecond, func() {
		if len(sockets) == 256 {
			sockets[0].Close()
			sockets = sockets[1:]
		}
		at := fmt.Sprintf("127.%d.%d.%d:0", 1+r.IntN(200), r.IntN(256), 1+r.IntN(254))
		x, err := udp.Listen(at, udp.Config{Batch: 1, RecvBuffer: 4096, SendBuffer: -1, NoGRO: true})
		if err != nil {
			t.Error(err)
			return
		}
		sockets = append(sockets, x)
		for i := range perMS {
			p := core.Packet{Kind: core.KindInit}
			switch n++; n % 3 {
			case 0:
				p = core.Packet{Kind: core.KindAck, Sequence: 1, Time: r.Uint64()}
			case 1:
				p = core.Packet{Kind: core.KindDisconnect, Sequence: uint16(r.Uint32()), Time: r.Uint64()}
			}
			if full := !batch.Append(p.AppendTo(core.FromClient, nil), s.Addr()); full || i == perMS-1 {
				if err := sockets[r.IntN(len(sockets))].Write(batch); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// readNumbered reads to the end, and checks that all comes in its order.
func readNumbered(t *testing.T, x *Client) {
	next := uint32(0)
	for ev := range x.Events() {
		switch {
		case ev.Kind == EventEntity && binary.LittleEndian.Uint32(ev.Data) != next:
			t.Errorf("packet %d came as number %d", binary.LittleEndian.Uint32(ev.Data), next)
			return
		case ev.Kind == EventEntity:
			next++
		case ev.Close.Text != "over":
			t.Errorf("after %d packets: %v (%v)", next, ev.Kind, ev.Close)
		}
	}
}

// visit connects within half a minute and leaves: 1 if it could.
func visit(t *testing.T, s *Server) int {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	x, err := Dial(ctx, s.Addr().String(), Config{Timeout: kit.Unhurried})
	if err != nil {
		return 0
	}
	x.Close(shelltest.Ended())
	return 1
}
