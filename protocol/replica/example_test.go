package replica_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"parley/protocol/replica"
)

// A server that shouts back, and a client that asks it twice.
func Example() {
	server, err := replica.Listen("127.0.0.1:0", replica.Config{}, func(c *replica.Conn, ev replica.Event) {
		if ev.Kind == replica.EventMessage && string(ev.Name) == "say" {
			_ = c.Send(replica.Ordered, "heard", append(ev.Data, '!'))
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	ctx := context.Background()
	client, err := replica.Dial(ctx, server.Addr().String(), replica.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	for _, word := range []string{"hello", "world"} {
		if err := client.Send(replica.Ordered, "say", []byte(word)); err != nil {
			log.Fatal(err)
		}
	}
	heard := 0
	for ev := range client.Events() {
		fmt.Printf("%v %s: %s\n", ev.Kind, ev.Name, ev.Data)
		if heard++; heard == 2 {
			break
		}
	}
	// Output:
	// message heard: hello!
	// message heard: world!
}

// A server that refuses says why, and the error of Dial is what it said.
func ExampleDial() {
	server, err := replica.Listen("127.0.0.1:0", replica.Config{MaxConns: 1}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	first, err := replica.Dial(ctx, server.Addr().String(), replica.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close(ctx)
	for server.Stats().Conns == 0 { // until the address of the first is proven
		_ = server.Do(func() {})
	}

	_, err = replica.Dial(ctx, server.Addr().String(), replica.Config{})
	var refused replica.Close
	if errors.As(err, &refused) {
		fmt.Println(refused.Reason, "–", refused.Text)
	}
	// Output: rejected – server full
}

// Events ends with the connection, and its last event says how that came.
func ExampleClient_Events() {
	server, err := replica.Listen("127.0.0.1:0", replica.Config{}, func(c *replica.Conn, ev replica.Event) {
		if ev.Kind == replica.EventMessage {
			c.Close("no shouting")
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := replica.Dial(ctx, server.Addr().String(), replica.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	_ = client.Send(replica.Reliable, "say", []byte("HEY"))
	for ev := range client.Events() {
		if ev.Kind == replica.EventClosed {
			fmt.Println(ev.Close)
		}
	}
	// Output: replica: connection ended: peer left: no shouting
}

// Other goroutines reach the connections of a server through Do: here once, in a
// game with every tick.
func ExampleServer_Do() {
	server, err := replica.Listen("127.0.0.1:0", replica.Config{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := replica.Dial(ctx, server.Addr().String(), replica.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	for told := 0; told == 0; {
		err := server.Do(func() {
			for c := range server.Conns() {
				_ = c.Send(replica.Reliable, "tick", []byte{1})
				told++
			}
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	for ev := range client.Events() {
		fmt.Printf("%s %d\n", ev.Name, ev.Data[0])
		break
	}
	// Output: tick 1
}

// Shutdown tells every client, and waits until it is heard.
func ExampleServer_Shutdown() {
	server, err := replica.Listen("127.0.0.1:0", replica.Config{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	client, err := replica.Dial(ctx, server.Addr().String(), replica.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	for server.Stats().Conns == 0 {
		_ = server.Do(func() {})
	}
	if err := server.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	for ev := range client.Events() {
		fmt.Println(ev.Kind, "–", ev.Close.Text)
	}
	// Output: closed – server closing
}
