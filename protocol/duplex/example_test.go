package duplex_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/protocol/duplex"
)

// lamps is the schema of a game with lamps, which are on or off.
var lamps = &duplex.Schema{
	FromServer: duplex.Elements{Others: duplex.Kinds(map[uint8]duplex.Size{1: duplex.Fixed(1)}), Kinds: true},
	FromClient: duplex.Elements{Others: duplex.Fixed(1)},
	Queries:    map[uint8]duplex.Query{64: {Reply: duplex.Fixed(2)}},
}

// A server with one lamp, a client that switches it on and asks how many there are.
func Example() {
	var set func(sid int16, data []byte) error
	s, err := duplex.Listen("127.0.0.1:0", duplex.Config{Schema: lamps}, func(c *duplex.Conn, ev duplex.Event) {
		switch ev.Kind {
		case duplex.EventUpdate, duplex.EventSync: // over the feed, or main for who has none
			_ = set(7, []byte{1, ev.Data[0]})
		case duplex.EventQuery:
			_ = c.Reply(ev.ID, 0, []byte{0, 1})
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	_ = s.Do(func(m *duplex.Mux) {
		set = m.Set
		_ = m.Set(7, []byte{1, 0})
	})
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	go func() {
		for {
			select {
			case <-ticks.C:
				_ = s.Do(func(m *duplex.Mux) { m.Flush() })
			case <-s.Done():
				return
			}
		}
	}()

	ctx := context.Background()
	c, err := duplex.Dial(ctx, s.Addr().String(), duplex.Config{Schema: lamps})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close(ctx)
	for ev := range c.Events() {
		switch {
		case ev.Kind == duplex.EventSynced:
			status, count, err := c.Query(ctx, duplex.Main, 64, nil)
			fmt.Println("status", status, "lamps", count[1], err)
			_ = c.Update(7, []byte{1})
		case ev.SID == 7 && ev.Data[1] == 0:
			fmt.Println("the lamp is off")
		case ev.SID == 7:
			fmt.Println("the lamp is on")
			return
		}
	}
	// Output:
	// the lamp is off
	// status 0 lamps 1 <nil>
	// the lamp is on
}

// The core without sockets: bytes and datagrams go from hand to hand.
func ExampleMux() {
	now := time.Unix(0, 0)
	shared := func() *duplex.Shared { return &duplex.Shared{Rand: rand.New(rand.NewPCG(1, 2))} }
	server, client := netip.MustParseAddrPort("192.0.2.1:7000"), netip.MustParseAddrPort("192.0.2.2:5000")

	m := duplex.NewMux(now, duplex.Config{Schema: lamps}, shared(), admission.Key{})
	_ = m.Set(7, []byte{1, 1})
	m.Flush()
	c := duplex.NewClient(now, server, server, duplex.Config{Schema: lamps}, shared())
	conn := m.Accept(now, client)

	buf := make([]byte, duplex.MaxDatagram)
	for range 4 {
		for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
			fmt.Println(ev.Kind, ev.SID, ev.Data)
		}
		if n := c.PollBytes(buf); n > 0 {
			m.HandleBytes(now, conn, buf[:n])
			c.Written(now)
		}
		for n, _, ok := c.PollTransmit(buf); ok; n, _, ok = c.PollTransmit(buf) {
			m.HandleDatagram(now, client, buf[:n])
		}
		for _, _, ok := m.PollEvent(); ok; _, _, ok = m.PollEvent() {
		}
		for n, who, ok := m.PollBytes(buf); ok; n, who, ok = m.PollBytes(buf) {
			c.HandleBytes(now, buf[:n])
			m.Written(now, who)
		}
		for n, _, ok := m.PollTransmit(buf); ok; n, _, ok = m.PollTransmit(buf) {
			c.HandleDatagram(now, server, buf[:n])
		}
	}
	// Output:
	// joined 0 []
	// sync 7 [1 1]
	// synced 0 []
}

// A stream of main is cut into messages by the schema.
func ExampleStream() {
	s := duplex.NewStream(lamps, duplex.FromServer)
	for _, piece := range [][]byte{{2, 0}, {7, 1}, {1, 2, 0, 8, 0}} {
		for len(piece) > 0 {
			var m duplex.Message
			n, ok := s.Next(piece, &m)
			piece = piece[n:]
			if ok {
				fmt.Println(m.Kind, m.SID, m.Data)
			}
		}
	}
	// Output:
	// sync 7 [1 1]
	// sync 8 [0]
}
