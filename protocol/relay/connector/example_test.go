package connector_test

import (
	"context"
	"fmt"
	"log"

	"parley/protocol/relay"
	"parley/protocol/relay/connector"
	"parley/protocol/relay/core"
)

// A server, and a client that asks whether it is there.
func ExampleListen() {
	s, err := connector.Listen("127.0.0.1:0", connector.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	c, err := relay.Dial(ctx, s.Addr().String(), core.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ping := connector.ToMain{Kind: connector.ToMainPing, Ping: 7}
	if err := c.Send(core.Unordered, core.ToServer, ping.AppendTo(nil)); err != nil {
		log.Fatal(err)
	}
	for ev := range c.Events() {
		if ev.Kind != core.EventPackage {
			continue
		}
		msgs, m := connector.Read(ev.Package.Payload), connector.FromMain{}
		for msgs.Next(&m) {
			fmt.Println(m.Kind, m.Ping)
		}
		break
	}
	c.Close(ctx)
	s.Close()
	// Output: Pong 7
}

// What a player said to the others, as one of them gets it in one package.
func ExampleRead() {
	payload := (&connector.Relayed{From: 0, Peer: connector.Peer{Kind: connector.PeerChat, Text: []byte("hi")}}).AppendTo(nil)
	payload = (&connector.Relayed{From: 0, Peer: connector.Peer{Kind: connector.PeerDespawn, Entity: connector.Entity{Index: 300}}}).AppendTo(payload)
	fmt.Printf("%x\n", payload)
	msgs, m := connector.Read(payload), connector.Relayed{}
	for msgs.Next(&m) {
		fmt.Printf("player %d: %v %q %d\n", m.From, m.Kind, m.Text, m.Entity.Index)
	}
	fmt.Println(msgs.Err())

	msgs = connector.Read(payload[:9])
	for msgs.Next(&m) {
	}
	fmt.Println(msgs.Err())
	// Output:
	// 0000026869000200fb012c
	// player 0: Chat "hi" 0
	// player 0: Despawn "" 300
	// <nil>
	// messages[1].entity index: 2 bytes wanted at offset 9, 0 left
}
