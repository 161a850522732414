package stamp_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"parley/protocol/stamp"
)

// A server that shows each newcomer one entity, and a client that looks and leaves: all of a
// program's network layer.
func ExampleListen() {
	server, err := stamp.Listen("127.0.0.1:0", stamp.Config{}, func(c *stamp.Conn, ev stamp.Event) {
		if ev.Kind == stamp.EventConnected {
			boat := stamp.Record{Entity: 7, Kind: 1, Fields: []byte("boat")}
			data, _ := boat.AppendTo(nil, stamp.MaxData)
			if err := c.Send(stamp.Reliable, data); err != nil {
				fmt.Println(err)
			}
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	client, err := stamp.Dial(context.Background(), server.Addr().String(), stamp.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev := range client.Events() {
		if ev.Kind != stamp.EventEntity {
			continue
		}
		var rec stamp.Record
		for records := stamp.ReadRecords(ev.Data); records.Next(&rec); {
			fmt.Printf("entity %d: %s\n", rec.Entity, rec.Fields)
		}
		client.Close(context.Background())
	}
	fmt.Println(client.Err())
	// Output:
	// entity 7: boat
	// stamp: connection ended: closed
}

// Another goroutine, a game's tick for one, reaches the connections through Do.
func ExampleServer_Do() {
	server, err := stamp.Listen("127.0.0.1:0", stamp.Config{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := stamp.Dial(context.Background(), server.Addr().String(), stamp.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = server.Do(func() {
		for c := range server.Conns() {
			if err := c.Send(stamp.Reliable, []byte("tick")); err != nil {
				fmt.Println(err)
			}
		}
	})
	if err != nil {
		fmt.Println(err)
	}
	for ev := range client.Events() {
		fmt.Printf("%s\n", ev.Data)
		break
	}
	if err := server.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	for range client.Events() { // until it has heard
	}
	fmt.Println(client.Err())
	// Output:
	// tick
	// stamp: connection ended: peer left: server closing
}

// A server that does not let someone in says why.
func ExampleDial() {
	server, err := stamp.Listen("127.0.0.1:0", stamp.Config{
		Admit: func(netip.AddrPort) string { return "closed on Mondays" },
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	_, err = stamp.Dial(context.Background(), server.Addr().String(), stamp.Config{})
	var refused stamp.Close
	if errors.As(err, &refused) {
		fmt.Println(refused.Reason, "-", refused.Text)
	}
	// Output:
	// rejected - closed on Mondays
}
