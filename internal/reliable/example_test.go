package reliable_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"parley/internal/reliable"
)

// Two engines face to face: the second packet overtakes the first, and waits.
func Example() {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s := reliable.NewSender(now, 1, nil, nil, rand.New(rand.NewPCG(1, 2)))
	r := reliable.NewReceiver(now, 1, &reliable.ReceiveConfig{Rules: [2]reliable.Rule{reliable.Contiguous}}, nil)

	for _, text := range []string{"one", "two"} {
		if err := s.Send(now, []byte(text), reliable.Options{Lane: 1}); err != nil {
			fmt.Println(err)
		}
	}
	var wire []reliable.Packet
	for t, ok := s.Poll(now); ok; t, ok = s.Poll(now) {
		wire = append(wire, reliable.Packet{Number: t.Number, Reliable: true, Lane: 1, Data: t.Packet})
	}
	for _, p := range []reliable.Packet{wire[1], wire[0]} {
		fmt.Println("number", p.Number, "is", r.Receive(now, p))
		for d, ok := r.Next(now); ok; d, ok = r.Next(now) {
			fmt.Printf("delivered %s\n", d.Data)
		}
	}
	now = now.Add(40 * time.Millisecond)
	numbers := make([]uint64, 8)
	for _, n := range numbers[:r.Acks(now, numbers)] {
		s.Ack(now, n)
	}
	fmt.Println(s.InFlight(0), "in flight, round trip", s.RTT())
	// Output:
	// number 2 is held
	// number 1 is ready
	// delivered one
	// delivered two
	// 0 in flight, round trip 40ms
}
