package duplex_test

import (
	"context"
	"fmt"
	"time"

	"parley/protocol/duplex"
	"parley/protocol/duplex/core"
)

// lamps is the schema of a game with lamps, which are on or off.
var lamps = &core.Schema{
	FromServer: core.Elements{Others: core.Kinds(map[uint8]core.Size{1: core.Fixed(1)}), Kinds: true},
	FromClient: core.Elements{Others: core.Fixed(1)},
	Queries:    map[uint8]core.Query{64: {Reply: core.Fixed(2)}},
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
	_ = s.Do(func() {
		set = s.Scene().Set
		_ = set(7, []byte{1, 0})
		s.Scene().Flush() // so that nobody is told of it twice: on entering, and by the first tick
	})
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	go func() {
		for {
			select {
			case <-ticks.C:
				_ = s.Do(func() { s.Scene().Flush() })
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
