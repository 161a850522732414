package clocksync_test

import (
	"fmt"
	"time"

	"parley/internal/clocksync"
)

func Example() {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var clock clocksync.FourTime
	clock.Add(clocksync.Exchange{
		Sent:         start,
		PeerReceived: 7_000_020_000,
		PeerSent:     7_000_021_000,
		Received:     start.Add(41 * time.Millisecond),
	})
	now := start.Add(time.Second)
	ticks := clocksync.PerSecond(20).From(1000, 7_000_000_000)
	fmt.Println("server time:", clock.Remote(now), "µs")
	fmt.Println("round trip:", clock.RTT())
	fmt.Println("off by at most:", clock.ErrorBound(now).Round(time.Millisecond))
	fmt.Println("tick:", ticks.TickAt(clock.Remote(now)))
	fmt.Println("next tick in:", clock.Local(ticks.Start(1021)).Sub(now))
	// Output:
	// server time: 7001000000 µs
	// round trip: 40ms
	// off by at most: 21ms
	// tick: 1020
	// next tick in: 50ms
}
