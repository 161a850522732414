package relay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
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

// A builder packs small messages into one package.
func ExampleBuilder() {
	b := relay.Builder{Delay: 10 * time.Millisecond}
	send := func(payload []byte) { fmt.Printf("a package: %s\n", payload) }
	now := time.Unix(0, 0)
	for _, m := range []string{"up;", "up;", "left;"} {
		if err := b.Add(now, []byte(m), send); err != nil {
			fmt.Println(err)
		}
	}
	at, _ := b.NextTimeout()
	b.HandleTimeout(at, send)
	// Output: a package: up;up;left;
}

// quiet is a lobby of one's own: everybody is in one room, and nobody hears who shouts.
type quiet struct{ room *relay.Room }

func (q *quiet) Rules() relay.Rules { return relay.Rules{Timeout: time.Minute} }

func (q *quiet) Admit(time.Time, *relay.Port, netip.AddrPort, relay.Package) (any, bool) {
	return nil, true
}

func (q *quiet) Enter(_ time.Time, p *relay.Peer) {
	if q.room == nil {
		q.room = p.Port().Mux().NewRoom()
	}
	q.room.Add(p)
	p.Join()
}

func (q *quiet) Receive(_ time.Time, p *relay.Peer, pkg relay.Package) bool {
	if n := len(pkg.Payload); pkg.Payload[n-1] != '!' {
		_ = q.room.Relay(p, pkg.Mode, pkg.Payload)
	}
	return false
}

func (q *quiet) Gone(time.Time, *relay.Peer, relay.Close) {}

// The core of a server without a socket, with a lobby of one's own: datagrams in, datagrams out.
func ExampleLobby() {
	now := time.Unix(1_700_000_000, 0)
	shared := &relay.Shared{Rand: rand.New(rand.NewPCG(1, 2))}
	m := relay.NewMux(now, relay.Config{Lobby: &quiet{}}, shared, [32]byte{}, nil)
	ada, bob := netip.MustParseAddrPort("192.0.2.1:5000"), netip.MustParseAddrPort("192.0.2.2:5000")
	say := func(from netip.AddrPort, id uint32, text string) {
		d := relay.Datagram{Kind: relay.KindPackage, ID: id, Payload: []byte(text)}
		m.HandleDatagram(now, from, d.AppendTo(nil))
	}
	say(ada, 0, "hello")
	say(bob, 0, "psst")
	say(bob, 1, "HEY!")
	for _, _, ok := m.PollEvent(); ok; _, _, ok = m.PollEvent() {
	}
	buf := make([]byte, relay.MaxDatagram)
	for n, to, ok := m.PollTransmit(buf); ok; n, to, ok = m.PollTransmit(buf) {
		var d relay.Datagram
		d.Parse(buf[:n])
		fmt.Printf("to %v: %s %d %s\n", to, d.Mode, d.ID, d.Payload)
	}
	// Output:
	// to 192.0.2.1:5000: unreliable 0 psst
	// to 192.0.2.2:5000: unreliable 0 hello
}
