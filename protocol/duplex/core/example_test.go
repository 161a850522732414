package core_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/protocol/duplex/core"
)

// lamps is the schema of a game with lamps, which are on or off.
var lamps = &core.Schema{
	FromServer: core.Elements{Others: core.Kinds(map[uint8]core.Size{1: core.Fixed(1)}), Kinds: true},
	FromClient: core.Elements{Others: core.Fixed(1)},
	Queries:    map[uint8]core.Query{64: {Reply: core.Fixed(2)}},
}

// The core without sockets: bytes and datagrams go from hand to hand.
func ExampleMux() {
	now := time.Unix(0, 0)
	shared := func() *core.Shared { return &core.Shared{Rand: rand.New(rand.NewPCG(1, 2))} }
	server, client := netip.MustParseAddrPort("192.0.2.1:7000"), netip.MustParseAddrPort("192.0.2.2:5000")

	m := core.NewMux(now, core.Config{Schema: lamps}, shared(), [32]byte{})
	_ = m.Set(7, []byte{1, 1})
	m.Flush()
	c := core.NewClient(now, server, server, core.Config{Schema: lamps}, shared())
	conn := m.Accept(now, client)

	buf := make([]byte, core.MaxDatagram)
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
	s := core.NewStream(lamps, core.FromServer)
	for _, piece := range [][]byte{{2, 0}, {7, 1}, {1, 2, 0, 8, 0}} {
		for len(piece) > 0 {
			var m core.Message
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
