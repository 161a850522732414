package relay_test

import (
	"context"
	"fmt"
	"time"

	"parley/protocol/relay"
)

// A room: what one participant sends to the others, all others get.
func Example() {
	ctx := context.Background()
	s, err := relay.Listen("127.0.0.1:0", relay.Config{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	ada, err := relay.Dial(ctx, s.Addr().String(), relay.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ada.Close(ctx)
	bob, err := relay.Dial(ctx, s.Addr().String(), relay.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bob.Close(ctx)

	if err := ada.Send(relay.SemiOrdered, relay.ToOthers, []byte("hello")); err != nil {
		fmt.Println(err)
	}
	for ev := range bob.Events() {
		fmt.Printf("%s: %s\n", ev.Package.Mode, ev.Package.Payload)
		break
	}
	// Output: semi-ordered: hello
}

// A game at the server: what is sent to the server it answers, to one or to all.
func ExampleListen() {
	ctx := context.Background()
	s, err := relay.Listen("127.0.0.1:0", relay.Config{}, func(p *relay.Peer, ev relay.Event) {
		if ev.Kind == relay.EventPackage {
			_ = p.Room().Say(relay.Unordered, fmt.Appendf(nil, "somebody said %q", ev.Package.Payload))
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Shutdown(ctx)
	c, err := relay.Dial(ctx, s.Addr().String(), relay.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close(ctx)
	_ = c.Send(relay.Unordered, relay.ToServer, []byte("roll the dice"))
	for ev := range c.Events() {
		fmt.Printf("from the server %t: %s\n", ev.Package.Server, ev.Package.Payload)
		break
	}
	// Output: from the server true: somebody said "roll the dice"
}

// A room with tickets lets in who has one.
func ExampleNewTicket() {
	ctx := context.Background()
	key := relay.TicketKey("sixteen bytes or more, and random")
	lobby := relay.NewOpenLobby(relay.OpenConfig{Key: key, Room: "arena"})
	joined := make(chan string, 1)
	s, err := relay.Listen("127.0.0.1:0", relay.Config{Lobby: lobby}, func(p *relay.Peer, ev relay.Event) {
		if ev.Kind == relay.EventJoined {
			joined <- p.Name
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	ticket, err := relay.NewTicket(key, "arena", "ada", time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := relay.Dial(ctx, s.Addr().String(), relay.Config{Ticket: ticket})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close(ctx)
	fmt.Println(<-joined, "is in")
	// Output: ada is in
}
