package udp_test

import (
	"fmt"
	"net/netip"
	"time"

	"parley/internal/datagram"
	"parley/internal/udp"
)

// greeter is a core that answers each datagram with a greeting.
type greeter struct{ guests []netip.AddrPort }

func (g *greeter) HandleDatagram(_ time.Time, from netip.AddrPort, _ []byte) {
	g.guests = append(g.guests, from)
}

func (g *greeter) HandleTimeout(time.Time) {}

func (g *greeter) NextTimeout() (time.Time, bool) { return time.Time{}, false }

func (g *greeter) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if len(g.guests) == 0 {
		return 0, netip.AddrPort{}, false
	}
	to := g.guests[0]
	g.guests = g.guests[1:]
	return copy(buf, "hello"), to, true
}

// A loop drives a core; here on a network in memory, so that nothing of the
// machine is needed. With udp.Listen it is the same over real sockets.
func Example() {
	var network udp.Network
	s, err := network.Listen("192.0.2.1:7000", udp.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	loop := datagram.StartLoop(s, &greeter{}, datagram.LoopConfig{})
	defer loop.Close()

	guest, err := network.Dial("192.0.2.1:7000", udp.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guest.Close()
	out, in := guest.NewSendBatch(), guest.NewRecvBatch()
	out.Append([]byte("anybody there?"), guest.RemoteAddr())
	if err := guest.Write(out); err != nil {
		fmt.Println(err)
		return
	}
	if err := guest.Read(in, time.Time{}); err != nil {
		fmt.Println(err)
		return
	}
	for m := in.Next(); m != nil; m = in.Next() {
		fmt.Printf("%s from %v\n", m.Data, m.From)
	}
	// Output: hello from 192.0.2.1:7000
}

// An error of Listen is a sentence for the person who chose the address.
func ExampleListen() {
	s, err := udp.Listen("7000", udp.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Close()
	// Output: udp: listen on 7000: not an address (address 7000: missing port in address); write host:port, such as :7000 or 192.0.2.1:7000
}
