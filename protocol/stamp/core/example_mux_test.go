package core_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/protocol/stamp/core"
	"parley/simnet"
)

// A server core and a client, both pure, over a simulated network: the same calls drive them
// over real sockets.
func ExampleMux() {
	server, client := netip.MustParseAddrPort("10.0.0.1:7000"), netip.MustParseAddrPort("10.0.0.2:5000")
	network := simnet.New(1)
	network.Default(simnet.Profile{Delay: 10 * time.Millisecond})

	shared := &core.Shared{Rand: rand.New(rand.NewPCG(1, 2))}
	key := [32]byte{1} // from crypto/rand, where it is not an example
	mux := core.NewMux(network.Now(), core.Config{}, shared, key)
	network.Add(server, mux).AfterTurn(func(time.Time) {
		for conn, ev, ok := mux.PollEvent(); ok; conn, ev, ok = mux.PollEvent() {
			fmt.Println("server:", ev.Kind)
			if ev.Kind == core.EventConnected {
				if err := conn.Send(core.Ordered, []byte("welcome")); err != nil {
					fmt.Println(err)
				}
				conn.SendReport([]byte("snapshot"), 7)
			}
		}
	})

	shared = &core.Shared{Rand: rand.New(rand.NewPCG(3, 4))}
	player := core.NewClient(network.Now(), server, core.Config{}, shared)
	network.Add(client, player).AfterTurn(func(time.Time) {
		for ev, ok := player.PollEvent(); ok; ev, ok = player.PollEvent() {
			fmt.Printf("client: %v %q\n", ev.Kind, ev.Data)
		}
	})
	if err := network.Run(time.Second); err != nil {
		fmt.Println(err)
	}
	// Output:
	// server: connected
	// client: connected ""
	// client: entity "welcome"
	// client: entity "snapshot"
	// server: entered
	// server: acked
}
